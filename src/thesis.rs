//! The design of the 2010 thesis, to compare with: C. Jones, *Porting the z-finder algorithm to
//! GPU* (MSc thesis, Edinburgh 2010). Slower than the product, with the same answers.

use crate::config::words::words;

words! {
    /// How zHisto is summed on the GPU and CPU engines.
    pub enum Accumulate for "accumulate" = Fixed {
        /// Fixed-point integers: the same bits in any order.
        ///
        /// They are offsets within the bin.
        Fixed = "fixed",
        /// f32 by compare and retry, as in the thesis.
        ///
        /// The last digits depend on the order. On a GPU it comes with the thesis's numbered pairs,
        /// as [`ThesisOptions::slices_per_histogram`] does, and takes longer.
        CompareExchange = "compare-exchange",
    }
}

/// Which parts of the thesis's design an engine uses; none by default.
///
/// ```
/// use zfinder::thesis::{Accumulate, ThesisOptions};
/// use zfinder::{Detector, Engine, ZFinder, results::Reproducibility};
/// let builder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu);
/// let finder = builder.thesis(ThesisOptions::from(Accumulate::CompareExchange)).build()?;
/// assert_eq!(finder.reproducibility(), Reproducibility::NotGuaranteed);
/// # Ok::<(), zfinder::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThesisOptions {
    /// How zHisto is summed. The reference engine sums in f64 in any case.
    pub accumulate: Accumulate,
    /// On a GPU, a workgroup numbers all pairs of so many phi slices, 1 (the thesis's choice) to
    /// 65,536, and fills a histogram from them. None: a workgroup takes a share of the spacepoints,
    /// which is faster.
    pub slices_per_histogram: Option<u32>,
}

impl ThesisOptions {
    /// Numbers the pairs of so many phi slices; sums are integers.
    pub fn numbered_pairs(slices_per_histogram: u32) -> Self {
        Self { slices_per_histogram: Some(slices_per_histogram), ..Self::default() }
    }
}

impl From<Accumulate> for ThesisOptions {
    fn from(accumulate: Accumulate) -> Self {
        Self { accumulate, ..Self::default() }
    }
}
