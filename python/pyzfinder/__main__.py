"""The command ``zfinder``; also ``python -m pyzfinder``."""

import sys


def main() -> int:
    """Run the command with the arguments of the process and return the exit code."""
    from . import _pyzfinder
    from ._config import quiet_drivers

    # Without the variable that this sets, the command would restart its process, which is Python.
    with quiet_drivers():
        return _pyzfinder.command(["zfinder", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
