use std::f64::consts::TAU;

use super::*;
use crate::evaluate::{self, By, Evaluation};
use crate::inspect::Inspect;
use zfinder::Detector;
use zfinder::results::RoiSummary;
use zfinder::{Config, Engine, Preset, Results, Roi, RoiId, Spacepoint, Status, Vertex, ZFinder};
use zfinder_io::TruthVertex;

/// Returns width and height from the header of a picture.
#[track_caller]
fn size(picture: &[u8], format: Format) -> (u32, u32) {
    match format {
        Format::Pdf => panic!("a PDF has no pixels"),
        Format::Png => {
            assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
            let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes"));
            (number(16), number(20))
        }
        Format::Svg => {
            let text = std::str::from_utf8(picture).expect("UTF-8");
            assert!(text.trim_end().ends_with("</svg>"), "{text:.200}");
            let number = |name: &str| {
                let rest = text.split_once(&format!("{name}=\"")).expect("a size").1;
                rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
            };
            (number("width"), number("height"))
        }
    }
}

fn drawn(figure: &Figure, format: Format) -> Vec<u8> {
    figure.render(format, &Options::default()).expect("drawn")
}

fn truth() -> Vec<TruthVertex> {
    [(12.5, true), (12.6, false), (-77.0, false), (900.0, false)]
        .map(|(z_mm, is_hard_scatter)| TruthVertex { z_mm, is_hard_scatter, ..TruthVertex::default() })
        .into()
}

/// Spacepoints at random positions, and tracks from z = 12.5 mm.
fn busy(spacepoints: usize) -> Vec<Spacepoint> {
    let mut rng = fastrand::Rng::with_seed(3);
    let radii = [50.5, 88.5, 122.5, 299.0, 371.0, 443.0, 514.0];
    let mut all = Vec::new();
    for number in 0..spacepoints {
        let layer = number % radii.len();
        let (phi, z) = (TAU * rng.f64(), 1500.0 * rng.f64() - 750.0);
        all.push(Spacepoint { rho: radii[layer], phi, z, layer: layer as u32 });
    }
    for number in 0..spacepoints / 10 {
        let (phi, slope) = (number as f64 % TAU, 3.0 * rng.f64() - 1.5);
        all.extend([0, 1, 2].map(|layer| {
            let rho = radii[layer];
            Spacepoint { rho, phi, z: 12.5 + slope * rho, layer: layer as u32 }
        }));
    }
    all
}

#[test]
fn every_roi_can_be_drawn() {
    let lone = Spacepoint { rho: 50.5, phi: 0.1, z: 3.0, layer: 0 };
    let bad = Spacepoint { rho: f64::NAN, ..lone };
    let far = Spacepoint { rho: 9e8, z: -9e8, ..lone };
    let near = Spacepoint { rho: 1e-6, z: 0.0, ..lone };
    let rois = [vec![], vec![lone], vec![lone, bad], vec![far, lone], vec![near], busy(10), busy(3000)];
    let configs = [
        Config::preset(Preset::Default).with(|c| c.peaks = 12),
        Config::preset(Preset::Default).with(|c| {
            c.peaks = 3;
            c.charge_aware = true;
            c.z_min_mm = -0.4;
            c.z_max_mm = 0.4;
        }),
        Config::preset(Preset::HardScatter),
    ];
    let mut peaks = 0;
    for config in configs {
        let finder =
            ZFinder::builder(Detector::atlas2010()).config(config).engine(Engine::Reference).build().expect("a finder");
        for spacepoints in &rois {
            let roi = Roi { spacepoints: spacepoints.clone(), ..Roi::default() };
            let inspection = finder.inspect(&roi).expect("an RoI");
            let pairs = match inspection.peaks.first() {
                Some(peak) => finder.pairs(&roi, peak).expect("an RoI"),
                None => Vec::new(),
            };
            peaks += inspection.peaks.len();
            for truth in [truth(), Vec::new()] {
                let format = if truth.is_empty() { Format::Png } else { Format::Svg };
                let drawn = drawn(&histogram(&inspection, &truth), format);
                let (height, width) = if inspection.peaks.is_empty() { (380, 600) } else { (720, 1200) };
                assert_eq!(size(&drawn, format), (900, height));
                let drawn = self::drawn(&event(&inspection, &pairs, finder.detector(), &truth), format);
                assert_eq!(size(&drawn, format), (width, 600));
                let text = terminal(&inspection, inspection.results().roi(0), &truth);
                assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
                assert_eq!(text.contains('▲'), !inspection.peaks.is_empty(), "{text}");
            }
        }
    }
    assert!(peaks > 10, "{peaks}");
}

#[test]
fn an_unknown_detector_frames_an_empty_event() {
    let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Reference).build().expect("a finder");
    let inspection = finder.inspect(&Roi::default()).expect("an RoI");
    for detector in [Detector::atlas2010(), Detector::generic()] {
        let drawn = drawn(&event(&inspection, &[], &detector, &[]), Format::Png);
        assert_eq!(size(&drawn, Format::Png), (600, 600));
    }
}

#[test]
fn the_terminal_shows_where_vertices_are() {
    let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Reference).build().expect("a finder");
    let roi = Roi { spacepoints: busy(30), ..Roi::default() };
    let inspection = finder.inspect(&roi).expect("an RoI");
    let text = terminal(&inspection, inspection.results().roi(0), &truth());
    let lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let line = |begins: &str| {
        let is_it = |line: &&Vec<char>| line.iter().collect::<String>().trim_start().starts_with(begins);
        lines.iter().find(is_it).unwrap_or_else(|| panic!("no {begins} in {text}"))
    };
    let place = |line: &[char], sign: char| line.iter().position(|&c| c == sign);
    // 12.5 mm is 212.6 mm above the lower end of a range of 400.2 mm.
    let column = 9 + (212.6 / 400.2 * 71.0) as usize;
    assert_eq!(place(line("found"), '▲'), Some(column), "{text}");
    assert_eq!(place(line("true"), '◆'), Some(column), "{text}");
    assert_eq!(place(&lines[1], '█'), Some(column), "{text}");
    assert_eq!(
        line("z [mm]").iter().collect::<String>().split_whitespace().collect::<Vec<_>>(),
        ["z", "[mm]", "-200", "-100", "0", "100", "200"]
    );
}

fn measured(residuals: &[f64]) -> Evaluation {
    let mut evaluation = Evaluation::new(evaluate::Options::default());
    for (event, &z_mm) in residuals.iter().enumerate() {
        let id = RoiId { event_id: event as u64, roi_id: 0 };
        let mut summary = RoiSummary::new(id, Status::Ok);
        summary.spacepoints = 10 * event as u64;
        let mut results = Results::new();
        results.push(summary, [Vertex::at(z_mm)]);
        evaluation.add(results.roi(0), &[TruthVertex { is_hard_scatter: true, ..TruthVertex::default() }]);
    }
    evaluation
}

#[test]
fn an_evaluation_has_the_panels_that_there_are_figures_for() {
    let (good, none) = (measured(&[0.1; 30]), measured(&[]));
    for (measured, by, has_residuals, width) in [
        (&good, Some(By::Spacepoints), true, 1620),
        (&good, Some(By::PileUp), false, 1080),
        (&good, None, true, 540),
        (&none, Some(By::PileUp), true, 540),
        (&none, None, false, 540),
    ] {
        let binning = by.map(|by| measured.binning(by, None));
        let summary = measured.summary(binning.as_ref());
        let residuals_mm: Vec<f64> = measured.residuals().filter(|_| has_residuals).collect();
        let plotted =
            Plotted { name: "a < b & c", figures: &summary.figures, bins: &summary.bins, residuals_mm: &residuals_mm };
        for format in [Format::Svg, Format::Png] {
            let drawn = drawn(&evaluation(&vec![plotted.clone(); 9], by, 1.0), format);
            assert_eq!(size(&drawn, format), (width, 500), "{by:?}");
            if format == Format::Svg {
                let text = String::from_utf8(drawn).expect("UTF-8");
                assert!(text.contains("a &lt; b &amp; c"), "{text:.200}");
            }
        }
    }
    assert_eq!(size(&drawn(&evaluation(&[], None, 1.0), Format::Png), Format::Png).0, 540);
}

#[test]
fn vertices_have_four_panels_whatever_there_is() {
    let (some, none) = (measured(&[0.1, 0.2, 30.0, 0.4]), measured(&[]));
    for measured in [&some, &none] {
        let summary = measured.summary(None);
        let plotted = PlottedVertices { name: "a < b", figures: &summary.figures, vertices: &summary.vertices };
        for format in [Format::Svg, Format::Png] {
            let drawn = drawn(&vertices(&[plotted; 2]), format);
            assert_eq!(size(&drawn, format), (1000, 880));
            if format == Format::Svg {
                let text = String::from_utf8(drawn).expect("UTF-8");
                for words in ["a &lt; b", "position of the right vertex", "distance of two found", "least significance"]
                {
                    assert!(text.contains(words), "{words}");
                }
            }
        }
    }
    assert_eq!(size(&drawn(&vertices(&[]), Format::Png), Format::Png), (1000, 880));
}
