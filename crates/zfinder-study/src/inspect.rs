//! What a search sees of an RoI: its histograms of z, and the pairs of spacepoints that made a
//! peak. For pictures, for other programs' histogram tools, and for finding out why a vertex was or
//! was not found.
//!
//! All of it is computed by the reference engine, whatever engine the finder has: serially and in
//! f64.
//!
//! ```
//! use zfinder::{Engine, Roi, Spacepoint, ZFinder};
//! use zfinder_study::inspect::Inspect;
//!
//! let mut roi = Roi::default();
//! for (phi, slope) in [(0.1, 0.5), (0.7, -0.3), (1.5, 0.2)] {
//!     for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
//!         roi.spacepoints.push(Spacepoint { rho, phi, z: 12.5 + slope * rho, layer });
//!     }
//! }
//! let finder = ZFinder::builder().engine(Engine::Reference).build()?;
//! let inspection = finder.inspect(&roi)?;
//! let histogram = inspection.histogram();
//! let (fullest, _) = histogram.weights.iter().enumerate().max_by_key(|(_, weight)| **weight).expect("bins");
//! assert!((histogram.centre_mm(fullest) - 12.5).abs() < histogram.bin_mm);
//!
//! // Each of three tracks through three layers makes three pairs.
//! let pairs = finder.pairs(&roi, &inspection.peaks[0])?;
//! assert_eq!(pairs.len(), 9);
//! # Ok::<(), zfinder::Error>(())
//! ```

use zfinder::internals::{Filled, Histogram, ReferenceEngine};
pub use zfinder::internals::{Pair, Peak};
use zfinder::{Result, RoiResult, RoiView, Spacepoint, Status, ZFinder};

/// A histogram of the z \[mm\] at which pairs of spacepoints meet the beam line, in bins of equal
/// width.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZHistogram {
    /// Lower edge of the first bin \[mm\].
    pub low_mm: f64,
    /// Width of a bin \[mm\].
    pub bin_mm: f64,
    /// Weights of the entries in each bin: how many there are, unless third spacepoints are counted
    /// or weighted ([`Triplets`](zfinder::Triplets), [`Weighting`](zfinder::Weighting)).
    pub weights: Vec<u64>,
    /// Sums of weight times z \[mm\].
    pub z_sums_mm: Vec<f64>,
    /// Pairs in each bin, whatever their weight.
    pub pairs: Vec<u64>,
}

/// An RoI as the search sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspection {
    /// The answer of the reference engine.
    pub result: RoiResult,
    /// One; or, by [`Config::charge_aware`](zfinder::Config::charge_aware) and
    /// [`Config::histogram_per_slice`](zfinder::Config::histogram_per_slice), one of each charge,
    /// or of each slice, those of the first charge before those of the second. Of the two charges
    /// the first has no pairs that bend to larger phi by more than a slice, the second none that
    /// bend to smaller. As they are before peaks are taken out. None of an RoI with a spacepoint
    /// that cannot be, or beyond capacity; of one without spacepoints a single empty one.
    pub histograms: Vec<ZHistogram>,
    /// The vertices with their places, in the order found.
    pub peaks: Vec<Peak>,
    /// Entries that three bins of a histogram have without a vertex, as
    /// [`Config::percentile`](zfinder::Config::percentile) says.
    pub background: Option<f64>,
    /// All spacepoints of usable coordinates about the beam, those that took no part included.
    pub spacepoints: Vec<Spacepoint>,
}

impl ZHistogram {
    /// Lower and upper edge of a bin \[mm\].
    pub fn edges_mm(&self, bin: usize) -> (f64, f64) {
        let edge = |number: usize| self.low_mm + number as f64 * self.bin_mm;
        (edge(bin), edge(bin + 1))
    }

    /// The middle of a bin \[mm\].
    pub fn centre_mm(&self, bin: usize) -> f64 {
        self.low_mm + (bin as f64 + 0.5) * self.bin_mm
    }

    /// Upper edge of the last bin \[mm\].
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
    /// The sum of [`Inspection::histograms`]: where there are several, a pair counts in each that
    /// it entered. Without a bin where there is none.
    pub fn histogram(&self) -> ZHistogram {
        let Some((first, others)) = self.histograms.split_first() else { return ZHistogram::default() };
        let mut sum = first.clone();
        others.iter().for_each(|other| sum.add(other));
        sum
    }
}

/// What the search sees of an RoI, computed by the reference engine whatever engine the finder has.
/// Where the fallback found the vertices, the second search.
pub trait Inspect {
    /// Returns the histograms and peaks of an RoI.
    ///
    /// # Errors
    /// An RoI whose z range makes no histogram.
    fn inspect<'a>(&self, roi: impl Into<RoiView<'a>>) -> Result<Inspection>;

    /// Returns the pairs in the three bins of a peak of the same RoI, in the order of the search.
    /// Those of the first peak make up its weight and z; those of a later one include pairs in bins
    /// that an earlier peak had as well.
    ///
    /// # Errors
    /// As [`Inspect::inspect`].
    fn pairs<'a>(&self, roi: impl Into<RoiView<'a>>, peak: &Peak) -> Result<Vec<Pair>>;
}

impl Inspect for ZFinder {
    fn inspect<'a>(&self, roi: impl Into<RoiView<'a>>) -> Result<Inspection> {
        let roi = roi.into();
        let inspection = inspect(&ReferenceEngine::new(self.config(), self.detector())?, roi)?;
        match self.config().fallback_config() {
            Some(config) if inspection.result.status == Status::NoPeak => {
                let mut again = inspect(&ReferenceEngine::new(&config, self.detector())?, roi)?;
                again.result.fallback = true;
                Ok(again)
            }
            _ => Ok(inspection),
        }
    }

    fn pairs<'a>(&self, roi: impl Into<RoiView<'a>>, peak: &Peak) -> Result<Vec<Pair>> {
        let roi = roi.into();
        let first = ReferenceEngine::new(self.config(), self.detector())?;
        match self.config().fallback_config() {
            Some(config) if first.find(roi)?.status == Status::NoPeak => {
                ReferenceEngine::new(&config, self.detector())?.pairs(roi, peak)
            }
            _ => first.pairs(roi, peak),
        }
    }
}

fn inspect(engine: &ReferenceEngine, roi: RoiView<'_>) -> Result<Inspection> {
    let mut filled = engine.fill(roi)?;
    let mut histograms: Vec<_> = filled.histograms.iter().map(|one| z_histogram(&filled, one)).collect();
    if histograms.is_empty() && filled.result.status == Status::Empty {
        histograms = vec![empty_histogram(&filled)];
    }
    let background = engine.background(&filled);
    let peaks: Vec<Peak> = engine.find_peaks(&mut filled);
    filled.result.vertices = peaks.iter().map(|peak| peak.vertex).collect();
    let spacepoints = roi.spacepoints().filter_map(|s| engine.about_beam(s)).collect();
    Ok(Inspection { result: filled.result, histograms, peaks, background, spacepoints })
}

fn z_histogram(filled: &Filled, histogram: Histogram<'_>) -> ZHistogram {
    ZHistogram {
        low_mm: filled.low_mm(),
        bin_mm: filled.bin_mm(),
        weights: histogram.n.to_vec(),
        z_sums_mm: histogram.z.to_vec(),
        pairs: histogram.pairs.to_vec(),
    }
}

fn empty_histogram(filled: &Filled) -> ZHistogram {
    let bins = filled.bins();
    ZHistogram {
        low_mm: filled.low_mm(),
        bin_mm: filled.bin_mm(),
        weights: vec![0; bins],
        z_sums_mm: vec![0.0; bins],
        pairs: vec![0; bins],
    }
}
