"""Answers: vertices of many RoIs in flat columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ._html import table
from ._optional import require
from ._pyzfinder import ResultColumns, export_results, statuses

#: Names of the codes in `Results.status_code`.
STATUSES = tuple(statuses())

#: Most rows of the table that a notebook shows.
_ROWS = 10

#: Columns of the covariance in files and frames.
_COVARIANCES = tuple(f"cov_{axes}_mm2" for axes in ("xx", "xy", "xz", "yy", "yz", "zz"))

_OF_ROIS = ("event_id", "roi_id", "status_code", "spacepoints", "outside_window", "fallback")
_OF_VERTICES = (
    "z_mm",
    "z_error_mm",
    "weight",
    "pairs",
    "rank",
    "significance",
    "background",
    "x_mm",
    "y_mm",
    "covariance_mm2",
    "tracklet_count",
    "sum_pt2_gev2",
)

#: Fields of `Results.tracklets`: parameters about the beam, their covariances, the numbers of the
#: spacepoints in the RoI (the first ``hit_count`` of ``hits``), and the number of the vertex, or -1.
TRACKLET = np.dtype(
    [
        ("z0_mm", np.float64),
        ("cot_theta", np.float64),
        ("phi0", np.float64),
        ("curvature", np.float64),
        ("d0_mm", np.float64),
        ("pt_gev", np.float64),
        ("chi2", np.float64),
        ("z_covariance", np.float64, 3),
        ("bend_covariance", np.float64, 6),
        ("hits", np.uint32, 6),
        ("hit_count", np.uint32),
        ("vertex", np.int32),
    ]
)
_COLUMNS = (*_OF_ROIS, *_OF_VERTICES, "offsets", "tracklets", "tracklet_offsets")


class Vertex(NamedTuple):
    """A vertex candidate on the beam line."""

    #: Position along the beam [mm].
    z_mm: float
    #: Standard error of the position [mm].
    z_error_mm: float
    #: Entries in the three bins of the peak, or their weights.
    weight: float
    #: Pairs in the three bins of the peak.
    pairs: int
    #: The order of the vertices: the weight, or the rank by transverse momentum.
    rank: float
    #: Standard deviations above the background; NaN without a background.
    significance: float
    #: Entries of three bins without a vertex; NaN without a background.
    background: float
    #: x and y [mm], and the covariance xx, xy, xz, yy, yz, zz [mm^2]; None without tracklets.
    x_mm: float | None
    y_mm: float | None
    covariance_mm2: list[float] | None
    #: Number of its tracklets, and the sum of their squared transverse momenta [GeV^2].
    tracklet_count: int
    sum_pt2_gev2: float


def _known(vertex: Vertex) -> Vertex:
    """Return the vertex without numbers that only tracklets give, if there are none."""
    if vertex.x_mm == vertex.x_mm:
        return vertex
    return vertex._replace(x_mm=None, y_mm=None, covariance_mm2=None)


class RoiResult(NamedTuple):
    """The answer for one RoI."""

    #: Event number.
    event_id: int
    #: Number of the RoI within the event.
    roi_id: int
    #: The status of the search: one of `STATUSES`.
    status: str
    #: Spacepoints that took part.
    spacepoints: int
    #: Spacepoints outside the phi window or beyond the last layer.
    outside_window: int
    #: Whether the second search made the answer (``fallback``).
    fallback: bool
    #: Vertices, the highest peak first. Vertices with a significance of 0 or below come last.
    vertices: list[Vertex]


class Results:
    """The answers for many RoIs, in the order of the RoIs.

    Columns with an element for each RoI: ``event_id``, ``roi_id``, ``status_code``,
    ``spacepoints``, ``outside_window``, ``fallback``. Columns with an element for each vertex:
    ``z_mm``, ``z_error_mm``, ``weight``, ``pairs``, ``rank``, ``significance``, ``background``,
    ``x_mm``, ``y_mm``, ``covariance_mm2`` (six numbers each), ``tracklet_count``, ``sum_pt2_gev2``.
    RoI i has the vertices from ``offsets[i]`` up to ``offsets[i + 1]``, the best one first.
    ``tracklets`` is a structured array of `TRACKLET` with an element for each tracklet; RoI i has
    those from ``tracklet_offsets[i]`` up to ``tracklet_offsets[i + 1]``.

    Columns are read-only arrays that borrow the memory of the search; a slice borrows it, too.
    ``column.copy()`` can be written to.

    Examples
    --------
    >>> import pyzfinder
    >>> sample = pyzfinder.simulate(rois=20, detector="atlas2010")
    >>> finder = pyzfinder.Finder("auto", "atlas2010", engine="cpu")
    >>> results = finder.find(sample.spacepoints)
    >>> len(results), results[0].status
    (20, 'ok')
    >>> results.first_z_mm.shape
    (20,)
    """

    __slots__ = ("_arrays", "_columns")

    event_id: np.ndarray
    roi_id: np.ndarray
    status_code: np.ndarray
    spacepoints: np.ndarray
    outside_window: np.ndarray
    fallback: np.ndarray
    offsets: np.ndarray
    z_mm: np.ndarray
    z_error_mm: np.ndarray
    weight: np.ndarray
    pairs: np.ndarray
    rank: np.ndarray
    significance: np.ndarray
    background: np.ndarray
    x_mm: np.ndarray
    y_mm: np.ndarray
    covariance_mm2: np.ndarray
    tracklet_count: np.ndarray
    sum_pt2_gev2: np.ndarray
    tracklets: np.ndarray
    tracklet_offsets: np.ndarray

    def __init__(self, columns: ResultColumns | Mapping[str, np.ndarray]) -> None:
        if not isinstance(columns, ResultColumns):
            flat = dict(columns)
            flat["covariance_mm2"] = np.ascontiguousarray(flat["covariance_mm2"]).ravel()
            flat["tracklets"] = np.ascontiguousarray(flat["tracklets"]).view(np.uint8)
            columns = ResultColumns(flat)
        self._columns = columns
        #: The columns that were read.
        self._arrays: dict[str, np.ndarray] = {}

    @classmethod
    def concatenate(cls, parts: Iterable[Results]) -> Results:
        """Join results, in this order.

        Parameters
        ----------
        parts : iterable of Results
            The parts.

        Returns
        -------
        Results
        """
        parts = list(parts)
        if len(parts) == 1:
            return parts[0]
        return cls(ResultColumns.concatenate([part._columns for part in parts]))

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        array = self._arrays.get(name)
        if array is None:
            array = self._columns.array(name)
            if array is None:
                raise AttributeError(f"results have no column {name}")
            if name == "covariance_mm2":
                array = array.reshape(-1, 6)
            elif name == "tracklets":
                array = array.view(TRACKLET)
            # Another thread may have read the column meanwhile.
            array = self._arrays.setdefault(name, array)
        return array

    def _read_all(self) -> dict[str, np.ndarray]:
        if len(self._arrays) < len(_COLUMNS):
            for name in _COLUMNS:
                getattr(self, name)
        return self._arrays

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_COLUMNS]

    def __len__(self) -> int:
        """Return the number of RoIs."""
        return len(self._columns)

    def __getitem__(self, key: int | slice) -> Any:
        """Return the answer for one RoI, or the results of consecutive RoIs."""
        if isinstance(key, slice):
            first, end, step = key.indices(len(self))
            if step != 1:
                raise IndexError("a slice of results has step 1")
            return Results(self._columns.slice(first, max(first, end)))
        columns = self._read_all()
        try:
            index = range(len(self))[key]
        except IndexError:
            raise IndexError(f"there is no RoI {key}: there are {len(self)}") from None
        low, high = int(self.offsets[index]), int(self.offsets[index + 1])
        vertices = zip(*(columns[name][low:high].tolist() for name in _OF_VERTICES))
        return RoiResult(
            event_id=columns["event_id"][index].item(),
            roi_id=columns["roi_id"][index].item(),
            status=STATUSES[columns["status_code"][index]],
            spacepoints=columns["spacepoints"][index].item(),
            outside_window=columns["outside_window"][index].item(),
            fallback=columns["fallback"][index].item(),
            vertices=[_known(Vertex(*vertex)) for vertex in vertices],
        )

    def __iter__(self) -> Iterator[RoiResult]:
        return (self[index] for index in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Results):
            return NotImplemented
        return all(
            np.array_equal(column, getattr(other, name), equal_nan=column.dtype.kind == "f")
            for name, column in self.to_columns().items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple:
        return Results, (self.to_columns(),)

    def __repr__(self) -> str:
        return f"<Results: {len(self.z_mm)} vertices in {len(self)} RoIs>"

    def _repr_html_(self) -> str:
        def rows() -> Iterator[tuple[Any, ...]]:
            for roi in self:
                for vertex in roi.vertices:
                    numbers = (vertex.z_mm, vertex.z_error_mm, vertex.significance)
                    yield (roi.event_id, *(f"{number:.3f}" for number in numbers), roi.status)
                if not roi.vertices:
                    yield (roi.event_id, "", "", "", roi.status)

        counts = np.bincount(self.status_code, minlength=len(STATUSES)).tolist()
        statuses = [f"{count} {status}" for status, count in zip(STATUSES, counts) if count]
        about = [f"{len(self)} RoIs", f"{len(self.z_mm)} vertices", *statuses]
        heads = ("event", "z [mm]", "error [mm]", "significance", "status")
        left_out = int(np.maximum(np.diff(self.offsets), 1).sum()) - _ROWS
        more = f"<p>{left_out} more rows</p>" if left_out > 0 else ""
        return f"<p>{', '.join(about)}</p>{table(heads, islice(rows(), _ROWS))}{more}"

    @property
    def status(self) -> np.ndarray:
        """The name of the status of each RoI; one of `STATUSES`."""
        return np.array(STATUSES)[self.status_code]

    @property
    def first_z_mm(self) -> np.ndarray:
        """Position of the first vertex of each RoI [mm]; NaN where there is no vertex."""
        z = np.full(len(self), np.nan)
        is_any = self.offsets[1:] > self.offsets[:-1]
        z[is_any] = self.z_mm[self.offsets[:-1][is_any]]
        return z

    @property
    def digest(self) -> str:
        """The SHA-256 of the answers, as ``zfinder find --digest`` prints it.

        Equal answers have equal digests, in any order of the RoIs.
        """
        return self._columns.digest()

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return all columns by name, without a copy."""
        columns = self._read_all()
        return {name: columns[name] for name in _COLUMNS}

    def to_awkward(self) -> Any:
        """Return an awkward array: a record for each RoI, with lists of records.

        The lists are ``vertices`` and, if there are any, ``tracklets``. The array borrows the
        columns. The field ``status`` has words.

        Returns
        -------
        awkward.Array
        """
        ak = require("awkward", "awkward")

        columns = self._read_all()

        def lists(names: Iterable[str], table: Mapping[str, np.ndarray], offsets: np.ndarray) -> Any:
            names = list(names)
            records = ak.contents.RecordArray(
                [ak.contents.NumpyArray(table[name]) for name in names],
                names,
                length=int(offsets[-1]),
            )
            return ak.contents.ListOffsetArray(ak.index.Index64(offsets), records)

        covariances = dict(zip(_COVARIANCES, np.ascontiguousarray(columns["covariance_mm2"].T)))
        of_vertices = {name: columns[name] for name in _OF_VERTICES if name != "covariance_mm2"}
        of_vertices.update(covariances)
        nested = {"vertices": lists(of_vertices, of_vertices, self.offsets)}
        if len(self.tracklets):
            table = {name: np.ascontiguousarray(self.tracklets[name]) for name in TRACKLET.names or ()}
            nested["tracklets"] = lists(TRACKLET.names or (), table, self.tracklet_offsets)
        words = ak.to_layout(ak.Array(list(STATUSES)))
        status = ak.contents.IndexedArray(
            ak.index.Index64(self.status_code.astype(np.int64)),
            words,
            parameters={"__array__": "categorical"},
        )
        contents = [
            status if name == "status_code" else ak.contents.NumpyArray(columns[name])
            for name in _OF_ROIS
        ]
        fields = ["status" if name == "status_code" else name for name in _OF_ROIS]
        record = ak.contents.RecordArray(
            [*contents, *nested.values()], [*fields, *nested], length=len(self)
        )
        return ak.Array(record)

    def to_pandas(self) -> Any:
        """Return a DataFrame with the columns and rows of ``zfinder find --format csv``.

        There is a row for each vertex, and a row for an RoI without a vertex.

        Returns
        -------
        pandas.DataFrame
        """
        pd = require("pandas", "pandas")

        counts = np.diff(self.offsets)
        rows = np.maximum(counts, 1)
        roi = np.repeat(np.arange(len(self)), rows)
        number = np.arange(len(roi)) - np.repeat(np.cumsum(rows) - rows, rows)
        has_vertex = np.repeat(counts > 0, rows)
        place = np.repeat(self.offsets[:-1], rows) + number

        def of_vertices(name: str) -> np.ndarray:
            column = getattr(self, name)
            values = np.full((len(roi), *column.shape[1:]), np.nan)
            values[has_vertex] = column[place[has_vertex]]
            return values

        frame = pd.DataFrame({"event_id": self.event_id[roi], "roi_id": self.roi_id[roi]})
        frame["vertex"] = pd.array(np.where(has_vertex, number, 0), dtype="Int64")
        frame.loc[~has_vertex, "vertex"] = pd.NA
        frame["z_mm"] = of_vertices("z_mm")
        frame["weight"] = of_vertices("weight")
        frame["status"] = self.status[roi]
        for name in ("z_error_mm", "significance", "background", "rank"):
            frame[name] = of_vertices(name)
        frame["fallback"] = self.fallback[roi]
        if np.isnan(self.x_mm).all():
            return frame
        frame["tracklet_count"] = pd.array(np.zeros(len(roi)), dtype="Int64")
        frame.loc[has_vertex, "tracklet_count"] = self.tracklet_count[place[has_vertex]]
        frame.loc[~has_vertex, "tracklet_count"] = pd.NA
        for name in ("x_mm", "y_mm"):
            frame[name] = of_vertices(name)
        for name, values in zip(_COVARIANCES, of_vertices("covariance_mm2").T):
            frame[name] = values
        frame["sum_pt2_gev2"] = of_vertices("sum_pt2_gev2")
        return frame

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file with the columns and rows of ``zfinder find -o FILE.parquet``.

        Parameters
        ----------
        path : path-like
            The file, which appears when it is complete.
        """
        part = f"{os.fspath(path)}.{os.getpid()}.part"
        try:
            self._columns.write_parquet(part)
            os.replace(part, path)
        finally:
            if os.path.exists(part):
                os.remove(part)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the results as a stream of one Arrow record batch, a row for each RoI."""
        return export_results(self._columns)
