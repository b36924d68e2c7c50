"""Objects of the hard scatter: every form of them, and what is refused."""

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pyzfinder import ConfigError, Finder, InputError, InputTypeError

FINDER = Finder("default", "atlas2010", engine="cpu")
# Two tracks from z = 12.5 mm and four from z = -40 mm: azimuth, slope, z.
TRACKS = [
    (0.1, 0.5, 12.5),
    (2.5, -0.25, 12.5),
    (0.7, 0.5, -40.0),
    (1.1, 0.1, -40.0),
    (1.5, 0.2, -40.0),
    (4.0, 0.3, -40.0),
]
RADII = np.array([50.5, 88.5, 122.5])


def event():
    rho = np.tile(RADII, len(TRACKS))
    phi, slope, z = (np.repeat(column, 3) for column in np.array(TRACKS).T)
    return {"rho": rho, "phi": phi, "z": z + slope * rho, "layer": np.tile([0, 1, 2], len(TRACKS))}


def events(count):
    one = event()
    columns = {name: np.tile(column, count) for name, column in one.items()}
    offsets = len(one["rho"]) * np.arange(count + 1)
    return {**columns, "offsets": offsets, "rois": {"event_id": 10 + np.arange(count)}}


def eta(slope, rho=1500.0):
    return float(np.arcsinh(slope + 12.5 / rho))


# Of event 10; event 11 has none; of event 12 the first of them.
FLAT = {
    "eta": [eta(0.5), eta(-0.25), eta(0.5)],
    "phi": [0.1, 2.5, 0.1],
    "et": [30.0, 30.0, 30.0],
    "kind": ["electron", "muon", ""],
}
IDS = np.array([10, 10, 12])
LISTS = [
    {"eta": FLAT["eta"][at], "phi": FLAT["phi"][at], "et": FLAT["et"][at], "kind": FLAT["kind"][at]}
    for at in range(3)
]
WITH_IDS = {**FLAT, "event_id": IDS}
FORMS = {
    "offsets": {**FLAT, "offsets": [0, 2, 2, 3]},
    "event_id": WITH_IDS,
    "any order": {name: np.asarray(column)[[2, 0, 1]] for name, column in WITH_IDS.items()},
    "DataFrame": pd.DataFrame({**WITH_IDS, "kind": ["electron", "muon", None]}),
    "Arrow": pa.table(WITH_IDS),
    "lists of records": ak.Array([LISTS[:2], [], LISTS[2:]]),
    "records of lists": ak.Array(
        {name: ak.unflatten(column, [2, 0, 1]) for name, column in FLAT.items()}
    ),
    "awkward, flat": ak.Array(WITH_IDS),
    "awkward, lists and event_id": ak.Array(
        [{"event_id": 12, **{n: [v] for n, v in LISTS[2].items()}}]
        + [{"event_id": 10, **{n: [a, LISTS[1][n]] for n, a in LISTS[0].items()}}]
    ),
}


def first_z(**arguments):
    return [vertex[0].z_mm for vertex in (r.vertices for r in FINDER.find(**arguments))]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_objects_chooses_the_vertex(form):
    assert first_z(**events(3)) == pytest.approx([-40.0] * 3, abs=0.1)
    found = first_z(**events(3), objects=FORMS[form])
    assert found == pytest.approx([12.5, -40.0, 12.5], abs=0.1)


def test_one_event_wants_no_offsets():
    both = {name: column[:2] for name, column in FLAT.items() if name != "kind"}
    assert first_z(**event(), objects=both) == pytest.approx([12.5], abs=0.1)
    assert first_z(**event(), objects={**both, "kind": "muon"}) == pytest.approx([12.5], abs=0.1)


def test_tables_in_parts_go_with_their_objects():
    columns = events(3)
    lists = {
        name: ak.unflatten(columns[name], np.diff(columns["offsets"]))
        for name in ("rho", "phi", "z", "layer")
    }
    table = ak.to_arrow_table(ak.Array({**lists, "event_id": columns["rois"]["event_id"]}))
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1, 2)])
    for objects in (FORMS["offsets"], FORMS["event_id"]):
        found = [result.vertices[0].z_mm for result in FINDER.find(parts, objects=objects)]
        assert found == pytest.approx([12.5, -40.0, 12.5], abs=0.1)


def test_the_size_of_the_calorimeter_matters():
    # Tubes that end before the second layer have too few layers: the event is searched whole.
    objects = {name: column[:2] for name, column in FLAT.items()}
    assert first_z(**event(), objects=objects) == pytest.approx([12.5], abs=0.1)
    small = first_z(**event(), objects=objects, calorimeter=(60.0, 9000.0))
    assert small == pytest.approx([-40.0], abs=0.1)
    with pytest.raises(ConfigError, match="calorimeter"):
        FINDER.find(**event(), objects=objects, calorimeter=3000.0)
    with pytest.raises(ConfigError, match="barrel_rho_mm"):
        FINDER.find(**event(), objects=objects, calorimeter=(-1.0, 3000.0))
    with pytest.raises(ConfigError, match="there are no objects"):
        FINDER.find(**event(), calorimeter=(1500.0, 3000.0))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eta": None}, "eta"),
        ({"et": [0.0, 30.0, 30.0]}, "object 0: `et` of an object: 0 must be"),
        ({"phi": [0.1, 90.0, 0.1]}, "object 1: `phi`"),
        ({"phi": [0.1, np.nan, 0.1]}, "object 1: `phi`"),
        ({"kind": ["", "tau", ""]}, "object 1: kind 'tau' is not one of electron, photon"),
        ({"kind": ["", ""]}, "kind has 2 elements"),
        ({"et": [30.0]}, "et has 1 elements"),
        ({"offsets": None}, "objects of 1 event:"),
        ({"offsets": [0, 2, 3]}, "objects of 2 events"),
        ({"offsets": [0, 1, 1, 2, 3]}, "there are 3 RoIs, and objects of 4 events"),
        ({"offsets": [0, 2, 1, 3]}, "offsets of objects"),
        ({"offsets": [0, 2, 2, 9]}, "offsets of objects"),
        ({"offsets": None, "event_id": [10, -1, 12]}, "event_id has negative"),
        ({"offsets": None, "event_id": [10]}, "event_id has 1 elements"),
    ],
)
def test_wrong_objects_say_what_is_wrong(changes, words):
    objects = {**FORMS["offsets"], **changes}
    given = {name: column for name, column in objects.items() if column is not None}
    with pytest.raises(InputError, match=words):
        FINDER.find(**events(3), objects=given)


def test_objects_select_from_whole_events():
    columns = events(3)
    columns["rois"].update(phi_min=np.zeros(3), phi_max=np.ones(3))
    with pytest.raises(InputError, match="whole events"):
        FINDER.find(**columns, objects=FORMS["offsets"])
    with pytest.raises(InputTypeError, match="objects are a float"):
        FINDER.find(**event(), objects=1.5)
