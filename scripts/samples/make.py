#!/usr/bin/env python3
"""Makes the simulated samples of the evaluation.

Pythia 8 generates the hard scatter and the pile-up collisions. ACTS Fatras simulates the charged
particles and the photons in ACTS's generic (TrackML) detector. ACTS digitises the hits by Gaussian
smearing, forms spacepoints, and writes them as CSV. `README.md` beside this file describes the
samples and the files.

    make.py --out DIR                               all samples, default numbers of events
    make.py --out DIR --sample zee_mu46 --events 20
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

# Settings that every sample shares.
CM_ENERGY_GEV = 14000.0
FIELD_T = 2.0
BEAM_SIGMA_Z_MM = 56.0
# Selection of the particles to simulate. The limits of rho, |z| and momentum are those of ACTS's
# examples. With all limits, the number of spacepoints in each layer agrees with the samples that
# the project used before.
MAX_ABS_ETA = 4.0
MIN_PT_GEV = 0.1
MIN_MOMENTUM_GEV = 0.5
MAX_ORIGIN_RHO_MM = 24.0
MAX_ORIGIN_ABS_Z_MM = 1000.0
JET_RADIUS = 0.4
JET_MIN_PT_GEV = 20.0
JET_MAX_ABS_ETA = 4.5

# Standard deviations in mm of (local 0, local 1), by volume of the generic detector. The values
# are those of ACTS's `generic-digi-smearing-config.json`: pitch / sqrt(12).
PIXEL_MM = (0.05 / math.sqrt(12.0), 0.05 / math.sqrt(12.0))
SHORT_STRIP_MM = (0.08 / math.sqrt(12.0), 1.2 / math.sqrt(12.0))
LONG_STRIP_MM = (0.12 / math.sqrt(12.0), 10.8 / math.sqrt(12.0))
SMEARING_MM = {
    7: PIXEL_MM, 8: PIXEL_MM, 9: PIXEL_MM,
    12: SHORT_STRIP_MM, 13: SHORT_STRIP_MM, 14: SHORT_STRIP_MM,
    16: LONG_STRIP_MM, 17: LONG_STRIP_MM, 18: LONG_STRIP_MM,
}  # fmt: skip

MINIMUM_BIAS = ("SoftQCD:inelastic = on",)
Z_BOSON = ("WeakSingleBoson:ffbar2gmZ = on", "PhaseSpace:mHatMin = 60.", "23:onMode = off")
HIGGS = ("HiggsSM:gg2H = on", "25:m0 = 125.", "25:onMode = off")
TOP_PAIRS = ("Top:gg2ttbar = on", "Top:qqbar2ttbar = on")


@dataclass(frozen=True)
class Sample:
    """One sample: its hard process (Pythia settings), pile-up, beam and default size."""

    process: tuple
    mean_pile_up: float
    events: int
    beam_x_mm: float = 0.0
    beam_y_mm: float = 0.0
    beam_sigma_xy_mm: float = 0.015


ZEE = Z_BOSON + ("23:onIfAny = 11",)
SAMPLES = {
    "soft": Sample(MINIMUM_BIAS, 0.0, 1000),
    "zee_mu2": Sample(ZEE, 2.0, 500),
    "zee_mu46": Sample(ZEE, 46.0, 200),
    "zmumu_mu46": Sample(Z_BOSON + ("23:onIfAny = 13",), 46.0, 200),
    "wenu_mu46": Sample(
        ("WeakSingleBoson:ffbar2W = on", "24:onMode = off", "24:onIfAny = 11"), 46.0, 200
    ),
    "top_mu46": Sample(TOP_PAIRS, 46.0, 200),
    "hbb_mu46": Sample(HIGGS + ("25:onIfAny = 5",), 46.0, 200),
    "hgg_mu46": Sample(HIGGS + ("25:onIfMatch = 22 22",), 46.0, 200),
    "dijets_mu46": Sample(("HardQCD:all = on", "PhaseSpace:pTHatMin = 50."), 46.0, 200),
    "soft_mu1": Sample(MINIMUM_BIAS, 1.0, 1000),
    "zee_mu46_off": Sample(ZEE, 46.0, 200, beam_x_mm=0.6, beam_y_mm=-0.4),
    "zee_mu46_wide": Sample(ZEE, 46.0, 200, beam_sigma_xy_mm=0.05),
    "top_mu200": Sample(TOP_PAIRS, 200.0, 50),
    "zee_mu200": Sample(ZEE, 200.0, 50),
}

VERTEX_COLUMNS = (
    "event", "vertex", "vx_mm", "vy_mm", "vz_mm",
    "n_charged_pt500_eta25", "sum_pt2_GeV2", "max_pt_GeV", "is_hard_scatter",
)  # fmt: skip
OBJECT_COLUMNS = ("event", "kind", "eta", "phi", "et_GeV", "vz_mm")


def derived_seed(seed, sample, purpose, event=0):
    """Returns a seed from 1 to 900,000,000 (Pythia's range) for one use in one event."""
    text = f"zfinder-samples/{seed}/{sample}/{purpose}/{event}"
    digest = hashlib.sha256(text.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % 900_000_000


# Generation ---------------------------------------------------------------------------------------


def import_pythia():
    """Imports Pythia from an empty folder: it executes the files of a folder `python` beside it."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            import pythia8mc
        finally:
            os.chdir(here)
    return pythia8mc


class Generator:
    """A Pythia instance for one process."""

    def __init__(self, settings):
        pythia8mc = import_pythia()
        self.pythia8mc = pythia8mc
        self.pythia = pythia8mc.Pythia("", False)
        # The seed of the initialisation is fixed; `reseed` sets the seed of each event.
        common = ("Print:quiet = on", "Random:setSeed = on", "Random:seed = 1")
        for setting in (*common, f"Beams:eCM = {CM_ENERGY_GEV}", *settings):
            if not self.pythia.readString(setting):
                raise RuntimeError(f"Pythia rejects the setting `{setting}`")
        if not self.pythia.init():
            raise RuntimeError("Pythia's initialisation failed: " + "; ".join(settings))

    def reseed(self, seed):
        self.pythia.rndm.init(seed)

    def next_collision(self):
        """Generates one collision and returns Pythia's event record."""
        for _ in range(100):
            if self.pythia.next():
                return self.pythia.event
        raise RuntimeError("Pythia failed 100 times in a row to generate a collision")


@dataclass
class Vertex:
    """A simulated collision: position in mm and the truth about its charged particles."""

    x: float
    y: float
    z: float
    is_hard_scatter: bool
    charged: int = 0
    sum_pt2: float = 0.0
    max_pt: float = 0.0


def collect_collision(record, vertex, number, particles):
    """Appends the particles to simulate and fills the vertex's truth.

    A particle is a tuple: vertex number, particle number, PDG code, charge, mass (GeV), x, y, z
    (mm), px, py, pz, p (GeV).
    """
    for index in range(record.size()):
        particle = record[index]
        if not particle.isFinal():
            continue
        charge = particle.charge()
        pdg = particle.id()
        if charge == 0.0 and pdg != 22:
            continue
        momentum, pt, eta = particle.pAbs(), particle.pT(), particle.eta()
        if momentum < MIN_MOMENTUM_GEV or pt < MIN_PT_GEV or abs(eta) > MAX_ABS_ETA:
            continue
        x, y = vertex.x + particle.xProd(), vertex.y + particle.yProd()
        z = vertex.z + particle.zProd()
        if math.hypot(x, y) > MAX_ORIGIN_RHO_MM or abs(z) > MAX_ORIGIN_ABS_Z_MM:
            continue
        if charge != 0.0 and abs(eta) < 2.5 and pt > 0.5:
            vertex.charged += 1
            vertex.sum_pt2 += pt * pt
            vertex.max_pt = max(vertex.max_pt, pt)
        particles.append(
            (number, index, pdg, charge, particle.m(), x, y, z,
             particle.px(), particle.py(), particle.pz(), momentum)
        )  # fmt: skip


def first_copy_mother(record, particle):
    """Returns the PDG code of the mother of the first copy of a particle."""
    mother = record[particle.mother1()]
    while mother.id() == particle.id():
        mother = record[mother.mother1()]
    return mother.idAbs()


def hard_objects(generator, record):
    """Returns (kind, eta, phi, et_GeV, charge) of leptons, photons and jets of the hard scatter.

    Leptons come from W and Z decays, photons from Higgs decays. All are particles of the final
    state: an electron has lost the energy of the photons that it radiated. Jets are anti-kT jets of
    the collision's visible particles.
    """
    objects = []
    for index in range(record.size()):
        particle = record[index]
        if not particle.isFinal() or particle.idAbs() not in (11, 13, 22):
            continue
        mother = first_copy_mother(record, particle)
        if particle.idAbs() == 22:
            kind = "photon" if mother == 25 else None
        else:
            kind = {11: "electron", 13: "muon"}[particle.idAbs()] if mother in (23, 24) else None
        if kind:
            objects.append((kind, particle.eta(), particle.phi(), particle.eT(), particle.charge()))

    # Power -1: anti-kT. Then visible particles, true masses, no hook, Pythia's own algorithm.
    jets = generator.pythia8mc.SlowJet(
        -1, JET_RADIUS, JET_MIN_PT_GEV, JET_MAX_ABS_ETA, 2, 2, None, False
    )
    jets.analyze(record)
    leptons_and_photons = list(objects)
    for jet in range(jets.sizeJet()):
        momentum = jets.p(jet)
        eta, phi = momentum.eta(), momentum.phi()
        # An electron or photon makes a jet of its own, which is left out.
        if any(
            math.hypot(eta - other[1], math.remainder(phi - other[2], math.tau)) < JET_RADIUS
            for other in leptons_and_photons
        ):
            continue
        objects.append(("jet", eta, phi, momentum.eT(), 0.0))
    return sorted(objects, key=lambda o: (o[0] == "jet", -o[3]))


class EventSource:
    """Generates the events of one sample: hard scatter, pile-up and their positions."""

    minimum_bias = None

    def __init__(self, name, seed):
        self.name, self.seed, self.sample = name, seed, SAMPLES[name]
        if EventSource.minimum_bias is None:
            EventSource.minimum_bias = Generator(MINIMUM_BIAS)
        self.pile_up = EventSource.minimum_bias
        is_soft = self.sample.process == MINIMUM_BIAS
        self.hard = self.pile_up if is_soft else Generator(self.sample.process)

    def generate(self, event):
        """Returns the vertices (the hard scatter first), hard objects and particles."""
        import numpy

        def seed(purpose):
            return derived_seed(self.seed, self.name, purpose, event)

        random = numpy.random.default_rng(seed("vertices"))
        pile_up = int(random.poisson(self.sample.mean_pile_up))
        vertices = []
        for number in range(1 + pile_up):
            x, y, z = random.normal(
                (self.sample.beam_x_mm, self.sample.beam_y_mm, 0.0),
                (self.sample.beam_sigma_xy_mm, self.sample.beam_sigma_xy_mm, BEAM_SIGMA_Z_MM),
            )
            vertices.append(Vertex(float(x), float(y), float(z), number == 0))

        particles = []
        self.hard.reseed(seed("hard scatter"))
        record = self.hard.next_collision()
        collect_collision(record, vertices[0], 1, particles)
        objects = hard_objects(self.hard, record)
        self.pile_up.reseed(seed("pile-up"))
        for number, vertex in enumerate(vertices[1:], start=2):
            record = self.pile_up.next_collision()
            collect_collision(record, vertex, number, particles)
        return vertices, objects, particles


# Simulation ---------------------------------------------------------------------------------------


def smearing_config():
    """Returns the digitisation configuration in ACTS's JSON format."""
    entries = [
        {
            "volume": volume,
            "value": {
                "smearing": [
                    {"index": index, "mean": 0.0, "stddev": sigma, "type": "Gauss"}
                    for index, sigma in enumerate(sigmas)
                ]
            },
        }
        for volume, sigmas in SMEARING_MM.items()
    ]
    header = {"format-version": 0, "value-identifier": "digitization-configuration"}
    return {"acts-geometry-hierarchy-map": header, "entries": entries}


class Detector:
    """ACTS's generic detector and its field; one instance a process."""

    instance = None

    def __init__(self):
        import acts
        import acts.examples
        import acts.examples.json

        self.acts = acts
        quiet = acts.logging.WARNING
        self.detector = acts.examples.GenericDetector(
            acts.examples.GenericDetector.Config(
                logLevel=quiet, surfaceLogLevel=quiet, layerLogLevel=quiet, volumeLogLevel=quiet
            )
        )
        self.geometry = self.detector.trackingGeometry()
        self.field = acts.ConstantBField(acts.Vector3(0.0, 0.0, FIELD_T * acts.UnitConstants.T))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "smearing.json"
            path.write_text(json.dumps(smearing_config()))
            self.smearing = acts.examples.json.readDigiConfigFromJson(str(path))
        self.surfaces = self.geometry.geoIdSurfaceMap()
        self.volumes = [acts.GeometryIdentifier(volume=volume) for volume in SMEARING_MM]

    @classmethod
    def get(cls):
        if cls.instance is None:
            cls.instance = cls()
        return cls.instance


class Simulation:
    """Fatras, digitisation and spacepoint maker for one sample."""

    def __init__(self, name, seed):
        self.detector = Detector.get()
        acts = self.detector.acts
        ex = acts.examples
        self.level = acts.logging.FATAL
        random = ex.RandomNumbers(seed=derived_seed(seed, name, "simulation"))
        self.pdg_codes = {}
        simulation = self

        class ParticleReader(ex.IReader):
            """Puts the particles of the current event on the whiteboard."""

            def __init__(self):
                ex.IReader.__init__(self, "ParticleReader", simulation.level)
                self.handle = ex.WriteDataHandle(self, ex.SimParticleContainer, "Particles")
                self.handle.initialize("particles")

            def availableEvents(self):
                return (0, 10**9)

            def read(self, context):
                self.handle(context, simulation.particle_container())
                return ex.ProcessCode.SUCCESS

        self.reader = ParticleReader()
        fatras = ex.FatrasSimulation(
            level=self.level,
            inputParticles="particles",
            outputParticles="particles_simulated",
            outputSimHits="simhits",
            randomNumbers=random,
            trackingGeometry=self.detector.geometry,
            magneticField=self.detector.field,
            generateHitsOnSensitive=True,
            emScattering=True,
            emEnergyLossIonisation=True,
            emEnergyLossRadiation=True,
            emPhotonConversion=True,
            pMin=MIN_MOMENTUM_GEV * acts.UnitConstants.GeV,
        )
        digitisation = ex.DigitizationAlgorithm(
            ex.DigitizationAlgorithm.Config(
                digitizationConfigs=self.detector.smearing,
                surfaceByIdentifier=self.detector.surfaces,
                randomNumbers=random,
                inputSimHits="simhits",
                outputMeasurements="measurements",
                outputMeasurementSubset="measurement_subset",
                outputMeasurementParticlesMap="measurement_particles_map",
                outputMeasurementSimHitsMap="measurement_simhits_map",
                outputParticleMeasurementsMap="particle_measurements_map",
                outputSimHitMeasurementsMap="simhit_measurements_map",
            ),
            self.level,
        )
        spacepoints = ex.SpacePointMaker(
            level=self.level,
            trackingGeometry=self.detector.geometry,
            inputMeasurements="measurement_subset",
            outputSpacePoints="spacepoints",
            geometrySelection=self.detector.volumes,
        )
        self.algorithms = (fatras, digitisation, spacepoints)

    def particle_container(self):
        acts = self.detector.acts
        ex = acts.examples
        gev = acts.UnitConstants.GeV
        container = ex.SimParticleContainer()
        for number, index, pdg, charge, mass, x, y, z, px, py, pz, momentum in self.particles:
            code = self.pdg_codes.get(pdg)
            if code is None:
                code = self.pdg_codes[pdg] = acts.PdgParticle(pdg)
            barcode = ex.SimBarcode()
            barcode.vertexPrimary = number
            barcode.particle = index
            particle = ex.SimParticle(barcode, code, charge, mass * gev)
            particle.fourPosition = acts.Vector4(x, y, z, 0.0)
            particle.direction = acts.Vector3(px / momentum, py / momentum, pz / momentum)
            particle.absoluteMomentum = momentum * gev
            container.insert(particle)
        return container

    def write_event(self, event, particles, folder):
        """Simulates one event and writes its spacepoints. Returns the path of the CSV file."""
        ex = self.detector.acts.examples
        self.particles = particles
        sequencer = ex.Sequencer(
            events=1, skip=event, numThreads=1, logLevel=self.level, trackFpes=False
        )
        sequencer.addReader(self.reader)
        for algorithm in self.algorithms:
            sequencer.addAlgorithm(algorithm)
        sequencer.addWriter(
            ex.CsvSpacePointWriter(
                level=self.level, inputSpacePoints="spacepoints", outputDir=str(folder)
            )
        )
        sequencer.run()
        return Path(folder) / f"event{event:09d}-spacepoint.csv"


# One event ----------------------------------------------------------------------------------------

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


def make_event(name, seed, event, folder, compress):
    """Makes one event. The spacepoint file appears last: it marks the event as finished."""
    try:
        return try_event(name, seed, event, folder, compress)
    except (RuntimeError, OSError) as error:
        raise RuntimeError(f"{name}, event {event}: {error}") from error


def try_event(name, seed, event, folder, compress):
    start = time.perf_counter()
    if cached.get("key") != (name, seed):
        cached.update(source=EventSource(name, seed), simulation=Simulation(name, seed))
        cached["key"] = (name, seed)
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


def sample_settings(name, seed):
    """Returns everything that decides the content of a sample's events."""
    settings = {
        "sample": name,
        "seed": seed,
        "cm_energy_GeV": CM_ENERGY_GEV,
        "beam_sigma_z_mm": BEAM_SIGMA_Z_MM,
        "field_T": FIELD_T,
        "max_abs_eta": MAX_ABS_ETA,
        "min_pt_GeV": MIN_PT_GEV,
        "min_momentum_GeV": MIN_MOMENTUM_GEV,
        "max_origin_rho_mm": MAX_ORIGIN_RHO_MM,
        "max_origin_abs_z_mm": MAX_ORIGIN_ABS_Z_MM,
        "pile_up_process": list(MINIMUM_BIAS),
        **asdict(SAMPLES[name]),
        "packages": {p: metadata.version(p) for p in ("pyacts", "pythia8mc", "numpy")},
    }
    del settings["events"]
    return json.loads(json.dumps(settings))


def prepare_folder(folder, name, seed, force):
    """Creates the sample's folder, or checks that a started sample can go on in it."""
    settings = sample_settings(name, seed)
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


def make_sample(name, events, seed, out, pool, compress):
    folder = out / name
    truth = Truth(folder)
    truth.write()
    todo = [event for event in range(events) if not is_finished(folder, event)]
    print(f"{name}: {events - len(todo)} of {events} events are finished", flush=True)
    tasks = [(name, seed, event, folder, compress) for event in todo]
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
        sample_settings(options.sample[0], options.seed)
    except metadata.PackageNotFoundError as error:
        sys.exit(f"make.py: package {error.name} is missing; install requirements.txt")
    for name in options.sample:
        prepare_folder(options.out / name, name, options.seed, options.force)
    pool = None
    if options.jobs > 1:
        # ACTS and Pythia do not survive a fork, so each worker starts afresh.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(options.jobs, mp_context=context)
    try:
        for name in options.sample:
            events = options.events or SAMPLES[name].events
            make_sample(name, events, options.seed, options.out, pool, not options.no_gzip)
    except RuntimeError as error:
        sys.exit(f"make.py: {error}")
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    main(sys.argv[1:])
