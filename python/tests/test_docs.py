"""Examples run: the quick start, those of the documentation and those of docstrings."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

import deepgp

HERE = Path(__file__).parent.parent


def test_the_quick_start_runs(capsys):
    runpy.run_path(str(HERE / "quickstart.py"))
    assert "95 % intervals" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_the_documentation_runs(capsys):
    for folder in (HERE, HERE.parent):
        page = folder / "docs" / "PYTHON.md"
        if page.exists():
            break
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    exec(compile("\n".join(blocks), "PYTHON.md", "exec"), {})


def test_docstrings_run():
    failed, tried = doctest.testmod(deepgp)
    assert tried >= 4 and failed == 0
