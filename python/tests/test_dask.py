"""Dask: the answers of one process, from several, also when a worker dies."""

import gzip
import os
import signal

import awkward as ak
import numpy as np
import pytest
from conftest import DATA

import pyzfinder

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import pyzfinder.dask as zd  # noqa: E402
from pyzfinder import Finder, Results  # noqa: E402

FINDER = Finder("hard-scatter", "generic", engine="cpu")
FILES = DATA / "zee7_mu2"

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def whole():
    return FINDER.find(pyzfinder.read(FILES))


def test_two_processes_have_the_answers_of_one(client, whole):
    bag = zd.read_files(FILES, partition_bytes="300 kB")
    assert bag.npartitions > 3
    results = Results.concatenate(zd.find_bag(bag, FINDER).compute())
    assert results == whole
    assert len(client.run(lambda: len(zd._finders))) == 2


def test_shards_have_every_event_once(client, whole):
    parts = dask.compute(*zd.find_files(FILES, FINDER, partition_bytes="10 MB", shards=3))
    assert len(parts) == 3
    assert Results.concatenate(parts).digest == whole.digest


def test_a_lost_worker_loses_and_doubles_nothing(client, whole, tmp_path):
    kill = tmp_path / "killed"

    def find(part, finder):
        results = zd._find_part(part, finder, None, str(tmp_path))
        if part[0] == 3 and not kill.exists():
            kill.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return results

    parts = zd._partitions(FILES, "300 kB", 1)
    tasks = [((number, *part), FINDER) for number, part in enumerate(parts)]
    futures = [client.submit(find, *task, pure=False) for task in tasks]
    paths = client.gather(futures)
    assert kill.exists()
    import pyarrow.parquet as pq

    assert sorted(os.listdir(tmp_path)) == sorted([*(os.path.basename(p) for p in paths), "killed"])
    events = np.concatenate([pq.read_table(path)["event_id"].to_numpy() for path in paths])
    first = np.concatenate([pq.read_table(path)["z_mm"].to_numpy() for path in paths])
    expected = whole.to_pandas()
    assert np.array_equal(events, expected["event_id"])
    assert np.array_equal(first, expected["z_mm"], equal_nan=True)


def test_figures_are_merged(client, whole):
    figures = zd.evaluate_files(
        FILES, FILES / "truth_vertices.csv", FINDER, partition_bytes="300 kB", by="pile-up"
    ).compute()
    expected = pyzfinder.evaluate(whole, FILES / "truth_vertices.csv", by="pile-up")
    assert figures.equals(expected)


def test_workers_read_columns_of_other_names(client, whole, tmp_path):
    for path in FILES.glob("*-spacepoint.csv.gz"):
        text = gzip.decompress(path.read_bytes()).decode().replace(",x,", ",X,", 1)
        (tmp_path / path.name.removesuffix(".gz")).write_text(text)
    truth = tmp_path / "truth.txt"
    truth.write_text((FILES / "truth_vertices.csv").read_text())
    options = {"reading": {"columns": {"x": "X"}}, "shards": 2, "partition_bytes": "1 GB"}
    pattern = tmp_path / "*.csv"
    parts = dask.compute(*zd.find_files(pattern, FINDER, **options))
    assert Results.concatenate(parts).digest == whole.digest
    figures = zd.evaluate_files(pattern, truth, FINDER, **options).compute()
    assert figures.equals(pyzfinder.evaluate(whole, truth))


def test_lazy_awkward_arrays_read_what_the_search_needs(client, tmp_path):
    dask_awkward = pytest.importorskip("dask_awkward")
    spacepoints = pyzfinder.read(FILES)
    array = spacepoints.to_awkward()[["event_id", "rho", "phi", "z", "layer"]]
    array = ak.with_field(array, array.rho * 2, "other")
    ak.to_parquet(array[:10], tmp_path / "a.parquet")
    ak.to_parquet(array[10:], tmp_path / "b.parquet")
    lazy = dask_awkward.from_parquet(str(tmp_path / "*.parquet"))
    found = zd.find_awkward(lazy, FINDER)
    assert found.fields == FINDER.find(array[:0]).to_awkward().fields
    needed = dask_awkward.necessary_columns(found.vertices.z_mm)
    assert all("other" not in columns for columns in needed.values())
    z = found.vertices.z_mm.compute()
    assert ak.to_list(z) == ak.to_list(FINDER.find(array).to_awkward().vertices.z_mm)
    assert ak.to_list(zd.find_awkward(array, FINDER).vertices.z_mm) == ak.to_list(z)


def test_a_worker_takes_its_gpu(monkeypatch):
    gpus = [
        {"index": 0, "vendor": 0x10005, "kind": "software"},
        {"index": 1, "vendor": 0x10DE, "kind": "discrete GPU"},
        {"index": 2, "vendor": 0x10DE, "kind": "discrete GPU"},
    ]
    monkeypatch.setattr(zd, "adapters", lambda: gpus)
    auto = Finder("jet", "generic")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert zd._of_worker(auto).adapters == ("2",)
    assert zd._of_worker(auto.replace(adapter="intel")).adapters == ("intel",)
    assert zd._of_worker(auto.replace(engine="cpu")).adapters == ()
    monkeypatch.setenv("ZFINDER_ADAPTER", "10de:")
    assert zd._of_worker(auto).adapters == ("10de:",)
    monkeypatch.delenv("ZFINDER_ADAPTER")
    for wrong in ("7", "GPU-5f3a"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", wrong)
        with pytest.raises(pyzfinder.ConfigError):
            zd._of_worker(auto)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert zd._of_worker(auto).adapters == ()


def test_files_are_partitioned_by_size(tmp_path):
    for number, size in enumerate((30, 30, 30, 100, 10)):
        (tmp_path / f"event{number}.csv").write_bytes(b"x" * size)
    sizes = [[os.path.getsize(p) for p in part] for part in zd.partition_files(tmp_path, 60)]
    assert sizes == [[30, 30], [30], [100], [10]]
    assert len(zd.partition_files(str(tmp_path / "event[01].csv"))) == 1
    with pytest.raises(pyzfinder.FileError):
        zd.partition_files(tmp_path / "nothing*")
