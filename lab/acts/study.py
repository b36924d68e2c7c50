#!/usr/bin/env python3
"""Measures what vertices and seeds of zfinder buy ACTS's track finding.

    study.py --out DIR                                      all samples, default numbers of events
    study.py --out DIR --sample top_mu200 --events 20 --detector odd

Every event is generated, simulated and reconstructed in one process, once for each variant of the
seeding. The result of an event is a JSON file; the same command continues an interrupted run.
`report.py` makes the tables and the plot.
"""

import argparse
import json
import math
import sys
import time
from importlib import metadata
from pathlib import Path

import acts
import acts.examples
import numpy
import pyzfinder
import pyzfinder.acts
from events import QUIET, Algorithms, Events, Reader, barcode_of, eta_of, make, measurement_of
from tracking import seeding, track_finding

SAMPLES = {"zee_mu46": 100, "top_mu46": 100, "zee_mu200": 40, "top_mu200": 40}

# Tracks to find: charged particles of the generator.
MIN_PT_GEV = 1.0
MAX_ABS_ETA = 2.5
MIN_MEASUREMENTS = 7
MIN_PIXEL_MEASUREMENTS = 3
# A track or a seed belongs to the particle that has more than this share of its measurements.
MAJORITY = 0.5
# Least momentum of seeds, where it is not ACTS's own. It is below that of the tracks to find.
HARD_SEEDS_GEV = 0.9
# Half the window about a vertex of zfinder.
WINDOW_MM = 2.0
# Variants of the seeding.
VARIANTS = ("acts", "acts-hard", "window", "seeds", "all-seeds")


class Study(Events):
    """The simulation of one sample, zfinder, and ACTS's algorithms of each variant."""

    def __init__(self, name, seed, detector):
        super().__init__(name, seed, detector)
        self.read_pixels = Reader(acts.SpacePointContainer, "pixel_spacepoints")
        self.chains = {}
        for variant in VARIANTS:
            seeders = self.seeders(variant, detector)
            tracks = track_finding(f"seeds-{variant}", f"tracks-{variant}", self.geometry, self.field)
            self.chains[variant] = (
                seeders,
                tracks,
                Reader(acts.SeedContainer, f"seeds-{variant}"),
                Reader(acts.examples.ConstTrackContainer, f"tracks-{variant}"),
            )

    def seeders(self, variant, detector):
        """Returns the algorithms from spacepoints to the seeds of a variant."""
        seeds, algorithms = f"seeds-{variant}", Algorithms()
        finder = {
            "window": ("auto", {"peaks": 1}),
            "seeds": ("all-vertices", {"tracklets": "window"}),
            "all-seeds": ("all-vertices", {"tracklets": "all"}),
        }.get(variant)
        if finder is not None:
            preset, keys = finder
            config = pyzfinder.Config(preset, **keys)
            finder = pyzfinder.Finder(config, detector, engine="cpu", threads=1)
        if variant == "acts":
            algorithms.append(seeding("pixel_spacepoints", seeds, level=QUIET))
        elif variant == "acts-hard":
            algorithms.append(
                seeding("pixel_spacepoints", seeds, min_pt_gev=HARD_SEEDS_GEV, level=QUIET)
            )
        elif variant == "window":
            vertices = pyzfinder.acts.add_vertices(algorithms, finder, self.field, level=QUIET)
            algorithms.append(
                seeding(
                    "pixel_spacepoints", seeds, vertices, 0.0, WINDOW_MM, HARD_SEEDS_GEV, QUIET
                )
            )
        else:
            algorithms.append(
                pyzfinder.acts.FinderAlgorithm(
                    finder, seeds=seeds, min_pt_gev=HARD_SEEDS_GEV, level=QUIET
                )
            )
        return algorithms

    def measure(self, number):
        """Simulates and reconstructs one event and returns its result."""
        event, vertices, particles, identifiers = self.simulate(number)
        targets, owners = self.find_owners(event.store, particles, identifiers)
        variants = {
            variant: self.reconstruct(event, variant, targets, owners) for variant in VARIANTS
        }
        return {
            "event": number,
            "collisions": len(vertices),
            "true_z_mm": vertices[0].z,
            "spacepoints": len(self.read_spacepoints(event.store)),
            "targets": {"hard": int(targets.sum()), "all": len(targets)},
            "variants": variants,
        }

    def find_owners(self, store, particles, identifiers):
        """Returns whether each track to find is of the hard scatter, and the particle of each
        measurement.

        The first numbers of particles are those of the tracks to find.
        """
        measurements_of = self.read_measurements_of(store)
        is_pixel = numpy.isin(identifiers >> 56, self.pixel_volumes)
        numbers, targets = {}, []
        for number, index, _, charge, *_, px, py, pz, _ in particles:
            pt = math.hypot(px, py)
            if charge == 0.0 or pt < MIN_PT_GEV or abs(eta_of(px, py, pz)) > MAX_ABS_ETA:
                continue
            measurements = numpy.array(
                measurements_of.valuesFor(barcode_of(number, index)), dtype=int
            )
            in_pixels = is_pixel[measurements].sum()
            if len(measurements) >= MIN_MEASUREMENTS and in_pixels >= MIN_PIXEL_MEASUREMENTS:
                numbers[number, 0, index, 0, 0] = len(targets)
                targets.append(number == 1)
        return numpy.array(targets, dtype=bool), self.owners(store, numbers, len(identifiers))

    def reconstruct(self, event, variant, is_hard, owners):
        """Seeds and finds tracks, and returns what was found in which time."""
        seeders, (estimation, finding), read_seeds, read_tracks = self.chains[variant]
        seeding_seconds = sum(event.execute(algorithm) for algorithm in seeders)
        finding_seconds = event.execute(estimation) + event.execute(finding)
        is_zfinder = variant in ("seeds", "all-seeds")
        container = self.read_spacepoints if is_zfinder else self.read_pixels
        owners_of_points = owners[self.measurements(event, container)]
        seeds = [owners_of_points[seed.spacePointIndices] for seed in read_seeds(event.store)]
        tracks = [owners[measurements_of(track)] for track in read_tracks(event.store)]
        found = {}
        for name, groups in (("seeds", seeds), ("tracks", tracks)):
            particles = [majority(group) for group in groups]
            hit = [particle for particle in particles if particle is not None]
            of_targets = numpy.bincount(
                [particle for particle in hit if particle < len(is_hard)], minlength=len(is_hard)
            )
            found[name] = {
                "number": len(groups),
                "fakes": len(groups) - len(hit),
                "hard": int((of_targets[is_hard] > 0).sum()),
                "all": int((of_targets > 0).sum()),
                "duplicates": int((of_targets[of_targets > 0] - 1).sum()),
                "duplicates_hard": int((of_targets[is_hard & (of_targets > 0)] - 1).sum()),
            }
        return {
            **found,
            "seeding_seconds": seeding_seconds,
            "finding_seconds": finding_seconds,
        }


def measurements_of(track):
    """Returns the numbers of the measurements of a track."""
    return [
        measurement_of(state.uncalibratedSourceLink)
        for state in track.trackStates
        if state.typeFlags.isMeasurement
    ]


def majority(owners):
    """Returns the particle that has most of these measurements; None for a fake."""
    particles, counts = numpy.unique(owners, return_counts=True)
    most = counts.argmax()
    return int(particles[most]) if counts[most] > MAJORITY * len(owners) else None


def settings(name, seed, detector):
    """Returns what decides the results of a sample."""
    packages = {p: metadata.version(p) for p in ("pyacts", "pythia8mc", "numpy")}
    packages["pyzfinder"] = pyzfinder.__version__
    return {"sample": name, "seed": seed, "detector": detector, "packages": packages}


def prepare_folder(folder, wanted):
    """Creates the folder of a sample, or checks that its results have the same settings."""
    file = folder / "study.json"
    folder.mkdir(parents=True, exist_ok=True)
    if file.is_file() and json.loads(file.read_text()) != wanted:
        sys.exit(f"study.py: {folder} holds results of other settings; choose another --out")
    make.write_atomically(file, (json.dumps(wanted, indent=2) + "\n").encode())


def run_sample(name, events, seed, detector, out):
    """Measures the events of a sample that have no result yet."""
    folder = out / f"{name}_{detector}"
    prepare_folder(folder, settings(name, seed, detector))
    todo = [n for n in range(events) if not (folder / f"{n:06d}.json").is_file()]
    print(f"{folder.name}: {events - len(todo)} of {events} events are finished", flush=True)
    if not todo:
        return
    study = Study(name, seed, detector)
    # The first event of a process is slower, so it is measured twice.
    study.measure(todo[0])
    for done, number in enumerate(todo, start=1):
        begin = time.monotonic()
        result = study.measure(number)
        path = folder / f"{number:06d}.json"
        make.write_atomically(path, (json.dumps(result) + "\n").encode())
        counts = ", ".join(
            f"{key} {of['seeds']['number']} seeds {of['tracks']['hard']}"
            for key, of in result["variants"].items()
        )
        print(
            f"{folder.name}: {done} of {len(todo)}: {result['targets']['hard']} tracks: {counts}; "
            f"{time.monotonic() - begin:.1f} s",
            flush=True,
        )


def parse_arguments(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Measures what vertices and seeds of zfinder buy ACTS's track finding."
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--sample", nargs="+", default=list(SAMPLES), choices=make.SAMPLES, metavar="NAME",
        help=f"samples: {', '.join(SAMPLES)} (these)",
    )  # fmt: skip
    parser.add_argument(
        "--events", type=int, help="events of each sample (100, or 40 at pile-up 200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all seeds (1)")
    parser.add_argument("--detector", choices=make.DETECTORS, default="generic")
    options = parser.parse_args(arguments)
    if options.events is not None and options.events < 1:
        parser.error("--events must be at least 1")
    return options


def main(arguments):
    """Measures all samples."""
    options = parse_arguments(arguments)
    for name in options.sample:
        events = options.events or SAMPLES.get(name, 100)
        run_sample(name, events, options.seed, options.detector, options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
