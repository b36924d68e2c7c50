"""Wrong and unusual columns: an exception or a status, never a crash or other answers."""

import awkward as ak
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import pyzfinder
from pyzfinder import Finder, InputError, InputTypeError, Spacepoints

FINDER = Finder("default", "atlas2010", engine="cpu")
RHO = np.array([50.5, 88.5, 122.5, 50.5, 88.5, 122.5])
PHI = np.array([0.1, 0.1, 0.1, 0.7, 0.7, 0.7])
Z = np.array([12.5, 31.5, 48.5, -3.0, -22.0, -39.0])
LAYER = np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8)
COLUMNS = {"rho": RHO, "phi": PHI, "z": Z, "layer": LAYER}
OFFSETS = np.array([0, 3, 3, 6])


def find(**changes):
    return FINDER.find(**{**COLUMNS, "offsets": OFFSETS, **changes})


EXPECTED = find()


def strided(column):
    wide = np.zeros((len(column), 3), dtype=column.dtype)
    wide[:, 1] = column
    return wide[:, 1]


def unaligned(column):
    raw = np.frombuffer(b"x" + column.tobytes(), dtype=np.uint8)[1:]
    return raw.view(column.dtype)


def in_record(column):
    record = np.zeros(len(column), dtype=[("flag", "u1"), ("value", column.dtype)])
    record["value"] = column
    return record["value"]


UNUSUAL = {
    "strided": strided,
    "reversed": lambda column: column[::-1].copy()[::-1],
    "unaligned": unaligned,
    "in a packed record": in_record,
    "big-endian": lambda column: column.astype(column.dtype.newbyteorder(">")),
    "read-only": lambda column: np.frombuffer(column.tobytes(), dtype=column.dtype),
    "masked, nothing missing": lambda column: np.ma.masked_array(column, np.zeros(len(column))),
    "list": lambda column: column.tolist(),
    "awkward": ak.Array,
    "pyarrow": pa.array,
}


@pytest.mark.parametrize("unusual", UNUSUAL)
@pytest.mark.parametrize("name", COLUMNS)
def test_unusual_columns_have_the_same_answers(unusual, name):
    assert find(**{name: UNUSUAL[unusual](COLUMNS[name])}) == EXPECTED


@pytest.mark.parametrize("dtype", "u1 u2 u4 u8 i1 i2 i4 i8 >i4 >u2".split())
def test_layers_may_be_any_integers(dtype):
    assert find(layer=LAYER.astype(dtype)) == EXPECTED


@pytest.mark.parametrize("dtype", "i4 i8 u4 u8 >i8".split())
def test_offsets_may_be_any_integers(dtype):
    assert find(offsets=OFFSETS.astype(dtype)) == EXPECTED
    assert find(offsets=OFFSETS.tolist()) == EXPECTED


@pytest.mark.parametrize("unusual", UNUSUAL)
@pytest.mark.parametrize("name", COLUMNS)
def test_unusual_columns_of_one_event_have_the_same_answer(unusual, name):
    event = {column: values[:3] for column, values in COLUMNS.items()}
    expected = FINDER.find(**event, offsets=[0, 3])
    assert FINDER.find(**event) == expected
    assert FINDER.find(**{**event, name: UNUSUAL[unusual](event[name])}) == expected
    with pytest.raises(InputError):
        FINDER.find(**{**event, name: event[name][:2]})


def test_usual_columns_of_one_event_are_borrowed():
    spacepoints = Spacepoints((RHO, PHI, Z), LAYER)
    assert all(mine is given for mine, given in zip(spacepoints.columns, (RHO, PHI, Z)))
    assert spacepoints.layer is LAYER and spacepoints.offsets.tolist() == [0, len(LAYER)]
    assert len(spacepoints) == 1 and spacepoints.event_id.tolist() == [0]


class Foreign:
    """An array of another library, on a device of DLPack."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class OnCuda:
    """An array in the memory of a GPU, without DLPack."""

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (0, True), "version": 3}


def test_arrays_of_other_libraries_are_read_in_host_memory_only():
    expected = FINDER.find(rho=RHO, phi=PHI, z=Z, layer=LAYER, offsets=OFFSETS)
    columns = dict(zip(("rho", "phi", "z", "layer"), map(Foreign, (RHO, PHI, Z, LAYER))))
    assert FINDER.find(**columns, offsets=OFFSETS) == expected
    borrowed = Spacepoints((Foreign(RHO), PHI, Z), LAYER).columns[0]
    assert borrowed.ctypes.data == RHO.ctypes.data
    for on_device in (Foreign(RHO, device=2), OnCuda()):
        with pytest.raises(pyzfinder.InputTypeError, match="rho lies in the memory of a device"):
            FINDER.find(rho=on_device, phi=PHI, z=Z, layer=LAYER, offsets=OFFSETS)


def test_single_precision_is_searched_as_it_is():
    single = {name: COLUMNS[name].astype(np.float32) for name in ("rho", "phi", "z")}
    double = {name: column.astype(np.float64) for name, column in single.items()}
    assert find(**single) == find(**double)
    # One column of another type: all are converted.
    assert find(**{**single, "z": double["z"]}) == find(**double)


def test_single_precision_x_and_y_have_the_answers_of_double_precision():
    x, y = (RHO * np.cos(PHI)).astype("f4"), (RHO * np.sin(PHI)).astype("f4")
    z = Z.astype("f4")
    wide = FINDER.find(x.astype("f8"), y.astype("f8"), z.astype("f8"), LAYER, OFFSETS)
    assert FINDER.find(x, y, z, LAYER, OFFSETS) == wide


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"rho": RHO.astype(complex)}, InputTypeError),
        ({"rho": RHO.astype("M8[s]")}, InputTypeError),
        ({"rho": RHO.astype(str)}, InputTypeError),
        ({"rho": np.array([None] * 6)}, InputTypeError),
        ({"rho": np.ma.masked_array(RHO, [0, 1, 0, 0, 0, 0])}, InputError),
        ({"rho": RHO[:5]}, InputError),
        ({"rho": RHO.reshape(2, 3)}, InputError),
        ({"rho": 50.5}, InputError),
        ({"layer": LAYER + 0.5}, InputError),
        ({"layer": LAYER[:4]}, InputError),
        ({"offsets": [0, 3, 2, 6]}, InputError),
        ({"offsets": [3, 0, 6]}, InputError),
        ({"offsets": [0, 3, 7]}, InputError),
        ({"offsets": [0, 3]}, InputError),
        ({"offsets": [0, -1, 6]}, InputError),
        ({"offsets": []}, InputError),
        ({"offsets": [0.0, 5.5]}, InputError),
        ({"offsets": np.array([0, 2**63], dtype=np.uint64)}, InputError),
        ({"rois": {"phi_min": [0, 0, 0]}}, InputError),
        ({"rois": {"phi_min": [0, 0], "phi_max": [1, 1]}}, InputError),
        ({"rois": {"phi_min": [0, 0, 9], "phi_max": [1, 1, 10]}}, InputError),
        ({"rois": {"eta": [0, np.nan, 0]}}, InputError),
        ({"rois": {"event_id": [-1, 0, 1]}}, InputError),
        ({"rois": {"event_id": [0.5, 0, 1]}}, InputError),
        ({"rois": {"fie": [1, 2, 3]}}, InputError),
        ({"rois": 3}, InputTypeError),
        ({"rho": None}, InputError),
        ({"x": RHO}, InputError),
        ({"rho": ak.Array([[1.0], [2.0]])}, InputError),
    ],
)
def test_wrong_columns_are_refused(changes, error):
    with pytest.raises(error):
        find(**changes)


def test_exceptions_are_built_in_ones_too():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputTypeError, TypeError)
    assert issubclass(pyzfinder.FileError, OSError)
    assert issubclass(pyzfinder.EngineError, RuntimeError)
    assert issubclass(pyzfinder.ConfigError, ValueError)
    with pytest.raises(pyzfinder.FileError, match="nowhere"):
        pyzfinder.read("nowhere.csv")
    with pytest.raises(pyzfinder.EngineError):
        Finder(detector="generic", adapter="no such adapter").open()


def test_wrong_spacepoints_are_a_status():
    for wrong in (np.nan, np.inf, -np.inf, 1e300, 0.0, -5.0):
        rho = np.where(np.arange(6) == 1, wrong, RHO)
        assert find(rho=rho).status.tolist() == ["bad_spacepoint", "empty", "ok"]
    for layer in (-1, 19, 255, 256, 2**40, -(2**40)):
        layers = np.where(np.arange(6) == 4, layer, LAYER.astype(np.int64))
        assert find(layer=layers).status.tolist() == ["ok", "empty", "bad_spacepoint"]


def test_nothing_is_answered_with_nothing():
    assert len(FINDER.find(rho=[], phi=[], z=[], layer=[], offsets=[0])) == 0
    assert FINDER.find([], [], [], []).status.tolist() == ["empty"]
    assert (
        FINDER.find(rho=[], phi=[], z=[], layer=[], offsets=[0, 0, 0]).status.tolist()
        == ["empty"] * 2
    )
    assert len(FINDER.find(ak.Array({"x": [], "y": [], "z": [], "layer": []}))) == 1
    jagged = ak.Array([{"x": [], "y": [], "z": [], "layer": []}])
    assert FINDER.find(jagged).status.tolist() == ["empty"]
    assert len(FINDER.find(jagged[:0])) == 0
    arrow = pa.table({name: pa.array([[]], pa.list_(pa.float64())) for name in "xyz"})
    arrow = arrow.append_column("layer", pa.array([[]], pa.list_(pa.uint8())))
    assert FINDER.find(arrow).status.tolist() == ["empty"]
    assert len(FINDER.find(arrow[:0])) == 0


def test_missing_values_are_refused():
    options = ak.Array([{"rho": [50.5, None], "phi": [0.1, 0.1], "z": [1.0, 2.0], "layer": [0, 1]}])
    with pytest.raises(InputError, match="rho"):
        FINDER.find(options)
    with pytest.raises(InputError, match="null"):
        FINDER.find(ak.to_arrow_table(options, extensionarray=False))
    texts = pa.table({"rho": ["a"], "phi": [0.1], "z": [1.0], "layer": [0]})
    with pytest.raises(InputError, match="rho"):
        FINDER.find(texts)
    filled = ak.fill_none(options, 88.5, axis=-1)
    assert len(FINDER.find(filled)) == 1


def test_lists_of_columns_must_agree():
    jagged = ak.Array(
        {
            "rho": [[1.0], [2.0, 3.0]],
            "phi": [[1.0, 2.0], [3.0]],
            "z": [[1.0], [2.0, 3.0]],
            "layer": [[0], [1, 2]],
        }
    )
    with pytest.raises(InputError, match="phi"):
        FINDER.find(jagged)
    deep = ak.Array([[[{"rho": 1.0, "phi": 0.0, "z": 1.0, "layer": 0}]]])
    with pytest.raises(InputError):
        FINDER.find(deep)


def test_an_event_may_not_come_again():
    with pytest.raises(InputError, match="again"):
        FINDER.find({**COLUMNS, "event_id": [1, 1, 2, 2, 1, 1]})
    assert FINDER.find({**COLUMNS, "event_id": [7, 7, 7, 3, 3, 3]}).event_id.tolist() == [7, 3]
    roi = FINDER.find({**COLUMNS, "event_id": [7] * 6, "roi_id": [0, 0, 0, 1, 1, 1]})
    assert roi.roi_id.tolist() == [0, 1]


def test_tables_of_other_kinds_are_refused():
    for table in (3, "text", object(), RHO, pa.array([1.0, 2.0]), {"x": RHO}, ak.Array([1, 2])):
        with pytest.raises(pyzfinder.ZFinderError):
            FINDER.find(table)
    stream = pa.table(COLUMNS).__arrow_c_stream__()

    class Used:
        def __arrow_c_stream__(self, requested_schema=None):
            return stream

    assert len(FINDER.find(Used())) == 1
    with pytest.raises(InputError):
        FINDER.find(Used())

    class Wrong:
        def __arrow_c_stream__(self, requested_schema=None):
            return 3

    with pytest.raises((TypeError, InputError)):
        FINDER.find(Wrong())


def test_nulls_of_whole_rows_are_refused():
    columns = [pa.array(column) for column in COLUMNS.values()]
    whole = pa.StructArray.from_arrays(columns, names=list(COLUMNS))
    assert len(FINDER.find(whole)) == 1
    mask = pa.array([False, True, False, False, False, False])
    with_nulls = pa.StructArray.from_arrays(columns, names=list(COLUMNS), mask=mask)
    for table in (with_nulls, pa.chunked_array([whole, with_nulls])):
        with pytest.raises(InputError, match="1 rows of the Arrow array are null"):
            FINDER.find(table)


def test_more_threads_than_a_host_can_use_are_refused():
    with pytest.raises(pyzfinder.ConfigError, match="option `threads`"):
        Finder("default", "atlas2010", engine="cpu", threads=2**20).open()


numbers = st.floats(width=64) | st.floats(-1200, 1200) | st.sampled_from([50.5, 88.5, 122.5])
layers = st.integers(0, 18) | st.integers(-(2**63), 2**63 - 1)


@st.composite
def batches(draw):
    size = draw(st.integers(0, 40))
    columns = {
        name: np.array(
            draw(st.lists(numbers, min_size=size, max_size=size)),
            dtype=draw(st.sampled_from(["f8", "f4", ">f8", "f2"])),
        )
        for name in ("rho", "phi", "z")
    }
    columns["layer"] = np.array(draw(st.lists(layers, min_size=size, max_size=size)), dtype="i8")
    columns["offsets"] = draw(
        st.none()
        | st.lists(st.integers(-1, size + 1), max_size=5)
        | st.lists(st.integers(0, size), max_size=5).map(lambda cuts: [0, *sorted(cuts), size])
    )
    windows = st.floats(width=64) | st.floats(-7, 7)
    if draw(st.booleans()) and columns["offsets"] is not None:
        count = max(len(columns["offsets"]) - 1, 0)
        row = st.lists(windows, min_size=count, max_size=count)
        columns["rois"] = {"phi_min": draw(row), "phi_max": draw(row), "eta": draw(row)}
        if draw(st.booleans()):
            columns["rois"].update({"z_min": draw(row), "z_max": draw(row)})
    if draw(st.booleans()):
        columns["x"], columns["y"] = columns.pop("rho"), columns.pop("phi")
    return columns


@settings(max_examples=150, deadline=None, derandomize=True)
@given(batches())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_columns_end_in_an_answer_or_an_exception(columns):
    try:
        results = FINDER.find(**columns)
    except pyzfinder.ZFinderError:
        return
    assert len(results) == (1 if columns["offsets"] is None else len(columns["offsets"]) - 1)
    assert set(results.status) <= set(pyzfinder.STATUSES)
    assert np.isfinite(results.z_mm).all()
    assert ((results.status == "ok") == (np.diff(results.offsets) > 0)).all()
    # Other columns of the same numbers have the same answers.
    if "rho" in columns:
        exact = {name: np.asarray(columns[name], dtype="f8") for name in ("rho", "phi", "z")}
        assert FINDER.find(**{**columns, **exact}) == results


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["x", "y", "z", "layer", "offsets", "event_id"]), inner
            )
        ),
        max_leaves=10,
    )
)
@pytest.mark.filterwarnings("ignore")
def test_anything_as_a_table_ends_in_an_exception_or_an_answer(anything):
    try:
        FINDER.find(anything)
    except (pyzfinder.ZFinderError, OverflowError):
        pass


def test_slices_of_spacepoints_are_views():
    spacepoints = Spacepoints((RHO, PHI, Z), LAYER, OFFSETS, {"event_id": [5, 6, 7]})
    assert np.shares_memory(spacepoints.columns[0], RHO) and np.shares_memory(
        spacepoints.layer, LAYER
    )
    part = spacepoints[2:]
    assert (
        np.shares_memory(part.columns[0], RHO) and len(part) == 1 and part.event_id.tolist() == [7]
    )
    assert [len(part) for part in spacepoints.partitions(2)] == [2, 1]
