#!/usr/bin/env python3
"""Makes the tables and the plot of the results of study.py.

`report.py RESULTS` prints tables in Markdown. With `--plot FILE.svg` it also draws them, for which
it needs matplotlib.
"""

import argparse
import json
import random
import sys
from pathlib import Path

TITLES = {
    "zee_mu46": "Z → ee, pile-up 46",
    "top_mu46": "top pairs, pile-up 46",
    "zee_mu200": "Z → ee, pile-up 200",
    "top_mu200": "top pairs, pile-up 200",
}
VARIANTS = {
    "acts": "ACTS",
    "acts-hard": "ACTS, above 0.9 GeV",
    "window": "ACTS, above 0.9 GeV, ±2 mm",
    "seeds": "zfinder, first vertex",
    "all-seeds": "zfinder, all vertices",
}
# The style of the pictures of the commands (docs/gallery.md), and its first colours of series.
STYLE = {
    "svg.hashsalt": "zfinder",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "legend.frameon": False,
    "xaxis.labellocation": "right",
    "yaxis.labellocation": "top",
    **{f"{axis}tick.direction": "in" for axis in "xy"},
    **{f"{axis}tick.minor.visible": True for axis in "xy"},
    "xtick.top": True,
    "ytick.right": True,
}
SERIES = ("#5790fc", "#f89c20", "#e42536", "#964a8b", "#9c9ca1")
MARKERS = ("o", "s", "^", "D", "v")
BOOTSTRAPS = 2000


def bootstrap(pairs, share=0.95):
    """Returns the interval of a loss: whole events are drawn, as tracks share a vertex."""
    generator = random.Random(1)
    losses = []
    for _ in range(BOOTSTRAPS):
        drawn = generator.choices(pairs, k=len(pairs))
        before = sum(pair[0] for pair in drawn)
        losses.append(1.0 - sum(pair[1] for pair in drawn) / before if before else 0.0)
    losses.sort()
    edge = 0.5 * (1.0 - share)
    return losses[round(edge * BOOTSTRAPS)], losses[round((1.0 - edge) * BOOTSTRAPS)]


def mean(values):
    """Returns the mean of some values."""
    values = list(values)
    return sum(values) / len(values)


class Row:
    """Figures of one variant over the events of a sample."""

    def __init__(self, events, key):
        of = [event["variants"][key] for event in events]
        first = [event["variants"]["acts"] for event in events]
        self.key = key
        self.seeds = mean(variant["seeds"]["number"] for variant in of)
        self.fakes = mean(variant["seeds"]["fakes"] for variant in of) / max(self.seeds, 1e-9)
        self.seeding_ms = 1e3 * mean(variant["seeding_seconds"] for variant in of)
        self.finding_ms = 1e3 * mean(variant["finding_seconds"] for variant in of)
        self.found, self.interval, self.change = {}, {}, {}
        for which in ("hard", "all"):
            pairs = [
                (event["targets"][which], v["tracks"][which]) for event, v in zip(events, of)
            ]
            before = [
                (a["tracks"][which], b["tracks"][which]) for a, b in zip(first, of)
            ]
            self.found[which] = sum(b for _, b in pairs) / sum(a for a, _ in pairs)
            self.interval[which] = tuple(1.0 - loss for loss in bootstrap(pairs)[::-1])
            change = sum(b for _, b in before) / sum(a for a, _ in before) - 1.0
            self.change[which] = (change, *(-loss for loss in bootstrap(before)[::-1]))
        found = sum(variant["tracks"]["hard"] for variant in of)
        self.duplicates = sum(variant["tracks"]["duplicates_hard"] for variant in of) / found

    @property
    def total_ms(self):
        """CPU time of an event."""
        return self.seeding_ms + self.finding_ms


def percent(value, interval):
    """Returns a share and its interval in per cent."""
    low, high = interval
    return f"{100.0 * value:.1f} ({100.0 * low:.1f} to {100.0 * high:.1f})"


def table(samples):
    """Returns the table of all samples."""
    lines = [
        "| sample | seeds of | seeds | fewer | fake, % | tracks of the hard scatter, % | change, % "
        "| all tracks, % | duplicates | seeding, ms | finding, ms | faster |",
        "|" + 12 * "---|",
    ]
    for (name, detector), (events, rows) in samples.items():
        for row in rows:
            is_first = row.key == "acts"
            cells = [
                f"{TITLES.get(name, name)}, `{detector}`, {len(events)} events" if is_first else "",
                VARIANTS[row.key],
                f"{row.seeds:,.0f}",
                "" if is_first else f"{rows[0].seeds / row.seeds:.1f}",
                f"{100.0 * row.fakes:.1f}",
                percent(row.found["hard"], row.interval["hard"]),
                "" if is_first else percent(row.change["hard"][0], row.change["hard"][1:]),
                f"{100.0 * row.found['all']:.1f}",
                f"{row.duplicates:.2f}",
                f"{row.seeding_ms:,.1f}",
                f"{row.finding_ms:,.0f}",
                "" if is_first else f"{rows[0].total_ms / row.total_ms:.1f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(samples, path):
    """Draws found tracks against seeds, and CPU times."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(STYLE)
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.8), constrained_layout=True)
    chosen = {key: of for key, of in samples.items() if key[1] == "generic"}
    for (key, (_, rows)), colour in zip(chosen.items(), SERIES):
        for row, marker in zip(rows, MARKERS):
            found = 100.0 * row.found["hard"]
            low, high = (100.0 * edge for edge in row.interval["hard"])
            left.errorbar(
                row.seeds, found, [[found - low], [high - found]], color=colour, marker=marker,
                markersize=5, elinewidth=0.6,
            )  # fmt: skip
        left.plot([], [], color=colour, marker="o", linestyle="", label=TITLES[key[0]])
    for row, marker in zip(VARIANTS.values(), MARKERS):
        left.plot([], [], color="black", marker=marker, linestyle="", label=row)
    left.set(xscale="log", xlabel="seeds of an event", ylabel="tracks of the hard scatter [%]")
    left.legend(fontsize=6.5, loc="lower right")
    places = []
    for number, (key, (_, rows)) in enumerate(chosen.items()):
        for line, row in enumerate(rows):
            place = -(number * (len(rows) + 1) + line)
            share = 100.0 / rows[0].total_ms
            right.barh(place, row.seeding_ms * share, color=SERIES[0])
            right.barh(
                place, row.finding_ms * share, left=row.seeding_ms * share, color="#bebebe"
            )
            right.text(
                row.total_ms * share + 1.0, place, f"{row.total_ms:,.0f} ms", va="center", fontsize=6.5
            )
            title = TITLES[key[0]] + ": " if line == 0 else ""
            places.append((place, title + VARIANTS[row.key]))
    right.set_yticks(*map(list, zip(*places)), fontsize=6)
    for title, colour in (("zfinder and seeding", SERIES[0]), ("track finding", "#bebebe")):
        right.barh(0, 0.0, color=colour, label=title)
    right.set(xlabel="time of one core [% of ACTS]", xlim=(0.0, 120.0))
    right.tick_params(axis="y", which="both", left=False, right=False)
    right.legend(fontsize=7, loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def main(arguments):
    """Prints the table and draws the plot."""
    parser = argparse.ArgumentParser(description="Makes tables and a plot of study.py's results.")
    parser.add_argument("results", type=Path, help="folder that study.py wrote")
    parser.add_argument("--plot", type=Path, help="SVG file to write")
    options = parser.parse_args(arguments)
    samples = {}
    for folder in sorted(options.results.glob("*/study.json")):
        of = json.loads(folder.read_text())
        paths = sorted(path for path in folder.parent.glob("*.json") if path.stem.isdigit())
        events = [json.loads(path.read_text()) for path in paths]
        if events:
            rows = [Row(events, key) for key in VARIANTS]
            samples[of["sample"], of["detector"]] = events, rows
    if not samples:
        sys.exit(f"report.py: {options.results} holds no results of study.py")
    order = {name: place for place, name in enumerate(TITLES)}
    samples = dict(sorted(samples.items(), key=lambda of: (of[0][1], order.get(of[0][0], 99))))
    print(table(samples))
    if options.plot:
        draw(samples, options.plot)


if __name__ == "__main__":
    main(sys.argv[1:])
