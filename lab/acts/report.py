#!/usr/bin/env python3
"""Makes the tables and the plot of the results of study.py.

`report.py RESULTS` prints tables in Markdown. With `--plot FILE.svg` it also draws them, for which
it needs matplotlib.
"""

import argparse
import json
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

BASELINE = "none-0-"
TITLES = {
    "zee_mu2": "Z → ee, pile-up 2",
    "zee_mu46": "Z → ee, pile-up 46",
    "top_mu46": "top pairs, pile-up 46",
    "zee_mu200": "Z → ee, pile-up 200",
    "top_mu200": "top pairs, pile-up 200",
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
SERIES = ("#5790fc", "#f89c20", "#e42536", "#964a8b")
# Quantile of the normal distribution for intervals of 95 %.
NORMAL_95 = 1.96
BOOTSTRAPS = 2000
# A vertex is right within this distance of the true one.
RIGHT_MM = 1.0
# A lost track is displaced if it passes the true vertex at more than this distance.
DISPLACED_MM = 0.3


def wilson(right, of):
    """Returns the 95 % interval of a share."""
    if of == 0:
        return 0.0, 1.0
    share, n, z2 = right / of, of, NORMAL_95**2
    middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n)
    half = NORMAL_95 * math.sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n)) / (1.0 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def read_events(folder):
    """Returns the results of the events of one sample."""
    paths = sorted(path for path in folder.glob("*.json") if path.stem.isdigit())
    return [json.loads(path.read_text()) for path in paths]


@dataclass
class Row:
    """Sums of one variant over the events of a sample."""

    key: str
    seeds: float
    seeding_ms: float
    finding_ms: float
    vertex_ms: float
    found: int
    targets: int
    lost: int
    gained: int
    loss_interval: tuple
    reasons: dict

    @property
    def total_ms(self):
        return self.vertex_ms + self.seeding_ms + self.finding_ms


def bootstrap(pairs, share=0.95):
    """Returns the interval of the loss: whole events are drawn, as tracks share a vertex."""
    generator = random.Random(1)
    losses = []
    for _ in range(BOOTSTRAPS):
        drawn = generator.choices(pairs, k=len(pairs))
        before = sum(pair[0] for pair in drawn)
        losses.append(1.0 - sum(pair[1] for pair in drawn) / before if before else 0.0)
    losses.sort()
    edge = 0.5 * (1.0 - share)
    return losses[round(edge * BOOTSTRAPS)], losses[round((1.0 - edge) * BOOTSTRAPS)]


def vertices_of(event, key):
    """Returns the z of the vertices that a variant used. None: of a finder that tells no z."""
    source, count, *_ = split_key(key)
    if source == "zfinder":
        return event["zfinder"]["z_mm"][: int(count)]
    return [event["true_z_mm"]] if source == "truth" else None


def split_key(key):
    """Returns source, number of vertices, window, and momentum of the seeds if it is another."""
    for source in ("acts-hough", "zfinder", "truth", "none"):
        if key.startswith(source):
            count, *rest = key[len(source) + 1 :].split("-")
            return source, count, *rest
    raise ValueError(key)


def why(event, key, track):
    """Returns why a track was lost."""
    vertices = vertices_of(event, key)
    if vertices and all(abs(z - event["true_z_mm"]) > RIGHT_MM for z in vertices):
        return "vertex"
    target = event["targets"][track]
    if max(abs(target["d0_mm"]), abs(target["dz_mm"])) > DISPLACED_MM:
        return "displaced"
    return "window"


def sum_variant(events, key):
    """Sums a variant over the events."""
    count = len(events)
    chosen = [event["variants"][key] for event in events]
    pairs, reasons = [], {"vertex": 0, "displaced": 0, "window": 0}
    lost = gained = 0
    for event, variant in zip(events, chosen):
        before, after = set(event["variants"][BASELINE]["found"]), set(variant["found"])
        pairs.append((len(before), len(after)))
        lost += len(before - after)
        gained += len(after - before)
        for track in before - after:
            reasons[why(event, key, track)] += 1
    source = split_key(key)[0]
    seconds = {
        "zfinder": sum(event["zfinder"]["seconds"] for event in events),
        "acts-hough": sum(event["acts_hough_seconds"] for event in events),
    }.get(source, 0.0)
    return Row(
        key=key,
        seeds=sum(variant["seeds"] for variant in chosen) / count,
        seeding_ms=1e3 * sum(variant["seeding_seconds"] for variant in chosen) / count,
        finding_ms=1e3
        * sum(v["estimation_seconds"] + v["finding_seconds"] for v in chosen)
        / count,
        vertex_ms=1e3 * seconds / count,
        found=sum(pair[1] for pair in pairs),
        targets=sum(len(event["targets"]) for event in events),
        lost=lost,
        gained=gained,
        loss_interval=bootstrap(pairs),
        reasons=reasons,
    )


def label(key):
    """Returns what a table calls a variant."""
    source, count, *rest = split_key(key)
    momentum = f", seeds above {rest[1][:-3]} GeV" if len(rest) > 1 else ""
    if source == "none":
        return "no constraint" + momentum
    name = {"truth": "true vertex", "acts-hough": "ACTS's Hough finder"}.get(source, "zfinder")
    vertices = f", {count} vertices" if int(count) > 1 else ""
    width = rest[0].replace("3sigma+", "(3 sigma + ").replace("mm", " mm")
    return f"{name}{vertices}, ±{width}{')' if '(' in width else ''}{momentum}"


def table(rows):
    """Returns the table of one sample."""
    first = rows[0]
    lines = [
        "| seeds | number | fewer | seeding, ms | track finding, ms | vertex, ms | sum, ms "
        "| faster | tracks found, % | 95 % | lost, gained | net loss, % | 95 % "
        "| lost by vertex, displaced, window |",
        "|" + 14 * "---|",
    ]
    for row in rows:
        low, high = wilson(row.found, row.targets)
        loss = 100.0 * (row.lost - row.gained) / first.found
        cells = [
            label(row.key),
            f"{row.seeds:,.0f}",
            f"{first.seeds / row.seeds:.1f}" if row.seeds else "",
            f"{row.seeding_ms:.1f}",
            f"{row.finding_ms:.1f}",
            f"{row.vertex_ms:.1f}" if row.vertex_ms else "",
            f"{row.total_ms:.1f}",
            f"{first.total_ms / row.total_ms:.1f}",
            f"{100.0 * row.found / row.targets:.1f}",
            f"{100.0 * low:.1f} - {100.0 * high:.1f}",
            f"{row.lost}, {row.gained}",
            f"{loss:.1f}",
            f"{100.0 * row.loss_interval[0]:.1f} - {100.0 * row.loss_interval[1]:.1f}",
            ", ".join(str(number) for number in row.reasons.values()),
        ]
        if row is first:
            cells[10:] = ["", "", "", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


SHORT = (
    BASELINE,
    "none-0--0.9GeV",
    "truth-1-2mm",
    *(f"zfinder-{n}-{width}" for n in (1, 4) for width in ("1mm", "2mm", "3sigma+1mm")),
    "zfinder-2-2mm-0.9GeV",
)


def break_even(samples):
    """Returns the table of what one vertex with a window of 2 mm saves, and what it costs."""
    chosen = [
        (TITLES[name], rows[0], next(row for row in rows if row.key == "zfinder-1-2mm"))
        for name, rows in samples.items()
    ]
    lines = [
        "| ms an event | " + " | ".join(title for title, _, _ in chosen) + " |",
        "|" + (len(chosen) + 1) * "---|",
    ]
    parts = (
        ("saved in seeding", lambda a, b: a.seeding_ms - b.seeding_ms),
        (
            "saved in seeding and finding",
            lambda a, b: a.seeding_ms + a.finding_ms - b.seeding_ms - b.finding_ms,
        ),
        ("zfinder, one CPU core", lambda _, b: b.vertex_ms),
    )
    for name, value in parts:
        cells = " | ".join(f"{value(before, after):,.1f}" for _, before, after in chosen)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def short_table(samples):
    """Returns one table of the main variants of all samples."""
    lines = [
        "| sample | seeds | number | fewer | seeding, ms | finding, ms | sum with zfinder, ms "
        "| faster | tracks found, % (95 %) | lost, gained | net loss, % (95 %) |",
        "|" + 11 * "---|",
    ]
    for name, rows in samples.items():
        first = rows[0]
        for row in sorted((r for r in rows if r.key in SHORT), key=lambda r: SHORT.index(r.key)):
            low, high = (100.0 * share for share in wilson(row.found, row.targets))
            loss = 100.0 * (row.lost - row.gained) / first.found
            less, more = (100.0 * share for share in row.loss_interval)
            cells = [
                TITLES[name] if row is first else "",
                label(row.key),
                f"{row.seeds:,.0f}",
                "" if row is first else f"{first.seeds / row.seeds:.1f}",
                f"{row.seeding_ms:.1f}",
                f"{row.finding_ms:,.1f}",
                f"{row.total_ms:,.1f}",
                "" if row is first else f"{first.total_ms / row.total_ms:.1f}",
                f"{100.0 * row.found / row.targets:.1f} ({low:.1f} to {high:.1f})",
                "" if row is first else f"{row.lost}, {row.gained}",
                "" if row is first else f"{loss:.1f} ({less:.1f} to {more:.1f})",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def losses_by_direction(events, key):
    """Returns the table of tracks that a variant loses, by direction and transverse momentum."""
    momenta = (("1 to 2 GeV", 2.0), ("2 to 5 GeV", 5.0), ("above 5 GeV", math.inf))
    header = "".join(f" {name} |" for name, _ in momenta)
    lines = [f"| lost of found, {label(key)} |{header}", "|" + 4 * "---|"]
    for low, high in ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0)):
        lost, of = [0, 0, 0], [0, 0, 0]
        for event in events:
            found = set(event["variants"][key]["found"])
            for track in event["variants"][BASELINE]["found"]:
                target = event["targets"][track]
                if low <= abs(target["eta"]) < high:
                    column = sum(target["pt_GeV"] >= limit for _, limit in momenta)
                    of[column] += 1
                    lost[column] += track not in found
        cells = "".join(f" {a} of {b} |" for a, b in zip(lost, of))
        lines.append(f"| {low:g} to {high:g} in abs(eta) |{cells}")
    return "\n".join(lines)


def summary(name, events):
    """Returns a line about the sample and the vertices of zfinder in it."""
    right = {
        count: sum(
            any(abs(z - event["true_z_mm"]) < RIGHT_MM for z in event["zfinder"]["z_mm"][:count])
            for event in events
        )
        for count in (1, 2, 4)
    }
    spacepoints = sum(event["spacepoints"] for event in events) / len(events)
    vertices = sum(len(event["zfinder"]["z_mm"]) for event in events) / len(events)
    return (
        f"## {TITLES.get(name, name)}\n\n"
        f"{len(events)} events, {sum(len(event['targets']) for event in events)} tracks, "
        f"{spacepoints:,.0f} spacepoints an event. The first vertex is right in {right[1]} events, "
        f"one of two in {right[2]}, one of four in {right[4]}; {vertices:.1f} vertices an event.\n"
    )


def draw_losses(axes, samples):
    """Draws fewer seeds against the loss of tracks, a line for windows of 1, 2 and 3 mm."""
    names = ("zee_mu46", "top_mu46", "zee_mu200", "top_mu200")
    for name, colour in zip(names, SERIES):
        rows = samples.get(name, [])
        for vertices, style, marker in (("1", "-", "o"), ("4", "--", "s")):
            keys = [f"zfinder-{vertices}-{width}mm" for width in (1, 2, 3)]
            chosen = [row for row in rows if row.key in keys]
            loss = [100.0 * (row.lost - row.gained) / rows[0].found for row in chosen]
            low = [max(0.0, y - 100.0 * r.loss_interval[0]) for y, r in zip(loss, chosen)]
            high = [max(0.0, 100.0 * r.loss_interval[1] - y) for y, r in zip(loss, chosen)]
            if chosen:
                axes.errorbar(
                    [rows[0].seeds / row.seeds for row in chosen],
                    loss,
                    [low, high],
                    color=colour,
                    linestyle=style,
                    marker=marker,
                    markersize=4,
                    linewidth=1,
                    elinewidth=0.6,
                    label=f"{TITLES[name]}; {vertices}",
                )
    axes.axhline(1.0, color="grey", linewidth=0.7)
    axes.axvline(20.0, color="grey", linewidth=0.7)
    axes.set(xscale="log", xlabel="fewer seeds (factor)", ylabel="net loss of tracks [%]")
    axes.set_xticks([5, 10, 20, 50], ["5", "10", "20", "50"])
    axes.tick_params(axis="x", which="minor", labelbottom=False)
    axes.legend(fontsize=6.5, title="sample; vertices", title_fontsize=6.5, loc="upper left")


def draw_times(axes, samples):
    """Draws the CPU times without and with one vertex, as shares of the time without."""
    bars = []
    for name, rows in samples.items():
        one = next(row for row in rows if row.key == "zfinder-1-2mm")
        whole = rows[0].total_ms
        bars += [(TITLES[name], rows[0], whole), ("one vertex, ±2 mm", one, whole)]
    places = list(range(len(bars)))[::-1]
    start = [0.0] * len(bars)
    parts = (
        ("vertex", "zfinder", SERIES[2]),
        ("seeding", "seeding", SERIES[0]),
        ("finding", "track finding", "#bebebe"),
    )
    for part, title, colour in parts:
        width = [100.0 * getattr(row, f"{part}_ms") / whole for _, row, whole in bars]
        axes.barh(places, width, left=start, color=colour, label=title)
        start = [a + b for a, b in zip(start, width)]
    for place, end, (_, row, _) in zip(places, start, bars):
        axes.text(end + 1.0, place, f"{row.total_ms:,.0f} ms", va="center", fontsize=7)
    axes.set_yticks(places, [name for name, _, _ in bars], fontsize=7)
    axes.set(xlabel="time of one core [% of that without a constraint]", xlim=(0.0, 120.0))
    axes.tick_params(axis="y", which="both", left=False, right=False)
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)


def draw(samples, path):
    """Draws the losses and the times."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(STYLE)
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.8), constrained_layout=True)
    draw_losses(left, samples)
    draw_times(right, samples)
    figure.savefig(path, metadata={"Date": None})


def main(arguments):
    """Prints the tables and draws the plot."""
    parser = argparse.ArgumentParser(description="Makes tables and a plot of study.py's results.")
    parser.add_argument("results", type=Path, help="folder that study.py wrote")
    parser.add_argument("--short", action="store_true", help="print one table of main variants")
    parser.add_argument("--plot", type=Path, help="SVG file to write")
    options = parser.parse_args(arguments)
    samples = {}
    for name in TITLES:
        events = read_events(options.results / name)
        if not events:
            continue
        samples[name] = [sum_variant(events, key) for key in events[0]["variants"]]
        if options.short:
            continue
        print(summary(name, events))
        print(table(samples[name]) + "\n")
        for width in ("1mm", "2mm"):
            print(losses_by_direction(events, f"truth-1-{width}") + "\n")
    if not samples:
        sys.exit(f"report.py: {options.results} holds no results of study.py")
    if options.short:
        print(short_table({name: rows for name, rows in samples.items() if name != "zee_mu2"}))
        print("\n" + break_even(samples))
    if options.plot:
        draw(samples, options.plot)


if __name__ == "__main__":
    main(sys.argv[1:])
