//! Files that `transport run` writes.

use std::collections::BTreeSet;
use std::io::{Cursor, Read};

use super::common::*;

#[test]
fn energy_is_drawn_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let (png, svg, csv, npz) = (at("e.png"), at("e.svg"), at("e.csv"), at("e.npz"));
    let common = [&CPU[..], &["--r", "1250:1600", "--z", "-2500:3000", "--bins", "35x20"]].concat();
    let report = few(&[&common[..], &["--plot", &png, "--output", &csv]].concat());
    let within = number(&report["energy"]["deposited_mev"]) - number(&report["histogram"]["beyond_mev"]);
    assert!(within > 100.0);

    let rows = std::fs::read_to_string(csv).expect("the file");
    let mut rows = rows.lines();
    assert_eq!(rows.next(), Some("r_low_mm,r_high_mm,z_low_mm,z_high_mm,energy_mev"));
    let rows: Vec<Vec<f64>> =
        rows.map(|row| row.split(',').map(|number| number.parse().expect("a number")).collect()).collect();
    assert_eq!(rows.len(), 35 * 20);
    assert_eq!(
        (&rows[0][..4], &rows[21][..4]),
        (&[1250.0, 1260.0, -2500.0, -2225.0][..], &[1260.0, 1270.0, -2225.0, -1950.0][..])
    );
    close(rows.iter().map(|row| row[4]).sum(), within, 1e-9);

    few(&[&common[..], &["--plot", &svg, "--output", &npz]].concat());
    let mut archive = zip::ZipArchive::new(Cursor::new(std::fs::read(npz).expect("the file"))).expect("a zip");
    let mut array = |name: &str| {
        let mut bytes = Vec::new();
        archive.by_name(name).expect("an array").read_to_end(&mut bytes).expect("bytes");
        let array = npyz::NpyFile::new(&bytes[..]).expect("an array");
        (array.shape().to_vec(), array.into_vec::<f64>().expect("numbers of 64 bits"))
    };
    let (shape, energies) = array("energies.npy");
    assert_eq!(shape, [35, 20]);
    assert!(energies.iter().zip(&rows).all(|(energy, row)| *energy == row[4]));
    let (r, z) = (array("r_edges.npy"), array("z_edges.npy"));
    assert_eq!((r.0, r.1[35], z.0, z.1[20]), (vec![36], 1600.0, vec![21], 3000.0));
    close(array("beyond.npy").1[0], number(&report["histogram"]["beyond_mev"]), 1e-9);

    let picture = std::fs::read_to_string(svg).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    for part in ["4 particles", "parametrised field", "z [mm]", "r [mm]", "energy / 275 mm × 10 mm [MeV]"] {
        assert!(picture.contains(part), "{part}");
    }
    // Bins with energy and the 128 steps of the scale.
    let filled = energies.iter().filter(|&&energy| energy > 0.0).count();
    assert!(filled > 20);
    assert_eq!(picture.matches("crispEdges").count(), filled + 128);

    let picture = std::fs::read(png).expect("a picture");
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
    // Signature, header, dots per metre, and the compressed rows: a filter byte, which is 0, and
    // pixels.
    let word = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes")) as usize;
    let (width, height, length) = (word(16), word(20), word(54));
    let mut pixels = Vec::new();
    flate2::read::ZlibDecoder::new(&picture[62..62 + length]).read_to_end(&mut pixels).expect("pixels");
    assert_eq!(pixels.len(), height * (1 + 3 * width));
    let mut colours = BTreeSet::new();
    let mut white = 0;
    for row in pixels.chunks(1 + 3 * width) {
        // Left of the scale of colours.
        for pixel in row[1..=3 * (width - 150)].chunks(3) {
            white += usize::from(pixel == [255; 3]);
            colours.insert([pixel[0], pixel[1], pixel[2]]);
        }
    }
    let are_some = |is_it: &dyn Fn([i32; 3]) -> bool| {
        let number = colours.iter().filter(|colour| is_it(colour.map(i32::from))).count();
        assert!(number > 3, "{number} of {}", colours.len());
    };
    are_some(&|[r, g, _]| g > r + 40);
    are_some(&|[r, g, b]| b > r + 30 && b > g);
    assert!(white > width * height / 4, "{white} white pixels");
}

/// A user's own calorimeter, with events of several particles.
#[test]
fn own_geometries_and_scores() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).expect("a file");
        folder.path().join(name).to_str().expect("a name").to_owned()
    };
    let geometry = write(
        "calorimeter.toml",
        r#"
[world]
half_size_mm = [200, 200, 400]
[[material]]
name = "lead"
density_g_cm3 = 11.35
fractions = { Pb = 1 }
[[material]]
name = "polystyrene"
density_g_cm3 = 1.06
fractions = { C = 0.9226, H = 0.0774 }
[[stack]]
half_size_mm = [100, 100]
from_z_mm = 0
repeat = 20
layers = [{ material = "lead", thickness_mm = 5 }, { material = "polystyrene", thickness_mm = 5 }]
"#,
    );
    let particles = write(
        "beam.csv",
        "event,kind,x,y,z,px,py,pz\n7,electron,0,0,-10,0,0,200\n7,photon,0,0,-10,0,0,100\n3,electron,0,0,-10,0,0,150\n",
    );
    let scores = folder.path().join("scores.csv");
    let scores = scores.to_str().expect("a name");
    let usual = ["--field", "uniform=-0.5", "--geometry", &geometry, "--input", &particles, "--scores", scores];
    for more in
        [&["--sort", "volume"][..], &["--scattering", "highland", "--sagitta", "0.1", "--integration-steps", "200"]]
    {
        let report = json(&[&["run", "--engine", "cpu"], &usual[..], more].concat());
        holds(&report);
        assert_eq!(report["geometry"], "geometry calorimeter.toml");
        let text = std::fs::read_to_string(scores).expect("the file");
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows[0], ["event", "particles", "kinetic_mev", "lead_mev", "polystyrene_mev"]);
        assert_eq!((rows.len(), &rows[1][..2], &rows[2][..2]), (3, &["7", "2"][..], &["3", "1"][..]));
        let number = |row: usize, column: usize| rows[row][column].parse::<f64>().expect("a number");
        let sum: f64 = [1, 2].into_iter().map(|row| number(row, 3) + number(row, 4)).sum();
        close(sum, super::common::number(&report["energy"]["deposited_mev"]), 1e-9);
        assert!(number(1, 3) > 2.0 * number(1, 4) && number(1, 4) > 1.0, "{text}");
    }
    // The last run by layer. Sums of a material's layers are its scores. Showers begin in front.
    let by_material = std::fs::read_to_string(scores).expect("the file");
    let highland = ["--scattering", "highland", "--sagitta", "0.1", "--integration-steps", "200"];
    printed(&[&["run", "--engine", "cpu"], &usual[..], &highland, &["--score-by", "volume"]].concat());
    let text = std::fs::read_to_string(scores).expect("the file");
    let rows = |text: &str| -> Vec<Vec<String>> {
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let (wanted, found) = (rows(&by_material), rows(&text));
    assert_eq!(
        (found[0].len(), &*found[0][3], &*found[0][42]),
        (43, "stack1_layer1_lead_mev", "stack1_layer40_polystyrene_mev")
    );
    let number = |text: &String| text.parse::<f64>().expect("a number");
    for (wanted, found) in wanted.iter().zip(&found).skip(1) {
        assert_eq!(wanted[..3], found[..3]);
        for material in 0..2 {
            let layers: Vec<f64> = found[3 + material..].iter().step_by(2).map(number).collect();
            close(layers.iter().sum(), number(&wanted[3 + material]), 1e-9);
            assert!(layers[..10].iter().sum::<f64>() > 2.0 * layers[10..].iter().sum::<f64>(), "{layers:?}");
        }
    }
    // No input is replaced.
    let done = run(&["run", "--engine", "cpu", "--geometry", &geometry, "--scores", &geometry]);
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
    assert!(said(&done).contains("one of the inputs"), "{}", said(&done));
}
