"""Objects of the hard scatter, and how arrays of users become their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _pyzfinder
from ._errors import ConfigError, InputError, InputTypeError
from ._optional import require
from ._spacepoints import (
    Spacepoints,
    _array,
    _awkward_column,
    _columns_of,
    _ids,
    _integers,
    _is_awkward,
    event_column,
)

_NUMBERS = ("eta", "phi", "et")
_WANTED = (*_NUMBERS, "kind", "event_id", "offsets")
_KINDS = {word: number for number, word in enumerate(_pyzfinder.object_kinds())}


class Objects:
    """Objects of many events in flat columns; `find` describes the tables that it is made of."""

    __slots__ = ("calorimeter", "columns", "event_id", "offsets")

    def __init__(self, table: Any, calorimeter: Any = None) -> None:
        columns, offsets = _flat(table)
        missing = [name for name in _NUMBERS if name not in columns]
        if missing:
            found = ", ".join(columns) or "none"
            raise InputError(f"objects want columns eta, phi and et; there are: {found}")
        arrays = {name: _array(name, columns[name]).astype(np.float64) for name in _NUMBERS}
        count = len(arrays["eta"])
        arrays["kind"] = _kinds(columns.get("kind"), count)
        for name, array in arrays.items():
            if len(array) != count:
                raise InputError(f"{name} has {len(array)} elements and eta has {count}")
        self.event_id = None
        if offsets is None and columns.get("event_id") is not None:
            ids = _ids("event_id", _array("event_id", columns["event_id"]))
            if len(ids) != count:
                raise InputError(f"event_id has {len(ids)} elements and eta has {count}")
            order = np.argsort(ids, kind="stable")
            arrays = {name: array[order] for name, array in arrays.items()}
            self.event_id = ids[order]
        elif offsets is None:
            offsets = np.array([0, count], dtype=np.int64)
        self.columns = arrays
        self.offsets = None if offsets is None else _integers("offsets", offsets).astype(np.int64)
        self.calorimeter = _calorimeter(calorimeter)

    def of(self, part: Spacepoints) -> dict[str, Any]:
        """Return the columns of the objects of these RoIs."""
        if np.isfinite(part.rois.get("phi_min", np.nan)).any():
            raise InputError("objects select from whole events: leave phi_min and phi_max out")
        if self.event_id is not None:
            low, high = (np.searchsorted(self.event_id, part.event_id, side) for side in _SIDES)
            lengths = high - low
            offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            taken = np.repeat(low - offsets[:-1], lengths) + np.arange(offsets[-1])
            columns = {name: column[taken] for name, column in self.columns.items()}
        else:
            assert self.offsets is not None
            offsets, columns = self.offsets, self.columns
            events = max(len(offsets) - 1, 0)
            if events != len(part):
                raise InputError(
                    f"there are {len(part)} RoIs, and objects of {events} "
                    f"{'event' if events == 1 else 'events'}: give lists or offsets with one "
                    "element for each RoI, or objects with event_id"
                )
        return {**columns, "offsets": offsets, "calorimeter": self.calorimeter}


_SIDES = ("left", "right")


def _flat(table: Any) -> tuple[dict[str, Any], Any]:
    """Return flat columns by name, and the offsets of the events if the table has them."""
    if not _is_awkward(table):
        columns = _columns_of(table, _WANTED)
        if columns is None:
            raise InputTypeError(
                f"objects are a {type(table).__name__}: give columns by name, an awkward array or "
                "a DataFrame"
            )
        return columns, columns.pop("offsets", None)
    ak = require("awkward", "awkward")

    if isinstance(table, ak.Record):
        table = table[np.newaxis]
    columns, offsets = {}, None
    for name in (name for name in table.fields if name in _NUMBERS):
        column, lists = _awkward_column(name, ak.to_layout(table[name]))
        start = 0 if lists is None else int(lists[0])
        if offsets is not None and (lists is None or not np.array_equal(lists - start, offsets)):
            raise InputError(f"the lists of field {name} differ from those of other fields")
        if lists is not None:
            offsets, column = lists - start, column[start : int(lists[-1])]
        columns[name] = column
    if "kind" in table.fields:
        kinds = ak.to_list(table["kind"])
        is_nested = offsets is not None
        if is_nested and [len(kind) for kind in kinds] != np.diff(offsets).tolist():
            raise InputError("the lists of field kind differ from those of other fields")
        columns["kind"] = [kind for of in kinds for kind in of] if is_nested else kinds
    event = event_column(table.fields)
    if event is not None:
        columns["event_id"] = ak.to_numpy(table[event])
        if offsets is not None:
            # Lists match events by number, as rows do.
            columns["event_id"] = np.repeat(columns["event_id"], np.diff(offsets))
            offsets = None
    return columns, offsets


def _kinds(kinds: Any, count: int) -> np.ndarray:
    if kinds is None:
        return np.zeros(count, dtype=np.uint8)
    words = [kinds] * count if isinstance(kinds, str) else list(kinds)
    numbers = np.empty(len(words), dtype=np.uint8)
    for index, word in enumerate(words):
        # Missing words of pandas are NaN, and those of pyarrow are objects.
        text = word.as_py() if hasattr(word, "as_py") else word
        if text is None or text == "" or text != text:
            text = "electron"
        number = _KINDS.get(str(text))
        if number is None:
            raise InputError(f"object {index}: kind {text!r} is not one of {', '.join(_KINDS)}")
        numbers[index] = number
    return numbers


def _calorimeter(sizes: Any) -> tuple[float, float] | None:
    if sizes is None:
        return None
    try:
        rho, z = sizes
        return float(rho), float(z)
    except (TypeError, ValueError):
        raise ConfigError(
            f"option `calorimeter`: {sizes!r} is not a pair (rho, z) of lengths in mm"
        ) from None
