//! The built-in detectors. `data/detectors` has the same tables as TOML; a test of `zfinder-io`
//! compares them.

use super::layers::{BendingPair, BendingTable, Layer, LayerKind, Sensor};

/// A table of layers and, where it is known, of the bending between them.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Of each sensor along z, or along r on a disk \[mm\].
    resolution_mm: fn(Sensor) -> Option<f64>,
    layers: &'static [LayerRow],
    bending: Option<BendingRows>,
}

/// A layer's kind, its sensor, and the (volume, layer) numbers by which files call it.
type LayerRow = (LayerKind, Option<Sensor>, &'static [(u32, u32)]);

/// Momentum \[GeV\] and field \[T\]; (inner, outer, dphi \[rad\], eta) of pairs.
struct BendingRows(f64, f64, &'static [(u32, u32, f64, Option<f64>)]);

impl Table {
    pub(super) fn layers(&self) -> Vec<Layer> {
        let layer = |&(kind, sensor, ids): &LayerRow| Layer {
            kind,
            sensor,
            z_resolution_mm: sensor.and_then(self.resolution_mm),
            radiation_lengths: None,
            next: None,
            ids: ids.to_vec(),
        };
        self.layers.iter().map(layer).collect()
    }

    pub(super) fn bending(&self) -> Option<BendingTable> {
        let BendingRows(pt_gev, field_t, pairs) = self.bending.as_ref()?;
        let pair =
            |&(inner, outer, dphi_rad, eta): &(u32, u32, f64, Option<f64>)| BendingPair { inner, outer, dphi_rad, eta };
        Some(BendingTable { pt_gev: *pt_gev, field_t: *field_t, pairs: pairs.iter().map(pair).collect() })
    }
}

const fn barrel(radius_mm: f64) -> LayerKind {
    LayerKind::Barrel { radius_mm }
}

const fn endcap(z_mm: f64, r_max_mm: f64) -> LayerKind {
    LayerKind::Endcap { z_mm, r_max_mm }
}

const PIXEL: Option<Sensor> = Some(Sensor::Pixel);
const SHORT: Option<Sensor> = Some(Sensor::ShortStrip);
const LONG: Option<Sensor> = Some(Sensor::LongStrip);

/// The 19 layers of the 2010 ATLAS inner detector: pixel and strip (SCT) barrels, pixel and strip
/// disks. Disks at +z and -z share a layer. Sizes in mm. Resolutions: ATLAS Collaboration, JINST 3
/// (2008) S08003.
pub(super) const ATLAS2010: Table = Table {
    name: "atlas2010",
    resolution_mm: |sensor| Some(if sensor == Sensor::Pixel { 0.115 } else { 0.58 }),
    layers: &[
        (barrel(50.5), PIXEL, &[]),
        (barrel(88.5), PIXEL, &[]),
        (barrel(122.5), PIXEL, &[]),
        (barrel(299.0), SHORT, &[]),
        (barrel(371.0), SHORT, &[]),
        (barrel(443.0), SHORT, &[]),
        (barrel(514.0), SHORT, &[]),
        (endcap(495.0, 149.6), PIXEL, &[]),
        (endcap(580.0, 149.6), PIXEL, &[]),
        (endcap(650.0, 149.6), PIXEL, &[]),
        (endcap(853.8, 560.0), SHORT, &[]),
        (endcap(934.0, 560.0), SHORT, &[]),
        (endcap(1091.5, 560.0), SHORT, &[]),
        (endcap(1299.9, 560.0), SHORT, &[]),
        (endcap(1399.7, 560.0), SHORT, &[]),
        (endcap(1771.4, 560.0), SHORT, &[]),
        (endcap(2115.2, 560.0), SHORT, &[]),
        (endcap(2505.0, 560.0), SHORT, &[]),
        (endcap(2720.2, 560.0), SHORT, &[]),
    ],
    bending: Some(BendingRows(
        6.0,
        2.0,
        &[
            (0, 1, 0.00194866, None),
            (0, 2, 0.00364751, None),
            (0, 3, 0.0124919, None),
            (0, 4, 0.0161399, None),
            (0, 5, 0.0198381, None),
            (0, 6, 0.0234867, None),
            (1, 2, 0.0016989, None),
            (1, 3, 0.0105432, None),
            (1, 4, 0.0141912, None),
            (1, 5, 0.0178895, None),
            (1, 6, 0.021538, None),
            (2, 3, 0.0088444, None),
            (2, 4, 0.0124924, None),
            (2, 5, 0.0161906, None),
            (2, 6, 0.0198392, None),
            (3, 4, 0.00364799, None),
            (3, 5, 0.00734621, None),
            (3, 6, 0.0109948, None),
            (4, 5, 0.0036982, None),
            (4, 6, 0.00734676, None),
            (5, 6, 0.00364854, None),
            (0, 7, 0.0215957, Some(0.9)),
            (0, 8, 0.0221613, Some(1.0)),
            (0, 9, 0.0218177, Some(1.1)),
            (0, 10, 0.0225082, Some(1.3)),
            (0, 11, 0.022428, Some(1.4)),
            (0, 12, 0.0233142, Some(1.5)),
            (0, 13, 0.0220535, Some(1.7)),
            (0, 14, 0.0212772, Some(1.8)),
            (0, 15, 0.0217484, Some(2.0)),
            (0, 16, 0.0211554, Some(2.2)),
            (0, 17, 0.0228034, Some(2.3)),
            (0, 18, 0.022456, Some(2.4)),
            (1, 7, 0.019647, Some(0.9)),
            (1, 8, 0.0202126, Some(1.0)),
            (1, 9, 0.019869, Some(1.1)),
            (1, 10, 0.0205596, Some(1.3)),
            (1, 11, 0.0204793, Some(1.4)),
            (1, 12, 0.0213655, Some(1.5)),
            (1, 13, 0.0201049, Some(1.7)),
            (1, 14, 0.0193285, Some(1.8)),
            (1, 15, 0.0197997, Some(2.0)),
            (1, 16, 0.0192068, Some(2.2)),
            (1, 17, 0.0208548, Some(2.3)),
            (1, 18, 0.0205073, Some(2.4)),
            (2, 7, 0.0179482, Some(0.9)),
            (2, 8, 0.0185138, Some(1.0)),
            (2, 9, 0.0181702, Some(1.1)),
            (2, 10, 0.0188607, Some(1.3)),
            (2, 11, 0.0187805, Some(1.4)),
            (2, 12, 0.0196667, Some(1.5)),
            (2, 13, 0.018406, Some(1.7)),
            (2, 14, 0.0176297, Some(1.8)),
            (2, 15, 0.0181008, Some(2.0)),
            (3, 7, 0.0091038, Some(0.9)),
            (3, 8, 0.00966937, Some(1.0)),
            (3, 9, 0.00932575, Some(1.1)),
            (4, 7, 0.00545581, Some(0.9)),
            (4, 8, 0.00602138, Some(1.0)),
            (5, 7, 0.00175759, Some(0.9)),
            (7, 8, 0.0036139, Some(1.0)),
            (7, 9, 0.00579842, Some(1.1)),
            (7, 10, 0.0104439, Some(1.3)),
            (7, 11, 0.0119384, Some(1.4)),
            (7, 12, 0.0141969, Some(1.5)),
            (7, 13, 0.0152032, Some(1.7)),
            (7, 14, 0.0153691, Some(1.8)),
            (7, 15, 0.0174273, Some(2.0)),
            (7, 16, 0.0181046, Some(2.2)),
            (7, 17, 0.020292, Some(2.3)),
            (7, 18, 0.0204296, Some(2.4)),
            (8, 9, 0.00261864, Some(1.1)),
            (8, 10, 0.00794324, Some(1.3)),
            (8, 11, 0.00970813, Some(1.4)),
            (8, 12, 0.0122023, Some(1.5)),
            (8, 13, 0.0135979, Some(1.7)),
            (8, 14, 0.0139256, Some(1.8)),
            (8, 15, 0.0162563, Some(2.0)),
            (8, 16, 0.0171517, Some(2.2)),
            (8, 17, 0.0194317, Some(2.3)),
            (8, 18, 0.0196526, Some(2.4)),
            (9, 10, 0.00588388, Some(1.3)),
            (9, 11, 0.00787145, Some(1.4)),
            (9, 12, 0.0105596, Some(1.5)),
            (9, 13, 0.0122759, Some(1.7)),
            (9, 14, 0.0127369, Some(1.8)),
            (9, 15, 0.0152919, Some(2.0)),
            (9, 16, 0.016367, Some(2.2)),
            (9, 17, 0.0187233, Some(2.3)),
            (9, 18, 0.0190128, Some(2.4)),
            (10, 11, 0.00262382, Some(1.4)),
            (10, 12, 0.00586647, Some(1.5)),
            (10, 13, 0.0084987, Some(1.7)),
            (10, 14, 0.00934036, Some(1.8)),
            (10, 15, 0.0125366, Some(2.0)),
            (10, 16, 0.014125, Some(2.2)),
            (10, 17, 0.0166991, Some(2.3)),
            (10, 18, 0.0171846, Some(2.4)),
            (11, 12, 0.00351988, Some(1.5)),
            (11, 13, 0.0066101, Some(1.7)),
            (11, 14, 0.00764212, Some(1.8)),
            (11, 15, 0.011159, Some(2.0)),
            (11, 16, 0.0130039, Some(2.2)),
            (11, 17, 0.0156871, Some(2.3)),
            (11, 18, 0.0162705, Some(2.4)),
            (12, 13, 0.0037772, Some(1.7)),
            (12, 14, 0.00509474, Some(1.8)),
            (12, 15, 0.00909248, Some(2.0)),
            (12, 16, 0.0113224, Some(2.2)),
            (12, 17, 0.014169, Some(2.3)),
            (12, 18, 0.0148994, Some(2.4)),
            (13, 14, 0.00169825, Some(1.8)),
            (13, 15, 0.00633719, Some(2.0)),
            (13, 16, 0.00908033, Some(2.2)),
            (13, 17, 0.0121448, Some(2.3)),
            (13, 18, 0.0130713, Some(2.4)),
            (14, 15, 0.00495954, Some(2.0)),
            (14, 16, 0.0079593, Some(2.2)),
            (14, 17, 0.0111327, Some(2.3)),
            (14, 18, 0.0121572, Some(2.4)),
            (15, 16, 0.0039236, Some(2.2)),
            (15, 17, 0.0074893, Some(2.3)),
            (15, 18, 0.00886652, Some(2.4)),
            (16, 17, 0.00394707, Some(2.3)),
            (16, 18, 0.00566726, Some(2.4)),
            (17, 18, 0.00210237, Some(2.4)),
        ],
    )),
};

/// The ACTS generic detector, which is the TrackML detector: 4 pixel, 4 short-strip and 2
/// long-strip barrels, 7 pixel, 6 short-strip and 6 long-strip disks. Disks at +z and -z share a
/// layer. Sizes in mm. ids: (volume, layer) as in the files. Outer radii are measured from
/// simulated spacepoints. Resolutions: `var_z` and `var_r` in files that ACTS simulated.
pub(super) const GENERIC: Table = Table {
    name: "generic",
    resolution_mm: |sensor| {
        Some(match sensor {
            Sensor::Pixel => 0.0144,
            Sensor::ShortStrip => 0.346,
            Sensor::LongStrip => 3.12,
        })
    },
    layers: &[
        (barrel(32.0), PIXEL, &[(8, 2)]),
        (barrel(72.0), PIXEL, &[(8, 4)]),
        (barrel(116.0), PIXEL, &[(8, 6)]),
        (barrel(172.0), PIXEL, &[(8, 8)]),
        (barrel(260.1), SHORT, &[(13, 2)]),
        (barrel(360.1), SHORT, &[(13, 4)]),
        (barrel(500.1), SHORT, &[(13, 6)]),
        (barrel(660.1), SHORT, &[(13, 8)]),
        (barrel(820.1), LONG, &[(17, 2)]),
        (barrel(1020.1), LONG, &[(17, 4)]),
        (endcap(600.0, 176.0), PIXEL, &[(7, 14), (9, 2)]),
        (endcap(700.0, 176.0), PIXEL, &[(7, 12), (9, 4)]),
        (endcap(820.0, 176.0), PIXEL, &[(7, 10), (9, 6)]),
        (endcap(960.0, 176.0), PIXEL, &[(7, 8), (9, 8)]),
        (endcap(1100.0, 176.0), PIXEL, &[(7, 6), (9, 10)]),
        (endcap(1300.0, 176.0), PIXEL, &[(7, 4), (9, 12)]),
        (endcap(1500.0, 176.0), PIXEL, &[(7, 2), (9, 14)]),
        (endcap(1219.0, 700.0), SHORT, &[(12, 12), (14, 2)]),
        (endcap(1499.0, 700.0), SHORT, &[(12, 10), (14, 4)]),
        (endcap(1799.0, 700.0), SHORT, &[(12, 8), (14, 6)]),
        (endcap(2149.0, 700.0), SHORT, &[(12, 6), (14, 8)]),
        (endcap(2549.0, 700.0), SHORT, &[(12, 4), (14, 10)]),
        (endcap(2949.0, 700.0), SHORT, &[(12, 2), (14, 12)]),
        (endcap(1220.1, 1021.0), LONG, &[(16, 12), (18, 2)]),
        (endcap(1500.1, 1021.0), LONG, &[(16, 10), (18, 4)]),
        (endcap(1800.1, 1021.0), LONG, &[(16, 8), (18, 6)]),
        (endcap(2150.1, 1021.0), LONG, &[(16, 6), (18, 8)]),
        (endcap(2550.1, 1021.0), LONG, &[(16, 4), (18, 10)]),
        (endcap(2950.1, 1021.0), LONG, &[(16, 2), (18, 12)]),
    ],
    bending: None,
};

/// The tracker of the Open Data Detector (ColliderML): 4 pixel, 4 short-strip and 2 long-strip
/// barrels, 7 pixel, 6 short-strip and 6 long-strip disks. Disks at +z and -z share a layer. Sizes
/// in mm.
///
/// Radii of barrels and |z| of disks, and from the places and sizes of modules r_max_mm of strip
/// disks (corners of the outermost ring): github.com/OpenDataDetector/OpenDataDetector at 06243cd,
/// xml/OpenDataPixels.xml, OpenDataShortStrips.xml, OpenDataLongStrips.xml. r_max_mm of pixel
/// disks, |z| of pixel disks by (volume, layer), and all ids: github.com/acts-project/acts,
/// Examples/Configs/odd-gbts-layer-geometry.txt (87afa20) and odd-gbts-layer-map.txt (855b0bb).
///
/// ids: (volume, layer) of ACTS's first-generation geometry. Layers count upwards in z, in twos; in
/// volume 16 from 4, because 2 is a passive endplate at z = -1950. Files with ids of the third
/// generation are rejected, because their volumes differ.
///
/// `lab/samples/odd.py` places the 18,824 sensors by their published sizes. Its spacepoints lie
/// within 4.2 mm (pixels) and 7.5 mm (short strips) of these radii and |z|. By the sizes of the
/// modules, long strips lie within 12 mm of the radii and 26 mm of |z|: a file without ids may be
/// refused for long strips. Not confirmed with data: that layers of volumes 23 and 28 count upwards
/// in z as those of volume 16 do.
pub(super) const ODD: Table = Table {
    name: "odd",
    // Pixels of 50 um. Short strips have 0.144 mm by their pitch and 1.2 mm in ACTS's smearing;
    // they change z errors little.
    resolution_mm: |sensor| (sensor == Sensor::Pixel).then_some(0.0144),
    layers: &[
        (barrel(34.0), PIXEL, &[(17, 2)]),
        (barrel(70.0), PIXEL, &[(17, 4)]),
        (barrel(116.0), PIXEL, &[(17, 6)]),
        (barrel(172.0), PIXEL, &[(17, 8)]),
        (barrel(260.0), SHORT, &[(24, 2)]),
        (barrel(360.0), SHORT, &[(24, 4)]),
        (barrel(500.0), SHORT, &[(24, 6)]),
        (barrel(660.0), SHORT, &[(24, 8)]),
        (barrel(820.0), LONG, &[(29, 2)]),
        (barrel(1020.0), LONG, &[(29, 4)]),
        (endcap(620.0, 180.0), PIXEL, &[(16, 16), (18, 2)]),
        (endcap(720.0, 180.0), PIXEL, &[(16, 14), (18, 4)]),
        (endcap(840.0, 180.0), PIXEL, &[(16, 12), (18, 6)]),
        (endcap(980.0, 180.0), PIXEL, &[(16, 10), (18, 8)]),
        (endcap(1120.0, 180.0), PIXEL, &[(16, 8), (18, 10)]),
        (endcap(1320.0, 180.0), PIXEL, &[(16, 6), (18, 12)]),
        (endcap(1520.0, 180.0), PIXEL, &[(16, 4), (18, 14)]),
        (endcap(1300.0, 702.0), SHORT, &[(23, 12), (25, 2)]),
        (endcap(1550.0, 702.0), SHORT, &[(23, 10), (25, 4)]),
        (endcap(1850.0, 702.0), SHORT, &[(23, 8), (25, 6)]),
        (endcap(2200.0, 702.0), SHORT, &[(23, 6), (25, 8)]),
        (endcap(2550.0, 702.0), SHORT, &[(23, 4), (25, 10)]),
        (endcap(2950.0, 702.0), SHORT, &[(23, 2), (25, 12)]),
        (endcap(1300.0, 1070.0), LONG, &[(28, 12), (30, 2)]),
        (endcap(1600.0, 1070.0), LONG, &[(28, 10), (30, 4)]),
        (endcap(1900.0, 1070.0), LONG, &[(28, 8), (30, 6)]),
        (endcap(2250.0, 1070.0), LONG, &[(28, 6), (30, 8)]),
        (endcap(2600.0, 1070.0), LONG, &[(28, 4), (30, 10)]),
        (endcap(3000.0, 1070.0), LONG, &[(28, 2), (30, 12)]),
    ],
    bending: None,
};
