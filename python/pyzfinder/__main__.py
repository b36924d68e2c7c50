"""The command ``zfinder``; also ``python -m pyzfinder``."""

import os
import sys


def main() -> int:
    """Run the command with the arguments of the process and return the exit code."""
    from . import _pyzfinder

    # Without this variable the command would restart its process, which is Python here.
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if sys.platform == "linux" and not os.path.isabs(runtime):
        os.environ["XDG_RUNTIME_DIR"] = "/nonexistent"
    return _pyzfinder.command(["zfinder", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
