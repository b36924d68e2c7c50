"""Vertices and seeds of zfinder in the event loop of `ACTS <https://acts.readthedocs.io>`_.

The package of ACTS is ``pyacts``: ``pip install pyzfinder[acts]``. :func:`seeder` makes seeds of
tracklets, and :func:`window_seeder` lets ACTS seed in windows about vertices. Both are custom
seeders of ACTS's ``addSeeding``::

    from acts.examples.reconstruction import SeedingAlgorithm, addSeeding
    import pyzfinder.acts

    config = pyzfinder.Config("all-vertices", tracklets="window")
    addSeeding(
        s, trackingGeometry, field, geoSelectionConfigFile,
        seedingAlgorithm=SeedingAlgorithm.PythonCallable,
        customSeeder=pyzfinder.acts.seeder(pyzfinder.Finder(config, "generic")),
    )

A finder knows its detector by ACTS's volumes and layers, and :class:`FinderAlgorithm` places
spacepoints on its layers. It reads the columns of the event store where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._config import Detector
from ._errors import ConfigError, InputError
from ._finder import Finder
from ._optional import require
from ._spacepoints import Spacepoints

require("acts", "acts")
import acts  # noqa: E402
import acts.examples  # noqa: E402

_MM = acts.UnitConstants.mm
_GEV = acts.UnitConstants.GeV
# ACTS's finder fits all tracks together where four or fewer are left, so a vertex needs five.
_TRACKS_PER_VERTEX = 5
# Error of z and d0 of such a track [mm]. The vertex has its error over the root of five.
_ERROR_MM = 0.02
# Different z0 of the tracks, in errors. Their mean is 0. The fit rejects a chi-square of 0.
_SHIFTS = (-0.2, -0.1, 0.0, 0.1, 0.2)


def layers_by_position(detector: Detector) -> Callable[[Any], np.ndarray]:
    """Return a function that finds the layers of a container of spacepoints by their places.

    Parameters
    ----------
    detector : Detector
        The detector of the spacepoints.

    Returns
    -------
    callable
        It takes an ``acts.SpacePointContainer`` and returns uint8, 255 for no layer.
    """

    def layers(spacepoints: Any) -> np.ndarray:
        return detector.layer_at(np.hypot(spacepoints.x, spacepoints.y), spacepoints.z)

    return layers


def layers_by_geometry(detector: Detector) -> Callable[[Any], np.ndarray]:
    """Return a function that finds the layers of a container by geometry identifiers.

    Unlike :func:`layers_by_position` it is exact, and slow: Python asks ACTS for every spacepoint.

    Parameters
    ----------
    detector : Detector
        The detector of the spacepoints.

    Returns
    -------
    callable
        It takes an ``acts.SpacePointContainer`` and returns uint8, 255 for no layer.
    """
    of_link = acts.examples.IndexSourceLink.fromSourceLink

    def layers(spacepoints: Any) -> np.ndarray:
        links = (next(spacepoint.sourceLinks) for spacepoint in spacepoints)
        values = (of_link(link).geometryId().value for link in links)
        return detector.layer_of_geometry(np.fromiter(values, np.uint64, len(spacepoints)))

    return layers


class FinderAlgorithm(acts.examples.IAlgorithm):
    """Finds vertices and seeds in the spacepoints of each event.

    Parameters
    ----------
    finder : Finder
        The finder. Its key ``tracklets`` must not be ``off`` if seeds are wanted.
    spacepoints : str
        Key of a container of spacepoints in the event store.
    seeds : str, optional
        Key that the seeds get: tracklets, long ones first, with the z of their vertex.
    vertex_tracks : str, optional
        Key that tracks get which meet at the vertices (:func:`add_vertices`).
    min_pt_gev : float
        Least momentum of a seed, as fitted [GeV].
    layers : callable, optional
        Finds the layers of a container, :func:`layers_by_position` by default.
    level : acts.logging.Level, optional
        Level of messages.

    Raises
    ------
    InputError
        During an event: a spacepoint is on no layer of the detector.
    """

    def __init__(
        self,
        finder: Finder,
        spacepoints: str = "spacepoints",
        *,
        seeds: str | None = None,
        vertex_tracks: str | None = None,
        min_pt_gev: float = 0.0,
        layers: Callable[[Any], np.ndarray] | None = None,
        level: Any = None,
    ) -> None:
        #: Level of messages.
        self.level = acts.logging.WARNING if level is None else level
        acts.examples.IAlgorithm.__init__(self, "zfinder", self.level)
        if seeds and finder.config["tracklets"] == "off":
            raise ConfigError(
                "seeds are tracklets, and the configuration has none: set `tracklets` to `window` "
                "or `all`"
            )
        self._finder, self._min_pt_gev = finder.open(), min_pt_gev
        self._detector = finder.detector
        self._layers = layers or layers_by_position(finder.detector)
        self._surface = acts.Surface.createPerigee(acts.Vector3(0.0, 0.0, 0.0))
        self._spacepoints = self._handle("Read", acts.SpacePointContainer, spacepoints)
        self._seeds = self._handle("Write", acts.SeedContainer, seeds)
        self._tracks = self._handle("Write", acts.examples.ConstTrackContainer, vertex_tracks)

    def _handle(self, kind: str, type_: type, key: str | None) -> Any:
        if not key:
            return None
        handle = getattr(acts.examples, f"{kind}DataHandle")(self, type_, key)
        handle.initialize(key)
        return handle

    def execute(self, context: Any) -> Any:
        """Process one event. ACTS calls it."""
        container = self._spacepoints(context.eventStore)
        layer = self._layers(container)
        if len(layer) and layer.max() == 255:
            raise InputError(self._without_layer(container, layer))
        columns = container.x, container.y, container.z
        results = self._finder.find(Spacepoints(columns, layer, is_cartesian=True))
        if self._seeds is not None:
            self._seeds(context, self._make_seeds(container, results))
        if self._tracks is not None:
            self._tracks(context, self._make_tracks(results))
        return acts.examples.ProcessCode.SUCCESS

    def _without_layer(self, container: Any, layer: np.ndarray) -> str:
        nowhere = np.flatnonzero(layer == 255)
        x, y, z = (float(column[nowhere[0]]) for column in (container.x, container.y, container.z))
        return (
            f"{len(nowhere)} of {len(layer)} spacepoints are on no layer of detector "
            f"`{self._detector.name}`, the first at rho = {math.hypot(x, y):.1f} mm, z = {z:.1f} "
            "mm: give the finder the detector of this geometry, or select the volumes that it has"
        )

    def _make_seeds(self, container: Any, results: Any) -> Any:
        tracklets, z_mm = results.tracklets, results.z_mm
        seeds = acts.SeedContainer()
        seeds.assignSpacePointContainer(container)
        for of in tracklets[tracklets["pt_gev"] >= self._min_pt_gev]:
            seed = seeds.createSeed()
            seed.assignSpacePointIndices(of["hits"][: of["hit_count"]].tolist())
            seed.vertexZ = float(z_mm[of["vertex"]] if of["vertex"] >= 0 else of["z0_mm"])
        return seeds

    def _make_tracks(self, results: Any) -> Any:
        tracks = acts.examples.TrackContainer()
        for z_mm in results.z_mm.tolist():
            for number, shift in enumerate(_SHIFTS):
                track = tracks.makeTrack()
                phi = math.remainder(math.tau * number / _TRACKS_PER_VERTEX, math.tau)
                z0 = (z_mm + shift * _ERROR_MM) * _MM
                track.referenceSurface = self._surface
                track.parameters = acts.BoundVector(0.0, z0, phi, math.pi / 2.0, 0.1 / _GEV, 0.0)
                track.covariance = acts.BoundMatrix.Identity()
        return tracks.makeConst()


def add_vertices(
    sequencer: Any,
    finder: Finder,
    field: Any,
    spacepoints: str = "spacepoints",
    vertices: str = "zfinder_vertices",
    **options: Any,
) -> str:
    """Add algorithms that find vertices in each event and put them in the event store.

    ACTS's package has no class of a vertex, and Python can make no covariance other than the unit
    matrix. :class:`FinderAlgorithm` therefore writes five tracks for each vertex, and ACTS scales
    their covariance and fits them. All vertices get an error of 0.01 mm. Vertices nearer to each
    other than 0.2 mm become one.

    Parameters
    ----------
    sequencer : acts.examples.Sequencer
        The event loop.
    finder : Finder
        Its key ``peaks`` is the largest number of vertices of an event.
    field : acts.MagneticFieldProvider
        The field of the vertex fit.
    spacepoints, vertices : str
        Keys of the input and of the output.
    **options
        Options of :class:`FinderAlgorithm`.

    Returns
    -------
    str
        The key of the vertices, for ``inputVertices`` of ACTS's seeding.
    """
    algorithm = FinderAlgorithm(finder, spacepoints, vertex_tracks=f"{vertices}_tracks", **options)
    level = algorithm.level
    for added in (
        algorithm,
        acts.examples.TrackModifier(
            level=level,
            inputTracks=f"{vertices}_tracks",
            outputTracks=f"{vertices}_scaled",
            covScale=_ERROR_MM * _ERROR_MM,
        ),
        acts.examples.TracksToParameters(
            level=level,
            inputTracks=f"{vertices}_scaled",
            outputTrackParameters=f"{vertices}_parameters",
        ),
        acts.examples.IterativeVertexFinderAlgorithm(
            level=level,
            bField=field,
            inputTrackParameters=f"{vertices}_parameters",
            outputProtoVertices=f"{vertices}_proto",
            outputVertices=vertices,
            maxIterations=1000,
        ),
    ):
        sequencer.addAlgorithm(added)
    return vertices


def seeder(finder: Finder, **options: Any) -> Callable[..., str]:
    """Return a custom seeder of ``addSeeding`` whose seeds are tracklets of zfinder.

    Parameters
    ----------
    finder : Finder
        Its key ``tracklets`` is ``window`` for tracks of the first vertex, or ``all``.
    **options
        Options of :class:`FinderAlgorithm`.

    Returns
    -------
    callable
        The value of ``customSeeder``.
    """

    def add(*, s: Any, spacePoints: str, outputSeeds: str, **_: Any) -> str:
        s.addAlgorithm(FinderAlgorithm(finder, spacePoints, seeds=outputSeeds, **options))
        return outputSeeds

    return add


def window_seeder(
    finder: Finder, field: Any, margin_mm: float = 2.0, **options: Any
) -> Callable[..., str]:
    """Return a custom seeder of ``addSeeding``: ACTS's, in windows about vertices of zfinder.

    An event without a vertex is seeded without a window.

    Parameters
    ----------
    finder : Finder
        Its key ``peaks`` is the largest number of windows of an event.
    field : acts.MagneticFieldProvider
        The field of the vertex fit (:func:`add_vertices`).
    margin_mm : float
        Half the width of a window in z [mm].
    **options
        Options of ACTS's ``GridTripletSeedingAlgorithm``.

    Returns
    -------
    callable
        The value of ``customSeeder``.
    """

    def add(*, s: Any, spacePoints: str, outputSeeds: str, logLevel: Any, **_: Any) -> str:
        vertices = add_vertices(s, finder, field, spacePoints, f"{outputSeeds}_vertices")
        s.addAlgorithm(
            acts.examples.GridTripletSeedingAlgorithm(
                level=logLevel,
                inputSpacePoints=spacePoints,
                outputSeeds=outputSeeds,
                inputVertices=vertices,
                vertexZNSigma=0.0,
                vertexZMargin=margin_mm * _MM,
                **options,
            )
        )
        return outputSeeds

    return add
