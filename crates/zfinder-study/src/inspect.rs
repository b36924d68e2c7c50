//! Histograms of z of an RoI, and the pairs of spacepoints in a peak: for plots, for other
//! histogram tools, and to find out why a vertex was found or missed.
//!
//! The reference engine computes them, serially and in f64, whichever engine the finder has.
//!
//! ```
//! use zfinder::{Detector, Engine, Roi, Spacepoint, ZFinder};
//! use zfinder_study::inspect::Inspect;
//!
//! let mut roi = Roi::default();
//! for (phi, slope) in [(0.1, 0.5), (0.7, -0.3), (1.5, 0.2)] {
//!     for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
//!         roi.spacepoints.push(Spacepoint { rho, phi, z: 12.5 + slope * rho, layer });
//!     }
//! }
//! let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Reference).build()?;
//! let inspection = finder.inspect(&roi)?;
//! let histogram = inspection.histogram();
//! let bins = histogram.weights.iter().enumerate();
//! let (fullest, _) = bins.max_by_key(|(_, weight)| **weight).expect("bins");
//! assert!((histogram.centre_mm(fullest) - 12.5).abs() < histogram.bin_mm);
//!
//! // Each of three tracks through three layers makes three pairs.
//! let pairs = finder.pairs(&roi, &inspection.peaks[0])?;
//! assert_eq!(pairs.len(), 9);
//! # Ok::<(), zfinder::Error>(())
//! ```

use zfinder::internals::{FilledRoi, Histogram, ReferenceEngine};
pub use zfinder::internals::{Pair, Peak};
use zfinder::results::RoiSummary;
use zfinder::{Result, Results, RoiView, Spacepoint, Status, Vertex, ZFinder};
use zfinder_io::config_summary;

/// A histogram of the z \[mm\] at which pairs of spacepoints meet the beam line, in bins of equal
/// width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZHistogram {
    /// Lower edge of the first bin \[mm\].
    pub low_mm: f64,
    /// Width of a bin \[mm\].
    pub bin_mm: f64,
    /// Sum of the weights of the entries in each bin. The weight of an entry is that of its
    /// pair ([`PairWeight`](zfinder::config::PairWeight)).
    pub weights: Vec<u64>,
    /// Sum of weight times z of the entries in each bin \[mm\].
    pub z_sums_mm: Vec<f64>,
    /// Number of pairs in each bin.
    pub pairs: Vec<u64>,
}

/// The histograms and vertices of an RoI.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// The answer of the reference engine, without its vertices.
    pub summary: RoiSummary,
    /// Histograms before vertices are removed from them: one in most configurations. With
    /// [`Config::charge_aware`](zfinder::Config::charge_aware) there is one for each charge, and
    /// with [`Config::histogram_per_slice`](zfinder::Config::histogram_per_slice) one for each
    /// slice, those of the first charge before those of the second. The first charge excludes pairs
    /// that bend to larger phi by more than a slice, the second those that bend to smaller phi. The
    /// list is empty for an RoI with an invalid spacepoint or above the capacity. An RoI without
    /// spacepoints has a single empty histogram.
    pub histograms: Vec<ZHistogram>,
    /// The vertices with their bins, in the order found.
    pub peaks: Vec<Peak>,
    /// Entries that three bins of a histogram have without a vertex, as
    /// [`Config::percentile`](zfinder::Config::percentile) says.
    pub background: Option<f64>,
    /// All spacepoints with usable coordinates about the beam, including those that took no part.
    pub spacepoints: Vec<Spacepoint>,
    /// Name of the detector.
    pub detector: String,
    /// Preset and changed keys of the configuration, in words.
    pub configuration: String,
}

impl ZHistogram {
    /// Returns lower and upper edge of a bin \[mm\].
    pub fn edges_mm(&self, bin: usize) -> (f64, f64) {
        let edge = |number: usize| self.low_mm + number as f64 * self.bin_mm;
        (edge(bin), edge(bin + 1))
    }

    /// Returns the middle of a bin \[mm\].
    pub fn centre_mm(&self, bin: usize) -> f64 {
        self.low_mm + (bin as f64 + 0.5) * self.bin_mm
    }

    /// Returns the upper edge of the last bin \[mm\].
    pub fn high_mm(&self) -> f64 {
        self.edges_mm(self.weights.len()).0
    }

    fn add(&mut self, other: &Self) {
        fn add<T: Copy + std::ops::AddAssign>(to: &mut [T], from: &[T]) {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to += from);
        }
        add(&mut self.weights, &other.weights);
        add(&mut self.z_sums_mm, &other.z_sums_mm);
        add(&mut self.pairs, &other.pairs);
    }
}

impl Inspection {
    /// Returns the vertices, in the order found.
    pub fn vertices(&self) -> impl ExactSizeIterator<Item = Vertex> {
        self.peaks.iter().map(|peak| peak.vertex)
    }

    /// Returns the answer of the reference engine, as results of one RoI.
    pub fn results(&self) -> Results {
        let mut results = Results::new();
        results.push(self.summary, self.vertices());
        results
    }

    /// Returns the sum of [`Inspection::histograms`]. A pair counts in each histogram that it
    /// entered. Without histograms the sum has no bins.
    pub fn histogram(&self) -> ZHistogram {
        let Some((first, others)) = self.histograms.split_first() else { return ZHistogram::default() };
        let mut sum = first.clone();
        others.iter().for_each(|other| sum.add(other));
        sum
    }
}

/// Computes the histograms and pairs of RoIs with the reference engine. If the fallback found the
/// vertices, they are those of the second search.
pub trait Inspect {
    /// Returns the histograms and peaks of an RoI.
    ///
    /// # Errors
    /// An RoI whose z range gives no valid histogram.
    fn inspect<'a>(&self, roi: impl Into<RoiView<'a>>) -> Result<Inspection>;

    /// Returns the pairs in the three bins of a peak of the same RoI, in the order of the search.
    /// The pairs of the first peak give its weight and z. The pairs of a later peak include those
    /// in bins that an earlier peak shares.
    ///
    /// # Errors
    /// As for [`Inspect::inspect`].
    fn pairs<'a>(&self, roi: impl Into<RoiView<'a>>, peak: &Peak) -> Result<Vec<Pair>>;
}

impl Inspect for ZFinder {
    fn inspect<'a>(&self, roi: impl Into<RoiView<'a>>) -> Result<Inspection> {
        let roi = roi.into();
        let mut inspection = inspect(&ReferenceEngine::new(self.config(), self.detector())?, roi)?;
        inspection.detector = self.detector().name().to_owned();
        inspection.configuration = config_summary(self.config());
        match self.config().fallback_config() {
            Some(config) if inspection.summary.status == Status::NoPeak => {
                let mut again = inspect(&ReferenceEngine::new(&config, self.detector())?, roi)?;
                again.summary.is_fallback = true;
                (again.detector, again.configuration) = (inspection.detector, inspection.configuration);
                Ok(again)
            }
            _ => Ok(inspection),
        }
    }

    fn pairs<'a>(&self, roi: impl Into<RoiView<'a>>, peak: &Peak) -> Result<Vec<Pair>> {
        let roi = roi.into();
        let first = ReferenceEngine::new(self.config(), self.detector())?;
        match self.config().fallback_config() {
            Some(config) if inspect(&first, roi)?.summary.status == Status::NoPeak => {
                ReferenceEngine::new(&config, self.detector())?.pairs(roi, peak)
            }
            _ => first.pairs(roi, peak),
        }
    }
}

fn inspect(engine: &ReferenceEngine, roi: RoiView<'_>) -> Result<Inspection> {
    let mut filled = engine.fill(roi)?;
    let mut histograms: Vec<_> = filled.histograms.iter().map(|one| z_histogram(&filled, one)).collect();
    if histograms.is_empty() && filled.summary.status == Status::Empty {
        histograms = vec![empty_histogram(&filled)];
    }
    let background = engine.background(&filled);
    let peaks: Vec<Peak> = engine.find_peaks(&mut filled);
    let spacepoints = roi.spacepoints().filter_map(|s| engine.about_beam(s)).collect();
    let summary = filled.summary;
    Ok(Inspection { summary, histograms, peaks, background, spacepoints, ..Inspection::default() })
}

fn z_histogram(filled: &FilledRoi, histogram: Histogram<'_>) -> ZHistogram {
    ZHistogram {
        low_mm: filled.low_mm(),
        bin_mm: filled.bin_mm(),
        weights: histogram.n.to_vec(),
        z_sums_mm: histogram.z.to_vec(),
        pairs: histogram.pairs.to_vec(),
    }
}

fn empty_histogram(filled: &FilledRoi) -> ZHistogram {
    let bins = filled.bins();
    ZHistogram {
        low_mm: filled.low_mm(),
        bin_mm: filled.bin_mm(),
        weights: vec![0; bins],
        z_sums_mm: vec![0.0; bins],
        pairs: vec![0; bins],
    }
}
