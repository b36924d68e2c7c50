#!/usr/bin/env python3
"""Runs ACTS from spacepoints to vertices of tracks, with its own seeds or with help of zfinder.

    chain.py                                          three events with top pairs at pile-up 46
    chain.py --sample zee_mu46 --events 10 --detector odd

Events are simulated. Each is reconstructed three times with ACTS's own functions: with all seeds of
ACTS, with its seeds in a window about the first vertex of zfinder, and with seeds of zfinder. The
script prints seeds, tracks and vertices of each event and the time of each step.
"""

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path

import acts
import acts.examples
import pyzfinder
import pyzfinder.acts
from acts.examples.reconstruction import (
    CkfConfig,
    SeedFinderConfigArg,
    SeedFinderOptionsArg,
    SeedingAlgorithm,
    SpacePointGridConfigArg,
    TrackSelectorConfig,
    addCKFTracks,
    addSeeding,
)
from tracking import FIELD_T, GEV, MM, PIXEL_VOLUMES, seed_options, vertex_finding

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "samples"))
import make

QUIET = acts.logging.FATAL
# Steps whose time is printed, by the class of ACTS's algorithm.
STEPS = {
    "zfinder": "zfinder",
    "TripletSeeding": "seeding",
    "TrackFinding": "track finding",
    "Ambiguity": "ambiguity resolution",
    "AdaptiveMulti": "AMVF",
}


class Particles(acts.examples.IReader):
    """Generates the particles of each event."""

    def __init__(self, source, simulation, events):
        acts.examples.IReader.__init__(self, "Particles", QUIET)
        self.source, self.simulation, self.events = source, simulation, events
        self.handle = acts.examples.WriteDataHandle(
            self, acts.examples.SimParticleContainer, "particles"
        )
        self.handle.initialize("particles")

    def availableEvents(self):
        return 0, self.events

    def read(self, context):
        _, _, self.simulation.particles = self.source.generate(context.eventNumber)
        self.handle(context, self.simulation.particle_container())
        return acts.examples.ProcessCode.SUCCESS


class Counter(acts.examples.IAlgorithm):
    """Counts seeds and tracks of each event."""

    def __init__(self, **keys):
        acts.examples.IAlgorithm.__init__(self, "Counter", QUIET)
        types = {"seeds": acts.SeedContainer, "tracks": acts.examples.ConstTrackContainer}
        self.handles, self.counts = [], []
        for name, key in keys.items():
            handle = acts.examples.ReadDataHandle(self, types[name], key)
            handle.initialize(key)
            self.handles.append(handle)

    def execute(self, context):
        self.counts.append([len(handle(context.eventStore)) for handle in self.handles])
        return acts.examples.ProcessCode.SUCCESS


def seeding_options(variant, detector, field):
    """Returns the options of ACTS's `addSeeding` for a way to seed."""
    if variant == "ACTS":
        options = seed_options()
        return {
            "seedingAlgorithm": SeedingAlgorithm.GridTriplet,
            "seedFinderConfigArg": SeedFinderConfigArg(
                r=(None, options["rMax"]),
                z=(options["zMin"], options["zMax"]),
                deltaR=(options["deltaRMin"], options["deltaRMax"]),
                collisionRegion=(options["collisionRegionMin"], options["collisionRegionMax"]),
                **{
                    name: options[name]
                    for name in (
                        "minPt", "impactMax", "maxSeedsPerSpM", "sigmaScattering",
                        "radLengthPerSeed",
                    )
                },
            ),
            "seedFinderOptionsArg": SeedFinderOptionsArg(bFieldInZ=options["bFieldInZ"]),
            "spacePointGridConfigArg": SpacePointGridConfigArg(),
        }  # fmt: skip
    if variant == "window":
        finder = pyzfinder.Finder(pyzfinder.Config("auto", peaks=1), detector, threads=1)
        seeder = pyzfinder.acts.window_seeder(finder, field, margin_mm=2.0, **seed_options())
    else:
        config = pyzfinder.Config("all-vertices", tracklets="window")
        finder = pyzfinder.Finder(config, detector, threads=1)
        seeder = pyzfinder.acts.seeder(finder, min_pt_gev=0.5)
    return {"seedingAlgorithm": SeedingAlgorithm.PythonCallable, "customSeeder": seeder}


def run(variant, options, folder):
    """Reconstructs all events with one way to seed. Returns counts and milliseconds by step."""
    simulation = make.Simulation(options.sample, options.seed, options.detector)
    geometry, field = simulation.detector.geometry, simulation.detector.field
    sequencer = acts.examples.Sequencer(
        events=options.events, numThreads=1, logLevel=QUIET, trackFpes=False,
        outputDir=str(folder), outputTimingFile="timing.csv",
    )  # fmt: skip
    source = make.EventSource(options.sample, options.seed)
    sequencer.addReader(Particles(source, simulation, options.events))
    for algorithm in simulation.algorithms[:2]:
        sequencer.addAlgorithm(algorithm)
    selection = folder / "pixels.json"
    volumes = PIXEL_VOLUMES[options.detector]
    selection.write_text(json.dumps([{"volume": volume} for volume in volumes]))
    addSeeding(
        sequencer, geometry, field, geoSelectionConfigFile=selection,
        initialSigmas=[MM, MM, 0.02, 0.02, 0.0, acts.UnitConstants.ns],
        initialSigmaQoverPt=0.1 / GEV, initialSigmaPtRel=0.1,
        selectedParticles="particles_simulated", logLevel=QUIET,
        **seeding_options(variant, options.detector, field),
    )  # fmt: skip
    addCKFTracks(
        sequencer, geometry, field,
        TrackSelectorConfig(pt=(0.5 * GEV, None), absEta=(None, 3.0), nMeasurementsMin=7),
        CkfConfig(
            chi2CutOffMeasurement=15.0, chi2CutOffOutlier=25.0, numMeasurementsCutOff=10,
            seedDeduplication=True, stayOnSeed=True,
        ),
        logLevel=QUIET,
    )  # fmt: skip
    finder = acts.examples.VertexSeedFinder.GaussianSeeder
    for algorithm in vertex_finding("ckf_tracks", "vertices", finder, field, QUIET):
        sequencer.addAlgorithm(algorithm)
    counter = Counter(seeds="seeds", tracks="vertices-tracks")
    sequencer.addAlgorithm(counter)
    sequencer.addWriter(
        acts.examples.CsvVertexWriter(
            level=QUIET, inputVertices="vertices", outputDir=str(folder), outputStem="vertices"
        )
    )
    sequencer.run()
    for event, counts in enumerate(counter.counts):
        with open(folder / f"event{event:09d}-vertices.csv", newline="") as file:
            counts.append(sum(1 for _ in csv.DictReader(file)))
    with open(folder / "timing.csv", newline="") as file:
        rows = [(row["identifier"], float(row["time_perevent_s"])) for row in csv.DictReader(file)]
    milliseconds = {
        title: 1e3 * sum(seconds for name, seconds in rows if word in name)
        for word, title in STEPS.items()
    }
    return counter.counts, milliseconds


def parse_arguments(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Runs ACTS with and without help of zfinder.")
    parser.add_argument("--sample", choices=make.SAMPLES, default="top_mu46", metavar="NAME")
    parser.add_argument("--events", type=int, default=3, help="number of events (3)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all seeds (1)")
    parser.add_argument("--detector", choices=make.DETECTORS, default="generic")
    return parser.parse_args(arguments)


def main(arguments):
    """Prints the events of each way to seed, and times."""
    options = parse_arguments(arguments)
    for variant in ("ACTS", "window", "zfinder"):
        with tempfile.TemporaryDirectory() as folder:
            counts, milliseconds = run(variant, options, Path(folder))
        print(f"{variant}\n{'event':>8} {'seeds':>8} {'tracks':>8} {'vertices':>8}")
        for event, of in enumerate(counts):
            print(f"{event:8d} " + " ".join(f"{number:8d}" for number in of))
        steps = ", ".join(f"{step} {ms:.1f}" for step, ms in milliseconds.items() if ms > 0.0)
        print(f"    ms an event: {steps}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
