#!/usr/bin/env python3
"""Constrains ACTS's seeding with vertices of zfinder, on spacepoints in ACTS's CSV form.

    seeding.py FOLDER                       window of 3 errors + 1 mm about the first vertex
    seeding.py FOLDER --vertices 4 --sigmas 0 --margin 2

FOLDER holds files `eventNNNNNNNNN-spacepoint.csv` (or `.csv.gz`) of ACTS's generic detector. The
script finds the vertices of all events, seeds each event without and with them, and prints the
numbers of seeds.
"""

import argparse
import csv
import gzip
import math
import sys
import tempfile
from pathlib import Path

import acts
import acts.examples
import pyzfinder
from tracking import FIELD_T, PIXEL_VOLUMES, seeding
from vertices import STEM, vertex_algorithms, write_vertices

LEVEL = acts.logging.WARNING


def open_event(folder, event):
    """Opens the spacepoints of an event, compressed or not."""
    path = folder / f"event{event:09d}-spacepoint.csv"
    return open(path, newline="") if path.is_file() else gzip.open(f"{path}.gz", "rt", newline="")


def find_vertices(spacepoints, count, folder):
    """Finds up to `count` vertices in each event and writes them for ACTS. Returns z by event."""
    finder = pyzfinder.Finder(pyzfinder.Config("auto", peaks=count), detector="generic")
    files = sorted(spacepoints.glob("event*-spacepoint.csv*"))
    found = {}
    for results in finder.stream(pyzfinder.read_batches(files, 64)):
        for index, event in enumerate(results.event_id.tolist()):
            vertices = slice(results.offsets[index], results.offsets[index + 1])
            z = results.z_mm[vertices].tolist()
            write_vertices(folder, event, z, results.z_error_mm[vertices].tolist())
            found[event] = z
    return found


class PixelReader(acts.examples.IReader):
    """Reads the pixel spacepoints of each event.

    ACTS's own reader of spacepoints wants other columns than its writer writes.
    """

    columns = (
        acts.SpacePointColumns.X
        | acts.SpacePointColumns.Y
        | acts.SpacePointColumns.Z
        | acts.SpacePointColumns.R
        | acts.SpacePointColumns.VarianceZ
        | acts.SpacePointColumns.VarianceR
    )

    def __init__(self, folder, events):
        acts.examples.IReader.__init__(self, "PixelReader", LEVEL)
        self.folder, self.events = folder, events
        self.handle = acts.examples.WriteDataHandle(self, acts.SpacePointContainer, "spacepoints")
        self.handle.initialize("spacepoints")

    def availableEvents(self):
        return self.events[0], self.events[-1] + 1

    def read(self, context):
        container = acts.SpacePointContainer(self.columns)
        with open_event(self.folder, context.eventNumber) as file:
            for row in csv.DictReader(file):
                if int(row["geometry_id_1"]) >> 56 not in PIXEL_VOLUMES:
                    continue
                spacepoint = container.createSpacePoint()
                x, y = float(row["x"]), float(row["y"])
                spacepoint.x, spacepoint.y, spacepoint.z = x, y, float(row["z"])
                spacepoint.r = math.hypot(x, y)
                spacepoint.varianceZ = float(row["var_z"])
                spacepoint.varianceR = float(row["var_r"])
        self.handle(context, container)
        return acts.examples.ProcessCode.SUCCESS


class SeedCounter(acts.examples.IAlgorithm):
    """Counts the seeds of each event."""

    def __init__(self, keys):
        acts.examples.IAlgorithm.__init__(self, "SeedCounter", LEVEL)
        self.handles = []
        for key in keys:
            handle = acts.examples.ReadDataHandle(self, acts.SeedContainer, key)
            handle.initialize(key)
            self.handles.append(handle)
        self.counts = {}

    def execute(self, context):
        counts = [len(handle(context.eventStore)) for handle in self.handles]
        self.counts[context.eventNumber] = counts
        return acts.examples.ProcessCode.SUCCESS


def seed_events(spacepoints, events, vertices, options):
    """Seeds all events twice. Returns the numbers of seeds by event, and seconds per event."""
    with tempfile.TemporaryDirectory() as folder:
        sequencer = acts.examples.Sequencer(
            numThreads=1,
            logLevel=LEVEL,
            trackFpes=False,
            outputDir=folder,
            outputTimingFile="timing.csv",
        )
        sequencer.addReader(PixelReader(spacepoints, events))
        field = acts.ConstantBField(acts.Vector3(0.0, 0.0, FIELD_T * acts.UnitConstants.T))
        reader, fit = vertex_algorithms(vertices, field)
        sequencer.addReader(reader)
        sequencer.addAlgorithm(fit)
        sequencer.addAlgorithm(seeding("spacepoints", "all-seeds"))
        sequencer.addAlgorithm(
            seeding("spacepoints", "seeds", STEM, options.sigmas, options.margin)
        )
        counter = SeedCounter(("all-seeds", "seeds"))
        sequencer.addAlgorithm(counter)
        if options.out:
            sequencer.addWriter(
                acts.examples.CsvVertexWriter(
                    level=LEVEL,
                    inputVertices=STEM,
                    outputDir=str(options.out),
                    outputStem="vertex",
                    outputPrecision=9,
                )
            )
        sequencer.run()
        # A row for each element of the sequence, in the order of execution.
        with open(Path(folder) / "timing.csv", newline="") as file:
            seconds = [
                float(row["time_perevent_s"])
                for row in csv.DictReader(file)
                if "GridTripletSeeding" in row["identifier"]
            ]
    return counter.counts, seconds


def parse_arguments(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Constrains ACTS's seeding with vertices of zfinder."
    )
    parser.add_argument("spacepoints", type=Path, help="folder of ACTS's CSV files")
    parser.add_argument("--vertices", type=int, default=1, help="vertices of an event (1)")
    parser.add_argument("--sigmas", type=float, default=3.0, help="errors of z in the window (3)")
    parser.add_argument("--margin", type=float, default=1.0, help="added to the window, mm (1)")
    parser.add_argument("--out", type=Path, help="folder that receives ACTS's vertices as CSV")
    options = parser.parse_args(arguments)
    if options.vertices < 1:
        parser.error("--vertices must be at least 1")
    if options.sigmas < 0.0 or options.margin < 0.0 or options.sigmas + options.margin == 0.0:
        parser.error("--sigmas and --margin must be positive, or one of them 0")
    if not any(options.spacepoints.glob("event*-spacepoint.csv*")):
        parser.error(f"{options.spacepoints} has no file event*-spacepoint.csv or .csv.gz")
    return options


def main(arguments):
    """Finds vertices, seeds with and without them, and prints the seeds."""
    options = parse_arguments(arguments)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        vertices = find_vertices(options.spacepoints, options.vertices, folder)
        counts, seconds = seed_events(options.spacepoints, sorted(vertices), folder, options)
    print("event   seeds   constrained   z of the vertices, mm")
    for event, (unconstrained, constrained) in sorted(counts.items()):
        z = " ".join(f"{z:.2f}" for z in vertices[event])
        print(f"{event:5d} {unconstrained:7d} {constrained:13d}   {z or 'none: not constrained'}")
    print(f"seeding: {1e3 * seconds[0]:.1f} ms an event, constrained {1e3 * seconds[1]:.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
