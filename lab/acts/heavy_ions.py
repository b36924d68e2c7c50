#!/usr/bin/env python3
"""Compares vertices of zfinder with those of ACTS's Hough vertex finder in collisions of lead.

    heavy_ions.py --out DIR --events 40
    heavy_ions.py --out DIR --report

The result of an event is a JSON file; the same command continues an interrupted run.
"""

import argparse
import csv
import json
import math
import statistics
import tempfile
import time
from pathlib import Path

import acts
import acts.examples
import numpy
import pyzfinder
import pyzfinder.acts
from events import QUIET, Events, make

RIGHT_MM = 1.0
# Charged particles above 0.5 GeV within |eta| < 2.5: classes of centrality.
CLASSES = ((0, 100), (100, 1000), (1000, 10**9))
FINDERS = ("auto", "all-vertices", "high-multiplicity")


class HeavyIons(Events):
    """The simulation, zfinder, and ACTS's finder."""

    def __init__(self, seed, folder):
        super().__init__("lead", seed)
        self.folder = folder
        self.layers = pyzfinder.acts.layers_by_position(pyzfinder.Detector("generic"))
        self.finders = {
            preset: pyzfinder.Finder(preset, "generic", engine="cpu", threads=1).open()
            for preset in FINDERS
        }
        self.hough = acts.examples.HoughVertexFinderAlgorithm(
            level=QUIET, inputSpacePoints="pixel_spacepoints", outputVertices="hough"
        )
        self.writer = acts.examples.CsvVertexWriter(
            level=QUIET,
            inputVertices="hough",
            outputDir=str(folder),
            outputStem="hough",
            outputPrecision=9,
        )

    def measure(self, number):
        """Simulates and searches one event and returns its result."""
        event, vertices, _, _ = self.simulate(number)
        points = self.read_spacepoints(event.store)
        columns = {name: numpy.array(getattr(points, name)) for name in "xyz"}
        columns["layer"] = self.layers(points)
        found = {}
        for preset, finder in self.finders.items():
            begin = time.process_time()
            results = finder.find(columns)
            seconds = time.process_time() - begin
            found[preset] = {
                "z_mm": results.z_mm[:1].tolist(),
                "z_error_mm": results.z_error_mm[:1].tolist(),
                "seconds": seconds,
            }
        seconds = event.execute(self.hough)
        self.writer.write(event.context())
        with open(Path(self.folder) / f"event{number:09d}-hough.csv", newline="") as file:
            z = [float(row["z"]) for row in csv.DictReader(file)]
        found["HoughVertexFinder"] = {"z_mm": z[:1], "z_error_mm": [], "seconds": seconds}
        return {
            "true_z_mm": vertices[0].z,
            "charged": vertices[0].charged,
            "spacepoints": len(points),
            "found": found,
        }


def half_width(values):
    """Returns half the interval that holds 68 % of the values about their median."""
    middle = statistics.median(values)
    return sorted(abs(value - middle) for value in values)[math.ceil(0.68 * len(values)) - 1]


def report(folder):
    """Prints the table."""
    events = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    print(
        "| charged particles | events | spacepoints | finder | within 1 mm | width, um | pull "
        "| time, ms |\n|" + 8 * "---|"
    )
    for low, high in CLASSES:
        chosen = [event for event in events if low <= event["charged"] < high]
        for key in (*FINDERS, "HoughVertexFinder") if chosen else ():
            found = [(event["true_z_mm"], event["found"][key]) for event in chosen]
            misses = [of["z_mm"][0] - z for z, of in found if of["z_mm"]]
            right = [miss for miss in misses if abs(miss) < RIGHT_MM]
            errors = [of["z_error_mm"][0] for z, of in found
                      if of["z_error_mm"] and abs(of["z_mm"][0] - z) < RIGHT_MM]  # fmt: skip
            pulls = [miss / error for miss, error in zip(right, errors)] if errors else []
            first = key == FINDERS[0]
            cells = [
                (f"{low} to {high:,}" if high < 10**9 else f"above {low:,}") if first else "",
                str(len(chosen)) if first else "",
                f"{statistics.mean(event['spacepoints'] for event in chosen):,.0f}" if first else "",
                f"`{key}`",
                f"{len(right)}",
                f"{1e3 * half_width(right):.1f}" if right else "",
                f"{half_width(pulls):.2f}" if pulls else "",
                f"{1e3 * statistics.mean(of['seconds'] for _, of in found):,.1f}",
            ]
            print("| " + " | ".join(cells) + " |")


def main(arguments=None):
    """Measures events, or prints their table."""
    parser = argparse.ArgumentParser(description="Compares finders in collisions of lead.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--events", type=int, default=40, help="number of events (40)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all seeds (1)")
    parser.add_argument("--report", action="store_true", help="only print the table")
    options = parser.parse_args(arguments)
    if options.report:
        report(options.out)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        comparison = HeavyIons(options.seed, Path(scratch))
        for number in range(options.events):
            path = options.out / f"{number:06d}.json"
            if not path.is_file():
                result = comparison.measure(number)
                make.write_atomically(path, (json.dumps(result) + "\n").encode())
                print(number, result["charged"], result["spacepoints"], flush=True)


if __name__ == "__main__":
    main()
