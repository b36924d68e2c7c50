#!/usr/bin/env python3
"""Compares configurations on the samples of make.py: first vertex, resolution, pulls, time.

    lab/samples/compare.py --samples DIR [--zfinder PATH] [--half 0|1] [--markdown] [NAME=ARGUMENTS...]

NAME=ARGUMENTS are options of `zfinder find`, for example `narrow=--preset hard-scatter --z-bin 0.2`. Without any, presets
are compared. `{folder}` in ARGUMENTS is the sample's folder: `objects=--objects {folder}/objects.csv`. An event is right if its first vertex lies within 1 mm of the hard scatter. Events without any charged particle
in acceptance (pT > 500 MeV, |eta| < 2.5) at the hard scatter are left out; `soft 4` asks for four such particles.
`--half 0` takes events of even number alone, `--half 1` those of odd number: to tune on one half and report the other.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import time
from pathlib import Path

PRESETS = {name: f"--preset {name}" for name in ["default", "egamma", "full-scan", "hard-scatter", "auto"]}
PRESETS["single"] = "--preset default --neighbours single --pair-weight any"


def truth(folder):
    """Position and charged particles of the hard scatter of each event."""
    with open(folder / "truth_vertices.csv", newline="") as file:
        return {int(row["event"]): (float(row["vz_mm"]), int(row["n_charged_pt500_eta25"]))
                for row in csv.DictReader(file) if row["is_hard_scatter"] == "1"}


def detector(folder):
    """The detector of a sample. Folders from before there was a choice do not name it."""
    return json.loads((folder / "sample.json").read_text()).get("detector", "generic")


def found(zfinder, folder, arguments):
    """Vertices of each event, in the order found: (z, z error, significance). And seconds per event."""
    command = [zfinder, "find", "--detector", detector(folder), "--engine", "cpu", "--format", "csv",
               *arguments.format(folder=folder).split(), str(folder)]
    began = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    if run.returncode:
        sys.exit(f"error: {' '.join(command)}\n{run.stderr}")
    events = {}
    for row in csv.DictReader(run.stdout.splitlines()):
        vertices = events.setdefault(int(row["event_id"]), [])
        if row["z_mm"]:
            vertices.append((float(row["z_mm"]), float(row["z_error_mm"]), float(row["significance"] or "nan")))
    return events, seconds / max(1, len(events))


def wilson(right, of):
    """The 68 % interval of a share."""
    if not of:
        return 0.0, 1.0
    share = right / of
    middle, half = (share + 0.5 / of) / (1 + 1 / of), math.sqrt(share * (1 - share) / of + 0.25 / of**2) / (1 + 1 / of)
    return middle - half, middle + half


def width_68(values):
    """Half the width of the range about 0 that holds 68 %."""
    values = sorted(abs(value) for value in values)
    return values[min(len(values) - 1, int(0.683 * len(values)))] if values else math.nan


def row(zfinder, folder, arguments, half, least_charged):
    events, seconds = found(zfinder, folder, arguments)
    of = right = any_right = near = 0
    residuals, pulls = [], []
    for event, (z, charged) in truth(folder).items():
        if event not in events or charged < least_charged or (half is not None and event % 2 != half):
            continue
        of += 1
        vertices = events[event]
        any_right += any(abs(vertex[0] - z) < 1 for vertex in vertices)
        if vertices and abs(vertices[0][0] - z) < 1:
            right += 1
            near += abs(vertices[0][0] - z) < 0.2
            residuals.append(vertices[0][0] - z)
            pulls.append(residuals[-1] / vertices[0][1])
    low, high = wilson(right, of)
    share = 100 / max(of, 1)
    return [folder.name + (f" {least_charged}" if least_charged > 1 else ""), str(of), f"{share * right:.1f}",
            f"{100 * low:.1f} - {100 * high:.1f}", f"{share * any_right:.1f}", f"{share * near:.1f}",
            f"{1000 * width_68(residuals):.0f}", f"{width_68(pulls):.2f}", f"{1000 * seconds:.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=Path, required=True, help="folder of make.py")
    parser.add_argument("--zfinder", default="zfinder", help="the command")
    parser.add_argument("--sample", action="append", help="may be repeated; all if not given")
    parser.add_argument("--half", type=int, choices=[0, 1])
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("configurations", nargs="*", metavar="NAME=ARGUMENTS")
    options = parser.parse_args()
    configurations = dict(text.split("=", 1) for text in options.configurations) or PRESETS
    folders = [options.samples / name for name in options.sample] if options.sample else sorted(
        path.parent for path in options.samples.glob("*/truth_vertices.csv"))
    if not folders:
        sys.exit(f"error: no sample in {options.samples}; make.py makes them")
    header = ["configuration", "sample", "events", "right %", "68 %", "any %", "0.2 mm %", "width um", "pull", "ms"]
    rows = []
    for folder in folders:
        for name, arguments in configurations.items():
            for least in (1, 4) if folder.name.startswith("soft") else (1,):
                rows.append([name, *row(options.zfinder, folder, arguments, options.half, least)])
    if options.markdown:
        print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
        print("\n".join("| " + " | ".join(cells) + " |" for cells in rows))
    else:
        for cells in [header, *rows]:
            print(f"{cells[0]:16}{cells[1]:15}" + "".join(f"{cell:>13}" for cell in cells[2:]))


if __name__ == "__main__":
    main()
