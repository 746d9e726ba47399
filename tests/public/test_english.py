"""Every docstring says its subject first, so that it can be read without the code around it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairprobe

SOURCES = Path(fairprobe.__file__).parents[1]
FILES = [*sorted(Path(fairprobe.__file__).parent.rglob("*.py")), SOURCES / "fairprobe_pytest.py"]
FORBIDDEN = re.compile(r"(The same|So many|What|Who|Whether|Which|Those|Them)\b")


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string that is a statement of its own.

    These are the docstrings of modules, classes and functions, and the strings after assignments.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.strip()


def faults_in(text: str, name: str) -> list[str]:
    begun = [(line, FORBIDDEN.match(said)) for line, said in docstrings(ast.parse(text))]
    return [f"{name}:{line} begins with {match[0]!r}: name the subject first" for line, match in begun if match]


def test_no_docstring_begins_with_a_word_that_leans_on_its_context():
    texts = {str(file.relative_to(SOURCES)): file.read_text(encoding="utf-8") for file in FILES}
    faults = [fault for name, text in texts.items() for fault in faults_in(text, name)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"""What it is."""', 1),
        ('def f():\n    """Whether it is."""', 2),
        ('class A:\n    """A class."""\n\n    b: int\n    """Which of them."""', 5),
        ('X = 1\n"""\nThe same for X."""', 2),
    ],
)
def test_a_fault_is_named_with_its_file_and_line(text, line):
    (fault,) = faults_in(text, "a.py")
    assert fault.startswith(f"a.py:{line} begins with")


def test_other_strings_and_words_are_no_faults():
    assert faults_in('"""Whatever counts."""\nX = "What?"\n"""Number of rows."""', "a.py") == []
