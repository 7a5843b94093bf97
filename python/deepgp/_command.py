"""The command `deepgp`, the same program as the one that is built without Python."""

from __future__ import annotations

import signal
import sys

from ._deepgp import run_command


def main() -> int:
    """Runs the command with the arguments of the process and returns its exit code."""
    # The command listens for Ctrl-C itself, and saves its work then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run_command(["deepgp", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
