//! Counts and sorts elements by class, on any engine.

use std::time::Instant;

use bytemuck::Pod;
use kernel_host::{Engine, Gpu, GpuOptions, Opened};

use crate::classes::{Count, PartTime, Sorted};
use crate::engine::cpu;
use crate::engine::gpu::sorter::{GpuSettings, GpuSorter};
use crate::error::{Error, Result};

/// Classes that there may be.
const MOST_CLASSES: u32 = 1 << 20;

/// Options of a [`Sorter`]; see [`Sorter::builder`].
#[derive(Clone, Debug, Default)]
pub struct SorterBuilder {
    engine: Engine,
    gpu: GpuSettings,
}

/// Counts and sorts elements by class, for example tracks by process. A sorter is built once for a
/// number of classes.
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
    runs: RunningEngine,
}

enum RunningEngine {
    Gpu(Box<GpuSorter>),
    Cpu,
    Reference,
}

impl SorterBuilder {
    /// Sets the engine; [`Engine::Auto`] by default.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Sets how a GPU counts; [`Count::Tree`] by default.
    #[must_use]
    pub fn count(mut self, count: Count) -> Self {
        self.gpu.variant = count;
        self
    }

    /// Sets the size of workgroups that count: a power of two from 8; 256 by default.
    #[must_use]
    pub fn count_workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.count_threads = Some(threads);
        self
    }

    /// Sets the largest number of workgroups that count; 2048 by default. There are more if a
    /// thread would count more than 65,000 elements.
    #[must_use]
    pub fn count_workgroups(mut self, workgroups: u32) -> Self {
        self.gpu.count_workgroups = Some(workgroups);
        self
    }

    /// Sets the size of workgroups that sort: a power of two from 8; 128 by default. Each thread
    /// sorts eight elements.
    #[must_use]
    pub fn sort_workgroup_size(mut self, threads: u32) -> Self {
        self.gpu.sort_threads = Some(threads);
        self
    }

    /// Sets whether kernels have bounds checks; false by default. Checked kernels are slower.
    #[must_use]
    pub fn checked(mut self, checked: bool) -> Self {
        self.gpu.is_checked = checked;
        self
    }

    /// Builds a sorter for `classes` classes, numbered from 0.
    ///
    /// # Errors
    /// [`Error::Options`] if there are no classes or if a workgroup size is invalid;
    /// [`Error::TooLarge`] for more than 2^20 classes; [`Error::Gpu`], with
    /// [`MissingFeature`](kernel_host::Error::MissingFeature) for [`Count::Subgroups`] on a device
    /// without subgroups.
    pub fn build(self, classes: u32) -> Result<Sorter> {
        if classes == 0 {
            return Err(Error::Options { what: "no classes: there has to be one at least".to_owned() });
        }
        if classes > MOST_CLASSES {
            return Err(Error::TooLarge { what: format!("{classes} classes: there may be {MOST_CLASSES}") });
        }
        let optional_features = GpuSorter::FEATURES;
        let runs = match self.engine.open(GpuOptions { optional_features, ..GpuOptions::default() })? {
            Opened::Gpu(gpu) => RunningEngine::Gpu(Box::new(GpuSorter::new(gpu, classes, self.gpu)?)),
            Opened::Cpu => RunningEngine::Cpu,
            Opened::Reference => RunningEngine::Reference,
        };
        Ok(Sorter { classes, runs })
    }
}

impl Sorter {
    /// Returns the default options.
    #[must_use]
    pub fn builder() -> SorterBuilder {
        SorterBuilder::default()
    }

    /// Returns the number of classes.
    #[must_use]
    pub fn classes(&self) -> u32 {
        self.classes
    }

    /// Returns the device if the engine is a GPU.
    #[must_use]
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.runs {
            RunningEngine::Gpu(gpu) => Some(gpu.gpu()),
            RunningEngine::Cpu | RunningEngine::Reference => None,
        }
    }

    /// Describes the engine in words.
    #[must_use]
    pub fn description(&self) -> String {
        match &self.runs {
            RunningEngine::Gpu(gpu) => gpu.description(),
            RunningEngine::Cpu => format!("CPU, {} threads", rayon::current_num_threads()),
            RunningEngine::Reference => "reference, one thread".to_owned(),
        }
    }

    /// Returns the number of elements in each class.
    ///
    /// # Errors
    /// [`Error::Class`] names the first element whose class does not exist; [`Error::TooLarge`] for
    /// 2^32 elements or more; [`Error::Gpu`].
    pub fn count(&self, elements: &[u32]) -> Result<Vec<u32>> {
        check(elements)?;
        match &self.runs {
            RunningEngine::Gpu(gpu) => gpu.count(elements),
            RunningEngine::Cpu => cpu::count::count(elements, self.classes),
            RunningEngine::Reference => cpu::sort::serial_count(elements, self.classes),
        }
    }

    /// Sorts elements by class, stably.
    ///
    /// # Errors
    /// As [`Sorter::count`].
    pub fn sort(&self, elements: &[u32]) -> Result<Sorted> {
        check(elements)?;
        match &self.runs {
            RunningEngine::Gpu(gpu) => gpu.sort(elements),
            RunningEngine::Cpu => cpu::sort::sort(elements, self.classes),
            RunningEngine::Reference => cpu::sort::serial_sort(elements, self.classes),
        }
    }

    /// Sorts elements by class and reorders a payload of 16 bytes an element, for example `[f32;
    /// 4]`.
    ///
    /// # Errors
    /// As [`Sorter::count`]; [`Error::Options`] if a payload has another size, or if there is not
    /// one payload an element.
    pub fn sort_payload<T: Pod + Send + Sync>(&self, elements: &[u32], payload: &[T]) -> Result<(Sorted, Vec<T>)> {
        check(elements)?;
        if size_of::<T>() != 16 || payload.len() != elements.len() {
            let (groups, elements, bytes) = (payload.len(), elements.len(), size_of::<T>());
            let what = format!("{groups} groups of {bytes} bytes for {elements} elements: each has one of 16 bytes");
            return Err(Error::Options { what });
        }
        match &self.runs {
            RunningEngine::Gpu(gpu) => gpu.sort_payload(elements, payload),
            RunningEngine::Cpu => {
                let sorted = cpu::sort::sort(elements, self.classes)?;
                let moved = cpu::sort::gather(&sorted.order, payload);
                Ok((sorted, moved))
            }
            RunningEngine::Reference => {
                let sorted = cpu::sort::serial_sort(elements, self.classes)?;
                let moved = sorted.order.iter().map(|&element| payload[element as usize]).collect();
                Ok((sorted, moved))
            }
        }
    }

    /// Measures how long counting takes with the elements in place, whatever
    /// [`SorterBuilder::count`] says. On a GPU its clock times `count`, one of `dispatches`
    /// dispatches in a pass on zeroed counts, and `zero, count`, which zeroes the counts first.
    /// Otherwise the host's clock times `count`. Returns None if the GPU has no timestamps.
    ///
    /// # Errors
    /// As [`Sorter::count`], but a GPU does not check the classes; and as [`SorterBuilder::build`]
    /// for `variant`.
    pub fn time_count(
        &self,
        elements: &[u32],
        variant: Count,
        dispatches: usize,
        rounds: usize,
    ) -> Result<Option<Vec<PartTime>>> {
        check(elements)?;
        match &self.runs {
            RunningEngine::Gpu(gpu) => gpu.time_count(elements, variant, dispatches, rounds),
            RunningEngine::Cpu | RunningEngine::Reference => {
                let bytes = 4 * elements.len() as u64;
                Ok(Some(vec![on_the_host("count", bytes, rounds, || self.count(elements).map(drop))?]))
            }
        }
    }

    /// Measures how long sorting takes with the elements in place. On a GPU its clock times the
    /// parts in separate passes; `sort`, all parts in one pass; `sort and move`, with a payload of
    /// 16 bytes an element; and `gather`, which only reorders a payload. Otherwise the host's clock
    /// times `sort`. Returns None if the GPU has no timestamps.
    ///
    /// # Errors
    /// As [`Sorter::time_count`].
    pub fn time_sort(&self, elements: &[u32], rounds: usize) -> Result<Option<Vec<PartTime>>> {
        check(elements)?;
        match &self.runs {
            RunningEngine::Gpu(gpu) => gpu.time_sort(elements, rounds),
            RunningEngine::Cpu | RunningEngine::Reference => {
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
