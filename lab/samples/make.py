#!/usr/bin/env python3
"""Makes the simulated samples of the evaluation.

Pythia 8 generates the hard scatter and the pile-up collisions. ACTS Fatras simulates the charged
particles and the photons in ACTS's generic (TrackML) detector, or in the Open Data Detector. ACTS
digitises the hits by Gaussian smearing, forms spacepoints, and writes them as CSV. `README.md`
beside this file describes the samples and the files.

    make.py --out DIR                               all samples, default numbers of events
    make.py --out DIR --sample zee_mu46 --events 20
    make.py --out DIR --sample zee_mu46 --detector odd
"""

import argparse
import csv
import gzip
import io
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import generation
from generation import MINIMUM_BIAS, SAMPLES, EventSource
from simulation import DETECTORS, Simulation

VERTEX_COLUMNS = (
    "event", "vertex", "vx_mm", "vy_mm", "vz_mm",
    "n_charged_pt500_eta25", "sum_pt2_GeV2", "max_pt_GeV", "is_hard_scatter",
)  # fmt: skip
OBJECT_COLUMNS = ("event", "kind", "eta", "phi", "et_GeV", "vz_mm")


cached = {}


def spacepoint_file(folder, event, compress):
    return folder / f"event{event:09d}-spacepoint.csv{'.gz' if compress else ''}"


def parts_folder(folder):
    return folder / ".parts"


def write_atomically(path, data):
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def rows_as_csv(columns, rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def make_event(name, seed, event, folder, compress, detector):
    """Makes one event. The spacepoint file appears last: it marks the event as finished."""
    try:
        return try_event(name, seed, event, folder, compress, detector)
    except (RuntimeError, OSError) as error:
        raise RuntimeError(f"{name}, event {event}: {error}") from error


def try_event(name, seed, event, folder, compress, detector):
    start = time.perf_counter()
    if cached.get("key") != (name, seed):
        simulation = Simulation(name, seed, detector)
        cached.update(key=(name, seed), source=EventSource(name, seed), simulation=simulation)
    begin = time.perf_counter()
    vertices, objects, particles = cached["source"].generate(event)
    generated = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=parts_folder(folder)) as scratch:
        path = cached["simulation"].write_event(event, particles, scratch)
        data = path.read_bytes()
    simulated = time.perf_counter()

    vertex_rows = [
        (event, number, f"{v.x:.6f}", f"{v.y:.6f}", f"{v.z:.6f}",
         v.charged, f"{v.sum_pt2:.3f}", f"{v.max_pt:.3f}", int(v.is_hard_scatter))
        for number, v in enumerate(vertices, start=1)
    ]  # fmt: skip
    object_rows = [
        (event, kind, f"{eta:.5f}", f"{phi:.5f}", f"{et:.3f}", f"{vertices[0].z:.6f}")
        for kind, eta, phi, et, _ in objects
    ]
    part = {"vertices": vertex_rows, "objects": object_rows}
    write_atomically(parts_folder(folder) / f"{event:09d}.json", json.dumps(part).encode())
    spacepoints = data.count(b"\n") - 1
    # A fixed time stamp makes the same event the same file.
    data = gzip.compress(data, 6, mtime=0) if compress else data
    write_atomically(spacepoint_file(folder, event, compress), data)
    return {
        "spacepoints": spacepoints,
        "bytes": len(data),
        "start": begin - start,
        "generate": generated - begin,
        "simulate": simulated - generated,
    }


# Samples ------------------------------------------------------------------------------------------


def sample_settings(name, seed, detector):
    """Returns everything that decides the content of a sample's events."""
    settings = {
        "sample": name,
        "seed": seed,
        "cm_energy_GeV": generation.CM_ENERGY_GEV,
        "beam_sigma_z_mm": generation.BEAM_SIGMA_Z_MM,
        "field_T": generation.FIELD_T,
        "max_abs_eta": generation.MAX_ABS_ETA,
        "min_pt_GeV": generation.MIN_PT_GEV,
        "min_momentum_GeV": generation.MIN_MOMENTUM_GEV,
        "max_origin_rho_mm": generation.MAX_ORIGIN_RHO_MM,
        "max_origin_abs_z_mm": generation.MAX_ORIGIN_ABS_Z_MM,
        "pile_up_process": list(MINIMUM_BIAS),
        **asdict(SAMPLES[name]),
        "packages": {p: metadata.version(p) for p in ("pyacts", "pythia8mc", "numpy")},
    }
    del settings["events"]
    # Folders from before there was a choice have no detector in their settings.
    if detector != "generic":
        settings["detector"] = detector
    return json.loads(json.dumps(settings))


def prepare_folder(folder, name, seed, detector, force):
    """Creates the sample's folder, or checks that a started sample can go on in it."""
    settings = sample_settings(name, seed, detector)
    file = folder / "sample.json"
    if folder.exists() and any(folder.iterdir()):
        if not file.is_file():
            sys.exit(f"make.py: {folder} holds files of another origin; choose another --out")
        if force:
            shutil.rmtree(folder)
        elif json.loads(file.read_text()) != settings:
            sys.exit(
                f"make.py: {folder} holds a sample with other settings ({file.name} differs); "
                "use --force to replace it"
            )
    parts_folder(folder).mkdir(parents=True, exist_ok=True)
    write_atomically(file, (json.dumps(settings, indent=2) + "\n").encode())


def is_finished(folder, event):
    return any(spacepoint_file(folder, event, compress).is_file() for compress in (True, False))


class Truth:
    """The truth of a sample's finished events, and the two files that hold it."""

    def __init__(self, folder):
        self.folder = folder
        self.parts = {}
        for path in parts_folder(folder).glob("*.json"):
            if is_finished(folder, int(path.stem)):
                self.add(int(path.stem))

    def add(self, event):
        path = parts_folder(self.folder) / f"{event:09d}.json"
        self.parts[event] = json.loads(path.read_text())

    def write(self):
        for key, columns in (("vertices", VERTEX_COLUMNS), ("objects", OBJECT_COLUMNS)):
            rows = [row for event in sorted(self.parts) for row in self.parts[event][key]]
            write_atomically(self.folder / f"truth_{key}.csv", rows_as_csv(columns, rows))


def run_events(tasks, pool):
    """Runs `make_event` for each task and yields (event, result) in the order of completion."""
    if pool is None:
        for task in tasks:
            yield task[2], make_event(*task)
        return
    futures = {pool.submit(make_event, *task): task[2] for task in tasks}
    for future in as_completed(futures):
        yield futures[future], future.result()


def make_sample(name, events, options, pool):
    folder = options.out / name
    truth = Truth(folder)
    truth.write()
    todo = [event for event in range(events) if not is_finished(folder, event)]
    print(f"{name}: {events - len(todo)} of {events} events are finished", flush=True)
    compress = not options.no_gzip
    tasks = [(name, options.seed, event, folder, compress, options.detector) for event in todo]
    total = {"spacepoints": 0, "bytes": 0, "start": 0.0, "generate": 0.0, "simulate": 0.0}
    for done, (event, result) in enumerate(run_events(tasks, pool), start=1):
        truth.add(event)
        truth.write()
        for key in total:
            total[key] += result[key]
        if done % max(1, len(todo) // 10) == 0 or done == len(todo):
            print(
                f"{name}: {done} of {len(todo)} events made; per event "
                f"{total['spacepoints'] / done:.0f} spacepoints, "
                f"{total['bytes'] / done:.0f} bytes, "
                f"{total['generate'] / done:.2f} s generation, "
                f"{total['simulate'] / done:.2f} s simulation; {total['start']:.0f} s start-up",
                flush=True,
            )


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Makes the simulated samples of the evaluation.")
    parser.add_argument(
        "--sample", nargs="+", default=list(SAMPLES), metavar="NAME", help="samples (all)"
    )
    parser.add_argument(
        "--detector", choices=DETECTORS, default="generic", help="detector (generic)"
    )
    parser.add_argument("--events", type=int, help="events of each sample (the sample's default)")
    parser.add_argument("--out", type=Path, help="folder that receives a folder for each sample")
    parser.add_argument("--seed", type=int, default=1, help="seed of all seeds (1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--force", action="store_true", help="replace the samples' folders")
    parser.add_argument("--no-gzip", action="store_true", help="write plain CSV")
    parser.add_argument("--list", action="store_true", help="list the samples and exit")
    options = parser.parse_args(arguments)
    if options.list:
        return options
    if options.out is None:
        parser.error("--out is required")
    for name in options.sample:
        if name not in SAMPLES:
            parser.error(f"unknown sample `{name}`; known: {', '.join(SAMPLES)}")
    if options.events is not None and options.events < 1:
        parser.error("--events must be at least 1")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def main(arguments):
    options = parse_arguments(arguments)
    if options.list:
        for name, sample in SAMPLES.items():
            print(f"{name}: {sample.events} events, mean pile-up {sample.mean_pile_up:g}")
        return
    try:
        sample_settings(options.sample[0], options.seed, options.detector)
    except metadata.PackageNotFoundError as error:
        sys.exit(f"make.py: package {error.name} is missing; install requirements.txt")
    for name in options.sample:
        prepare_folder(options.out / name, name, options.seed, options.detector, options.force)
    pool = None
    if options.jobs > 1:
        # ACTS and Pythia do not survive a fork, so each worker starts afresh.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(options.jobs, mp_context=context)
    try:
        for name in options.sample:
            events = options.events or SAMPLES[name].events
            make_sample(name, events, options, pool)
    except RuntimeError as error:
        sys.exit(f"make.py: {error}")
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main(sys.argv[1:])
