"""Simulated samples, files, and results compared with truth."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _pyzfinder
from ._config import Detector
from ._errors import ConfigError, InputError
from ._optional import require
from ._results import Results
from ._spacepoints import Spacepoints, _array, _columns_of, _ids

log = logging.getLogger("pyzfinder")


class Truth:
    """True vertices of RoIs in flat columns.

    RoI i has the vertices from ``offsets[i]`` up to ``offsets[i + 1]``.

    Parameters
    ----------
    offsets : array-like of int
        Offsets of the RoIs.
    z_mm : array-like of float
        z of each vertex [mm].
    is_hard_scatter : array-like of bool
        Whether a vertex is the hard scatter of its event.
    tracks : array-like of int, optional
        Number of charged particles of each vertex with pT > 500 MeV and abs(eta) < 2.5; -1 where it
        is not known.
    """

    __slots__ = ("is_hard_scatter", "offsets", "tracks", "z_mm")

    def __init__(self, offsets: Any, z_mm: Any, is_hard_scatter: Any, tracks: Any = None) -> None:
        self.offsets = np.require(offsets, np.int64, ["C", "A"])
        self.z_mm = np.require(z_mm, np.float64, ["C", "A"])
        self.is_hard_scatter = np.require(is_hard_scatter, np.bool_, ["C", "A"])
        unknown = np.full(len(self.z_mm), -1)
        self.tracks = np.require(unknown if tracks is None else tracks, np.int64, ["C", "A"])

    @classmethod
    def concatenate(cls, parts: Iterable[Truth]) -> Truth:
        """Join the true vertices of RoIs, in this order."""
        parts = list(parts)
        counts = [np.diff(part.offsets) for part in parts]
        ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), *counts]))
        z_mm = np.concatenate([np.empty(0), *(part.z_mm for part in parts)])
        hard = np.concatenate([np.empty(0, np.bool_), *(part.is_hard_scatter for part in parts)])
        tracks = np.concatenate([np.empty(0, np.int64), *(part.tracks for part in parts)])
        return cls(ends, z_mm, hard, tracks)

    @property
    def hard_scatter_z_mm(self) -> np.ndarray:
        """Position of the hard scatter of each RoI [mm]; NaN where truth has none."""
        z = np.full(len(self), np.nan)
        roi = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        # The first hard scatter of an RoI counts, so that it is written last.
        hard = np.flatnonzero(self.is_hard_scatter)[::-1]
        z[roi[hard]] = self.z_mm[hard]
        return z

    def __len__(self) -> int:
        """Return the number of RoIs."""
        return len(self.offsets) - 1

    def __reduce__(self) -> tuple:
        return Truth, (self.offsets, self.z_mm, self.is_hard_scatter, self.tracks)

    def __repr__(self) -> str:
        return f"<Truth: {len(self.z_mm)} vertices in {len(self)} RoIs>"


class Sample(NamedTuple):
    """A simulated sample."""

    #: Spacepoints of all RoIs.
    spacepoints: Spacepoints
    #: True vertices of the events.
    truth: Truth


def simulate(
    sample: str = "lowlum",
    rois: int | None = None,
    *,
    seed: int = 1,
    detector: str | None = None,
    full_scan: bool = False,
    **knobs: Any,
) -> Sample:
    """Simulate RoIs or whole events with truth, as ``zfinder simulate`` does.

    Parameters
    ----------
    sample : {"lowlum", "highlum"}
        The sample to start from.
    rois : int, optional
        Number of RoIs, one for each event. As many as the sample has by default.
    seed : int
        Seed of all random numbers. Equal options give equal bits.
    detector : {"atlas2010", "generic"}
        The layers. It must be given, as to `Finder`.
    full_scan : bool
        Whole events in place of RoIs: the full circle and no window.
    **knobs
        Other options of the simulation, for example ``pile_up=60``; ``zfinder simulate --help``
        lists them. Lengths are in mm (``beam_sigma_z_mm``).

    Returns
    -------
    Sample
        Spacepoints and truth.

    Examples
    --------
    >>> import pyzfinder
    >>> sample = pyzfinder.simulate(rois=10, detector="atlas2010", pile_up=20)
    >>> len(sample.spacepoints), len(sample.truth)
    (10, 10)
    """
    if detector is None:
        raise ConfigError("no detector is given: give atlas2010 or generic")
    columns, truth = _pyzfinder.simulate(sample, rois, seed, detector, full_scan, knobs)
    return Sample(Spacepoints._of_rust(columns), Truth(**truth))


def _paths(path: Any) -> list[str]:
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    return [os.fspath(one) for one in paths]


def _pairs(columns: Mapping[str, str] | None) -> list[tuple[str, str]]:
    return list((columns or {}).items())


def read_batches(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    rois_per_batch: int = 4096,
    detector: Detector | str | os.PathLike[str] = "generic",
    *,
    rois: str | os.PathLike[str] | None = None,
    on_error: str = "stop",
    max_spacepoints: int | None = None,
    shard: tuple[int, int] = (0, 1),
    tree: str | None = None,
    drop_invalid: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Iterator[Spacepoints]:
    """Read files of spacepoints batch by batch; one event and one batch are in memory at a time.

    Parameters
    ----------
    path : path-like or iterable of path-like
        Files or folders: CSV, Parquet or ROOT, in the formats of ``zfinder find``.
    rois_per_batch : int
        Most RoIs of a batch.
    detector : str, Detector or path-like
        The detector, whose layers the files name.
    rois : path-like, optional
        CSV file of RoIs, as for ``zfinder find --rois``.
    on_error : {"stop", "skip"}
        Whether an error in a file ends the reading, or is logged and skipped.
    max_spacepoints : int, optional
        Most spacepoints of an event.
    shard : tuple of int
        ``(i, n)`` reads the events whose number modulo n is i, as ``zfinder find --shard i/n``.
    tree : str, optional
        Name of the tree or RNTuple of a ROOT file. The only one with spacepoints by default.
    drop_invalid : bool
        Leave out spacepoints without a position or a layer (NaN, null, empty), as of hits without a
        measurement. A warning is logged with their number. They are errors by default.
    columns : mapping of str to str, optional
        Names of columns, branches and fields that differ from those of the formats, as for
        ``zfinder find --columns``: ``{"x": "X", "layer": "lay"}``.

    Yields
    ------
    Spacepoints
        The next RoIs.

    Raises
    ------
    FileError
        If a file cannot be read.
    InputError
        If the content of a file is invalid.
    """
    if rois_per_batch < 1:
        raise InputError(f"rois_per_batch is {rois_per_batch}: 1 or more is expected")
    detector = detector if isinstance(detector, Detector) else Detector(detector)
    rois = None if rois is None else os.fspath(rois)
    reader = _pyzfinder.Reader(
        _paths(path),
        detector.to_toml(),
        rois,
        on_error,
        max_spacepoints,
        shard,
        tree,
        drop_invalid,
        _pairs(columns),
    )
    while True:
        columns = reader.next(rois_per_batch)
        for warning in reader.take_warnings():
            log.warning("%s", warning)
        if columns is None:
            return
        yield Spacepoints._of_rust(columns)


def read(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    detector: Detector | str | os.PathLike[str] = "generic",
    *,
    rois: str | os.PathLike[str] | None = None,
    on_error: str = "stop",
    max_spacepoints: int | None = None,
    shard: tuple[int, int] = (0, 1),
    tree: str | None = None,
    drop_invalid: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Spacepoints:
    """Read all spacepoints of files into memory.

    Parameters
    ----------
    path, detector, rois, on_error, max_spacepoints, shard, tree, drop_invalid, columns
        As for `read_batches`.

    Returns
    -------
    Spacepoints
        All RoIs.
    """
    everything = (1 << 63) - 1
    batches = read_batches(
        path,
        everything,
        detector,
        rois=rois,
        on_error=on_error,
        max_spacepoints=max_spacepoints,
        shard=shard,
        tree=tree,
        drop_invalid=drop_invalid,
        columns=columns,
    )
    for spacepoints in batches:
        return spacepoints
    return Spacepoints(([], [], []), [], [0])


def read_truth(
    path: str | os.PathLike[str],
    of: Results | Spacepoints,
    tree: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Truth:
    """Read the true vertices of the events of results or spacepoints.

    Parameters
    ----------
    path : path-like
        File of true vertices, as for ``zfinder find --truth``.
    of : Results or Spacepoints
        Which RoIs. An RoI that the file does not have gets no vertex.
    tree : str, optional
        Name of the tree of a ROOT file. The only tree with truth by default.
    columns : mapping of str to str, optional
        Names of columns, as for `read`. A name counts where the file has that column.

    Returns
    -------
    Truth
    """
    table = _pyzfinder.read_truth(os.fspath(path), of.event_id, of.roi_id, tree, _pairs(columns))
    return Truth(**table)


def _truth_of(truth: Any, results: Results) -> Truth:
    if isinstance(truth, Truth):
        return truth
    if isinstance(truth, (str, os.PathLike)):
        return read_truth(truth, results)
    columns = _columns_of(truth, ("event_id", "z_mm", "is_hard_scatter", "tracks"))
    if columns is None or not {"event_id", "z_mm"} <= columns.keys():
        raise InputError(
            "truth needs the columns event_id and z_mm, and optionally is_hard_scatter and tracks"
        )
    event_id = _ids("event_id", _array("event_id", columns["event_id"]))
    z_mm = np.asarray(columns["z_mm"], dtype=np.float64)
    hard = columns.get("is_hard_scatter")
    hard = np.ones(len(z_mm), bool) if hard is None else np.asarray(hard).astype(bool)
    tracks = columns.get("tracks")
    tracks = np.full(len(z_mm), -1) if tracks is None else np.asarray(tracks, np.float64)
    tracks = np.where(np.isfinite(tracks), tracks, -1).astype(np.int64)
    if not len(event_id) == len(z_mm) == len(hard) == len(tracks):
        raise InputError("columns of truth differ in length")
    order = np.argsort(event_id, kind="stable")
    sorted_ids = event_id[order]
    first = np.searchsorted(sorted_ids, results.event_id, "left")
    counts = np.searchsorted(sorted_ids, results.event_id, "right") - first
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts) + np.repeat(first, counts)
    return Truth(offsets, z_mm[order][place], hard[order][place], tracks[order][place])


def evaluate(
    results: Results,
    truth: Any,
    *,
    within_mm: float = 1.0,
    isolation_mm: float = 10.0,
    by: str | None = None,
    bins: int | None = None,
) -> Any:
    """Compare results with the true vertices, as ``zfinder evaluate`` does.

    Parameters
    ----------
    results : Results
        The answers.
    truth : Truth, path-like, mapping or table
        True vertices of the same RoIs; a file; or columns ``event_id``, ``z_mm`` and, optionally,
        ``is_hard_scatter`` and ``tracks`` with an element for each vertex. Figures of lists of all
        vertices need ``tracks``, as `Truth` has them.
    within_mm : float
        A vertex is correct if its distance to the true vertex is below this [mm].
    isolation_mm : float
        A primary is isolated if every other true vertex is further away than this [mm].
    by : {"pile-up", "spacepoints"}, optional
        What the figures are shown against: there is a row for each bin.
    bins : int, optional
        Most bins, of about as many RoIs each.

    Returns
    -------
    pandas.DataFrame
        A row for all RoIs, or with `by` a row for each bin from ``low`` to ``high``. Columns are
        the figures of ``zfinder evaluate``; ``efficiency_first`` is the fraction of RoIs whose
        first vertex is right. The columns ``efficiency_first_low`` and ``efficiency_first_high``
        are the ends of its interval of 68.3 %; other fractions have such columns, too.

    Examples
    --------
    >>> import pyzfinder
    >>> sample = pyzfinder.simulate(rois=50, detector="atlas2010")
    >>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
    >>> figures = pyzfinder.evaluate(finder.find(sample.spacepoints), sample.truth)
    >>> bool(figures["efficiency_first"].iloc[0] > 0.9)
    True
    """
    pd = require("pandas", "pandas")

    truth = _truth_of(truth, results)
    if len(truth) != len(results):
        raise InputError(f"truth of {len(truth)} RoIs for results of {len(results)}")
    rows, without_truth = _pyzfinder.evaluate(
        results._columns,
        truth.offsets,
        truth.z_mm,
        truth.is_hard_scatter,
        truth.tracks,
        float(within_mm),
        float(isolation_mm),
        by,
        bins,
    )
    if without_truth:
        log.warning(
            "%d RoIs have no primary vertex in the truth and are not counted", without_truth
        )
    if by is None:
        return pd.DataFrame(rows[:1], index=["all"])
    frame = pd.DataFrame(rows[1:])
    first = [name for name in ("low", "high") if name in frame]
    return frame[first + [name for name in frame if name not in first]]
