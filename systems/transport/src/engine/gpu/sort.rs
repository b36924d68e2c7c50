//! Sorts by classes, on a GPU. Shaders: sort.wgsl and those in sort/.

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{BindGroup, BindingResource, BufferUsages, ComputePass};
use kernel_host::{Buffer, Checks, Gpu, Kernel, KernelDescriptor};

use super::count::{CountBuffers, CountJob, CountSettings, GpuCount, STATUS, storage, threads, with_room};
use super::shaders::{self, ScatterPiece};
use crate::classes::Count;
use crate::error::{Error, Result};

/// Threads of a workgroup, if not given, and elements of each.
const THREADS: u32 = 128;
const EACH: u32 = 8;
/// Threads of a workgroup that scans.
const SCANNING: [u32; 2] = [256, 1024];
/// As in shaders/sort.wgsl.
const DIGITS: u32 = 8;
const DIGIT_BITS: u32 = 3;
/// Dispatches are rows of so many workgroups.
const ROW: u32 = 32_768;
/// Threads of a workgroup that gathers.
const GATHERING: u32 = 256;

/// As in shaders/sort.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Settings {
    capacity: u32,
    classes: u32,
    shift: u32,
    is_first: u32,
    is_last: u32,
}

/// How to sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortSettings {
    pub(crate) classes: u32,
    /// Which word of the buffer `size` says how many elements there are.
    pub(crate) size_at: u32,
    /// Threads of a workgroup: a power of two from 8 on.
    pub(crate) threads: Option<u32>,
    pub(crate) checks: Checks,
}

/// Input and output buffers of a sort.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SortBuffers<'a> {
    pub(crate) size: &'a Buffer<u32>,
    /// Whole fours of it are looked at: reserve a multiple of 4.
    pub(crate) classes: &'a Buffer<u32>,
    /// Numbers of elements; as many as `classes`.
    pub(crate) order: &'a Buffer<u32>,
    /// Two words a class: counts of all, then how many elements are of the classes before.
    pub(crate) bounds: &'a Buffer<u32>,
    pub(crate) status: &'a Buffer<u32>,
}

/// A dispatch of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SortPart {
    Histogram,
    Scan,
    Scatter,
    /// Of more than eight classes.
    Count,
    Offsets,
    Gather,
}

impl SortPart {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Histogram => "histogram",
            Self::Scan => "scan",
            Self::Scatter => "scatter",
            Self::Count => "count",
            Self::Offsets => "offsets",
            Self::Gather => "gather",
        }
    }

    /// Bytes that it has to move for so many elements: classes are read, digits written, read, and
    /// numbers written.
    pub(crate) fn bytes(self, elements: u64) -> u64 {
        match self {
            Self::Histogram | Self::Scatter => elements * 9 / 2,
            Self::Count => elements * 4,
            Self::Gather => elements * 36,
            Self::Scan | Self::Offsets => 0,
        }
    }
}

/// The groups of one pass over the digits.
#[derive(Debug)]
struct Bound {
    histogram: BindGroup,
    scan: BindGroup,
    scatter: BindGroup,
}

/// Buffers bound.
#[derive(Debug)]
pub(crate) struct SortJob {
    passes: Vec<Bound>,
    count: Option<CountJob>,
    gather: Option<GatherJob>,
    tiles: [u32; 3],
}

/// Sorts what lies on the device: a stable sort, whose order depends on nothing but the classes.
#[derive(Debug)]
pub(crate) struct GpuSort {
    histogram: Kernel,
    scan: Kernel,
    scatter: Kernel,
    count: Option<GpuCount>,
    gather: Option<GpuGather>,
    is_moving: bool,
    classes: u32,
    passes: u32,
    tile: u32,
    digits: Buffer<u32>,
    tile_counts: Buffer<u32>,
    totals: Buffer<u32>,
    /// Keys between passes, and the order that is not the caller's.
    keys: [Buffer<u32>; 2],
    order: Buffer<u32>,
}

impl GpuSort {
    pub(crate) fn new(gpu: &Gpu, settings: &SortSettings) -> Result<Self> {
        Self::build(gpu, settings, false)
    }

    /// One that moves groups of 16 bytes too.
    pub(crate) fn moving(gpu: &Gpu, settings: &SortSettings) -> Result<Self> {
        Self::build(gpu, settings, true)
    }

    fn build(gpu: &Gpu, settings: &SortSettings, is_moving: bool) -> Result<Self> {
        let limits = gpu.limits();
        let most = limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        let scanning = SCANNING[usize::from(most >= SCANNING[1])];
        let threads = threads(gpu, settings.threads, THREADS)?;
        let passes = (u32::BITS - (settings.classes - 1).leading_zeros()).div_ceil(DIGIT_BITS).max(1);
        let piece = match is_moving {
            _ if passes > 1 => ScatterPiece::Carried,
            true => ScatterPiece::Moved,
            false => ScatterPiece::Alone,
        };
        let sources = [shaders::histogram(), shaders::scan(), shaders::scatter(piece)];
        let of_tiles = [("THREADS", f64::from(threads)), ("SIZE_AT", settings.size_at.into())];
        let of_scan = [of_tiles[0], of_tiles[1], ("SCANNING", scanning.into())];
        let constants = [&of_tiles[..], &of_scan, &of_tiles];
        let describe =
            |(source, constants)| KernelDescriptor { source, entry_points: &[], constants, checks: settings.checks };
        let descriptors: Vec<_> = sources.iter().zip(constants).map(describe).collect();
        let Ok([histogram, scan, scatter]) = <[Kernel; 3]>::try_from(Kernel::build_all(gpu, &descriptors)?) else {
            return Err(Error::TooLarge { what: "no kernels".to_owned() });
        };
        let is_gathering = is_moving && passes > 1;
        let gather = if is_gathering { Some(GpuGather::new(gpu, settings.size_at, settings.checks)?) } else { None };
        let count = if passes > 1 {
            let SortSettings { classes, size_at, checks, .. } = *settings;
            let settings =
                CountSettings { variant: Count::Tree, classes, size_at, threads: None, workgroups: None, checks };
            Some(GpuCount::new(gpu, &settings)?)
        } else {
            None
        };
        let buffer = |label| Buffer::new(label, storage());
        Ok(Self {
            histogram,
            scan,
            scatter,
            count,
            gather,
            is_moving,
            classes: settings.classes,
            passes,
            tile: threads * EACH,
            digits: buffer("digits"),
            tile_counts: buffer("counts of tiles"),
            totals: buffer("totals of digits"),
            keys: ["keys a", "keys b"].map(buffer),
            order: buffer("order between passes"),
        })
    }

    /// Binds buffers, and makes room for as many elements as `classes` has. A binding stays valid
    /// until it is dropped. Sorts of several bindings run one after another.
    pub(crate) fn bind(&mut self, gpu: &Gpu, buffers: SortBuffers<'_>) -> Result<SortJob> {
        self.bind_all(gpu, buffers, None)
    }

    /// The same of one that is [`GpuSort::moving`]: groups of 16 bytes, and where to; as many as
    /// `classes`.
    pub(crate) fn bind_moving(
        &mut self,
        gpu: &Gpu,
        buffers: SortBuffers<'_>,
        payload: [BindingResource<'_>; 2],
    ) -> Result<SortJob> {
        self.bind_all(gpu, buffers, Some(payload).filter(|_| self.is_moving))
    }

    fn bind_all(
        &mut self,
        gpu: &Gpu,
        buffers: SortBuffers<'_>,
        payload: Option<[BindingResource<'_>; 2]>,
    ) -> Result<SortJob> {
        let SortBuffers { size, classes, order, bounds, status } = buffers;
        let capacity = classes.capacity() / 4 * 4;
        let tiles = capacity.div_ceil(self.tile as usize);
        self.digits.reserve(gpu, tiles * ((self.tile / EACH) as usize))?;
        self.tile_counts.reserve(gpu, tiles.next_multiple_of(4) * DIGITS as usize)?;
        self.totals.reserve(gpu, DIGITS as usize)?;
        let between = if self.passes > 1 { capacity } else { 0 };
        self.keys[0].reserve(gpu, between)?;
        self.keys[1].reserve(gpu, if self.passes > 2 { capacity } else { 4 })?;
        self.order.reserve(gpu, between)?;
        let mut passes = Vec::with_capacity(self.passes as usize);
        for pass in 0..self.passes {
            let is_last = pass + 1 == self.passes;
            let mut settings = Buffer::new("settings", BufferUsages::UNIFORM | BufferUsages::COPY_DST);
            settings.write(
                gpu,
                &[Settings {
                    capacity: capacity as u32,
                    classes: self.classes,
                    shift: pass * DIGIT_BITS,
                    is_first: u32::from(pass == 0),
                    is_last: u32::from(is_last),
                }],
            )?;
            let from = if pass == 0 { classes } else { &self.keys[(pass as usize - 1) % 2] };
            let to = &self.keys[pass as usize % 2];
            // The last one writes the caller's; the one before it, what is not the caller's; and so
            // on.
            let is_callers = (self.passes - 1 - pass).is_multiple_of(2);
            let (written, other) = if is_callers { (order, &self.order) } else { (&self.order, order) };
            let histogram = self.histogram.bind_group(
                gpu,
                &[
                    ("settings", settings.binding()?),
                    ("size", size.binding()?),
                    ("keys", from.binding()?),
                    ("digits", self.digits.binding()?),
                    ("tile_counts", self.tile_counts.binding()?),
                    ("status", with_room(status, STATUS)?),
                ],
            )?;
            let bounds = with_room(bounds, 2 * self.classes as usize)?;
            let scan = self.scan.bind_group(
                gpu,
                &[
                    ("settings", settings.binding()?),
                    ("size", size.binding()?),
                    ("tile_counts", self.tile_counts.binding()?),
                    ("totals", self.totals.binding()?),
                    ("bounds", bounds.clone()),
                ],
            )?;
            let mut bindings = vec![
                ("settings", settings.binding()?),
                ("size", size.binding()?),
                ("digits", self.digits.binding()?),
                ("tile_counts", self.tile_counts.binding()?),
                ("totals", self.totals.binding()?),
                ("order", with_room(written, capacity)?),
            ];
            if self.passes == 1 {
                bindings.push(("bounds", bounds));
                if let Some([before, after]) = &payload {
                    bindings.extend([("before", before.clone()), ("after", after.clone())]);
                }
            } else {
                bindings.extend([
                    ("order_before", other.binding()?),
                    ("keys_before", from.binding()?),
                    ("keys", to.binding()?),
                ]);
            }
            let scatter = self.scatter.bind_group(gpu, &bindings)?;
            passes.push(Bound { histogram, scan, scatter });
        }
        let count = match &self.count {
            Some(count) => Some(count.bind(gpu, CountBuffers { size, classes, counts: bounds, status })?),
            None => None,
        };
        let gather = match (&self.gather, payload) {
            (Some(gather), Some(payload)) => Some(gather.bind_resources(gpu, size, order, payload)?),
            _ => None,
        };
        Ok(SortJob { passes, count, gather, tiles: rows(tiles.max(1) as u32) })
    }

    /// Sorts; `bounds` is written too.
    pub(crate) fn encode(&self, pass: &mut ComputePass<'_>, job: &SortJob) -> Result<()> {
        self.parts().try_for_each(|part| self.encode_part(pass, job, part))
    }

    /// The dispatches of a sort in their order, and of which pass over the digits.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, SortPart)> + use<> {
        let is_many = self.passes > 1;
        let many = [(0, SortPart::Count), (0, SortPart::Offsets)].into_iter().filter(move |_| is_many);
        let gather = self.gather.is_some().then_some((0, SortPart::Gather));
        let each = |pass| [SortPart::Histogram, SortPart::Scan, SortPart::Scatter].map(|part| (pass, part));
        (0..self.passes as usize).flat_map(each).chain(many).chain(gather)
    }

    /// One of [`GpuSort::parts`].
    pub(crate) fn encode_part(
        &self,
        pass: &mut ComputePass<'_>,
        job: &SortJob,
        (digit, part): (usize, SortPart),
    ) -> Result<()> {
        let Some(bound) = job.passes.get(digit) else { return Ok(()) };
        match part {
            SortPart::Histogram => self.histogram.dispatch(pass, "histogram", &bound.histogram, job.tiles)?,
            SortPart::Scan => self.scan.dispatch(pass, "scan", &bound.scan, [DIGITS, 1, 1])?,
            SortPart::Scatter => self.scatter.dispatch(pass, "scatter", &bound.scatter, job.tiles)?,
            SortPart::Offsets => self.scan.dispatch(pass, "offsets", &bound.scan, [1, 1, 1])?,
            SortPart::Count => {
                if let (Some(count), Some(job)) = (&self.count, &job.count) {
                    count.encode(pass, job)?;
                }
            }
            SortPart::Gather => {
                if let (Some(gather), Some(job)) = (&self.gather, &job.gather) {
                    gather.encode(pass, job)?;
                }
            }
        }
        Ok(())
    }
}

/// Brings groups of 16 bytes into an order.
#[derive(Debug)]
pub(crate) struct GpuGather {
    kernel: Kernel,
}

/// Buffers bound.
#[derive(Debug)]
pub(crate) struct GatherJob {
    group: BindGroup,
    workgroups: [u32; 3],
}

impl GpuGather {
    /// `size_at` as in [`SortSettings`].
    pub(crate) fn new(gpu: &Gpu, size_at: u32, checks: Checks) -> Result<Self> {
        let descriptor = KernelDescriptor {
            source: &shaders::gather(),
            entry_points: &[],
            constants: &[("THREADS", GATHERING.into()), ("SIZE_AT", size_at.into())],
            checks,
        };
        Ok(Self { kernel: Kernel::build(gpu, &descriptor)? })
    }

    /// `after[i] = before[order[i]]`, of groups of 16 bytes.
    pub(crate) fn bind<T: Pod>(
        &self,
        gpu: &Gpu,
        size: &Buffer<u32>,
        order: &Buffer<u32>,
        before: &Buffer<T>,
        after: &Buffer<T>,
    ) -> Result<GatherJob> {
        self.bind_resources(gpu, size, order, [before.binding()?, after.binding()?])
    }

    fn bind_resources(
        &self,
        gpu: &Gpu,
        size: &Buffer<u32>,
        order: &Buffer<u32>,
        [before, after]: [BindingResource<'_>; 2],
    ) -> Result<GatherJob> {
        let bindings = [("size", size.binding()?), ("order", order.binding()?), ("before", before), ("after", after)];
        let group = self.kernel.bind_group(gpu, &bindings)?;
        let workgroups = order.capacity().div_ceil(GATHERING as usize).max(1);
        Ok(GatherJob { group, workgroups: rows(workgroups as u32) })
    }

    pub(crate) fn encode(&self, pass: &mut ComputePass<'_>, job: &GatherJob) -> Result<()> {
        Ok(self.kernel.dispatch(pass, "gather", &job.group, job.workgroups)?)
    }
}

fn rows(workgroups: u32) -> [u32; 3] {
    [workgroups.min(ROW), workgroups.div_ceil(ROW), 1]
}
