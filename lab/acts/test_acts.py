"""Runs the example and the studies on two small events. `lab/acts/test` calls it."""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyzfinder

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


def test_seeding(folder):
    """ACTS gets the vertices that zfinder found, and makes fewer seeds with them."""
    run(MAKE, "--out", folder, "--sample", "zee_mu46", "--events", EVENTS)
    sample = folder / "zee_mu46"
    text = run(HERE / "seeding.py", sample, "--vertices", 4, "--out", folder / "vertices")
    found = pyzfinder.Finder(pyzfinder.Config("auto", peaks=4), "generic").find(
        pyzfinder.read(sorted(sample.glob("event*.csv.gz")))
    )
    for event in range(EVENTS):
        with open(folder / f"vertices/event{event:09d}-vertex.csv", newline="") as file:
            z = sorted(float(row["z"]) for row in csv.DictReader(file))
        expected = sorted(found.z_mm[found.offsets[event] : found.offsets[event + 1]].tolist())
        assert z, f"event {event} has no vertex"
        assert len(z) == len(expected), (z, expected)
        assert all(abs(a - b) < 1e-3 for a, b in zip(z, expected)), (z, expected)
        seeds, constrained = (int(word) for word in text.splitlines()[1 + event].split()[1:3])
        assert 0 < 2 * constrained < seeds, (seeds, constrained)


def test_study(folder):
    """The study finds the tracks of the hard scatter, goes on, and has a report."""
    run(HERE / "study.py", "--out", folder, "--sample", "zee_mu2", "--events", 1)
    text = run(HERE / "study.py", "--out", folder, "--sample", "zee_mu2", "--events", EVENTS)
    assert "1 of 2 events are finished" in text, text
    for event in range(EVENTS):
        result = json.loads((folder / f"zee_mu2/{event:06d}.json").read_text())
        targets, variants = result["targets"], result["variants"]
        assert len(variants["none-0-"]["found"]) > len(targets) // 2 > 0, result
        # Windows inside one another.
        seeds = [variants[f"truth-1-{width}mm"]["seeds"] for width in ("1", "2", "3")]
        assert 0 < seeds[0] <= seeds[1] <= seeds[2] <= variants["none-0-"]["seeds"], seeds
    assert "| zfinder, ±1 mm |" in run(HERE / "report.py", folder)


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
    for test in (test_seeding, test_study, test_tracklets, test_rank):
        with tempfile.TemporaryDirectory() as scratch:
            test(Path(scratch))
        print(f"{test.__name__}: ok")
