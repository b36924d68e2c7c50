"""Primary vertices from tracker spacepoints, on any GPU or on the CPU.

The package wraps the Rust library zfinder for arrays of numpy, awkward and Arrow.

>>> import pyzfinder
>>> sample = pyzfinder.simulate(rois=100, detector="atlas2010")
>>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
>>> results = finder.find(sample.spacepoints)
>>> results
<Results: 124 vertices in 100 RoIs>
"""

from ._config import Config, Detector, adapters, keys, presets
from ._errors import (
    ConfigError,
    EngineError,
    FileError,
    InputError,
    InputTypeError,
    ZFinderError,
)
from ._finder import Finder
from ._histogram import Histogram
from ._pyzfinder import __version__
from ._results import STATUSES, TRACKLET, Results, RoiResult, Vertex
from ._spacepoints import Spacepoints
from ._study import Sample, Truth, evaluate, read, read_batches, read_truth, simulate

__all__ = [
    "STATUSES",
    "TRACKLET",
    "Config",
    "ConfigError",
    "Detector",
    "EngineError",
    "FileError",
    "Finder",
    "Histogram",
    "InputError",
    "InputTypeError",
    "Results",
    "RoiResult",
    "Sample",
    "Spacepoints",
    "Truth",
    "Vertex",
    "ZFinderError",
    "__version__",
    "adapters",
    "evaluate",
    "keys",
    "presets",
    "read",
    "read_batches",
    "read_truth",
    "simulate",
]
