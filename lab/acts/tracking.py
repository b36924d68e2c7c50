"""Seeding, track finding and vertex finding of ACTS in the detectors of the samples.

The settings are those of ACTS's own example of the combinatorial Kalman filter (`ckf_tracks.py`).
"""

import acts
import acts.examples

FIELD_T = 2.0
MM = acts.UnitConstants.mm
GEV = acts.UnitConstants.GeV
DEGREE = acts.UnitConstants.degree

# Volumes of the pixel detectors.
PIXEL_VOLUMES = {"generic": (7, 8, 9), "odd": (16, 17, 18)}
MAX_RADIUS_OF_PIXELS_MM = 200.0
MIN_PT_OF_SEEDS_GEV = 0.5


def seed_options(min_pt_gev=MIN_PT_OF_SEEDS_GEV):
    """Returns the options of ACTS's seeding from pixels."""
    return {
        "bFieldInZ": FIELD_T * acts.UnitConstants.T,
        "rMax": MAX_RADIUS_OF_PIXELS_MM * MM,
        "zMin": -2000.0 * MM,
        "zMax": 2000.0 * MM,
        "deltaRMin": 1.0 * MM,
        "deltaRMax": 300.0 * MM,
        "collisionRegionMin": -250.0 * MM,
        "collisionRegionMax": 250.0 * MM,
        "minPt": min_pt_gev * GEV,
        "impactMax": 3.0 * MM,
        "maxSeedsPerSpM": 1,
        "sigmaScattering": 5.0,
        "radLengthPerSeed": 0.1,
    }


def seeding(
    spacepoints,
    seeds,
    vertices="",
    n_sigma=0.0,
    margin_mm=0.0,
    min_pt_gev=MIN_PT_OF_SEEDS_GEV,
    level=acts.logging.WARNING,
):
    """Returns the seeding from pixels, within n_sigma errors plus the margin of the vertices.

    `spacepoints`, `seeds` and `vertices` are keys of the event store. Without a key of vertices, or
    in an event without vertices, ACTS does not constrain seeds.
    """
    return acts.examples.GridTripletSeedingAlgorithm(
        level=level,
        inputSpacePoints=spacepoints,
        outputSeeds=seeds,
        inputVertices=vertices,
        vertexZNSigma=n_sigma,
        vertexZMargin=margin_mm * MM,
        **seed_options(min_pt_gev),
    )


def track_finding(seeds, tracks, geometry, field, level=acts.logging.FATAL):
    """Returns the algorithms from seeds to tracks: parameter estimation, then Kalman filter."""
    estimation = acts.examples.TrackParamsEstimationAlgorithm(
        level=level,
        inputSeeds=seeds,
        outputSeeds=f"{seeds}-estimated",
        outputTrackParameters=f"{seeds}-parameters",
        trackingGeometry=geometry,
        magneticField=field,
        initialSigmas=[MM, MM, DEGREE, DEGREE, 0.0, acts.UnitConstants.ns],
        initialSigmaQoverPt=0.1 / GEV,
        initialSigmaPtRel=0.1,
        initialVarInflation=6 * [1.0],
        particleHypothesis=acts.ParticleHypothesis.pion,
    )
    everywhere = acts.GeometryIdentifier()
    finding = acts.examples.TrackFindingAlgorithm(
        level=level,
        # Edges in eta, then largest chi-square of a measurement, of an outlier, and branches.
        measurementSelectorCfg=acts.MeasurementSelector.Config(
            [(everywhere, ([], [15.0], [25.0], [10]))]
        ),
        inputMeasurements="measurement_subset",
        inputInitialTrackParameters=f"{seeds}-parameters",
        inputSeeds=f"{seeds}-estimated",
        outputTracks=tracks,
        findTracks=acts.examples.TrackFindingAlgorithm.makeTrackFinderFunction(
            geometry, field, level
        ),
        trackingGeometry=geometry,
        magneticField=field,
        twoWay=True,
        seedDeduplication=True,
        stayOnSeed=True,
        trackSelectorCfg=acts.TrackSelector.Config(
            ptMin=MIN_PT_OF_SEEDS_GEV * GEV,
            absEtaMax=3.0,
            loc0Min=-4.0 * MM,
            loc0Max=4.0 * MM,
            minMeasurements=7,
            maxHoles=2,
            maxOutliers=2,
        ),
    )
    return estimation, finding


def vertex_finding(tracks, vertices, seed_finder, field, level=acts.logging.FATAL):
    """Returns the algorithms from tracks to vertices: ambiguity resolution, then AMVF.

    Options of the adaptive multi-vertex finder are the defaults of ACTS.
    """
    selection = acts.examples.GreedyAmbiguityResolutionAlgorithm(
        level=level,
        inputTracks=tracks,
        outputTracks=f"{vertices}-tracks",
        maximumSharedHits=3,
        nMeasurementsMin=7,
        maximumIterations=1_000_000,
    )
    parameters = acts.examples.TracksToParameters(
        level=level,
        inputTracks=f"{vertices}-tracks",
        outputTrackParameters=f"{vertices}-parameters",
    )
    finding = acts.examples.AdaptiveMultiVertexFinderAlgorithm(
        level=level,
        inputTrackParameters=f"{vertices}-parameters",
        inputTruthParticles="",
        inputTruthVertices="",
        outputProtoVertices=f"{vertices}-proto-vertices",
        outputVertices=vertices,
        seedFinder=seed_finder,
        bField=field,
    )
    return selection, parameters, finding
