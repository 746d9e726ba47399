"""examples/census.ipynb runs from top to bottom in a kernel of its own, and is kept without outputs."""

import json

import pytest
from pages import ROOT

PATH = ROOT / "examples" / "census.ipynb"


def code_cells():
    return [cell for cell in json.loads(PATH.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_it_is_kept_without_outputs():
    assert len(code_cells()) > 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code_cells())


@pytest.mark.slow  # scripts/docs runs it
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what runs the kernel
def test_it_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'fairprobe[docs]'")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install 'fairprobe[docs]'")
    import nbformat

    notebook = nbformat.read(PATH, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    assert (tmp_path / "report.html").stat().st_size > 50_000
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 5
    assert "violated" in str(shown[-1])
