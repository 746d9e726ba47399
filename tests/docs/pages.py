"""The pages of the documentation, and how their blocks are run.

All blocks of a page run in their order, in one namespace and one folder, where only the tutorial's `census.py` is:

    ```python                           is executed
    ```sh                               is run by bash, and must exit 0,
    ```sh title="exit code 1"           or as it says
    ```python title="models.py"         is saved under that name; so are toml, yaml and others with a file's name
    ```text title="output"              must be what the block before it printed; "..." stands for anything
    ```text title="output, for example" is what it printed once: it may differ from machine to machine
    ```sh title="install"               is not run: it needs the network;
    ```sh title="in a checkout"         nor is this: but what it calls must be there

`scripts/docs write` writes the outputs anew.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OUTPUT, EXAMPLE = "output", "output, for example"
INSTALL, CHECKOUT = "install", "in a checkout"
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w+)(?: +title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "sh")
ONLY_SHOWN = ("text", "html", "json", "bibtex")
"""Languages of blocks that are neither run nor, without a file's name, saved."""


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


@dataclass
class Block:
    language: str
    title: str
    text: str
    line: int
    span: tuple[int, int] = field(repr=False)
    """Where its text stands in the page."""
    indent: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is to be saved under its title."""
        return "." in self.title and " " not in self.title

    @property
    def exit_code(self) -> int:
        """What a shell's block must exit with."""
        said = re.fullmatch(r"exit code (\d+)", self.title)
        return int(said[1]) if said else 0


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, without their indentation."""
    found = []
    for match in FENCE.finditer(text):
        indent = match["indent"]
        lines = [line.removeprefix(indent) for line in match["text"].splitlines(keepends=True)]
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(match["language"], match["title"] or "", "".join(lines), line, match.span("text"), indent))
    return found


def census() -> str:
    """What the tutorial calls `census.py`."""
    return next(each.text for each in blocks((DOCS / "tutorial.md").read_text(encoding="utf-8")) if each.is_file)


@dataclass
class Ran:
    """A block that was run, what it printed, and the block with the output that the page shows, if it does."""

    block: Block
    printed: str
    shown: Block | None


def run(path: Path, folder: Path) -> Iterator[Ran]:
    """Run the blocks of a page in a folder, one by one. The model of the tutorial, `census.py`, is there already."""
    found = blocks(path.read_text(encoding="utf-8"))
    (folder / "census.py").write_text(census(), encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block, after in zip(found, [*found[1:], None][: len(found)], strict=True):
        if block.is_file:
            target = folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language in RUN and block.title not in (INSTALL, CHECKOUT):
            printed = _python(block, path, namespace) if block.language == "python" else _shell(block, path, folder)
            shown = after if after is not None and after.title in (OUTPUT, EXAMPLE) else None
            yield Ran(block, printed, shown)


def _python(block: Block, path: Path, namespace: dict[str, Any]) -> str:
    # Line numbers of a traceback are those of the page.
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


def _shell(block: Block, path: Path, folder: Path) -> str:
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=folder,
        env=os.environ | {"PATH": beside, "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    where = f"{path.name}, line {block.line}: {block.text.strip()}"
    assert done.returncode == block.exit_code, f"{where}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def is_as_shown(printed: str, shown: str) -> bool:
    """Whether a block printed what its page shows; "..." in the page stands for anything."""
    return doctest.OutputChecker().check_output(_tidy(shown), _tidy(printed), doctest.ELLIPSIS)


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def rewritten(path: Path, folder: Path) -> str:
    """The page with its outputs as they are now; those that hold stay as they are."""
    text, shift = path.read_text(encoding="utf-8"), 0
    for ran in run(path, folder):
        shown = ran.shown
        if shown is None or (shown.title == OUTPUT and is_as_shown(ran.printed, shown.text)):
            continue
        new = "".join(f"{shown.indent}{line}\n" if line else "\n" for line in _tidy(ran.printed).splitlines())
        start, end = (place + shift for place in shown.span)
        text, shift = text[:start] + new + text[end:], shift + len(new) - (end - start)
    return text


if __name__ == "__main__":  # python tests/docs/pages.py [PAGE...]: write their outputs anew
    import tempfile

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for page in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
            sys.path.insert(0, made)
            page.write_text(rewritten(page, Path(made)), encoding="utf-8")
            sys.path.remove(made)
