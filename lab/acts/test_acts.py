"""Runs the example and the studies on two small events. `lab/acts/test` calls it."""

import csv
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyzfinder
import pyzfinder.acts
from events import Events

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "samples"
MAKE = SAMPLES / "make.py"
EVENTS = 2


def run(script, *arguments):
    """Runs a script, shows what it wrote if it fails, and returns its output."""
    command = [sys.executable, "-B", str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def test_layers(_):
    """Places of spacepoints tell the layers that their geometry identifiers name."""
    for detector in ("generic", "odd"):
        events = Events("zee_mu46", 1, detector)
        event, _, _, _ = events.simulate(0)
        spacepoints = events.read_spacepoints(event.store)
        layout = pyzfinder.Detector(detector)
        layer = pyzfinder.acts.layers_by_position(layout)(spacepoints)
        by_geometry = pyzfinder.acts.layers_by_geometry(layout)(spacepoints)
        assert len(layer) > 5000 and layer.max() < 255, detector
        assert (layer == by_geometry).all(), detector


def test_chain(_):
    """ACTS gets vertices and seeds of zfinder, and makes fewer seeds and as many vertices."""
    for detector in ("generic", "odd"):
        text = run(HERE / "chain.py", "--sample", "zee_mu2", "--events", EVENTS, "--detector", detector)
        lines = text.splitlines()
        seeds = {}
        for place, line in enumerate(lines):
            if line in ("ACTS", "window", "zfinder"):
                rows = lines[place + 2 : place + 2 + EVENTS]
                seeds[line] = sum(int(row.split()[1]) for row in rows)
                assert all(int(row.split()[3]) > 0 for row in rows), text
        assert 0 < seeds["zfinder"] < seeds["window"] < seeds["ACTS"], text


def test_study(folder):
    """The study finds the tracks of the hard scatter, goes on, and has a report."""
    run(HERE / "study.py", "--out", folder, "--sample", "zee_mu2", "--events", 1)
    text = run(HERE / "study.py", "--out", folder, "--sample", "zee_mu2", "--events", EVENTS)
    assert "1 of 2 events are finished" in text, text
    for event in range(EVENTS):
        result = json.loads((folder / f"zee_mu2_generic/{event:06d}.json").read_text())
        targets, variants = result["targets"], result["variants"]
        assert targets["all"] >= targets["hard"] > 0, result
        for key, variant in variants.items():
            assert 2 * variant["tracks"]["hard"] > targets["hard"], (key, result)
        assert variants["seeds"]["seeds"]["number"] < variants["acts"]["seeds"]["number"], result
    plot = folder / "plot.svg"
    options = ["--plot", plot] if importlib.util.find_spec("matplotlib") else []
    assert "| zfinder, first vertex |" in run(HERE / "report.py", folder, *options)


def test_tracklets(folder):
    """Tracklets seed the hard scatter, and both finders find the vertices of the event."""
    options = ("--out", folder, "--sample", "zee_mu46")
    run(HERE / "tracklets.py", *options, "--events", EVENTS)
    report = run(HERE / "tracklets.py", *options, "--report")
    for finder in ("all-vertices", "amvf", "amvf-grid"):
        row = next(line for line in report.splitlines() if line.startswith(f"| `{finder}` | "))
        assert float(row.split(" | ")[2].split()[0]) > 70.0, row
    sample = folder / "zee_mu46"
    for event in range(EVENTS):
        result = json.loads((sample / f"{event:06d}.json").read_text())
        seeds = result["zfinder"]["auto"]["seeds"]
        found = {particle for particle, most, of, _ in seeds if 2 * most > of}
        targets = set(range(len(result["targets"])))
        assert len(targets & found) > len(targets) // 2 > 0, (targets, found)
        fakes = sum(2 * most <= of for _, most, of, _ in seeds)
        assert 10 * fakes < len(seeds), (fakes, len(seeds))


def test_rank(folder):
    """The table has vertices with and without a peak, and a rank can be fitted to it."""
    run(MAKE, "--out", folder, "--sample", "top_mu46", "--events", EVENTS)
    table = folder / "table.csv"
    run(SAMPLES / "rank.py", "table", folder / "top_mu46", "-o", table)
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["event"] for row in rows if row["place"] == "0"] == ["0", "1"], rows
    assert len({row["ln_weight"] == rows[-1]["ln_weight"] for row in rows}) == 2, rows
    text = run(SAMPLES / "rank.py", "fit", table, table)
    today, again = (
        next(line for line in text.splitlines() if line.startswith(f"| {order} | "))
        for order in ("today", "today's rank")
    )
    assert today.split("|")[2:] == again.split("|")[2:], text


if __name__ == "__main__":
    for test in (test_layers, test_chain, test_study, test_tracklets, test_rank):
        with tempfile.TemporaryDirectory() as scratch:
            test(Path(scratch))
        print(f"{test.__name__}: ok")
