"""Configurations, files, histograms and figures."""

import json
import logging
import sys

import awkward as ak
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import DATA, zfinder

import pyzfinder
from pyzfinder import Config, ConfigError, Detector, Finder


def test_presets_are_those_of_the_command():
    for preset in pyzfinder.presets():
        run = zfinder("find", "--preset", preset, "--print-config")
        assert Config.from_toml(run.stdout) == Config(preset), preset


def test_configurations_come_from_anything(tmp_path):
    config = Config("jet", peaks=7)
    path = tmp_path / "jet.toml"
    path.write_text(config.to_toml())
    for source in (config, {"preset": "jet", "peaks": 7}, path, str(path), dict(config)):
        assert Finder(source, "generic").config == config
    assert config.replace(peaks=np.int64(3))["peaks"] == 3
    assert Config("default", beam_spot_mm=np.array([0.1, 0.2]))["beam_spot_mm"] == [0.1, 0.2]
    assert Config("auto", max_layer=None)["max_layer"] == "all"
    assert "peaks=7" in repr(config)


@pytest.mark.parametrize(
    "wrong",
    [
        {"config": "no-preset"},
        {"config": {"peeks": 3}},
        {"config": {"peaks": -1}},
        {"config": {"z_bin_mm": float("nan")}},
        {"config": {"pair_weight": "some"}},
        {"config": {"peaks": object()}},
        {"detector": "no-detector"},
        {"detector": "name = 'x'\nlayer = []"},
        {"engine": "quantum"},
        {"threads": 0},
        {"threads": 1.5},
        {"engine": "cpu", "adapter": 0},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(ConfigError):
        Finder(**{"detector": "generic", **wrong})


def test_errors_of_keys_are_those_of_the_command():
    with pytest.raises(ConfigError) as error:
        Config(z_bin_mm=0)
    assert str(error.value) == "option `z_bin_mm`: 0 must be a number, 0.001 to 10000 mm"
    assert str(error.value) in zfinder("find", "--z-bin", "0").stderr
    assert "0.001 to 10000 mm" in Config()._repr_html_()


def test_the_detector_must_be_given():
    with pytest.raises(ConfigError, match="atlas2010, generic, odd"):
        Finder()


def test_wrong_words_are_refused_when_the_engine_opens():
    for words in ({"precision": "f16"}, {"accumulate": "atomic"}, {"encoding": "zip"}):
        with pytest.raises(ConfigError):
            Finder(detector="generic", engine="cpu", **words).open()


def test_detectors_come_from_anything():
    path = DATA / "detectors" / "generic.toml"
    generic = Detector("generic")
    assert Detector(path) == generic == Detector(str(path)) == Detector(generic.to_toml())
    assert generic.layers[0]["kind"] == "barrel"
    assert generic.layers[0]["next"] == [1, 2, 10, 11] and generic.layers[4]["next"] == []
    assert generic.layers[0]["radiation_lengths"] == 0.01
    thick = generic.to_toml().replace('"pixel"', '"pixel"\nradiation_lengths = 0.03\nnext = [11]', 1)
    assert pyzfinder.Detector(thick).layers[0]["radiation_lengths"] == 0.03
    assert pyzfinder.Detector(thick).layers[0]["next"] == [11]


def test_simulated_samples_are_those_of_the_command(tmp_path):
    path, truth, rois = (tmp_path / name for name in ("points.parquet", "truth.csv", "rois.csv"))
    run = zfinder(
        "simulate",
        "--rois",
        30,
        "--seed",
        4,
        "--pile-up",
        20,
        "-o",
        path,
        "--truth",
        truth,
        "--rois-file",
        rois,
    )
    assert run.returncode == 0, run.stderr
    sample = pyzfinder.simulate(rois=30, seed=4, pile_up=20, detector="atlas2010")
    read = pyzfinder.read(path, "atlas2010", rois=rois)
    finder = Finder("jet", "atlas2010", "cpu")
    assert finder.find(read).digest == finder.find(sample.spacepoints).digest
    again = pyzfinder.read_truth(truth, read)
    np.testing.assert_allclose(again.z_mm, sample.truth.z_mm, atol=1e-5)
    assert np.array_equal(again.is_hard_scatter, sample.truth.is_hard_scatter)
    with pytest.raises(ConfigError, match="pileup"):
        pyzfinder.simulate(pileup=3, detector="atlas2010")
    with pytest.raises(ConfigError):
        pyzfinder.simulate(pile_up=-3, detector="atlas2010")


def test_batches_of_files_make_up_the_whole(caplog):
    path = DATA / "zee7_mu2"
    finder = Finder("hard-scatter", "generic", "cpu")
    whole = finder.find(pyzfinder.read(path))
    parts = list(finder.stream(pyzfinder.read_batches(path, 6)))
    assert [len(part) for part in parts] == [6, 6, 6, 2]
    assert pyzfinder.Results.concatenate(parts) == whole


def test_errors_in_files_are_logged_or_raised(tmp_path, caplog):
    path = tmp_path / "points.csv"
    path.write_text("event_id,rho,phi,z,layer\n1,50.5,0.1,1.0,0\n2,x,0.1,1.0,0\n3,50.5,0.1,1.0,0\n")
    with pytest.raises(pyzfinder.InputError, match="row 3, column rho"):
        pyzfinder.read(path, "atlas2010")
    with caplog.at_level(logging.WARNING, "pyzfinder"):
        spacepoints = pyzfinder.read(path, "atlas2010", on_error="skip")
    assert "row 3" in caplog.text and len(spacepoints) == 3


def test_figures_are_those_of_the_command():
    path = DATA / "zee7_mu2"
    run = zfinder(
        "evaluate", "--preset", "hard-scatter", "--engine", "cpu", "--format", "json", "-q", path
    )
    assert run.returncode == 0, run.stderr
    expected = json.loads(run.stdout)["configurations"][0]
    results = Finder("hard-scatter", "generic", "cpu").find(pyzfinder.read(path))
    figures = pyzfinder.evaluate(results, path / "truth_vertices.csv").iloc[0]
    assert figures["efficiency_first"] == expected["figures"]["first"]["value"]
    assert figures["residual_rms_mm"] == expected["figures"]["residual_mm"]["rms"]
    by = pyzfinder.evaluate(results, path / "truth_vertices.csv", by="pile-up")
    assert by["low"].tolist() == [bin["low"] for bin in expected["bins"]]


def test_truth_comes_from_columns(finder, sample, caplog):
    results = finder.find(sample.spacepoints)
    truth = sample.truth
    event = np.repeat(results.event_id, np.diff(truth.offsets))
    columns = {"event_id": event, "z_mm": truth.z_mm, "is_hard_scatter": truth.is_hard_scatter}
    expected = pyzfinder.evaluate(results, truth)
    shuffled = np.random.default_rng(2).permutation(len(event))
    # The order of the vertices of an event does not matter to any figure.
    assert pyzfinder.evaluate(results, {k: v[shuffled] for k, v in columns.items()}).equals(
        expected
    )
    hard = {k: v[truth.is_hard_scatter] for k, v in columns.items()}
    del hard["is_hard_scatter"]
    figures = pyzfinder.evaluate(results, hard)
    assert figures["efficiency_first"].iloc[0] == expected["efficiency_first"].iloc[0]
    assert pyzfinder.evaluate(results, {k: v[:10] for k, v in hard.items()})["rois"].iloc[0] == 10
    assert "50 RoIs have no primary vertex" in caplog.text
    assert np.array_equal(truth.hard_scatter_z_mm, truth.z_mm[truth.offsets[:-1]])
    with pytest.raises(pyzfinder.InputError):
        pyzfinder.evaluate(results[:5], truth)
    with pytest.raises(ConfigError):
        pyzfinder.evaluate(results, truth, by="phase of the moon")


def test_a_histogram_is_a_uhi_histogram(finder, sample, tmp_path):
    import boost_histogram as bh
    import hist
    import uhi.schema
    from uhi.typing.plottable import PlottableHistogram

    histogram = finder.histogram(sample.spacepoints, roi=3)
    assert isinstance(histogram, PlottableHistogram)
    text = json.dumps(histogram._to_uhi_(), default=lambda array: array.tolist())
    uhi.schema.validate({"z": json.loads(text)})
    for converted in (hist.Hist(histogram), bh.Histogram(histogram._to_uhi_())):
        assert np.array_equal(converted.values(), histogram.weights)
        assert np.allclose(converted.axes[0].edges, histogram.axes[0].edges)
    # The peak of the histogram is the vertex.
    peak = histogram.axes[0].centers[np.argmax(histogram.weights)]
    assert abs(peak - finder.find(sample.spacepoints)[3].vertices[0].z_mm) < 1
    assert histogram.axes[0][0] == pytest.approx((-200.2, -199.8), abs=0.5)
    with pytest.raises(pyzfinder.InputError, match="60 RoIs"):
        finder.histogram(sample.spacepoints)
    with pytest.raises(pyzfinder.InputError, match="no RoI"):
        finder.histogram(sample.spacepoints, roi=60)
    with pytest.raises(pyzfinder.InputError, match="bad_spacepoint"):
        finder.histogram([np.nan], [1.0], [1.0], [0])


def test_a_histogram_is_that_of_the_command(tmp_path):
    path = DATA / "zee7_mu2"
    run = zfinder("histogram", "--format", "json", "--preset", "jet", path, "--event", 3)
    expected = json.loads(run.stdout)["event_3_roi_0"]
    finder = Finder("jet", "generic", "cpu")
    uhi = finder.histogram(pyzfinder.read(path), roi=3)._to_uhi_()
    assert uhi["axes"] == expected["axes"] and uhi["metadata"] == expected["metadata"]
    assert uhi["storage"]["values"].tolist() == expected["storage"]["values"]


def test_parquet_goes_to_the_command_and_back(finder, sample, tmp_path):
    spacepoints = sample.spacepoints
    path = tmp_path / "points.parquet"
    fields = ["event_id", "rho", "phi", "z", "layer"]
    ak.to_parquet(spacepoints.to_awkward()[fields], path)
    truth = tmp_path / "truth.csv"
    rows = [f"{i},{z!r}" for i, z in enumerate(sample.truth.hard_scatter_z_mm.tolist())]
    truth.write_text("event_id,z\n" + "\n".join(rows) + "\n")
    run = zfinder(
        "evaluate",
        "--format",
        "json",
        "--engine",
        "cpu",
        "-q",
        "--preset",
        "default",
        "--detector",
        "atlas2010",
        "--truth",
        truth,
        path,
    )
    assert run.returncode == 0, run.stderr
    expected = json.loads(run.stdout)["configurations"][0]["figures"]["first"]["value"]
    whole = finder.find(spacepoints.to_awkward()[fields])
    hard = {"event_id": spacepoints.event_id, "z_mm": sample.truth.hard_scatter_z_mm}
    assert pyzfinder.evaluate(whole, hard)["efficiency_first"].iloc[0] == expected
    # Results as the command writes them.
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    whole.to_parquet(ours)
    run = zfinder(
        "find",
        "-q",
        "--engine",
        "cpu",
        "--detector",
        "atlas2010",
        "--preset",
        "default",
        path,
        "-o",
        theirs,
    )
    assert run.returncode == 0, run.stderr
    assert pq.read_table(ours).equals(pq.read_table(theirs))
    with pytest.raises(pyzfinder.FileError):
        whole.to_parquet(tmp_path / "nowhere" / "x.parquet")


def test_results_are_read_back_by_the_command(finder, sample, tmp_path):
    results = finder.find(sample.spacepoints)
    truth = tmp_path / "truth.csv"
    event = np.repeat(results.event_id, np.diff(sample.truth.offsets))
    rows = zip(event.tolist(), sample.truth.z_mm.tolist(), sample.truth.is_hard_scatter.tolist())
    lines = [f"{event},{z!r},{int(is_hard)}" for event, z, is_hard in rows]
    truth.write_text("event,vz_mm,is_hard_scatter\n" + "\n".join(lines) + "\n")
    expected = pyzfinder.evaluate(results, sample.truth)
    ak.to_parquet(results.to_awkward(), tmp_path / "awkward.parquet")
    ak.to_parquet(results.to_awkward(), tmp_path / "plain.parquet", extensionarray=False)
    pq.write_table(pa.table(results), tmp_path / "arrow.parquet")
    results.to_parquet(tmp_path / "flat.parquet")
    results.to_pandas().to_csv(tmp_path / "flat.csv", index=False)
    for name in ("awkward.parquet", "plain.parquet", "arrow.parquet", "flat.parquet", "flat.csv"):
        path = tmp_path / name
        run = zfinder("evaluate", "--format", "json", "-q", "--answers", path, "--truth", truth)
        assert run.returncode == 0, run.stderr
        figures = json.loads(run.stdout)["configurations"][0]["figures"]
        assert figures["first"]["value"] == expected["efficiency_first"].iloc[0]
        assert figures["residual_mm"]["rms"] == expected["residual_rms_mm"].iloc[0]
        assert figures["pull"]["mean"] == expected["pull_mean"].iloc[0]


def test_a_missing_package_is_named(monkeypatch):
    sample = pyzfinder.simulate(rois=2, detector="atlas2010")
    results = pyzfinder.Finder("default", "atlas2010", engine="cpu").find(sample.spacepoints)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"pandas: pip install 'pyzfinder\[pandas\]'"):
        pyzfinder.evaluate(results, sample.truth)
