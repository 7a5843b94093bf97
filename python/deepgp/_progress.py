"""Progress of a fit, by tqdm where it is installed, else by lines on standard error; and the user's callbacks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

Callback = Callable[[dict[str, Any]], object]

#: Seconds between two lines where tqdm is not installed.
_PAUSE = 2.0


class Progress:
    """Tells what happens, and asks callbacks whether to go on."""

    def __init__(self, verbose: int, callbacks: Callback | Iterable[Callback] | None):
        self._verbose = verbose
        self._callbacks = [] if callbacks is None else [callbacks] if callable(callbacks) else list(callbacks)
        self._bar: Any = None
        self._told = time.monotonic()
        #: What the library calls with each event; None if nobody listens.
        self.on_event = self._on_event if verbose or self._callbacks else None

    def _on_event(self, text: str) -> bool:
        event = json.loads(text)
        if self._verbose:
            self._show(event)
        # All are asked, though one is enough.
        return any([bool(callback(event)) for callback in self._callbacks])

    def _write(self, line: str) -> None:
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)

    def _show(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind in ("schema_learnt", "rows_read"):
            for notice in event["notices"]:
                self._write(f"note: {notice}")
        elif kind == "task_chosen":
            # What follows tells options of the command.
            self._write("note: " + event["text"].split("; --")[0])
        elif kind == "started":
            what = "searching" if event["is_search"] else "training"
            self._write(f"{what} on {event['rows']} rows, {event['held_out']} held out")
        elif kind == "tried":
            score = event["mean_log_density"]
            score = "failed" if score is None else f"log density {score:.4g}"
            self._write(f"tried {event['name']}: {score}")
        elif kind == "step":
            self._step(event)
        elif kind == "trained":
            self.close()

    def _step(self, event: dict[str, Any]) -> None:
        if self._bar is None and event["steps"]:
            try:
                from tqdm.auto import tqdm

                self._bar = tqdm(total=event["steps"], unit="step", leave=False)
            except ImportError:
                pass
        score = event["log_density"]
        if self._bar is not None:
            self._bar.update(event["step"] - self._bar.n)
            if score is not None:
                self._bar.set_postfix_str(f"held-out log density {score:.4g}")
        elif time.monotonic() - self._told > _PAUSE:
            self._told = time.monotonic()
            held_out = "" if score is None else f", held-out log density {score:.4g}"
            self._write(f"step {event['step']} ({100 * event['share']:.0f} %){held_out}")

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
