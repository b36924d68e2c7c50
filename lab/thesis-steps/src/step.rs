//! The choices of the thesis's design, and the order in which the staircase makes them.

use zfinder::config::PairWeight;
use zfinder::{Config, Precision, Preset};

/// The work of a thread of `find_z`. A workgroup searches one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread of the workgroup searches the slice.
    One,
    /// The partners of one inner spacepoint are split among the threads, inner spacepoint by inner
    /// spacepoint.
    Partners,
    /// The pairs of an inner layer are split; an integer division recovers a pair from its number.
    LayerDivision,
    /// The pairs of an inner layer are split; subtractions recover a pair.
    LayerSubtraction,
    /// The pairs of all layers are numbered together and split; subtractions recover a pair.
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

/// How the histograms of a slice are set to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// By one thread.
    OneThread,
    /// By all threads, each a run of adjacent bins.
    Runs,
    /// By all threads, adjacent threads at adjacent bins.
    Strides,
}

/// Where the histograms of an RoI are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// On the CPU, which reads the histograms of all slices back.
    Cpu,
    /// In the device's memory, by atomics. Threads take words of rows one after another.
    Global,
    /// In the workgroup's memory, by atomics, and then in the device's memory.
    Workgroup,
    /// In registers: a thread sums one bin.
    Registers,
}

/// How [`Sums::Global`] and [`Sums::Workgroup`] compute the row and the bin of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// By division and modulus.
    Modulus,
    /// By subtraction from the thread's word before.
    Subtraction,
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

/// The entries of the histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Each pair counts.
    Pairs,
    /// A pair counts if a third spacepoint confirms it.
    Triplets,
}

impl Search {
    /// Returns the configuration: the preset *thesis*, without a wrap of the full circle.
    #[must_use]
    pub fn config(self) -> Config {
        Config::preset(Preset::Thesis).with(|config| {
            config.wrap_full_scan = false;
            config.pair_weight = match self {
                Self::Pairs => PairWeight::One,
                Self::Triplets => PairWeight::Any,
            };
        })
    }
}

/// The window of the RoIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// As the RoI says.
    Roi,
    /// The full circle.
    FullCircle,
}

/// Where the clock of the times with copies starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// With sorted spacepoints.
    Sorted,
    /// Before one thread of the CPU sorts them.
    Unsorted,
}

/// One combination of choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// A short name.
    pub name: &'static str,
    /// The thesis's section, where it is known.
    pub section: Option<&'static str>,
    /// Work of a thread of `find_z`.
    pub threads: Threads,
    /// Memory of its histograms.
    pub memory: Memory,
    /// Initialisation of its histograms.
    pub init: Init,
    /// Place of the sums.
    pub sums: Sums,
    /// Index arithmetic of the sums.
    pub index: Index,
    /// Grid of `sum_histos`.
    pub grid: Grid,
    /// Layout of the histograms.
    pub rows: Rows,
    /// Stages of [`Sums::Registers`], 1 to 4. In two stages, about sqrt(slices) groups of rows are
    /// summed, and then the groups.
    pub stages: u32,
    /// Threads of a workgroup of both kernels.
    pub group_threads: u32,
    /// The number type of the extrapolation. Sums of z are f32 in either: WGSL has no 64-bit
    /// compare-and-exchange.
    pub precision: Precision,
    /// Entries.
    pub search: Search,
    /// Window of the RoIs.
    pub window: Window,
    /// Start of the clock.
    pub input: Input,
    /// Batches in flight.
    pub in_flight: usize,
}

impl Step {
    /// Most stages of sums.
    pub(crate) const MOST_STAGES: usize = 4;

    /// Returns name and value of each choice.
    #[must_use]
    pub fn choices(&self) -> [(&'static str, String); 14] {
        let word = |value: &dyn std::fmt::Debug| format!("{value:?}");
        [
            ("threads", word(&self.threads)),
            ("memory", word(&self.memory)),
            ("init", word(&self.init)),
            ("sums", word(&self.sums)),
            ("index", word(&self.index)),
            ("grid", word(&self.grid)),
            ("rows", word(&self.rows)),
            ("stages", word(&self.stages)),
            ("group_threads", word(&self.group_threads)),
            ("precision", word(&self.precision)),
            ("search", word(&self.search)),
            ("window", word(&self.window)),
            ("input", word(&self.input)),
            ("in_flight", word(&self.in_flight)),
        ]
    }

    /// Returns whether pairs are made from a list of the slice's spacepoints.
    pub(crate) fn has_list(&self) -> bool {
        self.threads != Threads::One
    }

    /// Returns whether threads take words of rows one after another, whatever their bins.
    pub(crate) fn sums_words(&self) -> bool {
        matches!(self.sums, Sums::Global | Sums::Workgroup)
    }

    /// Returns the words from one histogram of a slice to the next, if the longest has so many
    /// bins.
    pub(crate) fn row_words(&self, bins: u32) -> u32 {
        match self.rows {
            Rows::Packed => bins,
            Rows::Padded => bins.next_multiple_of(32),
        }
    }

    /// Returns the groups of an RoI's rows in each stage of `sum_histos`, if the RoI has so many
    /// slices.
    pub(crate) fn groups(&self, slices: u32) -> Vec<u32> {
        let root = |power: f64| f64::from(slices).powf(power).ceil().max(1.0) as u32;
        match self.sums {
            Sums::Cpu => Vec::new(),
            Sums::Global | Sums::Workgroup => vec![root(0.5)],
            Sums::Registers => {
                let stages = self.stages.clamp(1, Self::MOST_STAGES as u32);
                (1..=stages).map(|stage| root(1.0 - f64::from(stage) / f64::from(stages))).collect()
            }
        }
    }
}

/// Returns the steps in the thesis's order: each changes one choice of the step before it.
#[must_use]
pub fn staircase() -> Vec<Step> {
    let one = Step {
        name: "one-thread",
        section: Some("5.2"),
        threads: Threads::One,
        memory: Memory::Storage,
        init: Init::OneThread,
        sums: Sums::Global,
        index: Index::Modulus,
        grid: Grid::Linear,
        rows: Rows::Packed,
        stages: 1,
        group_threads: 128,
        precision: Precision::F32,
        search: Search::Pairs,
        window: Window::Roi,
        input: Input::Sorted,
        in_flight: 1,
    };
    let partners = Step { name: "split-partners", section: Some("5.4"), threads: Threads::Partners, ..one };
    let workgroup = Step { name: "workgroup-memory", section: Some("5.4.1"), memory: Memory::Workgroup, ..partners };
    let runs = Step { name: "init-in-runs", section: Some("5.4.2"), init: Init::Runs, ..workgroup };
    let strides = Step { name: "init-in-strides", init: Init::Strides, ..runs };
    let division = Step { name: "layer-division", section: Some("5.4.3"), threads: Threads::LayerDivision, ..strides };
    let subtraction = Step { name: "layer-subtraction", threads: Threads::LayerSubtraction, ..division };
    let numbered =
        Step { name: "numbered-pairs", section: Some("5.4.4"), threads: Threads::NumberedPairs, ..subtraction };
    let sums = Step { name: "sums-in-workgroup", section: None, sums: Sums::Workgroup, ..numbered };
    let index = Step { name: "sums-by-subtraction", index: Index::Subtraction, ..sums };
    let registers = Step { name: "sums-in-registers", sums: Sums::Registers, ..index };
    let grid = Step { name: "2d-grid", grid: Grid::Blocks, ..registers };
    let padded = Step { name: "padded-rows", rows: Rows::Padded, ..grid };
    let two_stages = Step { name: "two-stage-sums", stages: 2, ..padded };
    vec![
        one,
        partners,
        workgroup,
        runs,
        strides,
        division,
        subtraction,
        numbered,
        sums,
        index,
        registers,
        grid,
        padded,
        two_stages,
    ]
}

/// Returns the side steps: each changes one choice of the last step of the staircase.
#[must_use]
pub fn variations() -> Vec<Step> {
    let Some(last) = staircase().pop() else { return Vec::new() };
    let threads = |name, group_threads| Step { name, group_threads, ..last };
    vec![
        Step { name: "three-stage-sums", stages: 3, ..last },
        Step { name: "four-stage-sums", stages: 4, ..last },
        Step { name: "sums-on-the-cpu", sums: Sums::Cpu, ..last },
        Step { name: "histograms-in-storage", memory: Memory::Storage, ..last },
        threads("32-threads", 32),
        threads("64-threads", 64),
        threads("96-threads", 96),
        threads("192-threads", 192),
        threads("256-threads", 256),
        Step { name: "f64", precision: Precision::F64, ..last },
        Step { name: "triplets", section: Some("5.4.6"), search: Search::Triplets, ..last },
        Step { name: "full-circle", window: Window::FullCircle, ..last },
        Step { name: "two-in-flight", in_flight: 2, ..last },
        Step { name: "sorting-on-the-cpu", section: Some("8.1.4"), input: Input::Unsorted, ..last },
    ]
}

/// The histograms of an RoI: entries, and sums of their z.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Entries by bin.
    pub n: Vec<u32>,
    /// Sum of z by bin \[mm\].
    pub z: Vec<f32>,
}
