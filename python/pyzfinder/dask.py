"""Finders on many machines, through Dask.

Functions for `dask.bag` and `dask.delayed`, and for `dask_awkward`. A finder travels to the workers
as its options; each worker process opens it once and keeps it.

Engines of workers
------------------
A finder without ``adapter`` takes the GPU of its worker process: the adapter that the environment
variable ``ZFINDER_ADAPTER`` names, else the NVIDIA GPU whose index comes first in
``CUDA_VISIBLE_DEVICES``, which dask-cuda sets. A finder without ``threads`` uses as many threads as
its worker has.

Examples
--------
>>> import dask, pyzfinder, pyzfinder.dask
>>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
>>> parts = list(pyzfinder.simulate(rois=30, detector="atlas2010").spacepoints.partitions(10))
>>> import dask.bag
>>> bag = pyzfinder.dask.find_bag(dask.bag.from_sequence(parts, npartitions=3), finder)
>>> with dask.config.set(scheduler="synchronous"):
...     pyzfinder.Results.concatenate(bag.compute())
<Results: 37 vertices in 30 RoIs>
"""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from . import _spacepoints
from ._config import Detector, adapters
from ._errors import ConfigError, FileError
from ._finder import Finder
from ._optional import require
from ._results import Results
from ._spacepoints import Spacepoints
from ._study import Truth, evaluate, read, read_truth

__all__ = [
    "evaluate_files",
    "find_awkward",
    "find_bag",
    "find_files",
    "partition_files",
    "read_files",
    "worker_finder",
]

_NVIDIA = 0x10DE
_finders: dict[Finder, Finder] = {}
_lock = threading.Lock()


def worker_finder(finder: Finder) -> Finder:
    """Return the open finder of this worker process with these options.

    Parameters
    ----------
    finder : Finder
        The options.

    Returns
    -------
    Finder
        The same object for equal options, in each process.
    """
    with _lock:
        if finder not in _finders:
            _finders[finder] = _of_worker(finder).open()
        return _finders[finder]


def _of_worker(finder: Finder) -> Finder:
    adapter, threads = finder.adapters, finder.threads
    if not adapter and finder.engine in ("auto", "gpu"):
        adapter = _adapter_of_worker()
    if threads is None and finder.engine in ("auto", "cpu") and not adapter:
        threads = _threads_of_worker()
    return finder.replace(adapter=list(adapter) or None, threads=threads)


def _adapter_of_worker() -> tuple[str, ...]:
    """Return the GPU of this worker; empty if nothing names a GPU."""
    named = os.environ.get("ZFINDER_ADAPTER", "")
    if named:
        return (named,)
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if not first:
        return ()
    if not first.isdigit():
        raise ConfigError(
            f"CUDA_VISIBLE_DEVICES names {first}: set ZFINDER_ADAPTER to the worker's GPU"
        )
    hardware = [a for a in adapters() if a["vendor"] == _NVIDIA and a["kind"] != "software"]
    if int(first) >= len(hardware):
        raise ConfigError(f"CUDA_VISIBLE_DEVICES names GPU {first} of {len(hardware)}")
    return (str(hardware[int(first)]["index"]),)


def _threads_of_worker() -> int | None:
    try:
        from distributed import get_worker

        return get_worker().state.nthreads
    except (ImportError, ValueError):  # not in a worker
        return None


def _find(table: Any, finder: Finder) -> Results:
    return worker_finder(finder).find(table)


def find_bag(bag: Any, finder: Finder) -> Any:
    """Find the vertices of a bag of tables.

    Parameters
    ----------
    bag : dask.bag.Bag
        Each element is a table as for `Finder.find`.
    finder : Finder
        The options.

    Returns
    -------
    dask.bag.Bag
        A bag of `Results`, in the order of the tables.
    """
    return bag.map(_find, finder=finder)


def _find_awkward(array: Any, finder: Finder) -> Any:
    ak = require("awkward", "awkward")

    if ak.backend(array) != "typetracer":
        return _find(array, finder).to_awkward()
    # A graph is being built: the fields that the search reads are touched, and the type of the
    # answer is known without a search.
    event = _spacepoints.event_column(array.fields)
    for name in array.fields:
        if name in (*_spacepoints._WANTED, event):
            ak.typetracer.touch_data(array[name])
    layout = ak.to_layout(Results.concatenate([]).to_awkward())
    return ak.Array(layout.to_typetracer(forget_length=True))


def find_awkward(array: Any, finder: Finder) -> Any:
    """Find the vertices of the events of an awkward array, lazy or not.

    Parameters
    ----------
    array : dask_awkward.Array or awkward.Array
        A record for each RoI with lists of coordinates and layers, as for `Finder.find`.
    finder : Finder
        The options.

    Returns
    -------
    dask_awkward.Array or awkward.Array
        The records of `Results.to_awkward`. Of a lazy array only the fields that the search needs
        are read.
    """
    ak = require("awkward", "awkward")

    if isinstance(array, ak.Array):
        return _find_awkward(array, finder)
    return array.map_partitions(_find_awkward, finder, label="find-vertices")


def _size(size: int | str) -> int:
    if isinstance(size, str):
        from dask.utils import parse_bytes

        return parse_bytes(size)
    return int(size)


def partition_files(
    pattern: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    partition_bytes: int | str = "256 MiB",
) -> list[list[str]]:
    """Group files into partitions.

    Parameters
    ----------
    pattern : path-like or iterable of path-like
        Files, folders or globs. The files of an event must be in one partition.
    partition_bytes : int or str
        Most bytes of a partition; a larger file has a partition of its own.

    Returns
    -------
    list of list of str
        Paths, sorted.

    Raises
    ------
    FileError
        If a pattern matches nothing.
    """
    patterns = [pattern] if isinstance(pattern, (str, os.PathLike)) else pattern
    paths: set[str] = set()
    for one in map(os.fspath, patterns):
        found = [os.path.join(one, name) for name in os.listdir(one)] if os.path.isdir(one) else []
        # Files of truth and of RoIs lie beside the spacepoints.
        found = [path for path in found if os.path.basename(path) not in _BESIDE]
        found = found or sorted(glob.glob(one))
        if not found:
            raise FileError(f"no file matches {one}")
        paths.update(path for path in found if os.path.isfile(path))
    most, partitions, size = _size(partition_bytes), [], 0
    for path in sorted(paths):
        bytes_of_path = os.path.getsize(path)
        if not partitions or size + bytes_of_path > most:
            partitions.append([])
            size = 0
        partitions[-1].append(path)
        size += bytes_of_path
    return partitions


_BESIDE = ("truth_vertices.csv", "rois.csv")


def _partitions(
    pattern: Any, partition_bytes: int | str, shards: int
) -> list[tuple[list[str], tuple]]:
    if shards < 1:
        raise ConfigError(f"option `shards`: {shards} must be 1 or more")
    return [
        (paths, (shard, shards))
        for paths in partition_files(pattern, partition_bytes)
        for shard in range(shards)
    ]


def read_files(
    pattern: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    detector: Detector | str | os.PathLike[str] = "generic",
    *,
    partition_bytes: int | str = "256 MiB",
    shards: int = 1,
    reading: Mapping[str, Any] | None = None,
) -> Any:
    """Read files of spacepoints in the workers.

    Parameters
    ----------
    pattern, partition_bytes
        As for `partition_files`.
    detector
        As for `pyzfinder.read`.
    shards : int
        Parts of each partition, by event number. Each part reads all files of the partition.
    reading : mapping, optional
        Other arguments of `pyzfinder.read`: ``{"rois": path, "drop_invalid": True}``.

    Returns
    -------
    dask.bag.Bag
        A bag of `Spacepoints`, one for each part.
    """
    dask_bag = require("dask.bag", "dask")

    detector = detector if isinstance(detector, Detector) else Detector(detector)
    parts = _partitions(pattern, partition_bytes, shards)
    bag = dask_bag.from_sequence(parts, npartitions=len(parts))
    return bag.map(_read, detector=detector, reading=reading)


def _read(part: tuple, detector: Detector, reading: Mapping[str, Any] | None) -> Spacepoints:
    paths, shard = part
    return read(paths, detector, shard=shard, **(reading or {}))


def _find_part(
    part: tuple, finder: Finder, reading: Mapping[str, Any] | None, output: str | None
) -> Any:
    number, paths, shard = part
    results = _find(_read((paths, shard), finder.detector, reading), finder)
    if output is None:
        return results
    path = os.path.join(output, f"part-{number:05}.parquet")
    # The file is renamed when it is complete: a task that runs again replaces its own part.
    results.to_parquet(path)
    return path


def find_files(
    pattern: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    finder: Finder,
    *,
    output: str | os.PathLike[str] | None = None,
    partition_bytes: int | str = "256 MiB",
    shards: int = 1,
    reading: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Find the vertices of files of spacepoints, a task for each part.

    Parameters
    ----------
    pattern, partition_bytes, shards, reading
        As for `read_files`.
    finder : Finder
        The options.
    output : path-like, optional
        Folder of the results, which all workers can write. A task writes
        ``part-00000.parquet`` with the columns of ``zfinder find -o FILE.parquet``.

    Returns
    -------
    list of dask.delayed.Delayed
        The `Results` of each part, or the path of its file.
    """
    dask = require("dask", "dask")

    if output is not None:
        output = os.fspath(output)
        os.makedirs(output, exist_ok=True)
    parts = _partitions(pattern, partition_bytes, shards)
    task = dask.delayed(_find_part, pure=True)
    return [
        task((number, paths, shard), finder, reading, output)
        for number, (paths, shard) in enumerate(parts)
    ]


def _with_truth(
    part: tuple, finder: Finder, reading: Mapping[str, Any] | None, truth: str
) -> tuple[Results, Truth]:
    results = _find_part(part, finder, reading, None)
    names = {key: value for key, value in (reading or {}).items() if key in ("tree", "columns")}
    return results, read_truth(truth, results, **names)


def _merged(parts: list[tuple[Results, Truth]], options: dict[str, Any]) -> Any:
    results = Results.concatenate(results for results, _ in parts)
    return evaluate(results, Truth.concatenate(truth for _, truth in parts), **options)


def evaluate_files(
    pattern: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    truth: str | os.PathLike[str],
    finder: Finder,
    *,
    partition_bytes: int | str = "256 MiB",
    shards: int = 1,
    reading: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Find the vertices of files of spacepoints and compare all of them with truth.

    Parameters
    ----------
    pattern, partition_bytes, shards, reading
        As for `read_files`.
    truth : path-like
        File of true vertices, which all workers can read.
    finder : Finder
        The options.
    **options
        As for `pyzfinder.evaluate`.

    Returns
    -------
    dask.delayed.Delayed
        The DataFrame of `pyzfinder.evaluate`, of the events of all parts together.
    """
    dask = require("dask", "dask")

    task = dask.delayed(_with_truth, pure=True)
    parts = [
        task((number, paths, shard), finder, reading, os.fspath(truth))
        for number, (paths, shard) in enumerate(_partitions(pattern, partition_bytes, shards))
    ]
    return dask.delayed(_merged)(parts, options)
