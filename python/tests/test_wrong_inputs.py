"""Inputs that could get a silent wrong answer: an exception, a warning, or the right answer."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import ROOT

import pyzfinder
from pyzfinder import Config, Finder, InputError, InputTypeError

FINDER = Finder("auto", "generic", engine="cpu")
EVENTS = {1: 12.5, 2: -33.25, 3: 71.0}
RHO = np.array([32.0, 72.0, 116.0, 172.0])
SLOPES = np.array([0.5, -0.3, 0.2, -1.0, 0.9, 0.1])


def flat(unit=1.0, first_layer=0):
    """Return a row for each spacepoint of three events."""
    rho = np.tile(RHO, len(SLOPES))
    phi = 0.1 + np.repeat(np.arange(len(SLOPES)), len(RHO))
    slopes = np.repeat(SLOPES, len(RHO))
    return pd.concat(
        pd.DataFrame(
            {
                "event_id": event,
                "x": rho * np.cos(phi) / unit,
                "y": rho * np.sin(phi) / unit,
                "z": (z + slopes * rho) / unit,
                "layer": first_layer + np.tile(np.arange(len(RHO)), len(SLOPES)),
            }
        )
        for event, z in EVENTS.items()
    ).reset_index(drop=True)


def assert_right(results):
    assert results.event_id.tolist() == list(EVENTS)
    assert np.allclose(results.first_z_mm, list(EVENTS.values()), atol=0.05)


def chunked(rows):
    table = pa.Table.from_pandas(flat())
    return pa.concat_tables([table[at : at + rows] for at in range(0, len(table), rows)])


def lists():
    groups = flat().groupby("event_id")
    columns = {
        name: [group[name].tolist() for _, group in groups] for name in ("x", "y", "z", "layer")
    }
    return pa.table({"event_id": list(EVENTS), **columns})


@pytest.mark.parametrize("rows", [1, 7, 24, 25, 1000])
def test_chunks_are_one_table(rows):
    table = chunked(rows)
    whole = FINDER.find(table.combine_chunks())
    assert_right(whole)
    assert FINDER.find(table) == whole
    assert FINDER.find(table.to_reader()) == whole
    assert FINDER.find(table.to_reader()).digest == FINDER.find(flat()).digest


def test_record_batches_of_lists_are_one_table():
    table = pa.concat_tables([lists()[:1], lists()[1:2], lists()[2:]])
    assert FINDER.find(table) == FINDER.find(flat())
    without = table.drop_columns("event_id")
    assert FINDER.find(without).event_id.tolist() == [0, 1, 2]


def test_row_groups_and_data_sets_are_one_table(tmp_path):
    path = tmp_path / "events.parquet"
    pyarrow.parquet.write_table(chunked(1000), path, row_group_size=10)
    whole = FINDER.find(flat())
    assert FINDER.find(pyarrow.parquet.read_table(path)) == whole
    assert FINDER.find(pyarrow.dataset.dataset(path)) == whole


def test_a_lazy_table_is_to_be_collected():
    class LazyFrame:
        def collect(self):
            return flat()

    with pytest.raises(InputTypeError, match=r"LazyFrame is not computed yet: give what its collect\(\) returns"):
        FINDER.find(LazyFrame())


def test_an_event_that_comes_again_is_an_error():
    table = chunked(7)
    again = pa.concat_tables([table, table[:1]])
    for one in (again, again.combine_chunks(), again.to_pandas()):
        with pytest.raises(InputError, match=r"comes again \(event_id 1\)"):
            FINDER.find(one)
    twice = pa.concat_tables([lists(), lists()[:1]])
    with pytest.raises(InputError, match="comes again"):
        FINDER.find(twice)


def test_a_stream_of_batches_that_cut_an_event_is_an_error():
    with pytest.raises(InputError, match="event 1, RoI 0 was in an earlier batch"):
        list(FINDER.stream(chunked(7).to_batches()))
    # Batches of whole events are searched.
    results = list(FINDER.stream(group for _, group in flat().groupby("event_id")))
    assert_right(pyzfinder.Results.concatenate(results))


NAMES = ["event", "Event_ID", "eventNumber", "event_number", "ievent", "event_index", "entry"]
TABLES = {
    "DataFrame": lambda frame: frame,
    "dictionary": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "structured array": lambda frame: frame.to_records(index=False),
    "Arrow": pa.Table.from_pandas,
    "awkward": lambda frame: ak.Array({name: frame[name].to_numpy() for name in frame}),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", NAMES)
def test_event_numbers_have_the_names_of_files(name, table):
    frame = flat().rename(columns={"event_id": name})
    assert_right(FINDER.find(TABLES[table](frame)))


@pytest.mark.parametrize("table", TABLES)
def test_doubtful_event_numbers_are_refused(table):
    for name in ("sp_event_id", "evnt_id", "mcEventNumber"):
        doubtful = flat().rename(columns={"event_id": name})
        with pytest.raises(InputError, match=f"`{name}` looks like `event_id`"):
            FINDER.find(TABLES[table](doubtful))
    both = flat().assign(eventNumber=flat()["event_id"], event=0).drop(columns="event_id")
    with pytest.raises(InputError, match="both look like"):
        FINDER.find(TABLES[table](both))


def test_event_numbers_may_be_the_index():
    for name in ("event_id", "entry", "eventNumber"):
        indexed = flat().rename(columns={"event_id": name}).set_index(name)
        assert_right(FINDER.find(indexed))
    # As uproot and awkward make it.
    frame = flat()
    frame["subentry"] = frame.groupby("event_id").cumcount()
    assert_right(FINDER.find(frame.set_index(["event_id", "subentry"])))


def test_columns_with_event_numbers_as_index_are_not_one_event():
    frame = flat().rename(columns={"event_id": "entry"}).set_index("entry")
    columns = [frame[name] for name in ("x", "y", "z", "layer")]
    with pytest.raises(InputError, match="x has the index `entry`"):
        FINDER.find(*columns)
    assert len(FINDER.find(*columns, offsets=[0, 24, 48, 72])) == 3


def test_event_numbers_go_with_offsets():
    columns = {name: flat()[name].to_numpy() for name in ("x", "y", "z", "layer")}
    columns["offsets"] = [0, 24, 48, 72]
    assert_right(FINDER.find({**columns, "eventNumber": list(EVENTS)}))
    with pytest.raises(InputError, match="event_id has 72 elements for 3 RoIs"):
        FINDER.find({**columns, "eventNumber": flat()["event_id"]})
    with pytest.raises(InputError, match="give one"):
        FINDER.find({**columns, "event_id": list(EVENTS), "rois": {"roi_id": [0, 0, 0]}})


def test_objects_and_truth_have_the_names_of_files():
    objects = pd.DataFrame({"eventNumber": list(EVENTS), "eta": 0.4, "phi": 0.1, "et": 40.0})
    expected = FINDER.find(flat(), objects=objects.rename(columns={"eventNumber": "event_id"}))
    assert FINDER.find(flat(), objects=objects) == expected
    truth = pd.DataFrame({"eventNumber": list(EVENTS), "z_mm": list(EVENTS.values())})
    assert pyzfinder.evaluate(FINDER.find(flat()), truth)["efficiency_first"].iloc[0] == 1.0


def test_objects_select_from_files(tmp_path):
    path = tmp_path / "events.csv"
    flat().to_csv(path, index=False)
    objects = pd.DataFrame({"event_id": list(EVENTS), "eta": 0.4, "phi": 0.1, "et": 40.0})
    read = pyzfinder.read(path, "generic")
    assert FINDER.find(read, objects=objects) == FINDER.find(flat(), objects=objects)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (flat(unit=10.0), "if their lengths are in cm: give lengths in mm"),
        (flat(unit=1000.0), "if their lengths are in m: give lengths in mm"),
        (flat(first_layer=1), "if its layers are counted from 1: count layers from 0"),
        (flat(), None),
    ],
)
def test_units_and_layers_that_do_not_fit_are_named_once(table, words, caplog):
    finder = Finder("auto", "generic", engine="cpu")
    with caplog.at_level(logging.WARNING, "pyzfinder"):
        finder.find(table)
        finder.find(table)
    messages = [record.message for record in caplog.records]
    assert len(messages) == (words is not None)
    assert words is None or messages[0].endswith(words)


def test_hits_of_another_detector_are_named(caplog):
    finder = Finder("auto", "atlas2010", engine="cpu")
    list(finder.stream([flat()]))
    assert "they fit detector `generic`" in caplog.text


def test_angles_in_degrees_and_energies_in_mev_are_errors():
    finder = Finder("auto", "generic", engine="cpu")
    frame = flat()
    columns = {
        "rho": np.hypot(frame["x"], frame["y"]).to_numpy(),
        "phi": np.degrees(np.arctan2(frame["y"], frame["x"])).to_numpy(),
        "z": frame["z"].to_numpy(),
        "layer": frame["layer"].to_numpy(),
    }
    with pytest.raises(InputError, match="are these degrees"):
        finder.find(**columns)
    # Later, when valid spacepoints were seen, the RoI has a status.
    assert_right(finder.find(frame))
    assert finder.find(**columns).status.tolist() == ["bad_spacepoint"]
    objects = pd.DataFrame({"event_id": [1], "eta": [0.4], "phi": [0.1], "et": [40000.0]})
    with pytest.raises(InputError, match="are these MeV"):
        finder.find(frame, objects=objects)
    with pytest.raises(InputError, match="are these degrees"):
        finder.find(frame, objects=objects.assign(et=40.0, phi=90.0))


def test_configurations_start_from_auto():
    auto = Config("auto", peaks=2)
    assert Config(peaks=2) == Config.from_toml("peaks = 2") == Config.coerce({"peaks": 2}) == auto
    assert Config.from_toml('preset = "jet"\npeaks = 2') == Config("jet", peaks=2)
    assert Finder({"peaks": 2}, "generic").config == auto
    assert auto["preset"] == "auto" and auto.replace(peaks=4) == Config()
    assert repr(Config("jet", peaks=7)) == "Config('jet', peaks=7)"
    assert Config("auto", max_layer=None)["max_layer"] == "all"


def test_one_of_several_trees_is_chosen_by_name():
    path = shared("two_trees.root")
    with pytest.raises(InputError, match="tree `sim` and tree `reco`"):
        pyzfinder.read(path, "generic")
    assert pyzfinder.read(path, "generic", tree="reco").event_id.tolist() == [1, 2, 3]


def test_an_event_in_two_files_is_not_answered_from_one(tmp_path):
    path = tmp_path / "events.csv"
    rows = flat()
    pd.concat([rows[1:], rows[:1]]).to_csv(path, index=False)
    spacepoints = pyzfinder.read(path, "generic", on_error="skip")
    assert FINDER.find(spacepoints).status.tolist() == ["bad_spacepoint", "ok", "ok"]


def shared(name):
    """Return the path of an input from reports, which users do not have."""
    root = Path(os.environ.get("ZFINDER_SHARED", ROOT.parent / "shared"))
    path = root / "data" / "reports" / name
    if not path.exists():
        assert "ZFINDER_REQUIRE_SHARED" not in os.environ, f"{path} is missing"
        pytest.skip(f"{path} is absent")
    return path


@pytest.mark.parametrize("script", ["arrow_chunks.py", "frame_names.py"])
def test_scripts_of_reports_pass(script):
    path = shared(script)
    subprocess.run([sys.executable, path.name], cwd=path.parent, check=True, timeout=120)


def test_similar_names_of_columns_are_named():
    frame = flat().rename(columns={"x": "X", "layer": "Layer"})
    tables = {
        "frame": frame,
        "dictionary": {name: frame[name].to_numpy() for name in frame},
        "structured array": frame.to_records(index=False),
        "Arrow": pa.Table.from_pandas(frame),
        "awkward": ak.Array({name: frame[name].to_numpy() for name in frame}),
    }
    for name, table in tables.items():
        with pytest.raises(InputError, match="`X` looks like `x`, `Layer` like `layer`") as raised:
            FINDER.find(table)
        assert "there are: " in str(raised.value), name
    with pytest.raises(InputError, match="`lay` looks like `layer`: rename it"):
        FINDER.find(flat().rename(columns={"layer": "lay"}))


def test_an_index_out_of_range_says_how_many_there_are():
    results = FINDER.find(flat())
    for index in (len(EVENTS), -len(EVENTS) - 1):
        with pytest.raises(IndexError, match=f"there is no RoI {index}: there are {len(EVENTS)}"):
            results[index]


def test_a_finder_takes_keys_of_the_configuration():
    assert Finder("jet", "generic", peaks=2).config == Config("jet", peaks=2)
    assert Finder("auto", "generic").replace(peaks=3).config.peaks == 3
    with pytest.raises(pyzfinder.ConfigError, match="`peaks`: -1 must be a whole number, 1 to"):
        Finder("auto", "generic", peaks=-1)
    with pytest.raises(pyzfinder.ConfigError, match="peeks.*did you mean"):
        Finder("auto", "generic", peeks=1)
    with pytest.raises(pyzfinder.ConfigError, match="the preset is the first argument"):
        Finder(preset="jet", detector="generic")


def test_a_sample_and_a_finder_need_a_detector():
    for call in (Finder, pyzfinder.simulate):
        with pytest.raises(pyzfinder.ConfigError, match="no detector is given"):
            call()


def test_drivers_print_nothing():
    code = "import os, pyzfinder; pyzfinder.adapters(); print(os.environ.get('XDG_RUNTIME_DIR'))"
    variables = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("None\n", "")
