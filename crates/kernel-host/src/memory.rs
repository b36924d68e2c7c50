//! Memory on the device: counted, and refused beyond what is allowed.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::gpu::Gpu;

/// Bytes of the buffers that live, and the most that there may be.
#[derive(Debug)]
pub(crate) struct Memory {
    used: AtomicU64,
    most: AtomicU64,
}

impl Default for Memory {
    fn default() -> Self {
        Self { used: AtomicU64::new(0), most: AtomicU64::new(u64::MAX) }
    }
}

impl Memory {
    /// Counts so many bytes for as long as what is returned lives. The error is the most that there may be.
    fn take(self: &Arc<Self>, bytes: u64) -> Result<Taken, u64> {
        let most = self.most.load(Ordering::Relaxed);
        let more = |used: u64| used.checked_add(bytes).filter(|&used| used <= most);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken { bytes, of: Arc::clone(self) }),
            Err(_) => Err(most),
        }
    }
}

/// Bytes that are counted.
#[derive(Debug)]
struct Taken {
    bytes: u64,
    of: Arc<Memory>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A buffer of the device, counted for as long as it is held.
#[derive(Debug)]
pub(crate) struct Allocation {
    raw: wgpu::Buffer,
    _taken: Taken,
}

impl Deref for Allocation {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.raw
    }
}

impl Gpu {
    /// Bytes of the buffers that live on the device: of every [`Buffer`](crate::Buffer),
    /// [`Readback`](crate::Readback), [`Upload`](crate::Upload) and [`Timer`](crate::Timer). What the device still works
    /// on when its buffers are dropped is freed a little later than it is subtracted here.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.memory().used.load(Ordering::Relaxed)
    }

    /// Allows these buffers so many bytes together, from now on: more is [`Error::OutOfMemory`], as if the device had no
    /// more. For a device that is shared with others. What is there already stays.
    pub fn limit_memory(&self, bytes: u64) {
        self.memory().most.store(bytes, Ordering::Relaxed);
    }

    /// Whether the backend is Vulkan.
    pub(crate) fn is_vulkan(&self) -> bool {
        #[cfg(any(target_os = "linux", target_os = "android", windows))]
        {
            // SAFETY: the device is asked for and not touched.
            #[expect(unsafe_code, reason = "what lies under wgpu is its own")]
            unsafe { self.device().as_hal::<wgpu::hal::api::Vulkan>() }.is_some()
        }
        #[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
        false
    }

    /// The first bytes of a buffer that is mapped. None if the backend is not Vulkan, or writes would have to be flushed, which
    /// they need not be in memory that it maps for reading.
    pub(crate) fn mapped_memory(&self, buffer: &wgpu::Buffer, bytes: u64) -> Option<NonNull<[u8]>> {
        #[cfg(any(target_os = "linux", target_os = "android", windows))]
        {
            use wgpu::hal::Device as _;
            use wgpu::hal::api::Vulkan;
            if bytes > buffer.size() {
                return None;
            }
            // SAFETY: wgpu has mapped the buffer and keeps it so until it is unmapped; its memory is asked for where it already is,
            // and neither device nor buffer are changed. The range is the buffer's.
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

    /// A buffer of `generous` bytes or, where there is no memory for these, of the size in the descriptor.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_never_take_more_than_there_is() {
        let memory = Arc::new(Memory::default());
        memory.most.store(100, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for first in 1..4 {
                let memory = &memory;
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for bytes in (0..40).map(|i| (first * 37 + i * 13) % 60) {
                        match memory.take(bytes) {
                            Ok(taken) => held.push(taken),
                            Err(most) => {
                                assert_eq!(most, 100);
                                held.clear();
                            }
                        }
                        assert!(memory.used.load(Ordering::Relaxed) <= 100);
                    }
                });
            }
        });
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
        let all = memory.take(100).expect("all of it");
        assert!(memory.take(1).is_err() && memory.take(u64::MAX).is_err());
        drop((memory.take(0).expect("nothing"), all));
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
    }
}
