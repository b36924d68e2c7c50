"""Answers: equal to the command's, on every way in."""

import csv
import gc
import gzip
import json
import pickle

import awkward as ak
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import DATA, zfinder

import pyzfinder
from pyzfinder import Finder


def digest_of(*arguments):
    run = zfinder("find", "--format", "jsonl", "--digest", "-q", *arguments)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])["digest"]


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("preset", ["default", "hard-scatter", "auto"])
def test_answers_have_the_bits_of_the_command(engine, preset):
    path = DATA / "zee7_mu2"
    expected = digest_of("--preset", preset, "--engine", engine, path)
    results = Finder(preset, "generic", engine).find(pyzfinder.read(path, "generic"))
    assert results.digest == expected


def test_rois_of_a_file_have_the_bits_of_the_command():
    path, rois = DATA / "rois/spacepoints.csv", DATA / "rois/rois.csv"
    expected = digest_of("--detector", "generic", "--preset", "jet", "--rois", rois, path)
    spacepoints = pyzfinder.read(path, "generic", rois=rois)
    finder = Finder("jet", "generic", "cpu")
    assert finder.find(spacepoints).digest == expected
    # The same from arrays.
    rho, phi, z = spacepoints.columns
    again = finder.find(
        rho=rho,
        phi=phi,
        z=z,
        layer=spacepoints.layer,
        offsets=spacepoints.offsets,
        rois=spacepoints.rois,
    )
    assert again.digest == expected


def test_cartesian_columns_have_the_bits_of_the_command(tmp_path):
    rng = np.random.default_rng(1)
    rows = []
    for event in range(8):
        for _ in range(30):
            phi, slope, z0 = rng.uniform(-3, 3), rng.normal(), rng.normal(0, 50)
            for layer, rho in enumerate([50.5, 88.5, 122.5]):
                rows.append((event, rho * np.cos(phi), rho * np.sin(phi), z0 + slope * rho, layer))
    event, x, y, z, layer = (np.array(column) for column in zip(*rows))
    path = tmp_path / "points.csv"
    lines = [
        f"{e},{a!r},{b!r},{c!r},{d}"
        for e, a, b, c, d in zip(*(v.tolist() for v in (event, x, y, z, layer)))
    ]
    path.write_text("event_id,x,y,z,layer\n" + "\n".join(lines) + "\n")
    expected = digest_of("--preset", "full-scan", "--detector", "atlas2010", path)
    offsets = np.arange(9) * 90
    results = Finder("full-scan", "atlas2010", "cpu").find(x, y, z, layer, offsets)
    assert results.digest == expected
    table = {"event_id": event, "x": x, "y": y, "z": z, "layer": layer}
    assert Finder("full-scan", "atlas2010", "cpu").find(table) == results


def test_a_frame_has_the_rows_of_the_command():
    path = DATA / "zee7_mu2"
    arguments = ("--preset", "high-pileup", "--engine", "cpu", "--format", "csv", "-q", path)
    rows = list(csv.reader(zfinder("find", *arguments).stdout.splitlines()))
    finder = Finder("high-pileup", "generic", "cpu")
    frame = finder.find(pyzfinder.read(path)).to_pandas()
    assert list(frame) == rows[0]
    texts = ("status",)
    assert len(frame) == len(rows) - 1
    for name, column in zip(rows[0], zip(*rows[1:])):
        ours = frame[name].tolist()
        for text, value in zip(column, ours):
            if name in texts:
                assert text == value
            elif name == "fallback":
                assert (text == "true") == value
            elif text == "":
                assert not value == value or value is pd.NA
            else:
                assert float(text) == value


def test_every_table_has_the_same_answers(finder, sample):
    spacepoints = sample.spacepoints
    results = finder.find(spacepoints)
    array = spacepoints.to_awkward()
    rho, phi, z = spacepoints.columns
    event = np.repeat(spacepoints.event_id, np.diff(spacepoints.offsets))
    arrow = ak.to_arrow_table(array, extensionarray=False)
    assert finder.find(array) == results
    assert finder.find(ak.to_packed(array[::-1])[::-1]) == results
    assert finder.find(ak.with_name(array, "Event")) == results
    assert finder.find(arrow) == results
    assert finder.find(arrow.combine_chunks().to_batches()[0]) == results
    assert finder.find(ak.to_arrow_table(array)) == results
    chunks = pa.concat_tables([arrow[:7], arrow[7:8], arrow[8:]])
    assert finder.find(chunks) == results
    windows = {name: column for name, column in spacepoints.rois.items()}
    columns = {"rho": rho, "phi": phi, "z": z, "layer": spacepoints.layer}
    table = {**columns, "offsets": spacepoints.offsets, "rois": windows}
    assert finder.find(table) == results
    # A row for each spacepoint has no window.
    whole = finder.find(**columns, offsets=spacepoints.offsets)
    flat = {**columns, "event_id": event}
    assert finder.find(flat) == whole
    assert finder.find(pa.table(flat)) == whole
    assert finder.find(pd.DataFrame(flat)) == whole
    assert finder.find(ak.zip(flat)) == whole
    zipped = ak.zip({name: array[name] for name in columns})
    assert finder.find(zipped) == whole


def test_one_record_is_one_roi(finder, sample):
    array = sample.spacepoints.to_awkward()
    assert finder.find(array[5]) == finder.find(array)[5:6]


def test_columns_are_borrowed_from_awkward_and_arrow(sample):
    from pyzfinder._spacepoints import spacepoints_of

    detector = pyzfinder.Detector("atlas2010")
    spacepoints = sample.spacepoints
    array = spacepoints.to_awkward()
    part = spacepoints_of(array, detector)
    assert all(np.shares_memory(a, b) for a, b in zip(part.columns, spacepoints.columns))
    assert np.shares_memory(part.layer, spacepoints.layer)
    arrow = pa.table(
        {
            "rho": spacepoints.columns[0],
            "phi": spacepoints.columns[1],
            "z": spacepoints.columns[2],
            "layer": spacepoints.layer,
        }
    )
    part = spacepoints_of(arrow, detector)
    address = arrow["rho"].chunks[0].buffers()[1].address
    assert part.columns[0].__array_interface__["data"][0] == address
    assert not part.columns[0].flags.writeable
    del arrow
    assert np.array_equal(part.columns[0], spacepoints.columns[0])


def test_geometry_ids_are_layers():
    path = DATA / "zee7_mu2" / "event000000003-spacepoint.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    # ACTS writes numbers of single precision, and the reader rounds to them.
    table = {name: np.array([row[name] for row in rows], dtype="f4") for name in ("x", "y", "z")}
    table["geometry_id"] = np.array([int(row["geometry_id_1"]) for row in rows], dtype=np.uint64)
    finder = Finder("hard-scatter", "generic", "cpu")
    from_file = finder.find(pyzfinder.read(path, "generic"))
    assert np.array_equal(finder.find(table).z_mm, from_file.z_mm)
    table["volume_id"] = table["geometry_id"] >> np.uint64(56)
    table["layer_id"] = (table["geometry_id"] >> np.uint64(36)) & np.uint64(0xFFF)
    del table["geometry_id"]
    assert np.array_equal(finder.find(table).z_mm, from_file.z_mm)


def test_a_stream_is_in_order(finder, sample):
    spacepoints = sample.spacepoints
    results = finder.find(spacepoints)
    for in_flight in (1, 3):
        parts = list(finder.stream(spacepoints.partitions(7), in_flight))
        assert pyzfinder.Results.concatenate(parts) == results
    columns = [(*part.columns, part.layer, part.offsets) for part in spacepoints.partitions(20)]
    # A tuple has the arguments of find, which are x, y, z.
    assert sum(len(part) for part in finder.stream(columns)) == 60
    assert list(finder.stream([])) == []
    with pytest.raises(pyzfinder.InputError):
        list(finder.stream([{"x": [1.0]}]))


def test_engines_agree_on_gpus(finder, sample):
    adapters = pyzfinder.adapters()
    if not adapters:
        pytest.skip("no adapter")
    results = finder.find(sample.spacepoints)
    for adapter in adapters:
        gpu = Finder("default", "atlas2010", "gpu", adapter["index"])
        assert gpu.find(sample.spacepoints) == results, gpu.description


def test_results_can_be_taken_apart(finder, sample):
    results = finder.find(sample.spacepoints)
    first = results[0]
    assert first.event_id == 0 and first.status == "ok"
    assert first.vertices[0].z_mm == results.z_mm[0]
    assert results[-1] == results[59]
    assert pyzfinder.Results.concatenate([results[:20], results[20:20], results[20:]]) == results
    assert [roi.event_id for roi in results[10:12]] == [10, 11]
    with pytest.raises(IndexError):
        results[60]
    empty = pyzfinder.Results.concatenate([])
    assert len(empty) == 0 and len(empty.to_awkward()) == 0 and len(empty.to_pandas()) == 0
    with pytest.raises(AttributeError):
        results.nothing


def test_awkward_and_arrow_results_agree(finder, sample):
    results = finder.find(sample.spacepoints)
    array = results.to_awkward()
    assert ak.to_list(array.vertices.z_mm[:, 0]) == results.first_z_mm.tolist()
    assert ak.to_list(array.status) == results.status.tolist()
    table = pa.table(results)
    assert table["status"].to_pylist() == results.status.tolist()
    flat = pa.compute.list_flatten(table["vertices"].combine_chunks())
    assert np.array_equal(flat.field("z_mm").to_numpy(), results.z_mm)
    significance = flat.field("significance").to_numpy(zero_copy_only=False)
    assert np.array_equal(significance, results.significance, equal_nan=True)


def test_columns_lie_where_the_search_left_them(finder, sample):
    results = finder.find(sample.spacepoints)
    # The slice in the middle has offsets of its own, from 0.
    for part in (results, results[:7], results[20:40], results[20:40][5:6]):
        addresses = part._columns._addresses()
        arrays = part.to_columns()
        assert arrays.keys() == addresses.keys() and len(arrays) == 21
        for name, array in arrays.items():
            assert array.ctypes.data == addresses[name], name
            assert not array.flags.writeable, name
            with pytest.raises(ValueError):
                array.flags.writeable = True
        table = pa.table(part)
        vertices = table["vertices"].chunks[0].values
        for name in ("event_id", "roi_id", "spacepoints", "outside_window"):
            assert table[name].chunks[0].buffers()[1].address == addresses[name], name
        for name in ("z_mm", "z_error_mm", "weight", "pairs", "rank", "significance", "background"):
            assert vertices.field(name).buffers()[1].address == addresses[name], name
    assert np.shares_memory(results[20:40].z_mm, results.z_mm)
    assert np.shares_memory(results[:7].offsets, results.offsets)


def test_columns_outlive_the_results(finder, sample):
    results = finder.find(sample.spacepoints)
    expected = {name: array.copy() for name, array in results.to_columns().items()}
    arrays, table, part = results.to_columns(), pa.table(results), results[10:20].z_mm
    del results
    gc.collect()
    finder.find(sample.spacepoints)
    numbers = [name for name in expected if name != "tracklets"]
    assert all(np.array_equal(arrays[name], expected[name], equal_nan=True) for name in numbers)
    assert np.array_equal(arrays["tracklets"], expected["tracklets"])
    assert table["event_id"].to_pylist() == expected["event_id"].tolist()
    ends = expected["offsets"]
    assert np.array_equal(part, expected["z_mm"][ends[10] : ends[20]])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"z_mm": None}, "without z_mm"),
        ({"rank": np.zeros(3)}, "differ in length"),
        ({"offsets": np.zeros(0, np.int64)}, "differ in length"),
        ({"roi_id": np.zeros(3, np.uint64)}, "differ in length"),
        ({"offsets": np.array([0, 2, 1])}, "do not ascend"),
        ({"offsets": np.array([0, -1, 2])}, "do not ascend"),
        ({"offsets": np.array([1, 1, 2])}, "do not ascend"),
        ({"offsets": np.array([0, 1, 1])}, "do not ascend"),
        ({"offsets": np.array([0, 1, 9])}, "do not ascend"),
        ({"status_code": np.array([0, 200], np.uint8)}, "unknown status"),
    ],
)
def test_inconsistent_columns_are_no_results(finder, sample, changes, words):
    results = finder.find(sample.spacepoints)
    # Two RoIs with a vertex each.
    columns = {name: column[:2] for name, column in results.to_columns().items()}
    columns["offsets"] = np.array([0, 1, 2])
    columns["tracklet_offsets"] = np.zeros(3, np.int64)
    assert pyzfinder.Results(columns).first_z_mm.tolist() == columns["z_mm"].tolist()
    columns = {
        name: column for name, column in {**columns, **changes}.items() if column is not None
    }
    with pytest.raises(pyzfinder.InputError, match=words):
        pyzfinder.Results(columns)
    with pytest.raises(TypeError):
        pyzfinder.Results({**columns, "z_mm": ["a"]})


def test_a_notebook_shows_the_first_rows(finder, sample):
    results = finder.find(sample.spacepoints)
    shown = results._repr_html_()
    assert shown.startswith(f"<p>60 RoIs, {len(results.z_mm)} vertices, ")
    assert f"<td>{results.z_mm[0]:.3f}</td>" in shown
    rows = len(results.to_pandas())
    assert shown.count("<td>") == 50 and shown.endswith(f"<p>{rows - 10} more rows</p>")
    few = results[:1]._repr_html_()
    assert few.startswith("<p>1 RoIs, ") and "more rows" not in few
    assert "0 vertices" in results[:0]._repr_html_()


def test_a_notebook_shows_a_finder():
    text = pyzfinder.Detector("atlas2010").to_toml().replace("atlas2010", "<i>&", 1)
    finder = Finder({"preset": "jet", "peaks": 7}, pyzfinder.Detector(text), "cpu")
    shown = finder._repr_html_()
    assert "engine cpu, not open" in shown and "<td>jet</td>" in shown
    assert "<td>&lt;i&gt;&amp;</td>" in shown and "<i>" not in shown
    assert "<td><code>peaks</code></td><td><b>7</b></td>" in shown
    assert shown.count("<b>") == 1
    assert finder.open().description in finder._repr_html_()


def test_all_vertices_and_tracklets(tmp_path):
    event = DATA / "tt14_mu46"
    spacepoints = pyzfinder.read(event, "generic")
    config = pyzfinder.Config("all-vertices", tracklets="all")
    results = pyzfinder.Finder(config, "generic", engine="cpu").find(spacepoints)
    assert len(results.z_mm) >= 25 and len(results.tracklets) > 1500
    assert results.tracklets.dtype == pyzfinder.TRACKLET
    assert not results.tracklets.flags.writeable
    vertex = results.tracklets["vertex"]
    counts = np.bincount(vertex[vertex >= 0], minlength=len(results.z_mm))
    assert np.array_equal(counts, results.tracklet_count)
    used = results.tracklets["hits"][np.arange(6) < results.tracklets["hit_count"][:, None]]
    assert used.max() < results.spacepoints[0] + results.outside_window[0]
    assert len(np.unique(used)) > 0.7 * len(used)
    first = results[0].vertices[0]
    assert abs(first.x_mm) < 0.1 and len(first.covariance_mm2) == 6
    assert np.isclose(first.covariance_mm2[5] ** 0.5, first.z_error_mm)
    # The same through copies, slices, frames and files.
    assert pickle.loads(pickle.dumps(results)) == results
    assert pyzfinder.Results.concatenate([results, results])[1:2] == results
    array = results.to_awkward()
    assert ak.to_list(array.tracklets[0].vertex) == vertex.tolist()
    assert ak.to_list(array.vertices[0].cov_zz_mm2) == results.covariance_mm2[:, 5].tolist()
    frame = results.to_pandas()
    assert frame["cov_xx_mm2"].tolist() == results.covariance_mm2[:, 0].tolist()
    results.to_parquet(tmp_path / "vertices.parquet")
    assert pq.read_table(tmp_path / "vertices.parquet").column_names == frame.columns.tolist()
    plain = pyzfinder.Finder("auto", "generic", engine="cpu").find(spacepoints)
    assert plain[0].vertices[0].x_mm is None and len(plain.tracklets) == 0
    # Arrow has the same numbers, and as many lists as RoIs.
    table = pa.table(results)
    (lists,) = table["tracklets"].to_pylist()
    assert len(lists) == len(results.tracklets)
    for row, tracklet in zip(lists[::100], results.tracklets[::100], strict=True):
        assert row["z0_mm"] == tracklet["z0_mm"]
        assert row["hits"] == tracklet["hits"][: tracklet["hit_count"]].tolist()
        assert row["vertex"] == (None if tracklet["vertex"] < 0 else tracklet["vertex"])
        assert row["bend_covariance"] == tracklet["bend_covariance"].tolist()
    assert "tracklets" not in pa.table(plain).column_names
    pq.write_table(table, tmp_path / "results.parquet")
    assert pq.read_table(tmp_path / "results.parquet").equals(table)


def test_figures_of_lists_need_numbers_of_tracks():
    folder = DATA / "tt14_mu46"
    results = pyzfinder.Finder("all-vertices", "generic", engine="cpu").find(
        pyzfinder.read(folder, "generic")
    )
    truth = pyzfinder.read_truth(folder / "truth_vertices.csv", results)
    assert truth.tracks.min() >= 0
    figures = pyzfinder.evaluate(results, truth).iloc[0]
    assert figures["list_efficiency_3"] > 0.8
    assert 0.8 < figures["list_apart_3"] <= 1 and 0 < figures["list_close_3"] <= 1
    event = np.repeat(results.event_id, np.diff(truth.offsets))
    columns = {
        "event_id": event,
        "z_mm": truth.z_mm,
        "is_hard_scatter": truth.is_hard_scatter,
        "tracks": truth.tracks,
    }
    assert pyzfinder.evaluate(results, columns).iloc[0].equals(figures)
    assert pickle.loads(pickle.dumps(truth)).tracks.tolist() == truth.tracks.tolist()
    # The command prints the same.
    written = zfinder("evaluate", "-q", "--preset", "all-vertices", "--format", "json", folder)
    (configuration,) = json.loads(written.stdout)["configurations"]
    fraction = configuration["figures"]["list"]["efficiency"][1]
    assert fraction["value"] == figures["list_efficiency_3"]
    # A table with gaps says that some are not known.
    columns["tracks"] = np.where(truth.is_hard_scatter, np.nan, truth.tracks)
    gaps = pyzfinder.evaluate(results, columns).iloc[0]
    assert gaps["list_efficiency_10"] > 0.5 and not gaps.equals(figures)
    del columns["tracks"]
    assert np.isnan(pyzfinder.evaluate(results, columns).iloc[0]["list_efficiency_3"])
