//! Tests that inspection shows the histograms in which the reference engine found its vertices.

use zfinder::config::PairWeight;
use zfinder::{Config, Detector, Engine, PhiWindow, Preset, Roi, RoiDescriptor, Spacepoint, Status, ZFinder};
use zfinder_study::histogram_writer::{HistogramFormat, HistogramWriter};
use zfinder_study::inspect::{Inspect, Inspection, ZHistogram};
use zfinder_testing::toy::{Toy, turned};

fn finder(config: &Config) -> ZFinder {
    ZFinder::builder(Detector::atlas2010()).config(config.clone()).engine(Engine::Reference).build().expect("a finder")
}

fn configs() -> Vec<Config> {
    vec![
        Config::preset(Preset::Default).with(|c| c.peaks = 4),
        Config::preset(Preset::Jet).with(|c| {
            c.peaks = 3;
            c.vertex_separation_bins = 6.0;
            c.vertex_mixing = 0.5;
        }),
        Config::preset(Preset::Default).with(|c| {
            c.pair_weight = PairWeight::Count;
            c.beam_spot_mm = [0.4, -0.3];
        }),
        Config::preset(Preset::HardScatter).with(|c| c.peaks = 2),
        Config::preset(Preset::Default).with(|c| {
            c.charge_aware = true;
            c.percentile = 0.5;
        }),
        Config::preset(Preset::Default).with(|c| {
            c.charge_aware = true;
            c.histogram_per_slice = true;
            c.phi_slice_deg = 4.0;
            c.peaks = 3;
        }),
    ]
}

fn toys() -> impl Iterator<Item = Roi> {
    let mut rng = fastrand::Rng::with_seed(46);
    (0..4).map(move |event| {
        let window = if event == 3 { None } else { Toy::default().window };
        Toy { tracks: 12 + 6 * event as usize, window, ..Toy::default() }.event(&mut rng, event).roi
    })
}

#[test]
fn peaks_and_their_pairs_are_those_of_the_reference_engine() {
    for config in configs() {
        let finder = finder(&config);
        let mut found = 0;
        for roi in toys() {
            let inspection = finder.inspect(&roi).expect("an RoI");
            assert_eq!(inspection.results(), finder.find(&roi).expect("an RoI"));
            assert_eq!(inspection.spacepoints.len(), roi.spacepoints.len());
            let Some(first) = inspection.peaks.first() else { continue };
            found += 1;
            assert_eq!(first.vertex.background, inspection.background);

            // No other peak was mixed into the vertex.
            if config.vertex_mixing > 0.0 {
                continue;
            }
            let histogram = &inspection.histograms[first.histogram];
            let bins = first.first_bin..first.first_bin + 3;
            let sum = histogram.weights[bins.clone()].iter().sum::<u64>() as f64;
            assert_eq!(sum, first.vertex.weight);
            // With weights by pT, z is the mean of other pairs near the peak.
            let mean = histogram.z_sums_mm[bins.clone()].iter().sum::<f64>() / sum;
            let within = if config.pair_weight == PairWeight::Pt { 5.0 * histogram.bin_mm } else { 0.0 };
            assert!((mean - first.vertex.z_mm).abs() <= within, "{mean}, {:?}", first.vertex);
            let highest = histogram.weights.windows(3).map(|three| three.iter().sum::<u64>()).max().expect("bins");
            assert!(config.pair_weight == PairWeight::Pt || highest as f64 == sum);

            let pairs = finder.pairs(&roi, first).expect("an RoI");
            assert_eq!(pairs.iter().map(|pair| pair.weight).sum::<u64>() as f64, sum);
            assert_eq!(pairs.len() as u64, first.vertex.pairs);
            let (low, high) = (histogram.edges_mm(bins.start).0, histogram.edges_mm(bins.end).0);
            for pair in &pairs {
                assert!((low..=high).contains(&pair.z_mm) && pair.inner.layer < pair.outer.layer, "{pair:?}");
                assert_eq!(pair.thirds.is_empty(), config.pair_weight == PairWeight::One, "{pair:?}");
                assert!(pair.thirds.iter().all(|third| third.layer > pair.outer.layer), "{pair:?}");
                for point in [&pair.inner, &pair.outer].into_iter().chain(&pair.thirds) {
                    assert!(inspection.spacepoints.contains(point), "{point:?}");
                }
            }
        }
        assert!(found >= 3, "{config:?}");
    }
}

/// With slices as wide as the circle, every pair of layers counts, so that the test can count
/// pairs.
#[test]
fn a_histogram_holds_every_pair() {
    let config = Config::preset(Preset::Default).with(|c| {
        c.phi_slice_deg = 360.0;
        c.first_layers = 2;
    });
    let finder = finder(&config);
    for roi in toys() {
        let descriptor = RoiDescriptor { window: Some(PhiWindow::FullScan), ..roi.descriptor };
        let roi = Roi { descriptor, ..roi };
        let inspection = finder.inspect(&roi).expect("an RoI");
        let histogram = inspection.histogram();
        assert_eq!((histogram.weights.len(), histogram.bin_mm), (2001, 0.2));
        let mut counted = vec![0; 2001];
        let mut filled: Vec<u32> = roi.spacepoints.iter().map(|point| point.layer).collect();
        filled.sort_unstable();
        filled.dedup();
        for a in roi.spacepoints.iter().filter(|a| filled[..2].contains(&a.layer)) {
            for b in roi.spacepoints.iter().filter(|b| b.layer > a.layer) {
                let z = (b.z * a.rho - a.z * b.rho) / (a.rho - b.rho);
                if z > -200.0 && z < 200.0 {
                    counted[((z + 200.1) / 0.2) as usize] += 1;
                }
            }
        }
        assert_eq!(histogram.weights, counted);
        assert_eq!(histogram.pairs, counted);
        assert!(counted.iter().sum::<u64>() > 100);
        for (bin, (&weight, z_sum)) in histogram.weights.iter().zip(&histogram.z_sums_mm).enumerate() {
            let (low, high) = histogram.edges_mm(bin);
            let mean = if weight > 0 { z_sum / weight as f64 } else { histogram.centre_mm(bin) };
            assert!(low <= mean && mean <= high, "{mean} in bin {bin}");
        }
    }
}

#[test]
fn the_sum_of_all_histograms_is_that_of_their_entries() {
    let finder = finder(&configs()[5]);
    for roi in toys() {
        let inspection = finder.inspect(&roi).expect("an RoI");
        assert!(inspection.histograms.len() > 2);
        let all = |of: fn(&ZHistogram) -> &Vec<u64>| inspection.histograms.iter().flat_map(of).sum::<u64>();
        let sum = inspection.histogram();
        assert_eq!(sum.weights.iter().sum::<u64>(), all(|histogram| &histogram.weights));
        assert_eq!(sum.pairs.iter().sum::<u64>(), all(|histogram| &histogram.pairs));
    }
}

#[test]
fn rois_without_a_peak_can_be_inspected() {
    let finder = finder(&Config::preset(Preset::Default));
    let at = |phi: f64, layer| Spacepoint { rho: 50.5 + f64::from(layer), phi: turned(phi), z: 3.0, layer };
    let bad = Spacepoint { z: f64::NAN, ..at(0.0, 0) };
    for (spacepoints, status, histograms) in [
        (vec![], Status::Empty, 1),
        (vec![at(0.1, 0)], Status::NoPeak, 1),
        (vec![at(0.1, 0), at(3.0, 1)], Status::NoPeak, 1),
        (vec![at(0.1, 0), bad], Status::BadSpacepoint, 0),
        (vec![at(0.1, 60)], Status::BadSpacepoint, 0),
    ] {
        let inspection = finder.inspect(&Roi { spacepoints, ..Roi::default() }).expect("an RoI");
        assert_eq!((inspection.summary.status, inspection.histograms.len()), (status, histograms));
        assert!(inspection.peaks.is_empty());
        assert!(inspection.histogram().weights.iter().all(|&weight| weight == 0));
        assert_eq!(inspection.histogram().weights.len(), if histograms == 1 { 2001 } else { 0 });
    }
}

fn written(format: HistogramFormat, inspections: &[Inspection]) -> String {
    let (mut out, mut writer) = (Vec::new(), HistogramWriter::new(format));
    for inspection in inspections {
        writer.write(&mut out, inspection).expect("memory");
    }
    writer.finish(&mut out).expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn histograms_read_back() {
    let finder = finder(&Config::preset(Preset::Default).with(|c| c.pair_weight = PairWeight::Count));
    let rois = toys().chain([Roi {
        descriptor: RoiDescriptor { id: zfinder::RoiId { event_id: 9, roi_id: 7 }, ..RoiDescriptor::default() },
        spacepoints: vec![],
    }]);
    let inspections: Vec<Inspection> = rois.map(|roi| finder.inspect(&roi).expect("an RoI")).collect();

    let csv = written(HistogramFormat::Csv, &inspections);
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let header = ["event_id", "roi_id", "z_low_mm", "z_high_mm", "weight", "z_sum_mm", "pairs"];
    assert_eq!(rows.headers().expect("a header"), &header[..]);
    let mut rows = rows.deserialize::<(u64, u64, f64, f64, u64, f64, u64)>();
    for inspection in &inspections {
        let (id, histogram) = (inspection.summary.id, inspection.histogram());
        for bin in 0..histogram.weights.len() {
            let row = rows.next().expect("a row for every bin").expect("numbers");
            assert_eq!((row.0, row.1), (id.event_id, id.roi_id));
            let (low, high) = histogram.edges_mm(bin);
            assert!((row.2 - low).abs() < 1e-9 && (row.3 - high).abs() < 1e-9);
            assert_eq!((row.4, row.5, row.6), (histogram.weights[bin], histogram.z_sums_mm[bin], histogram.pairs[bin]));
        }
    }
    assert!(rows.next().is_none());

    let json: serde_json::Value = serde_json::from_str(&written(HistogramFormat::Uhi, &inspections)).expect("JSON");
    assert_eq!(json.as_object().expect("histograms by name").len(), inspections.len());
    for inspection in &inspections {
        let (id, histogram) = (inspection.summary.id, inspection.histogram());
        let one = &json[format!("event_{}_roi_{}", id.event_id, id.roi_id)];
        assert_eq!(one["uhi_schema"], 1);
        assert_eq!(one["metadata"]["status"], inspection.summary.status.as_str());
        assert_eq!(one["storage"], serde_json::json!({ "type": "int", "values": histogram.weights }));
        let axis = serde_json::json!({
            "type": "regular", "lower": -200.1, "upper": 200.1, "bins": 2001, "underflow": false, "overflow": false,
            "circular": false, "metadata": { "name": "z", "label": "z [mm]" }
        });
        assert_eq!(one["axes"], serde_json::json!([axis]));
    }
    assert_eq!(written(HistogramFormat::Uhi, &[]), "{\n}\n");
    assert_eq!(written(HistogramFormat::Csv, &[]).lines().count(), 1);
}
