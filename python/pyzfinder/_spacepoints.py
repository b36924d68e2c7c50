"""Columns of spacepoints, and how arrays of users become such columns."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _pyzfinder
from ._config import Detector
from ._errors import InputError, InputTypeError
from ._optional import require

_IDS = ("event_id", "roi_id")
_NUMBERS = ("phi_min", "phi_max", "eta", "z_min", "z_max")
_ROI_COLUMNS = _IDS + _NUMBERS
_GEOMETRY = ("geometry_id", "volume_id", "layer_id")
_COORDINATES = ("rho", "phi", "x", "y", "z")
_WANTED = (*_COORDINATES, "layer", *_GEOMETRY, *_ROI_COLUMNS)
_NO_LAYER = 255
# Kinds of devices of DLPack: the CPU, and host memory that CUDA and ROCm have pinned.
_HOST_MEMORY = (1, 3, 11)
# numpy has one object for each of these types.
_DOUBLE, _SINGLE, _BYTE = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.uint8)


class Spacepoints:
    """Spacepoints of many RoIs in flat columns.

    Parameters
    ----------
    columns : tuple of array-like
        rho [mm], phi [rad] and z [mm], or x, y and z [mm], of each spacepoint.
    layer : array-like of int
        Index of the detector layer of each spacepoint.
    offsets : array-like of int, optional
        RoI i has the spacepoints from ``offsets[i]`` up to ``offsets[i + 1]``. One RoI by default.
    rois : mapping or table, optional
        Columns with one element for each RoI: ``event_id``, ``roi_id``, ``phi_min``, ``phi_max``
        [rad], ``eta``, ``z_min``, ``z_max`` [mm]. All are optional. NaN stands for no window.
    is_cartesian : bool
        Whether the columns are x, y and z.

    Raises
    ------
    InputError
        If a column is not one-dimensional, has masked elements, or if lengths differ.
    InputTypeError
        If a column has another type than numbers.

    Notes
    -----
    Contiguous columns of float32 or float64, of one type, and layers of uint8 are borrowed. Other
    columns are converted, which copies them once.
    """

    __slots__ = ("columns", "is_cartesian", "layer", "offsets", "rois")

    def __init__(
        self,
        columns: tuple[Any, Any, Any],
        layer: Any,
        offsets: Any = None,
        rois: Any = None,
        *,
        is_cartesian: bool = False,
    ) -> None:
        if offsets is None and rois is None and _can_be_borrowed(columns, layer):
            self.is_cartesian, self.columns, self.layer = is_cartesian, tuple(columns), layer
            self.offsets, self.rois = np.array([0, len(layer)], dtype=np.int64), {}
            return
        names = ("x", "y", "z") if is_cartesian else ("rho", "phi", "z")
        if offsets is None:
            _refuse_event_index({**dict(zip(names, columns)), "layer": layer})
        self.is_cartesian = is_cartesian
        #: The three columns of coordinates.
        self.columns = _coordinates(names, columns)
        #: Index of the layer of each spacepoint.
        self.layer = _integers("layer", layer)
        for name, column in zip(names, self.columns):
            if len(column) != len(self.layer):
                raise InputError(
                    f"{name} has {len(column)} elements and layer has {len(self.layer)}"
                )
        #: Offsets of the RoIs, int64, one more than there are RoIs.
        self.offsets = _offsets(offsets, len(self.layer))
        #: Columns with one element for each RoI.
        self.rois = _rois(rois, len(self))

    @classmethod
    def _of_rust(cls, columns: dict[str, Any]) -> Spacepoints:
        new = cls.__new__(cls)
        new.is_cartesian = False
        new.columns = (columns["rho"], columns["phi"], columns["z"])
        new.layer, new.offsets, new.rois = columns["layer"], columns["offsets"], columns["rois"]
        return new

    def __len__(self) -> int:
        """Return the number of RoIs."""
        return max(len(self.offsets) - 1, 0)

    def __getitem__(self, key: slice) -> Spacepoints:
        """Return consecutive RoIs; the columns of spacepoints are views."""
        first, end, step = key.indices(len(self))
        if step != 1:
            raise IndexError("a slice of RoIs has step 1")
        end = max(first, end)
        low, high = int(self.offsets[first]), int(self.offsets[end])
        new = type(self).__new__(type(self))
        new.is_cartesian = self.is_cartesian
        new.columns = tuple(column[low:high] for column in self.columns)
        new.layer = self.layer[low:high]
        new.offsets = self.offsets[first : end + 1] - low
        new.rois = {name: column[first:end] for name, column in self.rois.items()}
        return new

    def partitions(self, rois: int) -> Iterator[Spacepoints]:
        """Yield parts of at most so many RoIs."""
        for first in range(0, len(self), rois):
            yield self[first : first + rois]

    @property
    def event_id(self) -> np.ndarray:
        """Event number of each RoI; by default the index of the RoI."""
        return self.rois.get("event_id", np.arange(len(self), dtype=np.uint64))

    @property
    def roi_id(self) -> np.ndarray:
        """Number of each RoI within its event; by default 0."""
        return self.rois.get("roi_id", np.zeros(len(self), dtype=np.uint64))

    def to_awkward(self) -> Any:
        """Return an awkward array of records: an RoI has lists of coordinates and layers.

        The array borrows the columns.
        """
        ak = require("awkward", "awkward")

        names = ("x", "y", "z") if self.is_cartesian else ("rho", "phi", "z")
        index = ak.index.Index64(self.offsets)
        record = dict(self.rois)
        for name, column in zip((*names, "layer"), (*self.columns, self.layer)):
            record[name] = ak.contents.ListOffsetArray(index, ak.contents.NumpyArray(column))
        contents = [
            ak.contents.NumpyArray(column) if isinstance(column, np.ndarray) else column
            for column in record.values()
        ]
        return ak.Array(ak.contents.RecordArray(contents, list(record), length=len(self)))

    def __repr__(self) -> str:
        return f"<Spacepoints: {len(self.layer)} in {len(self)} RoIs>"


def _can_be_borrowed(columns: tuple[Any, Any, Any], layer: Any) -> bool:
    """Tell whether the search can use the columns where they are.

    This short check spares the usual columns the conversions. Python code of a call holds the
    interpreter lock, which limits threads with one event each.
    """
    dtype = getattr(columns[0], "dtype", None)
    if type(layer) is not np.ndarray or layer.dtype is not _BYTE or layer.ndim != 1:
        return False
    if not layer.flags.c_contiguous or (dtype is not _DOUBLE and dtype is not _SINGLE):
        return False
    for column in columns:
        if type(column) is not np.ndarray or column.dtype is not dtype:
            return False
        flags = column.flags
        if column.shape != layer.shape or not flags.c_contiguous or not flags.aligned:
            return False
    return True


def _array(name: str, column: Any) -> np.ndarray:
    """Return a one-dimensional array of numbers without masked elements."""
    if isinstance(column, np.ma.MaskedArray):
        if np.ma.is_masked(column):
            raise InputError(f"{name} has masked elements: fill or remove them first")
        column = column.data
    _refuse_device_memory(name, column)
    try:
        is_dlpack = hasattr(column, "__dlpack__") and not hasattr(column, "__array__")
        array = np.from_dlpack(column) if is_dlpack else np.asarray(column)
    except Exception as error:  # __array__ of other libraries raises anything
        raise InputTypeError(f"{name} is not an array of numbers: {error}") from error
    if array.dtype == object:
        array = _of_objects(array)
    if array.dtype.kind not in "fiub":
        raise InputTypeError(
            f"{name} has type {array.dtype}: numbers are expected (integers, floats or booleans)"
        )
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}: one dimension is expected")
    return array


def _of_objects(array: np.ndarray) -> np.ndarray:
    """Return numbers that are held as Python objects, as pandas does beside missing values."""
    if array.size == 0:
        return array.astype(np.float64)
    if not all(isinstance(number, (numbers.Real, np.bool_)) for number in np.ravel(array)):
        return array
    converted = np.array(array.tolist())
    return array if converted.dtype == object else converted


def _refuse_device_memory(name: str, column: Any) -> None:
    """Refuse an array that lies on a GPU: searches read host memory."""
    if isinstance(column, np.ndarray):
        return
    is_on_device = hasattr(column, "__cuda_array_interface__")
    if not is_on_device and hasattr(column, "__dlpack_device__"):
        is_on_device = int(column.__dlpack_device__()[0]) not in _HOST_MEMORY
    if is_on_device:
        raise InputTypeError(
            f"{name} lies in the memory of a device, and pyzfinder reads memory of the host: copy it "
            "with .cpu(), .get() or numpy.asarray() first"
        )


def _contiguous(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return an array of this type in aligned memory without gaps: the same one if it is so."""
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, dtype, ["C", "A"])


def _coordinates(names: tuple[str, ...], columns: tuple[Any, ...]) -> tuple[np.ndarray, ...]:
    arrays = [_array(name, column) for name, column in zip(names, columns)]
    for name, array in zip(names, arrays):
        if array.dtype.kind == "b":
            raise InputTypeError(f"{name} has type {array.dtype}: integers or floats are expected")
    is_single = all(array.dtype.kind == "f" and array.dtype.itemsize == 4 for array in arrays)
    dtype = np.float32 if is_single else np.float64
    return tuple(_contiguous(array, dtype) for array in arrays)


def _integers(name: str, column: Any) -> np.ndarray:
    array = _whole(name, _array(name, column))
    if array.size == 0:
        return array.astype(np.uint8)
    return _contiguous(array, array.dtype.newbyteorder("="))


def _whole(name: str, array: np.ndarray) -> np.ndarray:
    """Return integers: those of an array of integers, booleans, or floats that are whole."""
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    with np.errstate(invalid="ignore"):
        is_whole = (np.abs(array) < 2.0**53) & (np.floor(array) == array)
    if is_whole.all():
        return array.astype(np.int64)
    index = int(np.argmin(is_whole))
    number = array[index]
    if np.isfinite(number) and np.floor(number) == number:
        raise InputError(
            f"{name}[{index}] is {number!s}, a float above 2^53, where floats skip whole numbers: "
            "give integers"
        )
    raise InputError(f"{name}[{index}] is {number!s}: whole numbers are expected")


def _offsets(offsets: Any, spacepoints: int) -> np.ndarray:
    if offsets is None:
        return np.array([0, spacepoints], dtype=np.int64)
    array = _whole("offsets", _array("offsets", offsets))
    if array.size == 0:
        raise InputError("offsets are empty: one more than there are RoIs is expected")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError("an offset is too large")
    return _contiguous(array, np.int64)


def _columns_of(
    table: Any, wanted: tuple[str, ...] = (*_WANTED, "offsets", "rois")
) -> dict[str, Any] | None:
    """Return the columns of a dictionary, a DataFrame with its index, or a structured array.

    The event number is named event_id, whatever its name in the table is. Other columns of a
    dictionary are returned, too.
    """
    if isinstance(table, Mapping):
        return _with_event(dict(table))
    names = getattr(getattr(table, "dtype", None), "names", None)
    if names is None:
        names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(table, "columns", None)
    if names is None and _is_awkward(table):
        names = table.fields
    if names is None:
        return None
    levels = [name for name in table.index.names if name is not None] if _is_frame(table) else []
    event = event_column([str(name) for name in (*names, *levels)])
    columns = {str(name): table[name] for name in names if str(name) in (*wanted, event)}
    for name in levels:
        if str(name) in (*_IDS, event):
            columns.setdefault(str(name), table.index.get_level_values(name))
    return _with_event(columns)


def _refuse_event_index(columns: dict[str, Any]) -> None:
    """Refuse columns of pandas whose index has event numbers, which would be one RoI."""
    pandas = sys.modules.get("pandas")
    for name, column in columns.items():
        if pandas is None or not isinstance(column, pandas.Series):
            continue
        event = event_column([str(level) for level in column.index.names if level is not None])
        if event is not None:
            raise InputError(
                f"{name} has the index `{event}`, which looks like the number of the event: give "
                "the whole DataFrame, or offsets"
            )


def event_column(names: list[str]) -> str | None:
    """Return the name of the event number among these names, as readers of files choose it.

    Raises
    ------
    InputError
        If it is doubtful which column holds the event number or the number of the RoI.
    """
    return _pyzfinder.event_column(names)


def _with_event(columns: dict[Any, Any]) -> dict[str, Any]:
    event = event_column([str(name) for name in columns])
    return {"event_id" if name == event else name: column for name, column in columns.items()}


def _rois(rois: Any, count: int) -> dict[str, np.ndarray]:
    if rois is None:
        return {}
    columns = _columns_of(rois)
    if columns is None:
        raise InputTypeError(f"rois are a {type(rois).__name__}: columns by name are expected")
    unknown = sorted(set(columns) - set(_ROI_COLUMNS)) if isinstance(rois, Mapping) else []
    if unknown:
        raise InputError(f"rois have no column {unknown[0]}; there are {', '.join(_ROI_COLUMNS)}")
    checked: dict[str, np.ndarray] = {}
    for name in _ROI_COLUMNS:
        if columns.get(name) is None:
            continue
        column = columns[name]
        array = _array(name, [column] * count if np.isscalar(column) else column)
        if len(array) != count:
            raise InputError(f"{name} has {len(array)} elements for {count} RoIs")
        checked[name] = _ids(name, array) if name in _IDS else _contiguous(array, np.float64)
    for low, high in (("phi_min", "phi_max"), ("z_min", "z_max")):
        if (low in checked) != (high in checked):
            raise InputError(f"rois need both of {low} and {high}")
    if "eta" in checked and not np.isfinite(checked["eta"]).all():
        raise InputError("eta has elements that are not finite")
    return checked


def _ids(name: str, array: np.ndarray) -> np.ndarray:
    if array.size == 0:
        return array.astype(np.uint64)
    array = _whole(name, array)
    if array.dtype.kind == "i" and array.min() < 0:
        raise InputError(f"{name} has negative elements")
    return _contiguous(array, np.uint64)


def _is_awkward(table: Any) -> bool:
    awkward = sys.modules.get("awkward")
    return awkward is not None and isinstance(table, (awkward.Array, awkward.Record))


def spacepoints_of(table: Any, detector: Detector, seen: Any = None) -> Spacepoints:
    """Return the spacepoints of a table of any kind.

    With `seen`, a set of RoIs of earlier tables, an RoI of a table with a row for each spacepoint
    must be in none of them: batches of rows may have cut an event.
    """
    if isinstance(table, Spacepoints):
        return table
    if _is_awkward(table):
        return _of_columns(_awkward_columns(table), detector, seen, table=table)
    table = _computed(table)
    if not isinstance(table, Mapping) and not _is_frame(table) and _is_arrow(table):
        batches = _pyzfinder.import_arrow(table, list(_WANTED))
        if not batches:
            return Spacepoints(([], [], []), [], [0])
        return _of_columns(_join(batches), detector, seen, table=table)
    columns = _columns_of(table)
    if columns is None:
        raise InputTypeError(
            f"{type(table).__name__} is not a table: give columns, an awkward array, a "
            "dictionary or an object with __arrow_c_stream__"
        )
    offsets, rois = columns.pop("offsets", None), columns.pop("rois", None)
    flat = {name: (column, None) for name, column in columns.items() if name in _WANTED}
    return _of_columns(flat, detector, seen, offsets, rois, table)


def _computed(table: Any) -> Any:
    """Return the table that a lazy frame of polars or a data set of Arrow stands for."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(table, polars.LazyFrame):
        return table.collect()
    if isinstance(table, Mapping) or _is_arrow(table):
        return table
    if hasattr(table, "to_table"):
        return table.to_table()
    for method in ("collect", "compute"):
        if not _is_frame(table) and not hasattr(table, "dtype") and hasattr(table, method):
            raise InputTypeError(
                f"{type(table).__name__} is not computed yet: give what its {method}() returns"
            )
    return table


def _join(batches: list[dict[str, tuple[Any, Any]]]) -> dict[str, tuple[Any, Any]]:
    """Return the columns of all record batches as those of one table."""
    if len(batches) == 1:
        return batches[0]
    joined: dict[str, tuple[Any, Any]] = {}
    for name in batches[0]:
        parts = [batch[name] for batch in batches]
        if parts[0][1] is None:
            joined[name] = np.concatenate([values for values, _ in parts]), None
            continue
        values = [values[int(lists[0]) : int(lists[-1])] for values, lists in parts]
        lengths = [np.diff(np.asarray(lists, dtype=np.int64)) for _, lists in parts]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])
        joined[name] = np.concatenate(values), offsets
    return joined


def _is_frame(table: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(table, pandas.DataFrame)


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")


def _found_columns(columns: dict[str, Any], table: Any, wanted: tuple[str, ...]) -> str:
    """Return the names of the columns that are there, and advice about missing ones."""
    schema = getattr(table, "schema", None)
    places = ((schema, "names"), (table, "fields"), (table, "columns"))
    if isinstance(table, Mapping):
        names = list(table)
    elif getattr(getattr(table, "dtype", None), "names", None):
        names = list(table.dtype.names)
    else:
        given = (getattr(of, name, None) for of, name in places)
        names = next((list(one) for one in given if one is not None and not callable(one)), [])
    there = [name for name in map(str, names) if name not in ("offsets", "rois")] or list(columns)
    missing = [name for name in wanted if name not in columns]
    advice = _pyzfinder.column_advice(missing, there)
    return f"there are: {', '.join(there[:40]) or 'none'}{advice}"


def _of_columns(
    columns: dict[str, tuple[Any, Any]],
    detector: Detector,
    seen: Any = None,
    offsets: Any = None,
    rois: Any = None,
    table: Any = None,
) -> Spacepoints:
    """Make spacepoints of columns by name, each with its values and the offsets of its lists.

    Errors name the columns of `table`, from which they come.
    """
    if {"rho", "phi", "z"} <= columns.keys():
        names, is_cartesian = ("rho", "phi", "z"), False
    elif {"x", "y", "z"} <= columns.keys():
        names, is_cartesian = ("x", "y", "z"), True
    else:
        missing = ("x", "y", "z", "rho", "phi", "layer")
        found = _found_columns(columns, table, missing)
        raise InputError(f"columns x, y, z or rho, phi, z are expected; {found}")
    if "layer" in columns:
        of_layers: tuple[str, ...] = ("layer",)
    elif {"volume_id", "layer_id"} <= columns.keys():
        of_layers = ("volume_id", "layer_id")
    elif "geometry_id" in columns:
        of_layers = ("geometry_id",)
    else:
        found = _found_columns(columns, table, ("layer",))
        raise InputError(
            f"a column layer, volume_id and layer_id, or geometry_id is expected; {found}"
        )
    lists = [columns[name][1] for name in (*names, *of_layers)]
    is_list = lists[0] is not None
    for name, other in zip((*names, *of_layers), lists):
        if (other is not None) != is_list:
            raise InputError(f"column {name} and column {names[0]} differ in their lists")
    layers = [columns[name][0] for name in of_layers]
    if is_list:
        low, high = int(lists[0][0]), int(lists[0][-1])
        for name, other in zip((*names, *of_layers), lists):
            if len(other) != len(lists[0]) or not np.array_equal(other - other[0], lists[0] - low):
                raise InputError(f"the lists of column {name} and of column {names[0]} differ")
        offsets = np.asarray(lists[0], dtype=np.int64) - low
        size = high - low
        values = [columns[name][0][int(columns[name][1][0]) :][:size] for name in names]
        layers = [columns[name][0][int(columns[name][1][0]) :][:size] for name in of_layers]
        rois = {name: columns[name][0] for name in _ROI_COLUMNS if name in columns}
        if "event_id" in rois:
            _check_rois(
                {name: _ids(name, _array(name, rois[name])) for name in _IDS if name in rois}
            )
    else:
        values = [columns[name][0] for name in names]
        if offsets is not None and "event_id" in columns:
            if rois is not None:
                raise InputError("event_id is a column of the table and rois are given: give one")
            # With offsets, ids are those of RoIs.
            rois = {name: columns[name][0] for name in _IDS if name in columns}
        elif "event_id" in columns:
            offsets, rois = _runs(columns)
            if seen is not None:
                again = seen.insert(rois["event_id"], rois.get("roi_id"))
                if again is not None:
                    raise InputError(
                        f"event {again[0]}, RoI {again[1]} was in an earlier batch: all rows of an "
                        "event must be in one batch; find() takes a whole table"
                    )
    layer = _layers(of_layers, layers, detector)
    return Spacepoints(tuple(values), layer, offsets, rois, is_cartesian=is_cartesian)


def _layers(names: tuple[str, ...], columns: list[Any], detector: Detector) -> Any:
    if names == ("layer",):
        return columns[0]
    ids = [_ids(name, _array(name, column)) for name, column in zip(names, columns)]
    return detector.layer_of_geometry(ids[0]) if len(ids) == 1 else detector.layer_of(*ids)


def _runs(columns: dict[str, tuple[Any, Any]]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Find the RoIs of a table with a row for each spacepoint: runs of equal event and RoI."""
    ids = {name: _ids(name, _array(name, columns[name][0])) for name in _IDS if name in columns}
    rows = len(ids["event_id"])
    changes = np.zeros(rows, dtype=bool)
    for name, column in ids.items():
        if len(column) != rows:
            raise InputError(f"{name} has {len(column)} elements, event_id has {rows}")
        if rows:
            changes[0] = True
            changes[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(changes)
    rois = {name: column[starts] for name, column in ids.items()}
    _check_rois(rois)
    return np.append(starts, rows).astype(np.int64), rois


def _check_rois(ids: dict[str, np.ndarray]) -> None:
    """Refuse an RoI that occurs twice."""
    keys = np.stack(list(ids.values()), axis=1)
    unique, counts = np.unique(keys, axis=0, return_counts=True)
    if len(unique) != len(keys):
        named = ", ".join(f"{name} {key}" for name, key in zip(ids, unique[counts > 1][0]))
        raise InputError(
            f"an event or RoI comes again ({named}): rows of an RoI must follow one another"
        )


def _awkward_columns(table: Any) -> dict[str, tuple[Any, Any]]:
    ak = require("awkward", "awkward")

    if isinstance(table, ak.Record):
        table = ak.Array(ak.to_layout(table).array[table.layout.at : table.layout.at + 1])
    columns: dict[str, tuple[Any, Any]] = {}
    event = event_column(table.fields)
    for name in table.fields:
        if name in (*_WANTED, event):
            column = _awkward_column(name, ak.to_layout(table[name]))
            columns["event_id" if name == event else name] = column
    # Members of records, as `x` of `hits`, stand for columns that the table lacks.
    for name in table.fields:
        records = table[name] if name not in (*_WANTED, event) else None
        for member in getattr(records, "fields", ()):
            if member in _WANTED and member not in columns:
                columns[member] = _awkward_column(f"{name}.{member}", ak.to_layout(records[member]))
    return columns


def _awkward_column(name: str, layout: Any) -> tuple[np.ndarray, np.ndarray | None]:
    layout = _without_options(name, layout)
    if layout.is_unknown:
        return np.empty(0, dtype=np.float64), None
    if layout.is_numpy:
        return np.asarray(layout.data), None
    if not layout.is_list:
        raise InputTypeError(
            f"field {name} is of type {layout.form.type}: lists of numbers are expected"
        )
    layout = layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets.data)
    content = _without_options(name, layout.content[: offsets[-1]])
    if not content.is_numpy or content.purelist_depth != 1:
        # Lists that are all empty have no type.
        if content.is_unknown:
            return np.empty(0, dtype=np.float64), offsets
        kind = content.form.type
        raise InputTypeError(f"field {name} has lists of {kind}: lists of numbers are expected")
    return np.asarray(content.data), offsets


def _without_options(name: str, layout: Any) -> Any:
    while layout.is_indexed or layout.is_option:
        if layout.is_option:
            missing = int(np.count_nonzero(np.asarray(layout.mask_as_bool(valid_when=False))))
            if missing:
                raise InputError(f"field {name} has {missing} missing values")
        layout = layout.project()
    return layout
