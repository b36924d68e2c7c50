//! Vertices of tracklets in simulated events with truth, by the reference search and by the CPU
//! engine.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use zfinder::internals::{ReferenceTracklets, TrackletCuts, TrackletSteps};
use zfinder::{Config, Detector, Preset, RoiBatch};
use zfinder_io::{SpacepointReader, TruthTable, TruthVertex, inputs};
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
    let (config, cuts) = (Config::preset(Preset::Auto), TrackletCuts::default());
    let search = ReferenceTracklets::new(&config, &Detector::generic(), cuts.clone());
    let mut steps = TrackletSteps::new(&config, &Detector::generic(), cuts).expect("a valid configuration");
    let mut counts = Counts::default();
    for roi in SpacepointReader::new(files, Detector::generic(), None) {
        let batch: RoiBatch = [roi.expect("spacepoints")].into_iter().collect();
        let roi = batch.roi(0);
        let mut found = search.find(roi);
        let vertices = search.find_vertices(&mut found.tracklets);
        let (in_f32, vertices_in_f32) = steps.find(roi);
        let [wanted, made] = [&found.tracklets[..], in_f32]
            .map(|tracklets| tracklets.iter().map(|tracklet| tracklet.hits.as_slice()).collect::<HashSet<_>>());
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
