"""Simulation with ACTS Fatras, digitisation, and spacepoints, in the detectors of `DETECTORS`."""

import json
import math
import tempfile
from pathlib import Path
from typing import ClassVar

import odd
from generation import FIELD_T, MIN_MOMENTUM_GEV, derived_seed

# Standard deviations in mm of (local 0, local 1), by volume of the generic detector. The values
# are those of ACTS's `generic-digi-smearing-config.json`: pitch / sqrt(12).
PIXEL_MM = (0.05 / math.sqrt(12.0), 0.05 / math.sqrt(12.0))
SHORT_STRIP_MM = (0.08 / math.sqrt(12.0), 1.2 / math.sqrt(12.0))
LONG_STRIP_MM = (0.12 / math.sqrt(12.0), 10.8 / math.sqrt(12.0))
GENERIC_SMEARING_MM = {
    7: PIXEL_MM, 8: PIXEL_MM, 9: PIXEL_MM,
    12: SHORT_STRIP_MM, 13: SHORT_STRIP_MM, 14: SHORT_STRIP_MM,
    16: LONG_STRIP_MM, 17: LONG_STRIP_MM, 18: LONG_STRIP_MM,
}  # fmt: skip
SMEARING_MM = {"generic": GENERIC_SMEARING_MM, "odd": odd.SMEARING_MM}
DETECTORS = tuple(SMEARING_MM)


def smearing_config(smearing_mm):
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
        for volume, sigmas in smearing_mm.items()
    ]
    header = {"format-version": 0, "value-identifier": "digitization-configuration"}
    return {"acts-geometry-hierarchy-map": header, "entries": entries}


def generic_geometry(acts):
    """Returns ACTS's generic detector, which owns its geometry, and the geometry."""
    quiet = acts.logging.WARNING
    config = acts.examples.GenericDetector.Config(
        logLevel=quiet, surfaceLogLevel=quiet, layerLogLevel=quiet, volumeLogLevel=quiet
    )
    detector = acts.examples.GenericDetector(config)
    return detector, detector.trackingGeometry()


class Detector:
    """A detector by name and its field; one instance a process."""

    instances: ClassVar[dict] = {}

    def __init__(self, name):
        import acts
        import acts.examples
        import acts.examples.json

        self.acts = acts
        make = odd.tracking_geometry if name == "odd" else generic_geometry
        # The owner of the sensors must outlive the geometry.
        self.owner, self.geometry = make(acts)
        self.field = acts.ConstantBField(acts.Vector3(0.0, 0.0, FIELD_T * acts.UnitConstants.T))
        smearing = SMEARING_MM[name]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "smearing.json"
            path.write_text(json.dumps(smearing_config(smearing)))
            self.smearing = acts.examples.json.readDigiConfigFromJson(str(path))
        self.surfaces = self.geometry.geoIdSurfaceMap()
        # A spacepoint wants both coordinates of a sensor.
        volumes = [volume for volume, sigmas in smearing.items() if len(sigmas) == 2]
        self.volumes = [acts.GeometryIdentifier(volume=volume) for volume in volumes]

    @classmethod
    def get(cls, name):
        if name not in cls.instances:
            cls.instances[name] = cls(name)
        return cls.instances[name]


class Simulation:
    """Fatras, digitisation and spacepoint maker for one sample."""

    def __init__(self, name, seed, detector):
        self.detector = Detector.get(detector)
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
