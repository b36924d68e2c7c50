#!/usr/bin/env python3
"""Compares tracklets of zfinder with seeds, and its vertices with those of ACTS's tracks.

    tracklets.py --out DIR                                  all samples, default numbers of events
    tracklets.py --out DIR --sample top_mu200 --events 20
    tracklets.py --out DIR --report                         tables of the results

Every event is generated, simulated and searched in one process. The result of an event is a JSON
file; the same command continues an interrupted run. The report writes the vertices of each finder,
and the true ones, and counts them with `zfinder evaluate --answers`.
"""

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import acts
import acts.examples
import numpy
import pyzfinder
import pyzfinder.acts
from events import QUIET, Algorithms, Events, Reader, barcode_of, eta_of, make, target_of
from report import bootstrap
from study import HARD_SEEDS_GEV, MAJORITY, MIN_PIXEL_MEASUREMENTS, MIN_PT_GEV, WINDOW_MM
from tracking import seeding, track_finding, vertex_finding

SAMPLES = {"zee_mu46": 100, "top_mu46": 100, "top_mu200": 30}
MAX_ABS_ETA = (2.5, 4.0)
# A vertex is right within this distance of the true one.
RIGHT_MM = 1.0
# A track is displaced if it passes the true vertex at more than this distance.
DISPLACED_MM = 0.3
# Configurations of zfinder whose tracklets are seeds.
CONFIGURATIONS = {
    "auto": pyzfinder.Config("auto", tracklets="window"),
    "auto-0.9": pyzfinder.Config("auto", tracklets="window", tracklet_pt_gev=HARD_SEEDS_GEV),
    "all-vertices": pyzfinder.Config("all-vertices", tracklets="window"),
}
SEED_FINDERS = {
    "amvf": acts.examples.VertexSeedFinder.GaussianSeeder,
    "amvf-grid": acts.examples.VertexSeedFinder.AdaptiveGridSeeder,
}
# Seeds of the tables: name, source, and least fitted momentum.
ROWS = (
    ("`auto`", "auto", 0.0),
    ("`auto`, fitted pT > 0.9 GeV", "auto", HARD_SEEDS_GEV),
    ("`auto`, `tracklet_pt_gev` = 0.9", "auto-0.9", 0.0),
    ("`all-vertices`", "all-vertices", 0.0),
    ("`all-vertices`, fitted pT > 0.9 GeV", "all-vertices", HARD_SEEDS_GEV),
    ("ACTS, ±2 mm, above 0.9 GeV", "acts", 0.0),
)


class Comparison(Events):
    """The simulation of one sample, zfinder, and ACTS's algorithms."""

    def __init__(self, name, seed, folder):
        super().__init__(name, seed)
        self.folder = folder
        ex = acts.examples
        self.finders = {
            key: pyzfinder.Finder(config, "generic", engine="cpu", threads=1).open()
            for key, config in CONFIGURATIONS.items()
        }
        self.seeders = Algorithms()
        first = pyzfinder.Finder(
            pyzfinder.Config("auto", tracklets="window", peaks=1), "generic", engine="cpu", threads=1
        )
        vertices = pyzfinder.acts.add_vertices(self.seeders, first, self.field, level=QUIET)
        self.seeders.append(
            seeding("pixel_spacepoints", "seeds", vertices, 0.0, WINDOW_MM, HARD_SEEDS_GEV, QUIET)
        )
        self.tracking = (
            seeding("pixel_spacepoints", "all-seeds", level=QUIET),
            *track_finding("all-seeds", "tracks", self.geometry, self.field),
        )
        self.amvf = {}
        for key, seed_finder in SEED_FINDERS.items():
            writer = ex.CsvVertexWriter(
                level=QUIET,
                inputVertices=key,
                outputDir=str(folder),
                outputStem=key,
                outputPrecision=9,
            )
            chain = vertex_finding("tracks", key, seed_finder, self.field)
            self.amvf[key] = chain, writer
        self.read_seeds = Reader(acts.SeedContainer, "seeds")
        self.read_pixels = Reader(acts.SpacePointContainer, "pixel_spacepoints")

    def measure(self, number):
        """Simulates and searches one event and returns its result."""
        event, vertices, particles, identifiers = self.simulate(number)
        targets, owners = self.find_owners(event.store, particles, vertices[0], identifiers)
        columns = self.columns(event, identifiers)
        owners_of_spacepoints = owners[self.measurements(event, self.read_spacepoints)]
        zfinder = {
            key: self.find(finder, columns, owners_of_spacepoints)
            for key, finder in self.finders.items()
        }
        for algorithm in self.seeders:
            event.execute(algorithm)
        owners_of_pixels = owners[self.measurements(event, self.read_pixels)]
        seeds = [owners_of_pixels[seed.spacePointIndices] for seed in self.read_seeds(event.store)]
        return {
            "event": number,
            "truth": [
                (v.x, v.y, v.z, v.charged, v.sum_pt2, v.max_pt, int(v.is_hard_scatter))
                for v in vertices
            ],
            "targets": targets,
            "zfinder": zfinder,
            "acts": {"seeds": [(*majority(seed), 0.0) for seed in seeds]},
            "amvf": self.find_amvf(event),
        }

    def find_owners(self, store, particles, vertex, identifiers):
        """Returns the tracks to seed, and the particle of each measurement.

        The first numbers of particles are those of the tracks to seed.
        """
        measurements_of = self.read_measurements_of(store)
        numbers, targets = {}, []
        for number, index, _, charge, _, x, y, z, px, py, pz, _ in particles:
            pt, eta = math.hypot(px, py), eta_of(px, py, pz)
            if number != 1 or charge == 0.0 or pt < MIN_PT_GEV or abs(eta) > max(MAX_ABS_ETA):
                continue
            barcode = barcode_of(number, index)
            measurements = numpy.array(measurements_of.valuesFor(barcode), dtype=int)
            is_pixel = numpy.isin(identifiers[measurements] >> 56, self.pixel_volumes)
            # The bits above the sensor: volume, boundary and layer.
            layers = {int(of) >> 36 for of in identifiers[measurements[is_pixel]]}
            if len(layers) >= MIN_PIXEL_MEASUREMENTS:
                numbers[number, 0, index, 0, 0] = len(targets)
                targets.append(target_of(vertex, (x, y, z), (px, py, pz)))
        return targets, self.owners(store, numbers, len(identifiers))

    def find(self, finder, columns, owners):
        """Returns the vertices of zfinder, its seeds, and the CPU time."""
        begin = time.process_time()
        results = finder.find(columns)
        seconds = time.process_time() - begin
        seeds = [
            (*majority(owners[of["hits"][: of["hit_count"]]]), float(of["pt_gev"]))
            for of in results.tracklets
        ]
        return {"z_mm": results.z_mm.tolist(), "seconds": seconds, "seeds": seeds}

    def find_amvf(self, event):
        """Returns the vertices of AMVF with each of its seed finders, and CPU times."""
        tracking = sum(event.execute(algorithm) for algorithm in self.tracking)
        found = {}
        for key, (chain, writer) in self.amvf.items():
            seconds = tracking + sum(event.execute(algorithm) for algorithm in chain)
            writer.write(event.context())
            path = Path(self.folder) / f"event{event.number:09d}-{key}.csv"
            with open(path, newline="") as file:
                z = [float(row["z"]) for row in csv.DictReader(file)]
            path.unlink()
            found[key] = {"z_mm": z, "seconds": seconds}
        return found


def majority(owners):
    """Returns the commonest particle of spacepoints, how many it has, and of how many."""
    particles, counts = numpy.unique(owners, return_counts=True)
    return int(particles[counts.argmax()]), int(counts.max()), len(owners)


# Tables -------------------------------------------------------------------------------------------


def is_right(event, source="auto"):
    """Returns whether the first vertex is the hard scatter. ACTS has the vertex of `auto`."""
    z = event["zfinder"]["auto" if source == "acts" else source]["z_mm"]
    return bool(z) and abs(z[0] - event["truth"][0][2]) < RIGHT_MM


def share(pairs):
    """Returns a share in per cent and its 68 % interval. Whole events are drawn."""
    of = sum(pair[0] for pair in pairs)
    if of == 0:
        return ""
    low, high = (100.0 * (1.0 - loss) for loss in bootstrap(pairs, 0.683)[::-1])
    return f"{100.0 * sum(pair[1] for pair in pairs) / of:.1f} ({low:.1f} to {high:.1f})"


def count_found(event, seeds, max_abs_eta, max_distance_mm=math.inf):
    """Returns the tracks to seed, those with a seed, and seeds of a track beyond the first.

    Tracks that pass the vertex farther away are left out.
    """
    seeds_of = numpy.zeros(len(event["targets"]), dtype=int)
    for particle, most, of, _ in seeds:
        if particle < len(seeds_of) and most > MAJORITY * of:
            seeds_of[particle] += 1
    is_wanted = [
        abs(of["eta"]) < max_abs_eta and max(abs(of["d0_mm"]), abs(of["dz_mm"])) < max_distance_mm
        for of in event["targets"]
    ]
    seeds_of = seeds_of[numpy.array(is_wanted, dtype=bool)]
    return len(seeds_of), int((seeds_of > 0).sum()), int((seeds_of[seeds_of > 0] - 1).sum())


def seed_row(title, events, source, min_pt_gev):
    """Returns a row of the table of seeds."""
    all_seeds = [(event["acts"] if source == "acts" else event["zfinder"][source])["seeds"]
                 for event in events]  # fmt: skip
    chosen = [[seed for seed in seeds if seed[3] >= min_pt_gev] for seeds in all_seeds]
    fakes, mixed = [], []
    for seeds in chosen:
        fakes.append((len(seeds), sum(most <= MAJORITY * of for _, most, of, _ in seeds)))
        mixed.append((len(seeds), sum(most < of for _, most, of, _ in seeds)))
    barrel, whole = MAX_ABS_ETA
    right = [pair for pair in zip(events, chosen) if is_right(pair[0], source)]
    found = [
        [count_found(*pair, barrel) for pair in zip(events, chosen)],
        [count_found(*pair, barrel) for pair in right],
        [count_found(*pair, barrel, DISPLACED_MM) for pair in right],
        [count_found(*pair, whole) for pair in right],
    ]
    more, of = (sum(counts[place] for counts in found[-1]) for place in (2, 1))
    numbers = [len(seeds) for seeds in chosen]
    error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    cells = [
        title,
        f"{statistics.mean(numbers):.1f} ± {error:.1f}",
        *(share([counts[:2] for counts in column]) for column in found),
        share(fakes),
        share(mixed),
        f"{more / max(1, of):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def write_rows(path, header, rows):
    """Writes a file of CSV."""
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def report(folder):
    """Prints the table of seeds of a sample and writes the vertices of all finders."""
    paths = sorted(path for path in folder.glob("*.json") if path.stem.isdigit())
    events = [json.loads(path.read_text()) for path in paths]
    right = sum(map(is_right, events))
    targets = [count_found(event, [], MAX_ABS_ETA[0])[0] for event in events]
    print(
        f"## {folder.name}\n\n{len(events)} events, {right} with the right first vertex, "
        f"{sum(targets)} tracks within |eta| < {MAX_ABS_ETA[0]}\n\n"
        "| seeds | number | found, % | right vertex, % | of these prompt, % | to eta 4, % "
        "| fake, % | mixed, % | duplicates |\n|" + 9 * "---|"
    )
    for row in ROWS:
        print(seed_row(row[0], events, *row[1:]))
    finders = {"all-vertices": [event["zfinder"]["all-vertices"] for event in events]}
    finders |= {key: [event["amvf"][key] for event in events] for key in SEED_FINDERS}
    truth = [(event["event"], i, *of) for event in events for i, of in enumerate(event["truth"], 1)]
    write_rows(folder / "truth_vertices.csv", make.VERTEX_COLUMNS, truth)
    print(
        "\n| vertices | number | found, % | with 5 tracks, % | with 10, % | fakes an event "
        "| split, % | merged, % | CPU time, ms |\n|" + 9 * "---|"
    )
    for key, found in finders.items():
        rows = [(event["event"], z) for event, of in zip(events, found) for z in of["z_mm"] or [""]]
        write_rows(folder / f"{key}.csv", ("event_id", "z_mm"), rows)
        print(vertex_row(key, found, evaluate(folder, key)))
    print()


def evaluate(folder, key):
    """Returns the figures of `zfinder evaluate` for a list of vertices."""
    command = [sys.executable, "-m", "pyzfinder", "evaluate", "--format", "json", "--quiet"]
    command += ["--truth", folder / "truth_vertices.csv", "--answers", folder / f"{key}.csv"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text)["configurations"][0]["figures"]["list"]


def vertex_row(key, found, figures):
    """Returns a row of the table of vertices."""
    cells = [f"`{key}`", f"{statistics.mean(len(of['z_mm']) for of in found):.1f}"]
    for of in figures["efficiency"][1:]:
        low, high = 100.0 * of["low"], 100.0 * of["high"]
        cells.append(f"{100.0 * of['value']:.1f} ({low:.1f} to {high:.1f})")
    fakes = figures["fakes_per_roi"]
    cells += [
        f"{fakes:.2f} ± {math.sqrt(fakes / len(found)):.2f}",
        *(f"{100.0 * figures[name]['value']:.1f}" for name in ("split", "merged")),
        f"{1e3 * statistics.mean(of['seconds'] for of in found):,.0f}",
    ]
    return "| " + " | ".join(cells) + " |"


# Command ------------------------------------------------------------------------------------------


def run_sample(name, events, seed, out):
    """Measures the events of a sample that have no result yet."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "sample.json"
    settings = make.sample_settings(name, seed, "generic")
    if file.is_file() and json.loads(file.read_text()) != settings:
        sys.exit(f"tracklets.py: {folder} holds results of other settings; choose another --out")
    make.write_atomically(file, (json.dumps(settings, indent=2) + "\n").encode())
    todo = [n for n in range(events) if not (folder / f"{n:06d}.json").is_file()]
    print(f"{name}: {events - len(todo)} of {events} events are finished", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        comparison = Comparison(name, seed, Path(scratch)) if todo else None
        for number in todo:
            result = comparison.measure(number)
            data = (json.dumps(result) + "\n").encode()
            make.write_atomically(folder / f"{number:06d}.json", data)


def parse_arguments(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Compares tracklets with seeds and with tracks.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--sample", nargs="+", default=list(SAMPLES), choices=SAMPLES, metavar="NAME",
        help=f"samples: {', '.join(SAMPLES)} (all)",
    )  # fmt: skip
    parser.add_argument(
        "--events", type=int, help="events of each sample (100, or 30 at pile-up 200)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all seeds (1)")
    parser.add_argument("--report", action="store_true", help="only print the tables")
    options = parser.parse_args(arguments)
    if options.events is not None and options.events < 1:
        parser.error("--events must be at least 1")
    return options


def main(arguments):
    """Measures all samples, or prints their tables."""
    options = parse_arguments(arguments)
    for name in options.sample:
        if options.report:
            report(options.out / name)
        else:
            run_sample(name, options.events or SAMPLES[name], options.seed, options.out)


if __name__ == "__main__":
    main(sys.argv[1:])
