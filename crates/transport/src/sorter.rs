//! Counts and sorts elements by class, on any engine.

use std::time::{Duration, Instant};

use bytemuck::Pod;
use kernel_host::{Engine, Gpu, GpuOptions, Opened};

use crate::engine::cpu;
use crate::engine::gpu::sorter::{GpuSettings, GpuSorter};
use crate::error::{Error, Result};

/// Classes that there may be.
const MOST_CLASSES: u32 = 1 << 20;

/// How a GPU counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// Each element is added to its class in the device's memory, as the prototype does it at first.
    Atomics,
    /// Threads keep counts, workgroups sum them by halves, and each adds its sums in the device's memory. Of more than eight classes,
    /// workgroups count in their memory as far as it holds them, and of more than that, as [`Count::Atomics`].
    #[default]
    Tree,
    /// The same, but the sums of threads are made by subgroups: on devices that have them.
    Subgroups,
}

impl Count {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Atomics, Self::Tree, Self::Subgroups];

    /// `atomics`, `tree` or `subgroups`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomics => "atomics",
            Self::Tree => "tree",
            Self::Subgroups => "subgroups",
        }
    }
}

/// What a [`Sorter`] is built from.
#[derive(Clone, Debug, Default)]
pub struct SorterBuilder {
    engine: Engine,
    gpu: GpuSettings,
}

/// Counts and sorts elements by class: tracks by process, say. Built once for a number of classes.
///
/// ```
/// use kernel_host::Engine;
/// use transport::Sorter;
///
/// # fn main() -> transport::Result<()> {
/// let sorter = Sorter::builder().engine(Engine::Cpu).build(3)?;
/// let classes = [2, 0, 1, 0, 2];
/// assert_eq!(sorter.count(&classes)?, [2, 1, 2]);
/// let sorted = sorter.sort(&classes)?;
/// assert_eq!(sorted.order, [1, 3, 2, 0, 4]);
/// assert_eq!(sorted.of(2), [0, 4]);
/// # Ok(())
/// # }
/// ```
pub struct Sorter {
    classes: u32,
    runs: Runs,
}

enum Runs {
    Gpu(Box<GpuSorter>),
    Cpu,
    Reference,
}

/// Elements in the order of their classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Of each class, how many elements there are.
    pub counts: Vec<u32>,
    /// Numbers of elements: those of class 0, then those of class 1, and so on, each in ascending order.
    pub order: Vec<u32>,
}

/// How long a part took, and the bytes that it has to move, each once.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTime {
    /// What was timed.
    pub part: String,
    /// Of each round.
    pub rounds: Vec<Duration>,
    /// Bytes read and written; 0 for what depends little on the number of elements.
    pub bytes: u64,
}

impl Sorted {
    /// Of each class, where in the order it begins.
    #[must_use]
    pub fn offsets(&self) -> Vec<u32> {
        let before = |sum: &mut u32, &count: &u32| {
            let offset = *sum;
            *sum += count;
            Some(offset)
        };
        self.counts.iter().scan(0, before).collect()
    }

    /// The elements of a class; none of one that there is not.
    #[must_use]
    pub fn of(&self, class: u32) -> &[u32] {
        let class = class as usize;
        let Some(&count) = self.counts.get(class) else { return &[] };
        let first = self.counts[..class].iter().map(|&count| count as usize).sum();
        self.order.get(first..first + count as usize).unwrap_or_default()
    }
}

impl SorterBuilder {
    /// What counts and sorts; [`Engine::Auto`] if not given.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// How a GPU counts; [`Count::Tree`] if not given.
    #[must_use]
    pub fn count(mut self, count: Count) -> Self {
        self.gpu.variant = count;
        self
    }

    /// Threads of a workgroup that counts, a power of two from 8 on; 256 if not given.
    #[must_use]
    pub fn count_workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.count_threads = Some(threads);
        self
    }

    /// Workgroups that count at most, unless a thread had to count more than 65,000 elements; 2048 if not given.
    #[must_use]
    pub fn count_workgroups(mut self, workgroups: u32) -> Self {
        self.gpu.count_workgroups = Some(workgroups);
        self
    }

    /// Threads of a workgroup that sorts, a power of two from 8 on, for eight elements each; 128 if not given.
    #[must_use]
    pub fn sort_workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.sort_threads = Some(threads);
        self
    }

    /// Kernels that guard themselves against their own faults; a little slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.is_checked = checked;
        self
    }

    /// Builds it, for so many classes, numbered from 0.
    ///
    /// # Errors
    /// [`Error::Options`] without classes or for a size of a workgroup that cannot be; [`Error::TooLarge`] for more than 2^20 classes;
    /// [`Error::Gpu`], and there [`MissingFeature`](kernel_host::Error::MissingFeature) for [`Count::Subgroups`] on a device that has none.
    pub fn build(self, classes: u32) -> Result<Sorter> {
        if classes == 0 {
            return Err(Error::Options { what: "no classes: there has to be one at least".to_owned() });
        }
        if classes > MOST_CLASSES {
            return Err(Error::TooLarge { what: format!("{classes} classes: there may be {MOST_CLASSES}") });
        }
        let optional_features = GpuSorter::FEATURES;
        let runs = match self.engine.open(GpuOptions { optional_features, ..GpuOptions::default() })? {
            Opened::Gpu(gpu) => Runs::Gpu(Box::new(GpuSorter::new(gpu, classes, self.gpu)?)),
            Opened::Cpu => Runs::Cpu,
            Opened::Reference => Runs::Reference,
        };
        Ok(Sorter { classes, runs })
    }
}

impl Sorter {
    /// What to build one from.
    #[must_use]
    pub fn builder() -> SorterBuilder {
        SorterBuilder::default()
    }

    /// How many classes there are.
    #[must_use]
    pub fn classes(&self) -> u32 {
        self.classes
    }

    /// The GPU, if it is one that sorts.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            Runs::Gpu(gpu) => Some(gpu.gpu()),
            Runs::Cpu | Runs::Reference => None,
        }
    }

    /// What sorts, in words.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            Runs::Gpu(gpu) => gpu.description(),
            Runs::Cpu => format!("CPU, {} threads", rayon::current_num_threads()),
            Runs::Reference => "reference, one thread".to_owned(),
        }
    }

    /// How many elements are of each class.
    ///
    /// # Errors
    /// [`Error::Class`] for the first element that is of no class; [`Error::TooLarge`] for more elements than 32 bits number;
    /// [`Error::Gpu`].
    pub fn count(&self, elements: &[u32]) -> Result<Vec<u32>> {
        check(elements)?;
        match &self.runs {
            Runs::Gpu(gpu) => gpu.count(elements),
            Runs::Cpu => cpu::count::count(elements, self.classes),
            Runs::Reference => cpu::sort::serial_count(elements, self.classes),
        }
    }

    /// The stable sort by class: numbers of elements, and counts.
    ///
    /// # Errors
    /// As [`Sorter::count`].
    pub fn sort(&self, elements: &[u32]) -> Result<Sorted> {
        check(elements)?;
        match &self.runs {
            Runs::Gpu(gpu) => gpu.sort(elements),
            Runs::Cpu => cpu::sort::sort(elements, self.classes),
            Runs::Reference => cpu::sort::serial_sort(elements, self.classes),
        }
    }

    /// The same, and groups of 16 bytes, one an element, brought into that order: `[f32; 4]`, `[u32; 4]`.
    ///
    /// # Errors
    /// As [`Sorter::count`]; [`Error::Options`] if these are not of 16 bytes, or not as many as elements.
    pub fn sort_payload<T: Pod + Send + Sync>(&self, elements: &[u32], payload: &[T]) -> Result<(Sorted, Vec<T>)> {
        check(elements)?;
        if size_of::<T>() != 16 || payload.len() != elements.len() {
            let (groups, elements, bytes) = (payload.len(), elements.len(), size_of::<T>());
            let what = format!("{groups} groups of {bytes} bytes for {elements} elements: each has one of 16 bytes");
            return Err(Error::Options { what });
        }
        match &self.runs {
            Runs::Gpu(gpu) => gpu.sort_payload(elements, payload),
            Runs::Cpu => {
                let sorted = cpu::sort::sort(elements, self.classes)?;
                let moved = cpu::sort::gather(&sorted.order, payload);
                Ok((sorted, moved))
            }
            Runs::Reference => {
                let sorted = cpu::sort::serial_sort(elements, self.classes)?;
                let moved = sorted.order.iter().map(|&element| payload[element as usize]).collect();
                Ok((sorted, moved))
            }
        }
    }

    /// How long counting takes where elements are already, whatever [`SorterBuilder::count`] says: on a GPU on its own clock,
    /// `count`, of one dispatch of so many in a pass, counts being zero before; and `zero, count`, with a dispatch before that makes
    /// them zero. Otherwise on the host's clock, `count`. None if the device has no clock.
    ///
    /// # Errors
    /// As [`Sorter::count`], except that what elements are of is not looked at on a GPU; and as [`SorterBuilder::build`] for `variant`.
    pub fn time_count(
        &self,
        elements: &[u32],
        variant: Count,
        dispatches: usize,
        rounds: usize,
    ) -> Result<Option<Vec<PartTime>>> {
        check(elements)?;
        match &self.runs {
            Runs::Gpu(gpu) => gpu.time_count(elements, variant, dispatches, rounds),
            Runs::Cpu | Runs::Reference => {
                let bytes = 4 * elements.len() as u64;
                Ok(Some(vec![on_the_host("count", bytes, rounds, || self.count(elements).map(drop))?]))
            }
        }
    }

    /// How long sorting takes where elements are already: on a GPU on its own clock, its parts in passes of their own; `sort`, all of
    /// them in one pass; `sort and move`, with a group of 16 bytes an element; and `gather`, which only brings such groups into an order
    /// that there is. Otherwise on the host's clock, `sort`. None if the device has no clock.
    ///
    /// # Errors
    /// As [`Sorter::time_count`].
    pub fn time_sort(&self, elements: &[u32], rounds: usize) -> Result<Option<Vec<PartTime>>> {
        check(elements)?;
        match &self.runs {
            Runs::Gpu(gpu) => gpu.time_sort(elements, rounds),
            Runs::Cpu | Runs::Reference => {
                let bytes = 8 * elements.len() as u64;
                Ok(Some(vec![on_the_host("sort", bytes, rounds, || self.sort(elements).map(drop))?]))
            }
        }
    }
}

/// They are numbered in 32 bits.
fn check(elements: &[u32]) -> Result<()> {
    if u32::try_from(elements.len()).is_err() {
        let what = format!("{} elements: there may be {}", elements.len(), u32::MAX);
        return Err(Error::TooLarge { what });
    }
    Ok(())
}

fn on_the_host(part: &str, bytes: u64, rounds: usize, mut run: impl FnMut() -> Result<()>) -> Result<PartTime> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let begun = Instant::now();
        run()?;
        times.push(begun.elapsed());
    }
    Ok(PartTime { part: part.to_owned(), rounds: times, bytes })
}
