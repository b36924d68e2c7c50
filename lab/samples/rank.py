#!/usr/bin/env python3
"""Fits a rank of the hard scatter from peaks and tracklets, and compares it with today's order.

    rank.py table SAMPLE_FOLDER... -o table.csv     a row for each vertex of `all-vertices`
    rank.py fit TUNING.csv REPORT.csv               fits on one table and reports the other

The rank is log-linear: of the vertices of an event, k is the hard scatter with the probability
exp(c x_k) / sum_l exp(c x_l). The weights c are the most likely ones, with a small penalty.
"""

import argparse
import csv
import itertools
import json
import math
import sys
from pathlib import Path

import numpy
import pyzfinder
from compare import truth, wilson

# Most peaks of an event, which is more than there are.
PEAKS = 64
RIGHT_MM = 1.0
# Larger momenta have errors as large as themselves.
MOST_GEV = 20.0
COUNTS_GEV = (1, 2, 3, 5, 10)
GOOD_HITS = 4
# The rank of a peak is (weight + 15) (h + 1)^3 (s + 1)^2; src/pt_weight.rs.
SCALE, SECTORS = 15.0, 24
DIRECTIONS = {
    (h + 1) ** 3 * (s + 1) ** 2: (h, s)
    for h, s in sorted(itertools.product(range(SECTORS + 1), repeat=2), reverse=True)
    if h <= s
}
PEAK_TERMS = ("ln_weight", "ln_hard", "ln_soft")
TODAY = (1.0, 3.0, 2.0)
KINDS = ("all", "good")
TRACKLET_TERMS = tuple(
    f"{name}_{kind}"
    for kind in KINDS
    for name in ("ln_max_pt", "ln_sum_pt", "ln_sum_pt2", *(f"ln_above_{gev}" for gev in COUNTS_GEV))
)
COLUMNS = ("sample", "event", "z_mm", "place", "distance_mm", *PEAK_TERMS, *TRACKLET_TERMS)
# Sets of terms that are fitted.
FITS = {
    "terms of today, fitted": PEAK_TERMS,
    "and the sum of pT^2 of tracklets": (*PEAK_TERMS, "ln_sum_pt2_all"),
    "and largest pT, sum of pT, number above 3 GeV": (
        *PEAK_TERMS, "ln_max_pt_good", "ln_sum_pt_good", "ln_above_3_good"
    ),
    "and all terms of tracklets": (*PEAK_TERMS, *TRACKLET_TERMS),
    "tracklets alone": TRACKLET_TERMS,
}  # fmt: skip
PENALTY = 0.01


def peak_terms(weight, rank):
    """Returns the three terms of today's rank. A vertex without a peak has no weight."""
    if rank == 0.0:
        return math.log(SCALE), 0.0, 0.0
    product = rank / (weight + SCALE)
    h, s = DIRECTIONS[min(DIRECTIONS, key=lambda of: abs(of - product))]
    return math.log(weight + SCALE), math.log(h + 1.0), math.log(s + 1.0)


def tracklet_terms(tracklets):
    """Returns the terms of the tracklets of a vertex."""
    terms = []
    for kind in KINDS:
        chosen = tracklets if kind == "all" else tracklets[tracklets["hit_count"] >= GOOD_HITS]
        pt = numpy.minimum(chosen["pt_gev"], MOST_GEV)
        counts = [int((pt > gev).sum()) for gev in COUNTS_GEV]
        terms += [pt.max(initial=0.0), pt.sum(), (pt * pt).sum(), *counts]
    return [math.log1p(term) for term in terms]


def rows_of(folder, finders):
    """Yields the rows of a sample: a row for each vertex of each event."""
    name = json.loads((folder / "sample.json").read_text())["sample"]
    hard = truth(folder)
    files = sorted(folder.glob("event*-spacepoint.csv.gz"))
    for batch in pyzfinder.read_batches(files, 1):
        found, peaks = (finder.find(batch)[0:1] for finder in finders)
        event = int(found.event_id[0])
        z_true, charged = hard[event]
        if charged == 0:
            continue
        weights = dict(zip(peaks.rank.tolist(), peaks.weight.tolist()))
        for place, (z, rank) in enumerate(zip(found.z_mm.tolist(), found.rank.tolist())):
            of = found.tracklets[found.tracklets["vertex"] == place]
            terms = (*peak_terms(weights.get(rank, 0.0), rank), *tracklet_terms(of))
            yield [name, event, f"{z:.4f}", place, f"{abs(z - z_true):.4f}",
                   *(f"{term:.5f}" for term in terms)]  # fmt: skip


def make_table(folders, path):
    """Writes the table of all samples."""
    configs = (
        pyzfinder.Config("all-vertices", peaks=PEAKS, tracklets="all"),
        pyzfinder.Config("auto", peaks=PEAKS, fallback="none"),
    )
    finders = [pyzfinder.Finder(c, "generic", engine="cpu", threads=1).open() for c in configs]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for folder in folders:
            writer.writerows(rows_of(folder, finders))
            print(f"{folder}: finished", flush=True)


class Event:
    """The vertices of an event in the order of today: their terms, and their distances."""

    def __init__(self, rows):
        self.sample = rows[0]["sample"]
        self.distance = numpy.array([float(row["distance_mm"]) for row in rows])
        self.terms = {
            name: numpy.array([float(row[name]) for row in rows])
            for name in (*PEAK_TERMS, *TRACKLET_TERMS)
        }

    def matrix(self, names):
        return numpy.stack([self.terms[name] for name in names], axis=1)

    def is_right(self, place):
        return bool(self.distance[place] < RIGHT_MM)


def read_table(path):
    """Returns the events of a table."""
    with open(path, newline="") as file:
        rows = csv.DictReader(file)
        groups = itertools.groupby(rows, key=lambda row: (row["sample"], row["event"]))
        return [Event(list(of)) for _, of in groups]


def fit(events, names):
    """Returns the weights by Newton's method. The label is the vertex nearest to the truth."""
    chosen = [event for event in events if event.distance.min() < RIGHT_MM]
    matrices = [event.matrix(names) for event in chosen]
    labels = [int(event.distance.argmin()) for event in chosen]
    weights = numpy.zeros(len(names))
    for _ in range(100):
        gradient = -PENALTY * len(chosen) * weights
        curvature = PENALTY * len(chosen) * numpy.eye(len(names))
        for x, label in zip(matrices, labels):
            score = x @ weights
            p = numpy.exp(score - score.max())
            p /= p.sum()
            mean = p @ x
            gradient += x[label] - mean
            curvature += (x * p[:, None]).T @ x - numpy.outer(mean, mean)
        step = numpy.linalg.solve(curvature, gradient)
        weights += step * min(1.0, 2.0 / max(2.0, numpy.abs(step).max()))
        if numpy.abs(step).max() < 1e-6:
            break
    return weights


def report(tuning, events):
    """Prints the weights, and a table of shares of events whose first vertex is right."""
    samples = sorted({event.sample for event in events})
    groups = [[e for e in events if e.sample == name] for name in samples] + [events]
    orders = {
        "today": lambda event: 0,
        "best possible": lambda event: int(event.distance.argmin()),
        "today's rank": lambda event: int((event.matrix(PEAK_TERMS) @ TODAY).argmax()),
    }
    for title, names in FITS.items():
        weights = fit(tuning, names)
        print(title + ":", ", ".join(f"{n} {w:.2f}" for n, w in zip(names, weights)))
        orders[title] = lambda event, n=names, w=weights: int((event.matrix(n) @ w).argmax())
    print("\n| order | " + " | ".join([*samples, "all", "better, worse than today"]) + " |")
    print("|" + (len(groups) + 2) * "---|")
    for title, choose in orders.items():
        cells = []
        for group in groups:
            right = sum(event.is_right(choose(event)) for event in group)
            low, high = (100.0 * edge for edge in wilson(right, len(group)))
            cells.append(f"{100.0 * right / len(group):.1f} ({low:.1f} to {high:.1f})")
        pairs = [(event.is_right(0), event.is_right(choose(event))) for event in events]
        cells.append(f"{pairs.count((False, True))}, {pairs.count((True, False))}")
        print(f"| {title} | " + " | ".join(cells) + " |")


def main(arguments):
    """Makes a table, or fits and reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    table = commands.add_parser("table", help="make the table of samples")
    table.add_argument("folders", nargs="+", type=Path)
    table.add_argument("-o", "--output", required=True, type=Path)
    fitting = commands.add_parser("fit", help="fit on one table and report another")
    fitting.add_argument("tuning", type=Path)
    fitting.add_argument("report", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "table":
        make_table(options.folders, options.output)
    else:
        report(read_table(options.tuning), read_table(options.report))


if __name__ == "__main__":
    main(sys.argv[1:])
