//! Kernels: pipelines that are checked against the adapter, and bindings by name.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::buffer::Buffer;
use crate::built::{Kernel, KernelDescriptor, Key};
use crate::error::Error;
use crate::gpu::Gpu;
use crate::reflect::{self, Binding, EntryPoint};
use crate::source::KernelSource;
use crate::status::lock;

/// Storage for a bind group between calls of [`Kernel::bind_group_in`]. It keeps the buffers of the
/// bind group alive.
#[derive(Debug, Default)]
pub struct BindGroupSlot(Option<CachedBindGroup>);

#[derive(Debug)]
struct CachedBindGroup {
    layout: wgpu::BindGroupLayout,
    bound: Vec<BoundResource>,
    group: wgpu::BindGroup,
}

/// A bound resource of a variable.
#[derive(Debug)]
struct BoundResource {
    name: String,
    buffer: wgpu::Buffer,
    offset: u64,
    size: Option<NonZero<u64>>,
}

impl BoundResource {
    fn new(name: &str, resource: &wgpu::BindingResource<'_>) -> Option<Self> {
        let wgpu::BindingResource::Buffer(binding) = resource else { return None };
        Some(Self { name: name.to_owned(), buffer: binding.buffer.clone(), offset: binding.offset, size: binding.size })
    }

    fn is(&self, name: &str, resource: &wgpu::BindingResource<'_>) -> bool {
        let wgpu::BindingResource::Buffer(binding) = resource else { return false };
        let place = (self.offset, self.size) == (binding.offset, binding.size);
        place && self.buffer == *binding.buffer && self.name == name
    }
}

impl CachedBindGroup {
    fn holds(&self, bindings: &[(&str, wgpu::BindingResource<'_>)]) -> bool {
        self.bound.len() == bindings.len()
            && self.bound.iter().zip(bindings).all(|(bound, (name, resource))| bound.is(name, resource))
    }
}

/// A kernel with a compiled module but without pipelines.
struct Prepared<'a> {
    descriptor: KernelDescriptor<'a>,
    bindings: Vec<Binding>,
    entries: Vec<EntryPoint>,
    module: wgpu::ShaderModule,
    layout: wgpu::BindGroupLayout,
    pipeline_layout: wgpu::PipelineLayout,
}

impl Kernel {
    /// Builds one kernel.
    ///
    /// # Errors
    /// [`Error::Shader`], [`Error::Binding`], [`Error::WorkgroupMemory`], [`Error::Limit`],
    /// [`Error::Pipeline`] or [`Error::DeviceLost`].
    pub fn build(gpu: &Gpu, descriptor: &KernelDescriptor<'_>) -> Result<Self, Error> {
        let mut kernels = Self::build_all(gpu, std::slice::from_ref(descriptor))?;
        kernels.pop().ok_or_else(|| descriptor.source.pipeline_error("nothing was built"))
    }

    /// Builds many kernels: modules and then pipelines in parallel. The order is kept. A kernel
    /// that the device has built before, or that is requested twice, is compiled once.
    ///
    /// # Errors
    /// As [`Kernel::build`]: the first error in the order of the descriptors.
    pub fn build_all(gpu: &Gpu, descriptors: &[KernelDescriptor<'_>]) -> Result<Vec<Self>, Error> {
        let built: Vec<Option<Self>> = descriptors.iter().map(|wanted| gpu.built_kernels().get(wanted)).collect();
        // Of equal descriptors the first is built.
        let keys: Vec<Key> = descriptors.iter().map(Key::new).collect();
        let first = |i: usize| keys.iter().position(|key| *key == keys[i]).unwrap_or(i);
        let missing: Vec<usize> = (0..descriptors.len()).filter(|&i| built[i].is_none() && first(i) == i).collect();
        let wanted: Vec<KernelDescriptor<'_>> = missing.iter().map(|&i| descriptors[i]).collect();
        let compiled = Self::compile_all(gpu, &wanted)?;
        for (descriptor, kernel) in wanted.iter().zip(&compiled) {
            gpu.built_kernels().add(descriptor, kernel);
        }
        let kernel = |(i, built): (usize, Option<Self>)| {
            built.or_else(|| missing.iter().position(|&m| m == first(i)).map(|at| compiled[at].clone()))
        };
        Ok(built.into_iter().enumerate().filter_map(kernel).collect())
    }

    fn compile_all(gpu: &Gpu, descriptors: &[KernelDescriptor<'_>]) -> Result<Vec<Self>, Error> {
        let prepared = in_parallel(descriptors, |descriptor| prepare(gpu, descriptor))?;
        let jobs: Vec<(&Prepared<'_>, &EntryPoint)> =
            prepared.iter().flat_map(|kernel| kernel.entries.iter().map(move |entry| (kernel, entry))).collect();
        let pipelines = in_parallel(&jobs, |&(kernel, entry)| pipeline(gpu, kernel, entry))?;
        let mut pipelines = pipelines.into_iter();
        Ok(prepared
            .into_iter()
            .map(|kernel| Self {
                name: kernel.descriptor.source.kernel().to_owned(),
                adapter: gpu.name().to_owned(),
                max_workgroups: gpu.limits().max_compute_workgroups_per_dimension,
                bindings: kernel.bindings,
                layout: kernel.layout,
                entries: kernel.entries.into_iter().zip(&mut pipelines).collect(),
            })
            .collect())
    }

    /// Returns the kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of its bindings, in the order of their numbers: all buffer variables of
    /// the WGSL.
    pub fn bindings(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|binding| binding.name.as_str())
    }

    /// Returns the names of its entry points.
    pub fn entry_points(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(entry, _)| entry.name.as_str())
    }

    /// Binds buffers to the WGSL variables of these names. Every variable needs one, in any order.
    ///
    /// # Errors
    /// [`Error::Binding`] if a name is missing, unknown or given twice, or if a buffer does not
    /// suit its variable.
    pub fn bind_group(
        &self,
        gpu: &Gpu,
        bindings: &[(&str, wgpu::BindingResource<'_>)],
    ) -> Result<wgpu::BindGroup, Error> {
        let error = |message: String| Error::Binding { kernel: self.name.clone(), message };
        let list = || self.bindings().collect::<Vec<_>>().join(", ");
        let mut entries: Vec<wgpu::BindGroupEntry<'_>> = Vec::with_capacity(bindings.len());
        for (name, resource) in bindings {
            let Some(binding) = self.bindings.iter().find(|binding| binding.name == *name) else {
                return Err(error(format!("there is no binding `{name}`; there are: {}", list())));
            };
            if entries.iter().any(|entry| entry.binding == binding.number) {
                return Err(error(format!("the binding `{name}` is given twice")));
            }
            entries.push(wgpu::BindGroupEntry { binding: binding.number, resource: resource.clone() });
        }
        let missing: Vec<&str> =
            self.bindings().filter(|name| !bindings.iter().any(|(given, _)| given == name)).collect();
        if !missing.is_empty() {
            return Err(error(format!("nothing is bound to: {}", missing.join(", "))));
        }
        let descriptor = wgpu::BindGroupDescriptor { label: Some(&self.name), layout: &self.layout, entries: &entries };
        gpu.catch(|| gpu.device().create_bind_group(&descriptor))
            .map_err(|caught| caught.into_error(&self.name, 0, error))
    }

    /// Returns the bind group of [`Kernel::bind_group`]. It is rebuilt only if a binding changed
    /// since the last call.
    ///
    /// # Errors
    /// As [`Kernel::bind_group`].
    pub fn bind_group_in<'a>(
        &self,
        gpu: &Gpu,
        slot: &'a mut BindGroupSlot,
        bindings: &[(&str, wgpu::BindingResource<'_>)],
    ) -> Result<&'a wgpu::BindGroup, Error> {
        let kept = slot.0.take().filter(|made| made.layout == self.layout && made.holds(bindings));
        let made = match kept {
            Some(made) => made,
            None => CachedBindGroup {
                layout: self.layout.clone(),
                group: self.bind_group(gpu, bindings)?,
                bound: bindings.iter().filter_map(|(name, resource)| BoundResource::new(name, resource)).collect(),
            },
        };
        Ok(&slot.0.insert(made).group)
    }

    /// Encodes one dispatch of `workgroups`.
    ///
    /// # Errors
    /// [`Error::Pipeline`] for an entry point that was not built, [`Error::Limit`] for too many
    /// workgroups.
    pub fn dispatch(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        entry_point: &str,
        group: &wgpu::BindGroup,
        workgroups: [u32; 3],
    ) -> Result<(), Error> {
        let pipeline = self.pipeline(entry_point)?;
        if let Some(&wanted) = workgroups.iter().find(|&&count| count > self.max_workgroups) {
            return Err(Error::Limit {
                adapter: self.adapter.clone(),
                limit: "max_compute_workgroups_per_dimension",
                wanted: wanted.into(),
                offered: self.max_workgroups.into(),
            });
        }
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.dispatch_workgroups(workgroups[0], workgroups[1], workgroups[2]);
        Ok(())
    }

    /// Encodes one dispatch whose number of workgroups is in three words of the buffer
    /// `workgroups`, from the word `first` on. An earlier kernel writes them.
    ///
    /// # Errors
    /// [`Error::Pipeline`] for an entry point that was not built, [`Error::BufferTooSmall`] if the
    /// buffer is too short.
    ///
    /// # Safety
    /// When the device reads the three words, they are at most
    /// `max_compute_workgroups_per_dimension` of the device. Nothing else checks them.
    #[expect(unsafe_code, reason = "the caller vouches for numbers that are on the device")]
    pub unsafe fn dispatch_indirect(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        entry_point: &str,
        group: &wgpu::BindGroup,
        workgroups: &Buffer<u32>,
        first: usize,
    ) -> Result<(), Error> {
        let pipeline = self.pipeline(entry_point)?;
        if workgroups.capacity() < first + 3 {
            return Err(workgroups.too_small(first + 3));
        }
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.dispatch_workgroups_indirect(workgroups.raw()?, 4 * first as u64);
        Ok(())
    }

    fn pipeline(&self, entry_point: &str) -> Result<&wgpu::ComputePipeline, Error> {
        self.entry(entry_point).map(|(_, pipeline)| pipeline).ok_or_else(|| Error::Pipeline {
            kernel: self.name.clone(),
            message: format!(
                "the entry point `{entry_point}` was not built; there are: {}",
                self.entry_points().collect::<Vec<_>>().join(", ")
            ),
        })
    }

    /// Returns the bytes of workgroup memory of an entry point; 0 for one that was not built.
    #[must_use]
    pub fn workgroup_memory(&self, entry_point: &str) -> u64 {
        self.entry(entry_point).map_or(0, |(entry, _)| entry.workgroup_memory)
    }

    /// Returns the size of a workgroup of an entry point; zeros for one that was not built.
    #[must_use]
    pub fn workgroup_size(&self, entry_point: &str) -> [u32; 3] {
        self.entry(entry_point).map_or([0; 3], |(entry, _)| entry.workgroup_size)
    }

    fn entry(&self, name: &str) -> Option<&(EntryPoint, wgpu::ComputePipeline)> {
        self.entries.iter().find(|(entry, _)| entry.name == name)
    }
}

/// Prepares everything but the pipelines, with every check that does not need the driver.
fn prepare<'a>(gpu: &Gpu, descriptor: &KernelDescriptor<'a>) -> Result<Prepared<'a>, Error> {
    let source = descriptor.source;
    let parsed = source.parse(gpu.capabilities())?;
    let bindings = reflect::bindings(source, &parsed)?;
    let names = reflect::entry_point_names(source, &parsed, descriptor.entry_points)?;
    let mut entries = Vec::with_capacity(names.len());
    for name in &names {
        let entry = reflect::entry_point(source, &parsed, name, descriptor.constants)?;
        check_limits(gpu, source, &entry)?;
        entries.push(entry);
    }

    let device = gpu.device();
    let layout_entries: Vec<wgpu::BindGroupLayoutEntry> = bindings
        .iter()
        .map(|binding| wgpu::BindGroupLayoutEntry {
            binding: binding.number,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: binding.kind,
                has_dynamic_offset: false,
                min_binding_size: binding.min_size,
            },
            count: None,
        })
        .collect();
    let label = Some(source.kernel());
    let shader = wgpu::ShaderModuleDescriptor { label, source: wgpu::ShaderSource::Wgsl(source.text().into()) };
    let (module, layout, pipeline_layout) = gpu
        .catch(|| {
            let module = if descriptor.checks.is_trusted {
                // SAFETY: the caller of `Checks::trusted` vouches for every kernel that is built
                // with its value.
                #[expect(unsafe_code, reason = "modules without wgpu's checks")]
                unsafe {
                    device.create_shader_module_trusted(shader, wgpu::ShaderRuntimeChecks::unchecked())
                }
            } else {
                device.create_shader_module(shader)
            };
            let layout =
                device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &layout_entries });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label,
                bind_group_layouts: &[Some(&layout)],
                ..Default::default()
            });
            (module, layout, pipeline_layout)
        })
        .map_err(|caught| caught.into_error(source.kernel(), 0, |message| source.pipeline_error(message)))?;
    Ok(Prepared { descriptor: *descriptor, bindings, entries, module, layout, pipeline_layout })
}

/// Checks workgroup memory. wgpu does not: a kernel with too much compiles, and computes wrong
/// results.
fn check_limits(gpu: &Gpu, source: &KernelSource, entry: &EntryPoint) -> Result<(), Error> {
    let limits = gpu.limits();
    let offered = u64::from(limits.max_compute_workgroup_storage_size);
    if entry.workgroup_memory > offered {
        return Err(Error::WorkgroupMemory {
            kernel: source.kernel().to_owned(),
            entry_point: entry.name.clone(),
            needed: entry.workgroup_memory,
            offered,
        });
    }
    let [x, y, z] = entry.workgroup_size.map(u64::from);
    let product = x.saturating_mul(y).saturating_mul(z);
    for (wanted, offered, limit) in [
        (x, limits.max_compute_workgroup_size_x, "max_compute_workgroup_size_x"),
        (y, limits.max_compute_workgroup_size_y, "max_compute_workgroup_size_y"),
        (z, limits.max_compute_workgroup_size_z, "max_compute_workgroup_size_z"),
        (product, limits.max_compute_invocations_per_workgroup, "max_compute_invocations_per_workgroup"),
    ] {
        if wanted > u64::from(offered) {
            return Err(Error::Limit { adapter: gpu.name().to_owned(), limit, wanted, offered: offered.into() });
        }
    }
    Ok(())
}

fn pipeline(gpu: &Gpu, kernel: &Prepared<'_>, entry: &EntryPoint) -> Result<wgpu::ComputePipeline, Error> {
    let source = kernel.descriptor.source;
    let descriptor = wgpu::ComputePipelineDescriptor {
        label: Some(&entry.name),
        layout: Some(&kernel.pipeline_layout),
        module: &kernel.module,
        entry_point: Some(&entry.name),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: kernel.descriptor.constants,
            // On Metal one thread would clear everything; kernels clear what they need with all
            // threads.
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    };
    gpu.catch(|| gpu.device().create_compute_pipeline(&descriptor))
        .map_err(|caught| caught.into_error(source.kernel(), 0, |message| source.pipeline_error(message)))
}

/// Runs `work` on every item, on as many threads as there are processors. Returns the results in
/// order, or the first error.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R, Error> + Sync) -> Result<Vec<R>, Error> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<R, Error>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let take = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(result)) = (items.get(place), results.get(place)) else {
                break;
            };
            let outcome = work(item);
            *lock(result) = Some(outcome);
        }
    };
    let helpers = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    thread::scope(|scope| {
        for _ in 1..helpers {
            // Compilers recurse, so stacks are large. If the system gives no thread, this thread
            // does its work.
            let _ = thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, take);
        }
        take();
    });
    results.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}
