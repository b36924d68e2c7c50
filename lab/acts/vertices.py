"""Hands vertices of zfinder to ACTS.

`GridTripletSeedingAlgorithm` takes vertices from ACTS's event store (`inputVertices`). ACTS's
Python layer has no class for a vertex, so Python cannot write vertices there. This module writes a
file of track parameters instead, which `CsvTrackParameterReader` reads, and
`IterativeVertexFinderAlgorithm` fits them: five tracks a vertex, whose fit has z and the error of z
that zfinder found.
"""

import math
import os
from pathlib import Path

import acts
import acts.examples

STEM = "zfinder-vertices"

# ACTS's finder fits all tracks together where four or fewer are left, so a vertex needs five.
TRACKS_PER_VERTEX = 5
# Different z0 of the tracks, in standard deviations. Their mean is 0. The fit rejects a chi-square
# of 0.
SHIFTS = (-0.2, -0.1, 0.0, 0.1, 0.2)
MIN_ERROR_MM = 0.001

PARAMETERS = ("d0", "z0", "phi", "theta", "qop")
VARIANCE_D0_MM2 = 1e-4
VARIANCE_OF_THE_REST = 1e-6


def columns():
    """Returns the columns of ACTS's files of track parameters."""
    variances = [f"var_{name}" for name in PARAMETERS]
    covariances = [f"cov_{a}{b}" for a in PARAMETERS for b in PARAMETERS if a != b]
    return ["trackId", *PARAMETERS, *variances, *covariances]


def tracks_of_vertex(z_mm, z_error_mm):
    """Returns the rows of the tracks whose vertex fit has this z and this error of z."""
    # The error of the mean of n tracks is the error of one over the square root of n.
    error = z_error_mm if z_error_mm > MIN_ERROR_MM else MIN_ERROR_MM
    error *= math.sqrt(TRACKS_PER_VERTEX)
    rows = []
    for number, shift in enumerate(SHIFTS):
        phi = math.remainder(math.tau * number / TRACKS_PER_VERTEX, math.tau)
        rows.append(
            [0.0, z_mm + shift * error, phi, math.pi / 2.0, 0.1]
            + [VARIANCE_D0_MM2, error * error]
            + 3 * [VARIANCE_OF_THE_REST]
            + 20 * [0.0]
        )
    return rows


def write_vertices(folder, event, z_mm, z_error_mm, stem=STEM):
    """Writes the vertices of one event as a file of track parameters."""
    rows = [row for z, error in zip(z_mm, z_error_mm) for row in tracks_of_vertex(z, error)]
    lines = [",".join(columns())]
    lines += [
        ",".join([str(number), *(f"{value:.9g}" for value in row)])
        for number, row in enumerate(rows)
    ]
    path = Path(folder) / f"event{event:09d}-{stem}.csv"
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(path)
    return path


def vertex_algorithms(folder, field, stem=STEM, level=acts.logging.WARNING):
    """Returns the reader of the files and the algorithm that puts vertices in the event store.

    The key of the vertices is the stem of the files. The files must exist.
    """
    reader = acts.examples.CsvTrackParameterReader(
        level=level,
        inputDir=str(folder),
        inputStem=stem,
        outputTrackParameters=f"{stem}-tracks",
        beamspot=[0.0, 0.0, 0.0],
    )
    fit = acts.examples.IterativeVertexFinderAlgorithm(
        level=level,
        bField=field,
        inputTrackParameters=f"{stem}-tracks",
        outputProtoVertices=f"{stem}-proto-vertices",
        outputVertices=stem,
        maxIterations=1000,
    )
    return reader, fit
