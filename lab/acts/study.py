#!/usr/bin/env python3
"""Measures what knowing z buys ACTS's seeding and track finding.

    study.py --out DIR                                      all samples, default numbers of events
    study.py --out DIR --sample top_mu200 --events 20

Every event is generated, simulated and reconstructed in one process, once for each variant of the
seeding. The result of an event is a JSON file; the same command continues an interrupted run.
`report.py` makes the table and the plot.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import acts
import acts.examples
import numpy
import pyzfinder
from events import QUIET, Events, Reader, barcode_of, eta_of, make, measurement_of, target_of
from tracking import MIN_PT_OF_SEEDS_GEV, PIXEL_VOLUMES, seeding, track_finding

SAMPLES = {"zee_mu2": 100, "zee_mu46": 100, "top_mu46": 100, "zee_mu200": 24, "top_mu200": 24}

# Hard-scatter tracks to find: charged particles of the generator.
MIN_PT_GEV = 1.0
MAX_ABS_ETA = 3.0
MIN_MEASUREMENTS = 7
MIN_PIXEL_MEASUREMENTS = 3
# A track belongs to the particle that has more than this share of its measurements.
MAJORITY = 0.5

# Vertices of zfinder that an event asks for.
VERTEX_COUNTS = (1, 2, 4)
# Name, errors of z, margin in mm.
WINDOWS = (
    ("1 mm", 0.0, 1.0),
    ("2 mm", 0.0, 2.0),
    ("3 mm", 0.0, 3.0),
    ("3 sigma + 1 mm", 3.0, 1.0),
)


@dataclass(frozen=True)
class Variant:
    """One way to seed: the source of the vertices, their number, and the window about each."""

    source: str
    vertices: int = 0
    window: str = ""
    n_sigma: float = 0.0
    margin_mm: float = 0.0
    min_pt_gev: float = MIN_PT_OF_SEEDS_GEV

    @property
    def key(self):
        key = f"{self.source}-{self.vertices}-{self.window}".replace(" ", "")
        return key if self.min_pt_gev == MIN_PT_OF_SEEDS_GEV else f"{key}-{self.min_pt_gev:g}GeV"

    @property
    def vertex_key(self):
        return f"vertices-{self.source}-{self.vertices}" if self.vertices else ""


BASELINE = Variant("none")
# Seeds above a momentum near that of the tracks to find.
HARD_SEEDS_GEV = 0.9
VARIANTS = (
    BASELINE,
    Variant("none", min_pt_gev=HARD_SEEDS_GEV),
    *(Variant("zfinder", n, *WINDOWS[1], min_pt_gev=HARD_SEEDS_GEV) for n in (1, 2)),
    *(Variant("truth", 1, *window) for window in WINDOWS[:3]),
    Variant("acts-hough", 1, *WINDOWS[1]),
    *(Variant("zfinder", count, *window) for count in VERTEX_COUNTS for window in WINDOWS),
)


class Study(Events):
    """The simulation of one sample, zfinder, and ACTS's algorithms of each variant."""

    def __init__(self, name, seed, folder):
        super().__init__(name, seed, folder)
        ex = acts.examples
        config = pyzfinder.Config("auto", peaks=max(VERTEX_COUNTS))
        self.finder = pyzfinder.Finder(config, "generic", engine="cpu", threads=1).open()
        self.hough = ex.HoughVertexFinderAlgorithm(
            level=QUIET,
            inputSpacePoints="pixel_spacepoints",
            outputVertices="vertices-acts-hough-1",
        )
        for variant in VARIANTS:
            if variant.source in ("truth", "zfinder"):
                self.add_vertices(variant.vertex_key)
        self.chains = {}
        for variant in VARIANTS:
            seeds, tracks = f"seeds-{variant.key}", f"tracks-{variant.key}"
            self.chains[variant] = (
                seeding(
                    "pixel_spacepoints",
                    seeds,
                    variant.vertex_key,
                    variant.n_sigma,
                    variant.margin_mm,
                    variant.min_pt_gev,
                    QUIET,
                ),
                *track_finding(seeds, tracks, self.geometry, self.field),
                Reader(acts.SeedContainer, seeds),
                Reader(ex.ConstTrackContainer, tracks),
            )

    def measure(self, number):
        """Simulates and reconstructs one event and returns its result."""
        event, vertices, particles, identifiers = self.simulate(number)
        targets, owners = self.find_targets(event.store, particles, vertices[0], identifiers >> 56)
        found = self.find_vertices(event, identifiers)
        self.put_sources(event, found, vertices[0].z)
        hough_seconds = event.execute(self.hough)
        return {
            "event": number,
            "collisions": len(vertices),
            "true_z_mm": vertices[0].z,
            "spacepoints": len(self.read_spacepoints(event.store)),
            "zfinder": found,
            "acts_hough_seconds": hough_seconds,
            "targets": targets,
            "variants": {
                variant.key: self.reconstruct(event, chain, owners)
                for variant, chain in self.chains.items()
            },
        }

    def find_targets(self, store, particles, vertex, volumes):
        """Returns the tracks to find, and the track of each measurement (-1 for any other)."""
        measurements_of = self.read_measurements_of(store)
        owners = numpy.full(len(volumes), -1)
        targets = []
        for number, index, _, charge, _, x, y, z, px, py, pz, _ in particles:
            pt = math.hypot(px, py)
            if number != 1 or charge == 0.0 or pt < MIN_PT_GEV:
                continue
            if abs(eta_of(px, py, pz)) > MAX_ABS_ETA:
                continue
            barcode = barcode_of(number, index)
            measurements = numpy.array(measurements_of.valuesFor(barcode), dtype=int)
            in_pixels = numpy.isin(volumes[measurements], PIXEL_VOLUMES).sum()
            if len(measurements) < MIN_MEASUREMENTS or in_pixels < MIN_PIXEL_MEASUREMENTS:
                continue
            owners[measurements] = len(targets)
            targets.append(target_of(vertex, (x, y, z), (px, py, pz)))
        return targets, owners

    def find_vertices(self, event, identifiers):
        """Finds vertices in the spacepoints of the event store."""
        columns = self.columns(event, identifiers)
        seconds = []
        for _ in range(3):
            begin = time.process_time()
            results = self.finder.find(columns)
            seconds.append(time.process_time() - begin)
        return {
            "z_mm": results.z_mm.tolist(),
            "z_error_mm": results.z_error_mm.tolist(),
            "seconds": sorted(seconds)[1],
        }

    def put_sources(self, event, found, true_z_mm):
        """Puts the vertices of all sources in the event store."""
        for key in self.vertex_algorithms:
            count = int(key.rsplit("-", 1)[1])
            z, error = found["z_mm"][:count], found["z_error_mm"][:count]
            if "truth" in key:
                z, error = [true_z_mm], [0.0]
            self.put_vertices(event, key, z, error)

    def reconstruct(self, event, chain, owners):
        """Seeds and finds tracks, and returns what was found in which time."""
        seeder, estimation, finding, read_seeds, read_tracks = chain
        seconds = [event.execute(algorithm) for algorithm in (seeder, estimation, finding)]
        tracks = read_tracks(event.store)
        found = set()
        for track in tracks:
            measurements = [
                measurement_of(state.uncalibratedSourceLink)
                for state in track.trackStates
                if state.typeFlags.isMeasurement
            ]
            of_targets = owners[measurements]
            counts = numpy.bincount(of_targets[of_targets >= 0], minlength=1)
            if counts.max() > MAJORITY * len(measurements):
                found.add(int(counts.argmax()))
        return {
            "seeds": len(read_seeds(event.store)),
            "tracks": len(tracks),
            "seeding_seconds": seconds[0],
            "estimation_seconds": seconds[1],
            "finding_seconds": seconds[2],
            "found": sorted(found),
        }


def settings(name, seed):
    """Returns what decides the results of a sample."""
    packages = {p: metadata.version(p) for p in ("pyacts", "pythia8mc", "numpy")}
    packages["pyzfinder"] = pyzfinder.__version__
    variants = [asdict(variant) for variant in VARIANTS]
    return {"sample": name, "seed": seed, "packages": packages, "variants": variants}


def prepare_folder(folder, name, seed):
    """Creates the folder of a sample, or checks that its results have the same settings."""
    wanted = settings(name, seed)
    file = folder / "study.json"
    folder.mkdir(parents=True, exist_ok=True)
    if file.is_file() and json.loads(file.read_text()) != wanted:
        sys.exit(f"study.py: {folder} holds results of other settings; choose another --out")
    make.write_atomically(file, (json.dumps(wanted, indent=2) + "\n").encode())


def run_sample(name, events, seed, out):
    """Measures the events of a sample that have no result yet."""
    folder = out / name
    prepare_folder(folder, name, seed)
    todo = [n for n in range(events) if not (folder / f"{n:06d}.json").is_file()]
    print(f"{name}: {events - len(todo)} of {events} events are finished", flush=True)
    if not todo:
        return
    with tempfile.TemporaryDirectory() as scratch:
        study = Study(name, seed, Path(scratch))
        # The first event of a process is slower, so it is measured twice.
        study.measure(todo[0])
        for done, number in enumerate(todo, start=1):
            begin = time.monotonic()
            result = study.measure(number)
            path = folder / f"{number:06d}.json"
            make.write_atomically(path, (json.dumps(result) + "\n").encode())
            baseline = result["variants"][BASELINE.key]
            print(
                f"{name}: {done} of {len(todo)}: {result['spacepoints']} spacepoints, "
                f"{baseline['seeds']} seeds, {len(baseline['found'])} of "
                f"{len(result['targets'])} tracks, {time.monotonic() - begin:.1f} s",
                flush=True,
            )


def parse_arguments(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Measures what knowing z buys ACTS's seeding and track finding."
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--sample", nargs="+", default=list(SAMPLES), choices=SAMPLES, metavar="NAME",
        help=f"samples: {', '.join(SAMPLES)} (all)",
    )  # fmt: skip
    parser.add_argument(
        "--events", type=int, help="events of each sample (100, or 24 at pile-up 200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all seeds (1)")
    options = parser.parse_args(arguments)
    if options.events is not None and options.events < 1:
        parser.error("--events must be at least 1")
    return options


def main(arguments):
    """Measures all samples."""
    options = parse_arguments(arguments)
    for name in options.sample:
        run_sample(name, options.events or SAMPLES[name], options.seed, options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
