"""The sensors of the Open Data Detector's tracker, as a tracking geometry of ACTS.

The wheel `pyacts` has no DD4hep, ROOT or GeoModel, and no geometry of this detector. This file
places the sensors by the sizes that the detector publishes (github.com/OpenDataDetector at
b2e95fc, xml/OpenData{Pixels,ShortStrips,LongStrips}.xml), in mm. Volumes and layers have the
numbers of ACTS's first-generation geometry, which are those of ColliderML.

Each sensor carries the material of its layer as silicon. There is no other material: the
detector's material map is a ROOT file, which the wheel cannot read.
"""

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Standard deviations in mm of (local 0, local 1): pitch / sqrt(12), with the pitch of ACTS's
# `odd-digi-geometric-config.json`; ColliderML's digitisation is of this kind. Long strips measure
# one coordinate, so that they make no spacepoints.
PIXEL_MM = (0.05 / math.sqrt(12.0), 0.05 / math.sqrt(12.0))
SHORT_STRIP_MM = (0.08 / math.sqrt(12.0), 0.5 / math.sqrt(12.0))
LONG_STRIP_MM = (0.1 / math.sqrt(12.0),)
SMEARING_MM = {
    16: PIXEL_MM, 17: PIXEL_MM, 18: PIXEL_MM,
    23: SHORT_STRIP_MM, 24: SHORT_STRIP_MM, 25: SHORT_STRIP_MM,
    28: LONG_STRIP_MM, 29: LONG_STRIP_MM, 30: LONG_STRIP_MM,
}  # fmt: skip

# Silicon: radiation length, interaction length, mass number, atomic number, density in mol/mm^3.
SILICON = (93.7, 465.2, 28.0855, 14.0, 2.329e-3 / 28.0855)
# An assumption about sensor, board, cooling and support: 1.3 % (pixels) and 1.5 % (short strips) of
# a radiation length, and 1.1 % for each of the two sensors of a long-strip module.
PIXEL_MATERIAL_MM, SHORT_MATERIAL_MM, LONG_MATERIAL_MM = 1.2, 1.4, 1.0
# Thickness of a sensor.
SENSOR_MM = 0.125
# The volume in which particles start.
BEAM_RHO_MM, BEAM_HALF_Z_MM = 25.0, 3030.0


@dataclass(frozen=True)
class Barrel:
    """Staves of rectangular modules: `modules` along z, `staves` at each radius."""

    volume: int
    radii: tuple
    staves: tuple
    tilt: float
    modules: int
    half_x: float
    half_y: float
    gap: float
    # Of each sensor of a module: its place along the normal, and its rotation about the normal.
    sensors: tuple
    material_mm: float


@dataclass(frozen=True)
class Ring:
    """Trapezoidal modules around the beam on a disk at +z; on a disk at -z `z` changes its sign."""

    r: float
    modules: int
    phi: float
    z: float
    stagger: float
    half_x: tuple
    half_y: float


@dataclass(frozen=True)
class Endcaps:
    """Disks at -z and +z. Layers of both count upwards in z, from `first_layers` in twos."""

    volumes: tuple
    first_layers: tuple
    z: tuple
    rings: tuple
    sensors: tuple
    material_mm: float


BARRELS = (
    Barrel(17, (34.0, 70.0, 116.0, 172.0), (16, 32, 52, 78), 0.12, 14, 8.4, 36.0, 0.5,
           ((-1.8, 0.0),), PIXEL_MATERIAL_MM),
    Barrel(24, (260.0, 360.0, 500.0, 660.0), (40, 56, 78, 102), -0.15, 21, 24.0, 54.0, 0.5,
           ((2.35, 0.0),), SHORT_MATERIAL_MM),
    Barrel(29, (820.0, 1020.0), (60, 80), -0.15, 21, 48.0, 54.0, 0.5,
           ((-3.31, 0.04), (3.3, 0.0)), LONG_MATERIAL_MM),
)  # fmt: skip
ENDCAPS = (
    Endcaps((16, 18), (4, 2), (620.0, 720.0, 840.0, 980.0, 1120.0, 1320.0, 1520.0),
            (Ring(76.0, 24, 0.0, -3.5, 0.6, (8.5, 14.5), 34.0),
             Ring(139.0, 36, 0.0, 3.5, 0.6, (10.5, 16.5), 34.0)),
            ((0.03, 0.0),), PIXEL_MATERIAL_MM),
    Endcaps((23, 25), (2, 2), (1300.0, 1550.0, 1850.0, 2200.0, 2550.0, 2950.0),
            (Ring(318.0, 42, 0.0, -5.0, 2.5, (18.4, 32.2), 78.0),
             Ring(470.0, 42, 0.0748, 5.0, 2.5, (30.2, 44.0), 78.0),
             Ring(622.0, 42, 0.0, -5.0, 2.5, (40.8, 56.4), 78.0)),
            ((0.0, 0.0),), SHORT_MATERIAL_MM),
    Endcaps((28, 30), (2, 2), (1300.0, 1600.0, 1900.0, 2250.0, 2600.0, 3000.0),
            (Ring(820.0, 48, 0.0, -15.0, 8.0, (53.2, 58.6), 78.0),
             Ring(990.0, 48, 0.0, 15.0, 8.0, (64.6, 70.0), 78.0)),
            ((2.5, 0.02), (-2.5, -0.02)), LONG_MATERIAL_MM),
)  # fmt: skip


def sensor(centre, across, along, stereo, kind, bounds, material_mm):
    """Returns a sensor in the JSON format of ACTS's surfaces.

    `across` and `along` are the directions of the local axes 0 and 1 without the stereo angle.
    """
    cosine, sine = math.cos(stereo), math.sin(stereo)
    x = [cosine * a + sine * b for a, b in zip(across, along)]
    y = [cosine * b - sine * a for a, b in zip(across, along)]
    normal = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    slab = {"material": SILICON, "thickness": material_mm}
    return {
        "kind": f"Plane{kind}",
        "type": "PlaneSurface",
        "sensitive": True,
        "transform": {
            "translation": centre,
            "rotation": [v for row in zip(x, y, normal) for v in row],
        },
        "bounds": {"kind": kind, "type": f"{kind}Bounds", "values": bounds},
        "material": {"type": "homogeneous", "mapMaterial": True, "data": [[slab]]},
    }


def barrel_sensors(barrel, radius, staves):
    step = 2 * barrel.half_y + barrel.gap
    bounds = [-barrel.half_x, -barrel.half_y, barrel.half_x, barrel.half_y]
    for stave in range(staves):
        phi = math.tau * stave / staves
        tilted = phi + barrel.tilt
        normal = (math.cos(tilted), math.sin(tilted))
        for module in range(barrel.modules):
            z = (module - 0.5 * (barrel.modules - 1)) * step
            for offset, stereo in barrel.sensors:
                centre = (radius * math.cos(phi) + offset * normal[0],
                          radius * math.sin(phi) + offset * normal[1], z)  # fmt: skip
                across = (-normal[1], normal[0], 0.0)
                yield sensor(centre, across, (0.0, 0.0, 1.0), stereo, "Rectangle", bounds,
                             barrel.material_mm)  # fmt: skip


def disk_sensors(endcaps, z):
    side = math.copysign(1.0, z)
    for ring in endcaps.rings:
        bounds = [*ring.half_x, ring.half_y, 0.0]
        for module in range(ring.modules):
            phi = ring.phi + math.tau * module / ring.modules
            out = (math.cos(phi), math.sin(phi), 0.0)
            place = z + side * ring.z + (ring.stagger if module % 2 == 0 else -ring.stagger)
            for offset, stereo in endcaps.sensors:
                centre = (ring.r * out[0], ring.r * out[1], place + offset)
                across = (-side * out[1], side * out[0], 0.0)
                yield sensor(centre, across, out, stereo, "Trapezoid", bounds, endcaps.material_mm)


def layers():
    """Yields (volume, layer, sensors) of all layers."""
    for barrel in BARRELS:
        for number, (radius, staves) in enumerate(zip(barrel.radii, barrel.staves)):
            yield barrel.volume, 2 * number + 2, barrel_sensors(barrel, radius, staves)
    for endcaps in ENDCAPS:
        for volume, first, side in zip(endcaps.volumes, endcaps.first_layers, (-1, 1)):
            places = sorted(side * z for z in endcaps.z)
            for number, z in enumerate(places):
                yield volume, first + 2 * number, disk_sensors(endcaps, z)


def elements_of(acts, sensors):
    """Returns detector elements. ACTS digitises a hit if it lies within their thickness."""
    import acts.json

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sensors.json"
        path.write_text(json.dumps(list(sensors)))
        options = acts.json.SurfaceJsonOptions()
        options.inputFile, options.jsonEntryPath = str(path), []
        return acts.json.readDetectorElementsFromJson(options, SENSOR_MM)


def add_layers(acts, container, volume, name, is_disk):
    """Adds the layers of a volume to a container, each with its number. Returns their sensors."""
    added = []
    kind = acts.LayerBlueprintNode.LayerType
    navigation = acts.SurfaceArrayNavigationPolicy
    for of, layer, sensors in layers():
        if of != volume:
            continue
        elements = elements_of(acts, sensors)
        added += elements
        node = acts.LayerBlueprintNode(f"{name}{layer}")
        node.surfaces = [element.surface() for element in elements]
        node.layerType = kind.Disc if is_disk else kind.Cylinder
        node.envelope = acts.ExtentEnvelope(r=[1.0, 1.0], z=[1.0, 1.0])
        shape = navigation.LayerType.Disc if is_disk else navigation.LayerType.Cylinder
        bins = (3, 48) if is_disk else (48, 14)
        node.navigationPolicyFactory = (
            acts.NavigationPolicyFactory.make()
            .add(acts.TryAllNavigationPolicy, acts.TryAllNavigationPolicy.Config(sensitives=False))
            .add(navigation, navigation.Config(layerType=shape, bins=bins))
        )
        identifier = acts.GeometryIdentifierBlueprintNode()
        numbered = identifier.setLayerIdTo(layer).setAllVolumeIdsTo(volume)
        numbered.addChild(node)
        container.addChild(numbered)
    return added


def tracking_geometry(acts):
    """Builds the tracking geometry: pixels, short strips and long strips from the beam outwards.

    Returns the sensors, which must outlive the geometry, and the geometry.
    """
    sensors = []
    along_z, along_r = acts.AxisDirection.AxisZ, acts.AxisDirection.AxisR
    root = acts.Blueprint(envelope=acts.ExtentEnvelope(r=[0.0, 10.0], z=[10.0, 10.0]))
    tracker = root.addCylinderContainer("Tracker", direction=along_r)
    beam = acts.CylinderVolumeBounds(0.0, BEAM_RHO_MM, BEAM_HALF_Z_MM)
    tracker.addStaticVolume(acts.Transform3.Identity(), beam, name="Beam")
    for name, barrel, endcaps in zip(("Pixels", "ShortStrips", "LongStrips"), BARRELS, ENDCAPS):
        part = tracker.addCylinderContainer(name, direction=along_z)
        negative, positive = endcaps.volumes
        for side, volume, direction in (
            ("Negative", negative, along_z),
            ("Barrel", barrel.volume, along_r),
            ("Positive", positive, along_z),
        ):
            container = part.addCylinderContainer(f"{name}{side}", direction=direction)
            sensors += add_layers(acts, container, volume, f"{name}{side}", direction == along_z)
    context = acts.GeometryContext.dangerouslyDefaultConstruct()
    return sensors, root.construct(acts.BlueprintOptions(), context, acts.logging.WARNING)
