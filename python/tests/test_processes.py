"""Threads, processes, signals and the command."""

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from conftest import DATA, zfinder

import pyzfinder
from pyzfinder import Config, Detector, Finder


def digest(finder, spacepoints):
    return finder.find(spacepoints).digest


def test_pickles_are_equal(finder, sample):
    for value in (
        finder,
        Finder("jet", "odd", "gpu", adapter=[0, "nvidia"], precision="f64"),
        Config("jet", peaks=2),
        Detector("generic"),
        finder.find(sample.spacepoints),
    ):
        assert pickle.loads(pickle.dumps(value)) == value
    # A finder is small: options only.
    assert len(pickle.dumps(finder)) < 20_000
    again = pickle.loads(pickle.dumps(sample.spacepoints))
    assert digest(finder, again) == digest(finder, sample.spacepoints)


def test_eight_threads_share_a_finder(finder, sample):
    expected = digest(finder, sample.spacepoints)
    fresh = pickle.loads(pickle.dumps(finder))
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda _: digest(fresh, sample.spacepoints), range(40))
        assert set(found) == {expected}


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_processes(finder, sample, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    # The engine is open and its threads run before the fork.
    expected = digest(finder, sample.spacepoints)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as processes:
        found = [processes.submit(digest, finder, sample.spacepoints) for _ in range(4)]
        assert {future.result(timeout=60) for future in found} == {expected}


def test_submitted_events_have_the_answers_of_the_batch(finder, sample):
    events = list(sample.spacepoints.partitions(1))
    wanted = [digest(finder, event) for event in events]
    fresh = finder.replace()
    futures = [fresh.submit(event) for event in events * 3]
    assert [future.result().digest for future in futures] == wanted * 3

    async def all_events():
        return await asyncio.gather(*map(fresh.find_async, events))

    assert [results.digest for results in asyncio.run(all_events())] == wanted
    with pytest.raises(pyzfinder.InputError, match="x, y, z and layer"):
        fresh.submit(y=[1.0]).result()
    with pytest.raises(pyzfinder.InputError, match="x, y, z and layer"):
        asyncio.run(fresh.find_async(y=[1.0]))


def test_the_interpreter_lock_is_released():
    spacepoints = pyzfinder.simulate("highlum", rois=4, seed=3, detector="atlas2010").spacepoints
    finder = Finder("default", "atlas2010", "reference").open()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    finder.find(spacepoints)
    end = time.monotonic()
    done.set()
    thread.join()
    assert sum(begin < tick < end for tick in ticks) > 5


def heed_interrupts():
    """Undo what a background job inherits: an ignored SIGINT stays ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


INTERRUPTED = """
import numpy as np
import pyzfinder
sample = pyzfinder.simulate("highlum", rois=4, detector="atlas2010").spacepoints
array = sample.to_awkward()[np.arange(4000) % 4]
finder = pyzfinder.Finder("hard-scatter", "atlas2010", "reference").open()
# One RoI that takes minutes.
config = pyzfinder.Config("hard-scatter", max_pairs=1e18, max_triplets=1e18)
crowded = pyzfinder.Finder(config, "atlas2010", "cpu").open()
layer = (np.arange(300_000) % 4).astype(np.uint8)
z = np.linspace(-100.0, 100.0, 300_000)
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize(
    "call",
    [
        "finder.find(array)",
        "list(finder.stream([sample] * 100, 2))",
        "crowded.find(rho=32 + 3 * layer, phi=0.1 + 0 * z, z=z, layer=layer)",
    ],
)
def test_a_long_call_is_interrupted(call):
    text = INTERRUPTED.format(call=call)
    command = [sys.executable, "-c", text]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        try:
            assert child.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            child.kill()
    assert child.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_the_command_of_the_wheel_is_interrupted(tmp_path):
    output = tmp_path / "answers.csv"
    command = [sys.executable, "-m", "pyzfinder", "find", "-", "-o", str(output)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_interrupts
    ) as child:
        child.stdin.write(b"event_id,rho,phi,z,layer\n1,50.5,0.1,1.0,0\n")
        child.stdin.flush()
        deadline = time.monotonic() + 30
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
    assert list(tmp_path.iterdir()) == []


def test_the_command_of_the_wheel_is_the_command():
    def run(*arguments):
        command = [sys.executable, "-m", "pyzfinder", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    path = str(DATA / "zee7_mu2")
    arguments = ("find", "--engine", "cpu", "--format", "csv", "-q", path)
    assert run(*arguments).stdout == zfinder(*arguments).stdout
    assert run("--version").stdout == f"zfinder {pyzfinder.__version__}\n"
    wrong = run("find", "--peaks", "none", path)
    assert wrong.returncode == 2 and "--peaks" in wrong.stderr
    missing = run("find", "nowhere.csv")
    assert missing.returncode == 1 and "nowhere.csv" in missing.stderr


def test_a_gpu_does_not_survive_a_fork(monkeypatch):
    from pyzfinder import _finder

    monkeypatch.setattr(_finder, "_gpu_process", os.getpid() + 1)
    with pytest.raises(pyzfinder.EngineError, match="spawn"):
        Finder(detector="generic", engine="gpu").open()
    Finder(detector="generic", engine="cpu").open()
