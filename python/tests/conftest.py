"""Data and finders that the tests share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyzfinder

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"


def zfinder(*arguments, **options):
    """Run the command: the one that cargo built, else the one of the wheel."""
    command = os.environ.get("ZFINDER_COMMAND") or shutil.which(
        "zfinder", path=Path(sys.executable).parent
    )
    command = [command] if command else [sys.executable, "-m", "pyzfinder"]
    arguments = [str(argument) for argument in arguments]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=120, **options
    )


@pytest.fixture(scope="session")
def finder():
    return pyzfinder.Finder("default", "atlas2010", engine="cpu")


@pytest.fixture(scope="session")
def sample():
    return pyzfinder.simulate(rois=60, detector="atlas2010")
