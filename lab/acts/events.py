"""Simulated events in ACTS's event store, which zfinder and algorithms of ACTS share."""

import math
import sys
import time
from pathlib import Path

import acts
import acts.examples
import numpy
from tracking import PIXEL_VOLUMES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "samples"))
import make

QUIET = acts.logging.FATAL


def eta_of(px, py, pz):
    """Returns the pseudorapidity of a momentum."""
    return math.asinh(pz / math.hypot(px, py))


class Reader:
    """Reads a C++ object from the event store. ACTS wants a parent for each handle."""

    parent = None

    def __init__(self, kind, key):
        if Reader.parent is None:
            Reader.parent = acts.examples.IAlgorithm("Reader", QUIET)
        self.handle = acts.examples.ReadDataHandle(Reader.parent, kind, key)
        self.handle.initialize(key)

    def __call__(self, store):
        return self.handle(store)


class Event:
    """An event store, and the CPU time of the algorithms that run on it."""

    def __init__(self, number):
        self.number = number
        self.store = acts.examples.WhiteBoard(QUIET)
        self.algorithms = 0

    def context(self):
        # Random numbers depend on the number of the algorithm.
        self.algorithms += 1
        return acts.examples.AlgorithmContext(self.algorithms, self.number, self.store, 0)

    def execute(self, algorithm):
        """Runs an algorithm and returns its CPU time in seconds."""
        context = self.context()
        begin = time.process_time()
        code = algorithm.internalExecute(context)
        seconds = time.process_time() - begin
        if code != acts.examples.ProcessCode.SUCCESS:
            raise RuntimeError(f"{algorithm.name()} fails in event {self.number}")
        return seconds


def target_of(vertex, position, momentum):
    """Describes a track to find: momentum, and its distances from its vertex."""
    (x, y, z), (px, py, pz) = position, momentum
    pt = math.hypot(px, py)
    # z where the straight track passes the beam line, and its distance to the line.
    along = ((vertex.x - x) * px + (vertex.y - y) * py) / pt
    across = ((vertex.x - x) * py - (vertex.y - y) * px) / pt
    return {
        "pt_GeV": pt,
        "eta": eta_of(px, py, pz),
        "from_mm": math.hypot(x - vertex.x, y - vertex.y),
        "d0_mm": across,
        "dz_mm": z + along * pz / pt - vertex.z,
    }


def barcode_of(vertex, particle):
    """Returns ACTS's number of a particle of the generator."""
    barcode = acts.examples.SimBarcode()
    barcode.vertexPrimary, barcode.particle = vertex, particle
    return barcode


def measurement_of(source_link):
    """Returns the number of the measurement of a source link."""
    return acts.examples.IndexSourceLink.fromSourceLink(source_link).index()


class Algorithms(list):
    """Collects algorithms in place of a sequencer."""

    addAlgorithm = list.append


class Events:
    """The simulation of one sample, with spacepoints in the event store."""

    def __init__(self, name, seed, detector="generic"):
        ex = acts.examples
        self.source = make.EventSource(name, seed)
        self.simulation = make.Simulation(name, seed, detector)
        self.geometry = self.simulation.detector.geometry
        self.field = self.simulation.detector.field
        self.pixel_volumes = PIXEL_VOLUMES[detector]
        self.pixels = ex.SpacePointMaker(
            level=QUIET,
            trackingGeometry=self.geometry,
            inputMeasurements="measurement_subset",
            outputSpacePoints="pixel_spacepoints",
            geometrySelection=[acts.GeometryIdentifier(volume=v) for v in self.pixel_volumes],
        )
        self.read_spacepoints = Reader(acts.SpacePointContainer, "spacepoints")
        self.read_measurements = Reader(ex.MeasurementContainer, "measurements")
        self.read_measurements_of = Reader(ex.ParticleMeasurementsMap, "particle_measurements_map")
        self.read_particles_of = Reader(ex.MeasurementParticlesMap, "measurement_particles_map")

    def simulate(self, number):
        """Returns an event, its true vertices and particles, and identifiers of measurements."""
        vertices, _, particles = self.source.generate(number)
        self.simulation.particles = particles
        event = Event(number)
        self.simulation.reader.read(event.context())
        for algorithm in (*self.simulation.algorithms, self.pixels):
            event.execute(algorithm)
        identifiers = numpy.array(
            [m.geometryId.value for m in self.read_measurements(event.store)], dtype=numpy.uint64
        )
        return event, vertices, particles, identifiers

    def measurements(self, event, read):
        """Returns the measurement of each spacepoint of a container."""
        links = (next(spacepoint.sourceLinks) for spacepoint in read(event.store))
        return numpy.array([measurement_of(link) for link in links], dtype=int)

    def owners(self, store, numbers, measurements):
        """Returns the number of the particle of each measurement.

        `numbers` has the numbers of some particles by barcode, and gets those of the others.
        """
        particles_of = self.read_particles_of(store)
        owners = numpy.empty(measurements, dtype=int)
        for measurement in range(measurements):
            of = particles_of.valuesFor(measurement)[0]
            key = (of.vertexPrimary, of.vertexSecondary, of.particle, of.generation, of.subParticle)
            owners[measurement] = numbers.setdefault(key, len(numbers))
        return owners

    def columns(self, event, identifiers):
        """Returns the columns of all spacepoints, as zfinder wants them."""
        spacepoints = self.read_spacepoints(event.store)
        measurements = self.measurements(event, self.read_spacepoints)
        x, y, z = (numpy.array(column) for column in (spacepoints.x, spacepoints.y, spacepoints.z))
        return {
            "x": x,
            "y": y,
            "z": z,
            "geometry_id": identifiers[measurements],
            "event_id": numpy.full(len(x), event.number, dtype=numpy.uint64),
        }
