"""Reports: the page of `deepgp report`, to be shown in a notebook or saved."""

from __future__ import annotations

import html
import os
from pathlib import Path


class Report:
    """One HTML page with figures, without scripts or network."""

    def __init__(self, page: str):
        #: The page.
        self.html = page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        # A frame keeps the page's style from that of the notebook.
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="700" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<Report of {len(self.html)} characters; save(path) writes it>"


__all__ = ["Report"]
