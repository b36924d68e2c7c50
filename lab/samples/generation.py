"""Samples, their hard processes, and the generation of their collisions with Pythia 8."""

import hashlib
import math
import os
import tempfile
from dataclasses import dataclass

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

MINIMUM_BIAS = ("SoftQCD:inelastic = on",)
Z_BOSON = ("WeakSingleBoson:ffbar2gmZ = on", "PhaseSpace:mHatMin = 60.", "23:onMode = off")
HIGGS = ("HiggsSM:gg2H = on", "25:m0 = 125.", "25:onMode = off")
# Lead on lead by Pythia's model Angantyr, of all centralities, at the energy of the LHC's runs.
LEAD = (
    "Beams:idA = 1000822080",
    "Beams:idB = 1000822080",
    "Beams:eCM = 5020.",
    "HeavyIon:SigFitNGen = 0",
)
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
    "lead": Sample(LEAD, 0.0, 100),
}


def derived_seed(seed, sample, purpose, event=0):
    """Returns a seed from 1 to 900,000,000 (Pythia's range) for one use in one event."""
    text = f"zfinder-samples/{seed}/{sample}/{purpose}/{event}"
    digest = hashlib.sha256(text.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % 900_000_000


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
        # Finding jets among ten thousands of particles takes minutes, and they say nothing there.
        objects = [] if self.sample.process == LEAD else hard_objects(self.hard, record)
        self.pile_up.reseed(seed("pile-up"))
        for number, vertex in enumerate(vertices[1:], start=2):
            record = self.pile_up.next_collision()
            collect_collision(record, vertex, number, particles)
        return vertices, objects, particles
