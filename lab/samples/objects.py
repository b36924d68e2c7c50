#!/usr/bin/env python3
"""Makes the objects that a calorimeter and a muon system would see in the events of make.py.

    lab/samples/objects.py SAMPLE_FOLDER...

Each folder gets `objects.csv` (event_id, eta, phi, et, kind), which `zfinder find --objects` reads.
`README.md` beside this file describes the measurement that is assumed. The hard scatter of each
event is generated again from its seed, because truth_objects.csv has no charges.
"""

import json
import math
import sys
from pathlib import Path

import generation
import make

# Radius of the calorimeter's barrel, |z| of its end-caps, and radius of the solenoid.
BARREL_RHO_MM, ENDCAP_Z_MM, SOLENOID_RHO_MM = 1500.0, 3700.0, 1150.0
# Resolution of the position, along the surface and around it.
POSITION_MM = 5.0
# Jets are measured worse: eta and phi of their axis.
JET_ANGLE = 0.03
# Stochastic and constant term of the energy.
ENERGY = {"electron": (0.10, 0.01), "photon": (0.10, 0.01), "muon": (0.0, 0.03), "jet": (0.8, 0.05)}
COLUMNS = ("event_id", "eta", "phi", "et", "kind")


def at_calorimeter(vertex_z, eta, phi, pt, charge):
    """Returns rho, phi and z in mm where a particle from the beam line meets the calorimeter.

    A charged particle turns up to the solenoid's radius, and is straight beyond it. z goes with
    rho, for the path is hardly longer than its projection.
    """
    slope = math.sinh(eta)
    rho = BARREL_RHO_MM
    if abs(vertex_z + slope * rho) > ENDCAP_Z_MM:
        rho = (math.copysign(ENDCAP_Z_MM, slope) - vertex_z) / slope
    z = vertex_z + slope * rho
    # Half the turn that the momentum makes inside the field, and the lever arm from there on.
    inside = min(rho, SOLENOID_RHO_MM)
    turn = -charge * 0.0003 * generation.FIELD_T * inside / pt
    return rho, phi + turn * (1 - 0.5 * inside / rho), z


def measured(random, kind, vertex_z, eta, phi, et, charge):
    """Returns eta (seen from the origin), phi and et of an object as it is measured."""
    rho, phi, z = at_calorimeter(vertex_z, eta, phi, et, charge)
    z_error = JET_ANGLE * math.cosh(eta) * rho if kind == "jet" else POSITION_MM
    phi_error = JET_ANGLE if kind == "jet" else POSITION_MM / rho
    if abs(z) >= ENDCAP_Z_MM - 1e-6:
        # A position on an end-cap has an error of its radius.
        rho += random.normal(0.0, z_error * rho / abs(z) if kind == "jet" else POSITION_MM)
    else:
        z += random.normal(0.0, z_error)
    phi += random.normal(0.0, phi_error)
    stochastic, constant = ENERGY[kind]
    energy = et * math.cosh(eta)
    et *= max(0.1, 1 + random.normal(0.0, math.hypot(stochastic / math.sqrt(energy), constant)))
    return math.asinh(z / max(rho, 1.0)), math.remainder(phi, math.tau), et


def objects_of(folder):
    import numpy

    settings = json.loads((folder / "sample.json").read_text())
    name, seed = settings["sample"], settings["seed"]
    source = generation.EventSource(name, seed)
    vertices = make.Truth(folder).parts
    rows = []
    for event in sorted(vertices):
        source.hard.reseed(generation.derived_seed(seed, name, "hard scatter", event))
        record = source.hard.next_collision()
        random = numpy.random.default_rng(generation.derived_seed(seed, name, "objects", event))
        vertex_z = float(vertices[event]["vertices"][0][4])
        for kind, eta, phi, et, charge in generation.hard_objects(source.hard, record):
            eta, phi, et = measured(random, kind, vertex_z, eta, phi, et, charge)
            rows.append((event, f"{eta:.5f}", f"{phi:.5f}", f"{et:.3f}", kind))
    return rows


def main(folders):
    if not folders:
        sys.exit(__doc__)
    for folder in map(Path, folders):
        rows = objects_of(folder)
        make.write_atomically(folder / "objects.csv", make.rows_as_csv(COLUMNS, rows))
        print(f"{folder}: {len(rows)} objects")


if __name__ == "__main__":
    main(sys.argv[1:])
