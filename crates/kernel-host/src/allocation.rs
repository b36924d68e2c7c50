//! Buffers on the device, whose bytes are counted.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::error::Error;
use crate::gpu::Gpu;
use crate::memory::CountedBytes;

/// A buffer on the device, counted while it exists.
#[derive(Debug)]
pub(crate) struct Allocation {
    raw: wgpu::Buffer,
    _taken: CountedBytes,
}

impl Deref for Allocation {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.raw
    }
}

impl Gpu {
    /// Returns the bytes of all buffers on the device: of every [`Buffer`](crate::Buffer),
    /// [`Readback`](crate::Readback), [`Upload`](crate::Upload) and [`Timer`](crate::Timer). If the
    /// device still uses a dropped buffer, it frees the memory slightly later than this number
    /// falls.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory().used.load(Ordering::Relaxed)
    }

    /// Limits the total bytes of these buffers. An allocation beyond the limit is
    /// [`Error::OutOfMemory`], as on a full device. Existing buffers stay. Use it on a device that
    /// other programs share.
    pub fn limit_memory(&self, bytes: u64) {
        self.memory().most.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether the backend is Vulkan.
    pub(crate) fn is_vulkan(&self) -> bool {
        #[cfg(any(target_os = "linux", target_os = "android", windows))]
        {
            // SAFETY: the device is only read.
            #[expect(unsafe_code, reason = "what lies under wgpu is its own")]
            unsafe { self.device().as_hal::<wgpu::hal::api::Vulkan>() }.is_some()
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
        false
    }

    /// Returns the address of a mapped buffer. None if the backend is not Vulkan, or if its memory
    /// is not coherent, so that writes would have to be flushed.
    pub(crate) fn mapped_memory(&self, buffer: &wgpu::Buffer, bytes: u64) -> Option<NonNull<[u8]>> {
        #[cfg(any(target_os = "linux", target_os = "android", windows))]
        {
            use wgpu::hal::Device as _;
            use wgpu::hal::api::Vulkan;
            if bytes > buffer.size() {
                return None;
            }
            // SAFETY: wgpu has mapped the buffer and keeps it mapped until it is unmapped. The call
            // only reads the address of the memory; neither device nor buffer change. The range is
            // the buffer's.
            #[expect(unsafe_code, reason = "wgpu's views of memory that is mapped for reading cannot be written")]
            let mapping = unsafe {
                let (device, buffer) = (self.device().as_hal::<Vulkan>()?, buffer.as_hal::<Vulkan>()?);
                device.map_buffer(&buffer, 0..bytes).ok()?
            };
            let len = usize::try_from(bytes).ok()?;
            Some(NonNull::slice_from_raw_parts(mapping.ptr, len)).filter(|_| mapping.is_coherent)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
        {
            let _ = (buffer, bytes);
            None
        }
    }

    /// Allocates a buffer of `generous` bytes, or of the size in the descriptor if memory does not
    /// suffice.
    pub(crate) fn allocate(&self, descriptor: &wgpu::BufferDescriptor<'_>, generous: u64) -> Result<Allocation, Error> {
        let larger = wgpu::BufferDescriptor { size: generous, ..descriptor.clone() };
        match self.allocate_exactly(&larger) {
            Err(Error::OutOfMemory { .. }) if generous > descriptor.size => self.allocate_exactly(descriptor),
            outcome => outcome,
        }
    }

    fn allocate_exactly(&self, descriptor: &wgpu::BufferDescriptor<'_>) -> Result<Allocation, Error> {
        let (what, bytes) = (descriptor.label.unwrap_or_default(), descriptor.size);
        let none_left = |allowed| Error::OutOfMemory { what: what.to_owned(), bytes, allowed: Some(allowed) };
        let taken = self.memory().take(bytes).map_err(none_left)?;
        let raw = self
            .catch(|| self.device().create_buffer(descriptor))
            .map_err(|caught| caught.into_error(what, bytes, |message| Error::Validation { message }))?;
        Ok(Allocation { raw, _taken: taken })
    }
}
