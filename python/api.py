"""Writes docs/PYTHON_API.md: every public class and function of the package with its signature and docstring.

`python api.py` prints the page; a test compares it with the file.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from types import ModuleType
from typing import Any

import deepgp
from deepgp import distributions, errors, estimators, plots, reports

#: What is described, in this order.
PARTS: list[tuple[ModuleType, list[str]]] = [
    (estimators, ["DeepGPRegressor", "DeepGPClassifier", "load"]),
    (distributions, ["PredictiveDistribution"]),
    (reports, ["Report"]),
    (plots, plots.__all__),
    (errors, [name for name, value in vars(errors).items() if isinstance(value, type)]),
]

HEAD = """\
# Python API

Generated from the docstrings of the package by `python/api.py`; how to use it is told in [PYTHON.md](PYTHON.md).
"""


def signature(value: Any) -> str:
    """The arguments, without types, which stand in the sources."""
    found = inspect.signature(value)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in found.parameters.items()
        if name not in ("self", "cls")
    ]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r"\s+", " ", text)


def block(code: str) -> str:
    """Code between fences, in lines of at most 120 columns."""
    lines = textwrap.wrap(code, 116, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "```text\n" + "\n".join(lines) + "\n```\n"


def words(value: Any) -> str:
    """A docstring; sections that are underlined become lists."""
    text = inspect.getdoc(value) or ""
    text = re.sub(r"^(\w+)\n-{3,}$", r"**\1**\n", text, flags=re.MULTILINE)
    # An entry is a name and its type, then words that stand further in.
    text = re.sub(r"^(\S[^\n]*? : [^\n]*)\n((?:    [^\n]*\n?)+)", _entry, text, flags=re.MULTILINE)
    text = re.sub(
        r"((?:^>>> .*\n(?:^(?!>>>|$).*\n?)*)+)",
        lambda m: f"```python\n{m[0].rstrip()}\n```\n",
        text,
        flags=re.MULTILINE,
    )
    return text.strip() + "\n"


def _entry(found: re.Match[str]) -> str:
    said = " ".join(line.strip() for line in found[2].strip().split("\n"))
    line = f"`{found[1].strip()}`: {said}"
    return textwrap.fill(line, 120, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False) + "\n"


def described(name: str, value: Any) -> str:
    """A class with its methods, or a function."""
    if isinstance(value, type) and issubclass(value, (Exception, Warning)):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        return f"- `{name}({bases})`: {inspect.getdoc(value)}\n"
    text = f"\n## {name}\n\n{block(name + signature(value))}\n{words(value)}"
    if not isinstance(value, type):
        return text
    for method_name, method in inspect.getmembers(value):
        is_ours = getattr(inspect.unwrap(method) if callable(method) else method, "__module__", "")
        if method_name.startswith("_") or not callable(method) or not str(is_ours).startswith("deepgp."):
            continue
        text += f"\n### {name}.{method_name}\n\n{block(method_name + signature(method))}\n{words(method)}"
    return text


def page() -> str:
    """The whole page."""
    text = HEAD
    for module, names in PARTS:
        if module is errors:
            text += "\n## Exceptions and warnings\n\n"
        text += "".join(described(name, getattr(module, name)) for name in names)
    return text


if __name__ == "__main__":
    print(page(), end="")
    assert set(deepgp.__all__) - {"__version__"} <= {name for _, names in PARTS for name in names}
