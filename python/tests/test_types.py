"""What people have: every table with columns of other types than the usual ones."""

import awkward as ak
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from test_wrong_inputs import EVENTS, FINDER, assert_right, flat, lists

import pyzfinder
from pyzfinder import ConfigError, InputError, InputTypeError

WANTED = FINDER.find(flat())

TABLES = {
    "DataFrame": lambda frame: frame,
    "polars": pl.from_pandas,
    "LazyFrame": lambda frame: pl.from_pandas(frame).lazy(),
    "dictionary": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "structured array": lambda frame: frame.to_records(index=False),
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "awkward": lambda frame: ak.Array({name: frame[name].to_numpy() for name in frame}),
}
WHOLE = ["int8", "uint16", "int32", "uint64", "float32", "float64"]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("dtype", WHOLE)
def test_ids_and_layers_may_have_any_type(table, dtype):
    frame = flat()
    for name in ("event_id", "layer"):
        frame[name] = frame[name].astype(dtype)
    assert FINDER.find(TABLES[table](frame)) == WANTED


@pytest.mark.parametrize("table", TABLES)
def test_numbers_that_are_not_whole_are_refused_with_their_place(table):
    for name in ("event_id", "layer"):
        frame = flat().astype({name: "float64"})
        frame.loc[5, name] = 1.5
        with pytest.raises(InputError, match=rf"{name}\[5\] is 1.5: whole numbers are expected"):
            FINDER.find(TABLES[table](frame))
    frame = flat().astype({"event_id": "float64"})
    frame["event_id"] += 2.0**53
    with pytest.raises(InputError, match=r"event_id\[0\] is .*, a float above 2\^53"):
        FINDER.find(TABLES[table](frame))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["i2", "i8", "u4", "f4", "f8"])
def test_byte_orders_gaps_and_fortran_order_are_converted(kind, order):
    frame = flat()
    columns = {name: frame[name].to_numpy() for name in ("x", "y", "z")}
    layer = frame["layer"].to_numpy().astype(order + kind)
    for of in (np.ascontiguousarray, lambda array: np.repeat(array, 3)[::3]):
        found = FINDER.find(
            {name: of(column.astype(order + "f8")) for name, column in columns.items()}
            | {"layer": of(layer), "event_id": frame["event_id"].to_numpy()}
        )
        assert found == WANTED
    stacked = np.asfortranarray(np.stack([*columns.values()], axis=1))
    x, y, z = stacked.T
    offsets = np.array([0.0, 24.0, 48.0, 72.0], dtype=order + "f8")
    found = FINDER.find(x, y, z, layer, offsets=offsets)
    assert found.first_z_mm.tolist() == WANTED.first_z_mm.tolist()


def test_pandas_types_with_missing_values_are_converted():
    frame = flat()
    for dtype in ("Int64", "UInt8", "Float64", "object"):
        assert FINDER.find(frame.astype({"layer": dtype, "event_id": dtype})) == WANTED
    frame["layer"] = frame["layer"].astype("Int64")
    frame.loc[3, "layer"] = pd.NA
    with pytest.raises(InputError):
        FINDER.find(frame)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array(["a"] * 72), "x has type <U1: numbers are expected"),
        (np.ones(72, dtype=complex), "x has type complex128: numbers are expected"),
        (np.ones(72, dtype=bool), "x has type bool: integers or floats are expected"),
        (np.ones((72, 1)), r"x has shape \(72, 1\): one dimension is expected"),
    ],
)
def test_other_types_are_refused_by_name(column, words):
    frame = flat()
    columns = {name: frame[name].to_numpy() for name in frame}
    with pytest.raises((InputError, InputTypeError), match=words):
        FINDER.find({**columns, "x": column})


def arrow(event_id=None, **types):
    table = pa.Table.from_pandas(flat(), preserve_index=False)
    if event_id is not None:
        table = table.set_column(table.column_names.index("event_id"), "event_id", event_id(table["event_id"]))
    return table


def test_dictionaries_of_arrow_are_decoded():
    table = arrow(event_id=lambda ids: ids.combine_chunks().dictionary_encode())
    assert FINDER.find(table) == WANTED
    assert FINDER.find(table[:0]).event_id.tolist() == []


def test_lists_of_fixed_size_are_lists():
    fixed = lists()
    for name in ("x", "y", "z", "layer"):
        values = fixed[name].combine_chunks().flatten()
        column = pa.FixedSizeListArray.from_arrays(values, 24)
        fixed = fixed.set_column(fixed.column_names.index(name), name, column)
    assert FINDER.find(fixed) == WANTED
    assert FINDER.find(fixed[1:]).event_id.tolist() == list(EVENTS)[1:]


@pytest.mark.parametrize("kind", ["Arrow", "awkward"])
def test_records_stand_for_columns(kind):
    names = ("x", "y", "z", "layer")
    table = lists()
    rows = [
        [dict(zip(names, point)) for point in zip(*(row[name] for name in names))]
        for row in table.to_pylist()
    ]
    event_id = table["event_id"].to_pylist()
    if kind == "Arrow":
        records = pa.table({"event_id": event_id, "hits": rows})
    else:
        records = ak.Array({"event_id": event_id, "hits": rows})
    assert FINDER.find(records) == WANTED


def test_files_with_columns_of_other_names_are_read(tmp_path):
    frame = flat()
    wanted = FINDER.find(frame)
    names = {"event_id": "Run", "x": "X", "layer": "lay"}
    truth = pd.DataFrame({"Run": WANTED.event_id, "z": WANTED.first_z_mm})
    for write in ("to_csv", "to_parquet"):
        path = tmp_path / f"hits.{write[3:]}"
        getattr(frame.rename(columns=names), write)(path, index=False)
        with pytest.raises(InputError, match="looks like"):
            pyzfinder.read(path)
        assert FINDER.find(pyzfinder.read(path, columns=names)) == wanted
        with pytest.raises(InputError, match="there is no column `U`"):
            pyzfinder.read(path, columns={"x": "U"})
    with pytest.raises(ConfigError, match="`x` has no name"):
        pyzfinder.read(path, columns={"x": ""})
    truth.to_csv(tmp_path / "truth.csv", index=False)
    read = pyzfinder.read_truth(tmp_path / "truth.csv", wanted, columns=names)
    assert read.z_mm.tolist() == WANTED.first_z_mm.tolist()


def test_hits_without_a_measurement_are_left_out_on_request(tmp_path, caplog):
    frame = flat()
    wanted = FINDER.find(frame.drop(index=[3, 40]))
    frame.loc[[3, 40], ["x", "layer"]] = np.nan
    for write in ("to_csv", "to_parquet"):
        path = tmp_path / f"hits.{write[3:]}"
        getattr(frame, write)(path, index=False)
        with pytest.raises(InputError, match="drop_invalid"):
            pyzfinder.read(path)
        caplog.clear()
        with caplog.at_level("WARNING", "pyzfinder"):
            assert FINDER.find(pyzfinder.read(path, drop_invalid=True)) == wanted
        assert "left out (drop_invalid): 2" in caplog.text
