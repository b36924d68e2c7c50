//! The choices of the thesis's design, and the order in which the staircase makes them.

use zfinder::Precision;

/// The work of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// A whole slice.
    Slice,
    /// Inner spacepoints of a slice, each with all of its partners.
    InnerSpacepoints,
    /// Pairs of a slice, inner layer by inner layer; an integer division recovers a pair from its
    /// number.
    LayerPairs,
    /// Pairs of a slice, numbered across its layers; additions recover a pair.
    NumberedPairs,
}

/// The memory in which the histograms of a slice are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In the device's memory.
    Storage,
    /// In the workgroup's memory; they are written to the device's memory once.
    Workgroup,
}

/// The stages in which the histograms of an RoI are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// A thread adds a bin of all slices.
    One,
    /// First in about sqrt(slices) groups, then the groups.
    Two,
}

/// How `sum_histos` is dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// One dimension, from which each workgroup computes its bins, its group and its RoI by
    /// division.
    Linear,
    /// x for the group, y for the block of bins, z for the RoI.
    Blocks,
}

/// The layout of the histograms of slices in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One after another.
    Packed,
    /// Each begins at a multiple of 128 bytes.
    Padded,
}

/// One combination of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// A short name.
    pub name: &'static str,
    /// Work of a thread of `find_z`.
    pub threads: Threads,
    /// Memory of its histograms.
    pub memory: Memory,
    /// Stages of `sum_histos`.
    pub stages: Stages,
    /// Grid of `sum_histos`.
    pub grid: Grid,
    /// Layout of the histograms.
    pub rows: Rows,
    /// The number type of the extrapolation. Sums of z are f32 in either: WGSL has no 64-bit
    /// compare-and-exchange.
    pub precision: Precision,
    /// Batches in flight.
    pub in_flight: usize,
}

impl Step {
    /// Threads of a workgroup of `find_z`.
    pub(crate) const FIND_Z_THREADS: u32 = 128;
    /// Threads of a workgroup of `sum_histos`.
    pub(crate) const SUM_THREADS: u32 = 128;

    /// Returns whether pairs are made from a list of the slice's spacepoints.
    pub(crate) fn has_list(&self) -> bool {
        matches!(self.threads, Threads::LayerPairs | Threads::NumberedPairs)
    }

    /// Returns the words from one histogram of a slice to the next, if the longest has so many
    /// bins.
    pub(crate) fn row_words(&self, bins: u32) -> u32 {
        match self.rows {
            Rows::Packed => bins,
            Rows::Padded => bins.next_multiple_of(32),
        }
    }

    /// Returns the groups of rows of the first stage, if an RoI has so many slices.
    pub(crate) fn groups(&self, slices: u32) -> u32 {
        match self.stages {
            Stages::One => 1,
            Stages::Two => f64::from(slices).sqrt().ceil().max(1.0) as u32,
        }
    }
}

/// The steps in the thesis's order: each changes one choice of the step before it, except `f64`,
/// which is a side step.
#[must_use]
pub fn staircase() -> Vec<Step> {
    let first = Step {
        name: "thread-a-slice",
        threads: Threads::Slice,
        memory: Memory::Storage,
        stages: Stages::One,
        grid: Grid::Linear,
        rows: Rows::Packed,
        precision: Precision::F32,
        in_flight: 1,
    };
    let inner = Step { name: "inner-spacepoints", threads: Threads::InnerSpacepoints, ..first };
    let layer = Step { name: "pairs-of-a-layer", threads: Threads::LayerPairs, ..inner };
    let numbered = Step { name: "numbered-pairs", threads: Threads::NumberedPairs, ..layer };
    let workgroup = Step { name: "workgroup-memory", memory: Memory::Workgroup, ..numbered };
    let two_stages = Step { name: "two-stage-sums", stages: Stages::Two, ..workgroup };
    let grid = Step { name: "2d-grid", grid: Grid::Blocks, ..two_stages };
    let padded = Step { name: "padded-rows", rows: Rows::Padded, ..grid };
    let double = Step { name: "f64", precision: Precision::F64, ..padded };
    let two = Step { name: "two-in-flight", in_flight: 2, ..padded };
    vec![first, inner, layer, numbered, workgroup, two_stages, grid, padded, double, two]
}

/// The histograms of an RoI: entries, and sums of their z.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Entries by bin.
    pub n: Vec<u32>,
    /// Sum of z by bin \[mm\].
    pub z: Vec<f32>,
}
