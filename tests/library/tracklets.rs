//! Tracklets and their vertices through the public interface, and in simulated events with truth.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use zfinder::config::Tracklets;
use zfinder::detector::{Layer, LayerKind, Sensor};
use zfinder::internals::{ReferenceTracklets, TrackletSteps};
use zfinder::{
    Config, Detector, Engine, PhiWindow, Precision, Preset, Results, Roi, RoiBatch, RoiDescriptor, RoiResult,
    Spacepoint, Status, Tracklet, Vertex, ZFinder,
};
use zfinder_io::{SpacepointReader, TruthTable, TruthVertex, inputs};
use zfinder_testing::engines::gpus;
use zfinder_testing::shared;

/// Counts of the vertices of a sample.
#[derive(Debug, Default)]
struct Counts {
    events: usize,
    /// True vertices with at least three charged particles above 0.5 GeV within |eta| < 2.5.
    targets: usize,
    found_targets: usize,
    /// Vertices farther than 0.2 mm from each true vertex.
    fakes: usize,
    /// Events whose hard scatter has a vertex within 0.1 mm.
    hard_scatters: usize,
    tracklets: usize,
    vertices: usize,
    /// Tracklets and vertices of one search, of the reference or of the CPU engine in f32, alone.
    other_tracklets: usize,
    other_vertices: usize,
}

/// Largest distance of a vertex from its true vertex \[mm\].
const MATCH_MM: f64 = 0.2;

/// Finds the vertices of the events in a folder.
fn count(folder: &Path) -> Counts {
    let truth = TruthTable::read(&folder.join("truth_vertices.csv")).expect("truth");
    let files = inputs(&[folder.to_path_buf()]).expect("files of spacepoints").files;
    let config = Config::preset(Preset::AllVertices);
    let search = ReferenceTracklets::new(&config, &Detector::generic());
    let mut steps = TrackletSteps::new(&config, &Detector::generic()).expect("a valid configuration");
    let mut counts = Counts::default();
    for roi in SpacepointReader::new(files, Detector::generic(), None) {
        let batch: RoiBatch = [roi.expect("spacepoints")].into_iter().collect();
        let roi = batch.roi(0);
        let mut found = search.find(roi);
        let vertices = search.find_vertices(&mut found.tracklets);
        steps.find(roi).expect("a range");
        let (in_f32, vertices_in_f32) = steps.found();
        let [wanted, made] = [&found.tracklets[..], in_f32]
            .map(|tracklets| tracklets.iter().map(|tracklet| tracklet.hits()).collect::<HashSet<_>>());
        counts.tracklets += found.tracklets.len();
        counts.other_tracklets += wanted.symmetric_difference(&made).count();
        let found: Vec<f64> = vertices.iter().map(|vertex| vertex.z()).collect();
        let is_missed = |z: &&f64| vertices_in_f32.iter().all(|vertex| (vertex.z() - *z).abs() > 1e-3);
        let missed = found.iter().filter(is_missed).count();
        counts.vertices += found.len();
        counts.other_vertices += missed + vertices_in_f32.len().saturating_sub(found.len() - missed);
        counts.add(&found, truth.vertices(roi.descriptor.id));
    }
    counts
}

impl Counts {
    fn add(&mut self, found: &[f64], truth: &[TruthVertex]) {
        self.events += 1;
        let is_near = |z: f64, most: f64| found.iter().any(|found| (found - z).abs() < most);
        let tracks = |vertex: &TruthVertex| vertex.tracks.unwrap_or_default();
        // One to one, the nearest first.
        let visible: Vec<&TruthVertex> = truth.iter().filter(|vertex| tracks(vertex) > 0).collect();
        let distances = |i: usize| visible.iter().map(move |vertex| (found[i] - vertex.z_mm).abs()).enumerate();
        let mut pairs: Vec<(f64, usize, usize)> =
            (0..found.len()).flat_map(|i| distances(i).map(move |(j, apart)| (apart, i, j))).collect();
        pairs.retain(|&(apart, ..)| apart < MATCH_MM);
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut is_used, mut is_found) = (vec![false; found.len()], vec![false; visible.len()]);
        for (_, i, j) in pairs {
            if !is_used[i] && !is_found[j] {
                (is_used[i], is_found[j]) = (true, true);
            }
        }
        for (vertex, is_found) in visible.iter().zip(is_found) {
            if tracks(vertex) >= 3 {
                self.targets += 1;
                self.found_targets += usize::from(is_found);
            }
        }
        let is_fake = |z: &&f64| truth.iter().all(|vertex| (*z - vertex.z_mm).abs() > MATCH_MM);
        self.fakes += found.iter().filter(is_fake).count();
        let hard_scatter = truth.iter().find(|vertex| vertex.is_hard_scatter).expect("a hard scatter");
        self.hard_scatters += usize::from(is_near(hard_scatter.z_mm, 0.1));
    }

    fn assert(&self, events: usize, least_efficiency: f64, most_fakes: f64) {
        eprintln!("{self:?}");
        let efficiency = self.found_targets as f64 / self.targets as f64;
        let fakes = self.fakes as f64 / self.events as f64;
        assert_eq!((self.events, self.hard_scatters), (events, events), "{self:?}");
        assert!(efficiency >= least_efficiency, "{efficiency}: {self:?}");
        assert!(fakes <= most_fakes, "{fakes}: {self:?}");
        assert!(self.other_tracklets <= self.tracklets / 200, "{self:?}");
        assert!(self.other_vertices <= self.vertices / 20, "{self:?}");
    }
}

#[test]
fn most_vertices_of_an_event_are_found() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data");
    count(&data.join("zee7_mu2")).assert(20, 0.95, 0.4);
    count(&data.join("tt14_mu46")).assert(1, 0.9, 3.0);
}

#[test]
#[ignore = "long form of `most_vertices_of_an_event_are_found`: scripts/test full"]
fn most_vertices_of_many_events_are_found() {
    let Some(data) = shared("data/acts") else { return };
    count(&data.join("zee14_mu46")).assert(30, 0.93, 2.5);
    count(&data.join("tt14_mu46")).assert(8, 0.93, 3.5);
    count(&data.join("tt14_mu200")).assert(1, 0.8, 15.0);
}

/// The events of the samples in the repository.
fn events() -> RoiBatch {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../data");
    let read = |name: &str| {
        let files = inputs(&[data.join(name)]).expect("files of spacepoints").files;
        SpacepointReader::new(files, Detector::generic(), None).map(|roi| roi.expect("spacepoints"))
    };
    read("zee7_mu2").chain(read("tt14_mu46")).collect()
}

fn finder(engine: Engine, change: impl FnOnce(&mut Config)) -> ZFinder {
    let config = Config::preset(Preset::AllVertices).with(change);
    ZFinder::builder(Detector::generic()).config(config).engine(engine).build().expect("a finder")
}

fn all_tracklets(config: &mut Config) {
    config.tracklets = Tracklets::All;
}

#[test]
fn answers_do_not_depend_on_company_and_threads() {
    let batch = events();
    let wanted = finder(Engine::Cpu, all_tracklets).find_batch(&batch).expect("found");
    assert!(wanted.tracklets().len() > 2000 && wanted.vertices().len() > 60);
    let config = Config::preset(Preset::AllVertices).with(all_tracklets);
    for threads in [1, 3] {
        let threads = NonZeroUsize::new(threads).expect("not 0");
        let builder = ZFinder::builder(Detector::generic()).config(config.clone()).engine(Engine::Cpu);
        let finder = builder.threads(threads).build().expect("a finder");
        assert_eq!(finder.find_batch(&batch).expect("found"), wanted);
        let alone = batch.iter().map(|roi| {
            let one: RoiBatch =
                [Roi { descriptor: *roi.descriptor, spacepoints: roi.spacepoints().collect() }].into_iter().collect();
            finder.find_batch(&one).expect("found")
        });
        for (one, wanted) in alone.zip(&wanted) {
            assert_eq!(one.roi(0), wanted);
        }
    }
}

#[test]
fn the_reference_finds_the_same_vertices_and_tracklets() {
    for (tracklets, all_vertices) in [(Tracklets::All, true), (Tracklets::All, false), (Tracklets::Window, false)] {
        let change = |config: &mut Config| (config.tracklets, config.all_vertices) = (tracklets, all_vertices);
        let batch = events();
        let wanted = finder(Engine::Reference, change).find_batch(&batch).expect("found");
        let config = Config::preset(Preset::AllVertices).with(change);
        let builder = ZFinder::builder(Detector::generic()).config(config).engine(Engine::Cpu);
        let found = builder.precision(Precision::F64).build().expect("a finder").find_batch(&batch).expect("found");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found.summary(), wanted.summary());
            assert_eq!(found.vertices().len(), wanted.vertices().len());
            for (found, wanted) in found.vertices().iter().zip(wanted.vertices()) {
                assert_eq!(found.tracklet_count, wanted.tracklet_count);
                let numbers = |v: &Vertex| [v.x_mm.unwrap_or(9.0), v.y_mm.unwrap_or(9.0), v.z_mm, v.z_error_mm];
                for (found, wanted) in numbers(&found).into_iter().zip(numbers(&wanted)) {
                    assert!((found - wanted).abs() < 1e-5, "{found} and {wanted}");
                }
            }
            let tracklets = |of: RoiResult<'_>| -> Vec<(Vec<u32>, Option<usize>)> {
                of.tracklets().iter().map(|tracklet| (tracklet.hits().to_vec(), tracklet.vertex())).collect()
            };
            assert_eq!(tracklets(found), tracklets(wanted));
        }
    }
}

/// Tracklets name spacepoints of the caller, which lie on pixel layers, outwards and on the track.
#[test]
fn hits_are_places_in_the_roi() {
    let batch = events();
    let results = finder(Engine::Cpu, all_tracklets).find_batch(&batch).expect("found");
    let detector = Detector::generic();
    for (roi, result) in batch.iter().zip(&results) {
        for tracklet in result.tracklets() {
            let hits: Vec<Spacepoint> = tracklet.hits().iter().map(|&hit| roi.spacepoint(hit as usize)).collect();
            assert!(hits.len() >= 3 && hits.windows(2).all(|pair| pair[0].rho < pair[1].rho));
            for hit in hits {
                assert_eq!(detector.layers()[hit.layer as usize].sensor, Some(Sensor::Pixel));
                let arc = hit.rho * (1.0 + (tracklet.curvature * hit.rho).powi(2) / 24.0);
                let z = tracklet.z0_mm + tracklet.cot_theta * arc;
                assert!((hit.z - z).abs() < 2.0 + tracklet.cot_theta.powi(2), "{tracklet:?}: {hit:?}");
                let phi = tracklet.phi0 + 0.5 * tracklet.curvature * hit.rho - tracklet.d0_mm / hit.rho;
                assert!((hit.phi - phi).sin().abs() < 0.02, "{tracklet:?}: {hit:?}");
            }
        }
        for (place, vertex) in result.vertices().iter().enumerate() {
            let own = result.tracklets().iter().filter(|tracklet| tracklet.vertex() == Some(place));
            assert_eq!(own.count() as u64, vertex.tracklet_count);
        }
        assert!(result.vertices().rank().is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn the_window_has_the_tracklets_of_the_first_vertex() {
    let batch = events();
    let all = finder(Engine::Cpu, all_tracklets).find_batch(&batch).expect("found");
    let change = |config: &mut Config| config.tracklets = Tracklets::Window;
    let window = finder(Engine::Cpu, change).find_batch(&batch).expect("found");
    assert_eq!(window.vertices(), all.vertices());
    for (window, all) in window.iter().zip(&all) {
        let z = all.vertices().first().expect("a vertex").z_mm;
        let is_near = |of: &&Tracklet| {
            let error = of.z0_error_mm().hypot(Config::BEAM_WIDTH_MM * of.cot_theta * 0.5f64.sqrt());
            (of.z0_mm - z).abs() <= 3.0 * error + 0.1
        };
        let wanted: Vec<Tracklet> = all.tracklets().iter().filter(is_near).copied().collect();
        assert!(wanted.len() >= 2 && window.tracklets() == wanted);
    }
}

/// Peaks keep their order and their numbers; z comes from tracklets.
#[test]
fn peaks_get_a_sharper_z_from_tracklets() {
    let batch = events();
    let plain = finder(Engine::Cpu, |config| *config = Config::default()).find_batch(&batch).expect("found");
    for tracklets in [Tracklets::Window, Tracklets::All] {
        let change = |config: &mut Config| *config = Config::default().with(|config| config.tracklets = tracklets);
        let results = finder(Engine::Cpu, change).find_batch(&batch).expect("found");
        assert_eq!(results.statuses(), plain.statuses());
        assert_eq!(results.vertices().weight(), plain.vertices().weight());
        let mut refined = 0;
        for (found, peak) in results.vertices().iter().zip(plain.vertices()) {
            if found.x_mm.is_none() {
                assert_eq!(found, peak);
                continue;
            }
            refined += 1;
            assert!((found.z_mm - peak.z_mm).abs() <= 0.3f64.max(5.0 * peak.z_error_mm));
            assert!(found.tracklet_count > 0 && found.z_error_mm > 0.0);
        }
        assert!(refined * 10 > 8 * results.len(), "{refined} of {}", results.len());
    }
}

#[test]
fn ranges_of_z_and_windows_of_phi_are_kept() {
    let batch = events();
    let all = finder(Engine::Cpu, all_tracklets).find_batch(&batch).expect("found");
    let window = PhiWindow::new(-1.0, 1.0).expect("a window");
    let mut parts = RoiBatch::new();
    for roi in batch.iter() {
        let range = RoiDescriptor { z_range: Some((-20.0, 15.0)), ..*roi.descriptor };
        parts.push(range, roi.spacepoints());
        parts.push(RoiDescriptor { window: Some(window), ..*roi.descriptor }, roi.spacepoints());
    }
    let found = finder(Engine::Cpu, all_tracklets).find_batch(&parts).expect("found");
    let mut tracklets = 0;
    for (number, roi) in batch.iter().enumerate() {
        let (range, window) = (found.roi(2 * number), found.roi(2 * number + 1));
        assert!(range.vertices().z_mm().iter().all(|z| (-21.0..16.0).contains(z)));
        assert!(range.tracklets().iter().all(|of| (-40.0..40.0).contains(&of.z0_mm)));
        let is_inside = |hit: &u32| roi.spacepoint(*hit as usize).phi.abs() <= 1.0;
        assert!(window.tracklets().iter().all(|of| of.hits().iter().all(is_inside)));
        let summary = window.summary();
        assert_eq!(summary.spacepoints + summary.outside_window, roi.len() as u64);
        tracklets += window.tracklets().len();
    }
    assert!((0.2..0.4).contains(&(tracklets as f64 / all.tracklets().len() as f64)));
}

#[test]
fn every_search_of_tracklets_has_its_status() {
    let at = |rho, phi, z, layer| Spacepoint { rho, phi, z, layer };
    let track = [at(32.0, 0.1, 1.0, 0), at(72.0, 0.1, 2.0, 1), at(116.0, 0.1, 3.1, 2)];
    // Every hit of three layers makes a triplet with all hits of the others.
    let crowd = (0..3 * 250).map(|i| at([32.0, 72.0, 116.0][i % 3], 0.1 + 1e-6 * i as f64, 0.0, i as u32 % 3));
    let rois: Vec<(Vec<Spacepoint>, Status)> = vec![
        (vec![], Status::Empty),
        (vec![at(260.0, 0.1, 3.0, 4)], Status::NoPeak),
        (track.to_vec(), Status::NoPeak),
        ([&track[..], &[at(f64::NAN, 0.1, 3.0, 0)]].concat(), Status::BadSpacepoint),
        ([&track[..], &[at(32.0, 0.1, 3.0, 200)]].concat(), Status::BadSpacepoint),
        (crowd.collect(), Status::CapacityExceeded),
    ];
    let mut batch = RoiBatch::new();
    rois.iter().for_each(|(spacepoints, _)| batch.push(RoiDescriptor::default(), spacepoints.iter().copied()));
    let results = finder(Engine::Cpu, all_tracklets).find_batch(&batch).expect("found");
    let wanted: Vec<Status> = rois.iter().map(|(_, status)| *status).collect();
    assert_eq!(results.statuses(), wanted);
    assert!(results.vertices().is_empty());
    assert_eq!(results.roi(2).tracklets().len(), 0, "no vertex, no tracklet");
}

#[test]
fn vertices_lie_at_the_beam() {
    let beam = [0.9, -0.4];
    let shifted: RoiBatch = events()
        .iter()
        .map(|roi| {
            let shift = |s: Spacepoint| {
                Spacepoint::from_xyz(s.rho * s.phi.cos() + beam[0], s.rho * s.phi.sin() + beam[1], s.z, s.layer)
            };
            Roi { descriptor: *roi.descriptor, spacepoints: roi.spacepoints().map(shift).collect() }
        })
        .collect();
    let results = finder(Engine::Cpu, |config| config.beam_spot_mm = beam).find_batch(&shifted).expect("found");
    for vertex in results.vertices() {
        let [x, y] = [vertex.x_mm, vertex.y_mm].map(|number| number.expect("tracklets"));
        assert!((x - beam[0]).abs() < 0.1 && (y - beam[1]).abs() < 0.1, "{vertex:?}");
        let [xx, _, _, yy, _, zz] = vertex.covariance_mm2.expect("tracklets");
        assert!(xx > 0.0 && yy > 0.0 && (zz.sqrt() - vertex.z_error_mm).abs() < 1e-12);
    }
}

#[test]
fn what_has_no_tracklets_is_refused() {
    let refused = |detector: Detector, engine: Engine, change: &dyn Fn(&mut Config)| {
        let config = Config::preset(Preset::AllVertices).with(|config| change(config));
        let error = ZFinder::builder(detector).config(config).engine(engine).build().expect_err("refused");
        error.to_string()
    };
    let layers = |sensor| {
        let layer = |radius_mm: f64| Layer {
            kind: LayerKind::Barrel { radius_mm },
            sensor,
            z_resolution_mm: None,
            radiation_lengths: None,
            next: None,
            ids: Vec::new(),
        };
        Detector::new("mine", vec![layer(30.0), layer(60.0), layer(90.0)], None).expect("a detector")
    };
    let text = refused(layers(None), Engine::Cpu, &|_| {});
    assert!(text.contains("`all_vertices`") && text.contains("detector mine has 0"), "{text}");
    let text = refused(layers(None), Engine::Reference, &|config| {
        (config.all_vertices, config.tracklets) = (false, Tracklets::All);
    });
    assert!(text.contains("`tracklets`: \"all\" needs tracks that pass three pixel layers"), "{text}");
    let text = refused(layers(Some(Sensor::Pixel)), Engine::Cpu, &|config| config.field_t = 0.0);
    assert!(text.contains("set field_t"), "{text}");
}

/// GPUs find the chains, and the host fits them: the bits are the CPU engine's.
#[test]
fn gpus_answer_with_the_bits_of_the_cpu() {
    let batch = events();
    for change in [all_tracklets as fn(&mut Config), |config: &mut Config| {
        *config = Config::default().with(|config| config.tracklets = Tracklets::Window);
    }] {
        let wanted = finder(Engine::Cpu, change).find_batch(&batch).expect("found");
        for (name, engine) in gpus() {
            let finder = finder(engine, change);
            assert_eq!(finder.find_batch(&batch).expect("found"), wanted, "{name}");
            assert!(finder.description().contains("tracklets: CPU engine"), "{}", finder.description());
            let mut by_worker = Results::new();
            finder.find_batch_by_worker(0, &batch, &mut by_worker).expect("found");
            assert_eq!(by_worker, wanted, "{name}");
        }
    }
}

/// Events that a GPU has no room for are searched by the host, and so is every event in f64.
#[test]
fn answers_do_not_depend_on_the_memory_of_a_gpu() {
    let batch = events();
    let builder =
        |engine| ZFinder::builder(Detector::generic()).config(Config::preset(Preset::AllVertices)).engine(engine);
    let found =
        |builder: zfinder::ZFinderBuilder| builder.build().expect("a finder").find_batch(&batch).expect("found");
    let wanted = found(builder(Engine::Cpu));
    for (name, engine) in gpus() {
        assert_eq!(found(builder(engine.clone()).most_buffer_bytes(1 << 20)), wanted, "{name}: small buffers");
        if let Ok(finder) = builder(engine).precision(Precision::F64).build() {
            let wanted = found(builder(Engine::Cpu).precision(Precision::F64));
            assert_eq!(finder.find_batch(&batch).expect("found"), wanted, "{name}: f64");
        }
    }
}

/// A home-made detector with barrels and disks, read from a file: its events have tracklets in
/// both without any code.
#[test]
fn a_detector_from_a_file_has_tracklets_in_barrels_and_disks() {
    let (barrels, disks) = ([30.0, 60.0, 90.0, 120.0], [300.0, 380.0, 470.0, 570.0]);
    let mut text = String::from("name = \"own\"\n");
    for radius in barrels {
        text += &format!(
            "[[layer]]\nkind = \"barrel\"\nsensor = \"pixel\"\nradius_mm = {radius}\nradiation_lengths = 0.02\n"
        );
    }
    for z in disks {
        text += &format!("[[layer]]\nkind = \"endcap\"\nsensor = \"pixel\"\nz_mm = {z}\nr_max_mm = 130.0\n");
    }
    // Followers that a file names: none of the disks after layer 0; and a circle of two barrels.
    let named = text.replacen("radiation_lengths", "next = [1, 2]\nradiation_lengths", 1);
    let circle = text.replace("radius_mm = 60\n", "radius_mm = 60\nnext = [0, 2, 3]\n");
    assert!(named != text && circle != text);
    let z_mm = 20.0;
    let mut roi = Roi::default();
    for track in 0..20 {
        let (phi, cot) = (-3.0 + 0.3 * f64::from(track), if track % 2 == 0 { 0.5 } else { 5.0 });
        let on_barrel = barrels.iter().map(|&rho| (rho, z_mm + cot * rho));
        let on_disk = disks.iter().map(|&z| ((z - z_mm) / cot, z));
        for (layer, (rho, z)) in (0..).zip(on_barrel.chain(on_disk)) {
            let is_there = if layer < 4 { z < 300.0 } else { (30.0..130.0).contains(&rho) };
            if is_there {
                roi.spacepoints.push(Spacepoint { rho, phi, z, layer });
            }
        }
    }
    for text in [text, named, circle] {
        let detector = zfinder_io::detector_from_toml("own.toml", &text).expect("valid");
        let config = Config::preset(Preset::AllVertices).with(all_tracklets);
        let of = |engine| ZFinder::builder(detector.clone()).config(config.clone()).engine(engine).build();
        let found = of(Engine::Cpu).expect("a finder").find(&roi).expect("found");
        assert_eq!(found.vertices().len(), 1, "{found:?}");
        assert!((found.vertices().z_mm()[0] - z_mm).abs() < 0.01, "{found:?}");
        let on_disks = |tracklet: &&Tracklet| {
            tracklet.hits().iter().filter(|&&hit| roi.spacepoints[hit as usize].layer >= 4).count() >= 2
        };
        assert_eq!((found.tracklets().len(), found.tracklets().iter().filter(on_disks).count()), (20, 10), "{found:?}");
        let reference = of(Engine::Reference).expect("a finder").find(&roi).expect("found");
        let hits = |results: &Results| results.tracklets().iter().map(|of| of.hits().to_vec()).collect::<HashSet<_>>();
        assert_eq!(hits(&found), hits(&reference));
    }
}
