"""Data and domains that cannot be used: exit code 2, the rule, the value got, no traceback."""

import gzip

import pytest


@pytest.fixture
def on_data(fairprobe, folder):
    """Searches rows written to a file."""

    def run(content: bytes | str, *arguments: object, name: str = "given.csv", sensitive: str = "sex"):
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return fairprobe(
            "search", "--model", "toys:flips", "--data", name, "--sensitive", sensitive, "--max-judged", 500, *arguments
        )

    return run


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["empty file"]),
        ("age,sex\n", ["only a header: age, sex"]),
        ("age,sex\n20,0\n30\n", ["must have 2 values", "got 1 on line 3"]),
        ("age,sex\n20,0\n30,1,5\n", ["must have 2 values", "got 3 on line 3"]),
        ('age,sex\n20,0\n"30\n,1"\n40,"1\n', ["got 1 on line 3"]),
        ("age,sex,age\n20,0,1\n", ["distinct names", "age"]),
        ("age;sex\n20;0\n", ["commas", "'age;sex'"]),
        (b"\x89PNG\r\n\x1a\n\0\0\0", ["UTF-8", "0x89"]),
        ("age,sex\n20,0\n".encode("utf-16-le"), ["UTF-8", "UTF-16", "zero byte on line 1"]),
        (b"age,sex\n" + b"20,0\n" * 20_000 + b"3\0,1\n", ["zero byte on line 20,002"]),
        (",age,sex\n0,20,0\n1,30,1\n", ["every column must have a name", "Unnamed: 0"]),
        ("age,sex\n20,0\n30,0\n", ["two values at least, got one for 'sex'"]),
        ("age,sex\n,0\n,1\n", ["'age'", "only missing"]),
        ("age,sex\ninf,0\n1,1\n", ["'age'", "finite", "infinite"]),
    ],
)
def test_bad_csv(on_data, content, parts):
    on_data(content).refuses(*parts)


@pytest.mark.parametrize(
    ("name", "parts"),
    [("given.parquet", ["Parquet"]), ("given.csv.gz", ["gzip"]), ("given.xlsx", [".csv", ".parquet", "given.xlsx"])],
)
def test_content_that_is_not_what_the_name_says(on_data, name, parts):
    on_data("age,sex\n20,0\n30,1\n", name=name).refuses(*parts)
    if name.endswith(".gz"):
        on_data(gzip.compress(b"age,sex\n" + b"20,0\n30,1\n" * 100)[:-12], name=name).refuses(*parts)


@pytest.mark.parametrize(
    ("data", "got"), [("shelf.csv", "Is a directory: shelf.csv"), ("none.csv", "No such file"), (".", "got '.'")]
)
def test_folder_and_absent_file(fairprobe, folder, data, got):
    (folder / "shelf.csv").mkdir()
    fairprobe("search", "--model", "toys:flips", "--data", data, "--sensitive", "sex").refuses(got)


@pytest.mark.parametrize("arguments", [["--label", "wage"], ["--ignore", "wage"], ["--ignore", "pay,wage"]])
def test_columns_left_out_must_be_there(fairprobe, arguments):
    command = ["search", "--model", "toys:flips", "--data", "rows.csv", "--sensitive", "sex"]
    fairprobe(*command, *arguments).refuses(f"{arguments[0]} must be one of", "age, sex, pay, income", "'wage'")


def test_missing_markers_are_for_csv(fairprobe, folder):
    import pandas as pd

    pd.DataFrame({"age": [20, 30], "sex": [0, 1]}).to_parquet(folder / "rows.parquet")
    command = ["search", "--model", "toys:flips", "--data", "rows.parquet", "--sensitive", "sex"]
    fairprobe(*command, "--missing", "?").refuses("--missing", "'?'")


def test_columns_of_the_domain_and_of_the_data_differ(search):
    search("--data", "rows.csv").refuses("--ignore", "income")
    search("--data", "rows.csv", "--label", "income", "--ignore", "pay").refuses("every parameter", "pay")


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("none.toml", ["readable", "none.toml"]),
        (".", ["readable", "."]),
        ("toys:number", ["fairprobe.Domain", "int: 5"]),
        ("toys:FailsLater", ["fairprobe.Domain"]),
        ("toys:flips", ["must give a Domain", "TypeError"]),
        ("toys:plan", ["without 'plan'"]),
    ],
)
def test_domain_that_is_none(search, reference, parts):
    search(domain=reference).refuses(*parts)


def test_constraint_that_leaves_nothing(search, folder):
    (folder / "strict.py").write_text(
        "import fairprobe as fp\n"
        "domain = fp.Domain([fp.Integer('age', 0, 99), fp.Integer('sex', 0, 1), fp.Integer('pay', 0, 10**7)],\n"
        "                   sensitive=['sex'], constraints=[lambda frame: frame['age'] > 200])\n"
    )
    search(domain="strict:domain").refuses("constraints must allow", "got 0 allowed of")
