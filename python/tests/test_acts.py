"""Algorithms in ACTS's event loop: the answers of the finder, from the columns of the event store."""

import csv

import numpy as np
import pytest
from conftest import DATA

import pyzfinder

acts = pytest.importorskip("acts")
import acts.examples  # noqa: E402

import pyzfinder.acts as za  # noqa: E402

EVENTS = 4
LEVEL = acts.logging.FATAL
Columns = acts.SpacePointColumns


class Points(acts.examples.IAlgorithm):
    """Puts spacepoints of a sample in the event store."""

    def __init__(self, sample, shift_mm=0.0):
        acts.examples.IAlgorithm.__init__(self, "Points", LEVEL)
        self.sample, self.shift_mm = sample, shift_mm
        self.handle = acts.examples.WriteDataHandle(self, acts.SpacePointContainer, "spacepoints")
        self.handle.initialize("spacepoints")

    def execute(self, context):
        rho, phi, z = self.sample[context.eventNumber : context.eventNumber + 1].columns
        # ACTS's seeding reads all of them.
        wanted = Columns.X | Columns.Y | Columns.Z | Columns.R | Columns.VarianceZ | Columns.VarianceR
        container = acts.SpacePointContainer(wanted)
        for row in np.stack([rho * np.cos(phi), rho * np.sin(phi), z + self.shift_mm], axis=1):
            point = container.createSpacePoint()
            point.x, point.y, point.z = row.tolist()
            point.r, point.varianceZ, point.varianceR = float(np.hypot(*row[:2])), 1e-4, 1e-4
        self.handle(context, container)
        return acts.examples.ProcessCode.SUCCESS


class Reader(acts.examples.IAlgorithm):
    """Reads seeds of each event, and the columns of its spacepoints."""

    kinds = {"seeds": acts.SeedContainer, "spacepoints": acts.SpacePointContainer}

    def __init__(self, *keys):
        acts.examples.IAlgorithm.__init__(self, "Reader", LEVEL)
        self.handles, self.hits, self.columns = {}, {}, {}
        for key in keys or self.kinds:
            self.handles[key] = acts.examples.ReadDataHandle(self, self.kinds[key], key)
            self.handles[key].initialize(key)

    def execute(self, context):
        points = self.handles["spacepoints"](context.eventStore)
        seeds = self.handles["seeds"](context.eventStore)
        self.columns[context.eventNumber] = [np.array(points.x), points.y.copy(), points.z.copy()]
        self.hits[context.eventNumber] = [
            [int(index) for index in seed.spacePointIndices] for seed in seeds
        ]
        return acts.examples.ProcessCode.SUCCESS


@pytest.fixture(scope="module")
def sample():
    return pyzfinder.read(DATA / "zee7_mu2")


def sequencer(threads=1):
    return acts.examples.Sequencer(
        events=EVENTS, numThreads=threads, logLevel=LEVEL, trackFpes=False
    )


def finder(preset="auto", detector="generic", **keys):
    return pyzfinder.Finder(pyzfinder.Config(preset, **keys), detector, engine="cpu")


@pytest.mark.parametrize("threads", [1, 2])
def test_seeds_and_vertices_are_those_of_the_finder(sample, tmp_path, threads):
    whole = finder(tracklets="window", peaks=2)
    loop, reader = sequencer(threads), Reader()
    loop.addAlgorithm(Points(sample))
    field = acts.ConstantBField(acts.Vector3(0.0, 0.0, 2.0 * acts.UnitConstants.T))
    key = za.add_vertices(loop, whole, field, seeds="seeds", level=LEVEL)
    loop.addAlgorithm(reader)
    loop.addWriter(
        acts.examples.CsvVertexWriter(
            level=LEVEL,
            inputVertices=key,
            outputDir=str(tmp_path),
            outputStem="vertices",
            outputPrecision=9,
        )
    )
    loop.run()
    seeds = 0
    for event in range(EVENTS):
        layer = sample[event : event + 1].layer
        columns = pyzfinder.Spacepoints(tuple(reader.columns[event]), layer, is_cartesian=True)
        expected = whole.find(columns)
        hits = [of["hits"][: of["hit_count"]].tolist() for of in expected.tracklets]
        assert reader.hits[event] == hits
        seeds += len(hits)
        with open(tmp_path / f"event{event:09d}-vertices.csv", newline="") as file:
            z = sorted(float(row["z"]) for row in csv.DictReader(file))
        assert z == pytest.approx(sorted(expected.z_mm), abs=1e-3)
    assert seeds > 10 * EVENTS


def test_columns_are_read_where_they_are(sample):
    class Watched:
        """A finder that tells what it searches."""

        config, detector = pyzfinder.Config("auto"), pyzfinder.Detector("generic")

        def open(self):
            self.inner, self.addresses = finder().open(), []
            return self

        def find(self, spacepoints):
            self.addresses = [column.ctypes.data for column in spacepoints.columns]
            return self.inner.find(spacepoints)

    class Addresses(Reader):
        def execute(self, context):
            points = self.handles["spacepoints"](context.eventStore)
            own = [getattr(points, name).ctypes.data for name in "xyz"]
            assert watched.addresses == own
            checked.append(context.eventNumber)
            return acts.examples.ProcessCode.SUCCESS

    watched, checked, loop = Watched(), [], sequencer()
    for algorithm in (Points(sample), za.FinderAlgorithm(watched, level=LEVEL), Addresses("spacepoints")):
        loop.addAlgorithm(algorithm)
    loop.run()
    assert checked == list(range(EVENTS))


@pytest.mark.parametrize("least, most", [(0.0, 1000), (1e6, 0)])
def test_seeds_are_cut_on_the_fitted_momentum(sample, least, most):
    loop, reader = sequencer(), Reader()
    seeding = za.seeder(finder(tracklets="all"), min_pt_gev=least, level=LEVEL)
    loop.addAlgorithm(Points(sample))
    key = seeding(s=loop, spacePoints="spacepoints", outputSeeds="seeds", logLevel=LEVEL, config={})
    assert key == "seeds"
    loop.addAlgorithm(reader)
    loop.run()
    number = sum(map(len, reader.hits.values()))
    assert (number == 0) == (most == 0) and number <= most * EVENTS


def test_another_geometry_is_refused(sample):
    loop = sequencer()
    loop.addAlgorithm(Points(sample, shift_mm=40.0))
    loop.addAlgorithm(za.FinderAlgorithm(finder(), level=LEVEL))
    with pytest.raises(pyzfinder.InputError, match="on no layer of detector `generic`, the first"):
        loop.run()


def test_seeds_need_tracklets():
    with pytest.raises(pyzfinder.ConfigError, match="set `tracklets` to `window`"):
        za.FinderAlgorithm(finder(), seeds="seeds")


def test_seeds_of_acts_point_at_the_vertex(sample):
    loop, reader, whole = sequencer(), Reader(), finder(peaks=1)
    field = acts.ConstantBField(acts.Vector3(0.0, 0.0, 2.0 * acts.UnitConstants.T))
    seeding = za.window_seeder(whole, field, margin_mm=1.0, rMax=200.0, deltaRMin=1.0, deltaRMax=300.0)
    loop.addAlgorithm(Points(sample))
    seeding(s=loop, spacePoints="spacepoints", outputSeeds="seeds", logLevel=LEVEL, config={})
    loop.addAlgorithm(reader)
    loop.run()
    seeds = 0
    for event in range(EVENTS):
        x, y, z = reader.columns[event]
        rho, layer = np.hypot(x, y), sample[event : event + 1].layer
        found = whole.find(pyzfinder.Spacepoints((x, y, z), layer, is_cartesian=True))
        for inner, _, outer in reader.hits[event]:
            z0 = z[inner] - rho[inner] * (z[outer] - z[inner]) / (rho[outer] - rho[inner])
            # ACTS takes another pair of the three.
            assert abs(z0 - found.first_z_mm[0]) < 3.0
            seeds += 1
    assert seeds > 5 * EVENTS
