"""Examples run: the quick start, those of the documentation and those of docstrings."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

import deepgp

HERE = Path(__file__).parent.parent


def page(name: str) -> Path:
    """A page of the documentation, from the sources or beside the tests."""
    beside = HERE / "docs" / name
    return beside if beside.exists() else HERE.parent / "docs" / name


def test_the_quick_start_runs(capsys):
    runpy.run_path(str(HERE / "quickstart.py"))
    assert "95 % intervals" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_the_documentation_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", page("PYTHON.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    exec(compile("\n".join(blocks), "PYTHON.md", "exec"), {})


@pytest.mark.filterwarnings("ignore")
def test_docstrings_run():
    from deepgp import distributions, estimators

    for module in (deepgp, distributions, estimators):
        failed, tried = doctest.testmod(module)
        assert tried >= 4 and failed == 0, module


def test_the_api_page_is_that_of_the_docstrings():
    pytest.importorskip("sklearn")
    described = runpy.run_path(str(HERE / "api.py"))["page"]()
    assert described == page("PYTHON_API.md").read_text(encoding="utf-8"), "python api.py > ../docs/PYTHON_API.md"
