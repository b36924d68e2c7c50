//! Uploads of large data: memory that the host writes once and the device reads over the bus.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use crate::allocation::Allocation;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::{MapOutcome, REMAPS};
use crate::status::Caught;

/// Staging memory of `T`. [`Upload::map`] it, write it from any number of threads, and
/// [`Upload::copy_to`] a buffer. Callers that come one after the other take a [`Upload::view`]
/// each.
///
/// On a discrete GPU, writing the mapping *is* the transfer over the bus: write each byte once, in
/// order.
#[derive(Debug)]
pub struct Upload<T: Pod> {
    label: String,
    usage: wgpu::BufferUsages,
    raw: Option<Allocation>,
    /// The device on which it is mapped.
    mapped_on: Option<Gpu>,
    /// The mapping that was requested for when the device is done.
    requested: Option<MapOutcome>,
    /// Whether a view of cached memory exists.
    seen: Arc<AtomicBool>,
    capacity: usize,
    element: PhantomData<T>,
}

/// Mapped staging memory.
#[derive(Debug)]
pub struct UploadView<T: Pod> {
    view: View,
    element: PhantomData<T>,
}

#[derive(Debug)]
enum View {
    Wgpu(wgpu::BufferViewMut),
    Cached(CachedView),
}

/// Memory of a buffer that is mapped for reading.
#[derive(Debug)]
struct CachedView {
    memory: NonNull<[u8]>,
    /// Owner of the memory.
    _buffer: wgpu::Buffer,
    seen: Arc<AtomicBool>,
}

impl Drop for CachedView {
    fn drop(&mut self) {
        self.seen.store(false, Ordering::Release);
    }
}

// SAFETY: the view has exclusive access to its memory, like a `Box`: `Upload` makes no second view
// while this one lives, and does not give the memory to the device.
#[expect(unsafe_code, reason = "mapped memory has no owner that could be sent")]
unsafe impl Send for CachedView {}

/// A part of mapped staging memory, for one thread to fill from its beginning.
#[derive(Debug)]
pub struct UploadPart<'a, T: Pod> {
    rest: wgpu::WriteOnly<'a, [u8]>,
    element: PhantomData<T>,
}

// SAFETY: a `WriteOnly` is an exclusive reference that cannot be read through. Like `&mut [u8]`, it
// may go to another thread. wgpu 30 states this for sized contents only. The marker field is
// zero-sized.
#[expect(unsafe_code, reason = "wgpu's view of mapped memory goes to other threads only as a sized one")]
unsafe impl<T: Pod + Send> Send for UploadPart<'_, T> {}

impl<T: Pod> Upload<T> {
    const SIZE: u64 = {
        assert!(size_of::<T>() != 0 && size_of::<T>().is_multiple_of(4), "staged elements are whole words");
        size_of::<T>() as u64
    };

    /// Makes staging memory without room.
    #[must_use]
    pub fn new(label: &str) -> Self {
        let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
        Self {
            label: label.to_owned(),
            usage,
            raw: None,
            mapped_on: None,
            requested: None,
            seen: Arc::default(),
            capacity: 0,
            element: PhantomData,
        }
    }

    /// Lets shaders read the memory directly, if the device has `MAPPABLE_PRIMARY_BUFFERS`. This
    /// saves a copy of small data, but reads are slower than from the device's own memory.
    #[must_use]
    pub fn readable_by_shaders(mut self, gpu: &Gpu) -> Self {
        if gpu.has(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            self.usage |= wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::UNIFORM;
        }
        self
    }

    /// Places the memory where the host caches it and the device copies it by itself. This needs
    /// Vulkan and `MAPPABLE_PRIMARY_BUFFERS`; otherwise nothing changes. By default the host writes
    /// into a discrete GPU's own memory, which saves a copy but is slower than the bus if several
    /// threads write a lot.
    #[must_use]
    pub fn cached(mut self, gpu: &Gpu) -> Self {
        if gpu.has(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) && gpu.is_vulkan() {
            // Memory that the host reads is cached. Memory that it also writes is not, because
            // wgpu's views of cached memory cannot be written.
            self.usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_SRC;
        }
        self
    }

    fn is_cached(&self) -> bool {
        self.usage.contains(wgpu::BufferUsages::MAP_READ)
    }

    /// Maps room for `len` elements. Waits for the device if it still reads earlier staged data.
    ///
    /// # Errors
    /// [`Error::BufferTooLarge`], [`Error::OutOfMemory`], [`Error::DeviceLost`]; [`Error::Map`],
    /// also if an earlier view still exists.
    pub fn map(&mut self, gpu: &Gpu, len: usize) -> Result<UploadView<T>, Error> {
        self.make_room(gpu, len)?;
        self.view(0..len.max(1))
    }

    /// Maps room for `len` elements at least, of which views are taken later.
    ///
    /// # Errors
    /// As [`Upload::map`].
    pub fn make_room(&mut self, gpu: &Gpu, len: usize) -> Result<(), Error> {
        let len = len.max(1);
        if self.seen.load(Ordering::Acquire) {
            return Err(self.still_seen());
        }
        if self.raw.is_none() || len > self.capacity {
            self.allocate(gpu, len, self.capacity as u64 * 3 / 2)?;
        } else if self.mapped_on.is_none() && !REMAPS {
            // New memory is mapped at creation.
            self.allocate(gpu, len, self.capacity as u64)?;
        }
        let failed = |message: String| match gpu.lost_after_failure() {
            Some(reason) => Error::DeviceLost { reason },
            None => Error::Map { what: self.label.clone(), message },
        };
        let Some(raw) = self.raw.as_deref() else { return Err(failed("there is no memory".to_owned())) };
        if self.mapped_on.is_none() {
            let outcome = match self.requested.take() {
                Some(outcome) => outcome,
                None => self.request(gpu, raw).map_err(|caught| caught.into_error(&self.label, raw.size(), failed))?,
            };
            if !outcome.is_known() {
                outcome.wait(gpu)?;
            }
            match outcome.take() {
                Some(Ok(())) => {}
                Some(Err(error)) => return Err(failed(error.to_string())),
                None => return Err(failed("the device did not answer".to_owned())),
            }
            self.mapped_on = Some(gpu.clone());
        }
        Ok(())
    }

    /// Requests the mapping for when the device is done with the work that was submitted. The next
    /// [`Upload::make_room`] need not ask the device then.
    pub fn map_when_done(&mut self, gpu: &Gpu) {
        if REMAPS && self.mapped_on.is_none() && self.requested.is_none() {
            // Without it, the next mapping finds the error.
            self.requested = self.raw.as_deref().and_then(|raw| self.request(gpu, raw).ok());
        }
    }

    fn request(&self, gpu: &Gpu, raw: &wgpu::Buffer) -> Result<MapOutcome, Caught> {
        let mode = if self.is_cached() { wgpu::MapMode::Read } else { wgpu::MapMode::Write };
        gpu.catch(|| MapOutcome::request(raw, mode, raw.size()))
    }

    /// Returns elements of mapped memory that no other view has. The first of them begins at a
    /// multiple of 8 bytes. Of cached memory there is one view, from the beginning on.
    ///
    /// # Errors
    /// [`Error::Map`] if the memory is not mapped, is too short, or has another view there.
    pub fn view(&self, elements: Range<usize>) -> Result<UploadView<T>, Error> {
        let failed = |message: String| Error::Map { what: self.label.clone(), message };
        let (Some(raw), Some(gpu)) = (self.raw.as_deref(), &self.mapped_on) else {
            return Err(failed("it is not mapped".to_owned()));
        };
        if elements.is_empty() || elements.end > self.capacity {
            return Err(failed(format!("it has {} elements, not {elements:?}", self.capacity)));
        }
        let bytes = elements.start as u64 * Self::SIZE..elements.end as u64 * Self::SIZE;
        let view = if self.is_cached() {
            let memory = gpu.mapped_memory(raw, bytes.end).filter(|_| bytes.start == 0);
            let memory = memory.ok_or_else(|| failed("its memory cannot be seen".to_owned()))?;
            if self.seen.swap(true, Ordering::AcqRel) {
                return Err(self.still_seen());
            }
            View::Cached(CachedView { memory, _buffer: raw.clone(), seen: Arc::clone(&self.seen) })
        } else {
            View::Wgpu(raw.get_mapped_range_mut(bytes).map_err(|error| match gpu.lost_after_failure() {
                Some(reason) => Error::DeviceLost { reason },
                None => failed(error.to_string()),
            })?)
        };
        Ok(UploadView { view, element: PhantomData })
    }

    /// Returns the capacity in elements.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    fn still_seen(&self) -> Error {
        Error::Map { what: self.label.clone(), message: "a view of it is still there".to_owned() }
    }

    /// Allocates room for `len` elements, and for `more` if there is enough memory.
    fn allocate(&mut self, gpu: &Gpu, len: usize, more: u64) -> Result<(), Error> {
        let limit = gpu.limits().max_buffer_size;
        let bytes = (len as u64).saturating_mul(Self::SIZE);
        if bytes > limit {
            return Err(Error::BufferTooLarge { what: self.label.clone(), bytes, limit });
        }
        let generous = (more * Self::SIZE).min(limit - limit % Self::SIZE).max(bytes);
        // Freed first, so that both need not fit at once.
        (self.raw, self.mapped_on, self.requested, self.capacity) = (None, None, None, 0);
        let descriptor = wgpu::BufferDescriptor {
            label: Some(&self.label),
            size: bytes,
            usage: self.usage,
            // Memory that cannot be written directly is filled by a copy.
            mapped_at_creation: !self.is_cached(),
        };
        let raw = gpu.allocate(&descriptor, generous)?;
        self.mapped_on = descriptor.mapped_at_creation.then(|| gpu.clone());
        self.capacity = (raw.size() / Self::SIZE) as usize;
        self.raw = Some(raw);
        Ok(())
    }

    /// Ends the mapping and encodes a copy of the first `len` elements to the beginning of
    /// `buffer`. Every [`UploadView`] must be dropped before.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if either buffer holds fewer; [`Error::Map`] if a view still
    /// exists.
    pub fn copy_to(&mut self, encoder: &mut wgpu::CommandEncoder, buffer: &Buffer<T>, len: usize) -> Result<(), Error> {
        if self.seen.load(Ordering::Acquire) {
            return Err(self.still_seen());
        }
        let held = self.capacity.min(buffer.capacity());
        let Some(raw) = self.raw.as_deref().filter(|_| len <= held) else {
            return Err(Error::BufferTooSmall { what: self.label.clone(), wanted: len, held });
        };
        if len > 0 {
            encoder.copy_buffer_to_buffer(raw, 0, buffer.raw()?, 0, len as u64 * Self::SIZE);
        }
        self.unmap();
        Ok(())
    }

    /// Ends the mapping. Every [`UploadView`] must be dropped before.
    pub fn unmap(&mut self) {
        if self.seen.load(Ordering::Acquire) {
            return;
        }
        if let (Some(raw), Some(gpu)) = (self.raw.as_deref(), self.mapped_on.take()) {
            gpu.unmap(raw);
        }
    }

    /// Returns the memory for a bind group; see [`Upload::readable_by_shaders`]. Unmap it before
    /// use.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if nothing was mapped before.
    ///
    /// # Safety
    /// Neither this buffer nor a copy of it is unmapped or destroyed while a view of the memory
    /// exists: the view would write to memory that is no longer there.
    #[expect(unsafe_code, reason = "the caller vouches for views of the memory")]
    pub unsafe fn raw(&self) -> Result<&wgpu::Buffer, Error> {
        self.raw.as_deref().ok_or_else(|| Error::BufferTooSmall { what: self.label.clone(), wanted: 1, held: 0 })
    }
}

impl<T: Pod> UploadView<T> {
    /// Splits the memory into consecutive parts of these lengths. A part ends at the end of the
    /// memory at the latest.
    pub fn parts(&mut self, lengths: impl IntoIterator<Item = usize>) -> Vec<UploadPart<'_, T>> {
        let whole = match &mut self.view {
            View::Wgpu(view) => view.slice(..),
            // SAFETY: the memory belongs to the buffer, which lives and stays mapped as long as the
            // view. Access is exclusive: there is one view at a time, it is borrowed here, and the
            // device does not get the memory.
            #[expect(unsafe_code, reason = "mapped memory is known by its address only")]
            View::Cached(view) => unsafe { wgpu::WriteOnly::new(view.memory) },
        };
        cut(whole, lengths)
    }
}

fn cut<T: Pod>(
    mut rest: wgpu::WriteOnly<'_, [u8]>,
    lengths: impl IntoIterator<Item = usize>,
) -> Vec<UploadPart<'_, T>> {
    let part = |length: usize| {
        let (part, after) = std::mem::take(&mut rest).split_at_most(length.saturating_mul(size_of::<T>()));
        rest = after;
        UploadPart { rest: part, element: PhantomData }
    };
    lengths.into_iter().map(part).collect()
}

/// `split_at` that stops at the end.
trait SplitAtMost: Sized {
    fn split_at_most(self, middle: usize) -> (Self, Self);
}

impl SplitAtMost for wgpu::WriteOnly<'_, [u8]> {
    fn split_at_most(self, middle: usize) -> (Self, Self) {
        let middle = middle.min(self.len());
        self.split_at(middle)
    }
}

impl<T: Pod> UploadPart<'_, T> {
    /// Appends elements to those written before. Returns false and writes nothing if they do not
    /// fit.
    #[must_use = "what does not fit is not written"]
    pub fn write(&mut self, elements: &[T]) -> bool {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        if bytes.len() > self.rest.len() {
            return false;
        }
        let (mut here, after) = std::mem::take(&mut self.rest).split_at(bytes.len());
        here.copy_from_slice(bytes);
        self.rest = after;
        true
    }
}

#[cfg(test)]
mod tests {
    //! Tests on plain memory, which Miri supports (CONTRIBUTING.md).

    use super::*;

    /// Returns the memory after threads wrote their numbers to parts of these lengths.
    fn written(words: usize, lengths: &[usize]) -> (Vec<u32>, Vec<usize>) {
        let mut memory = vec![0_u32; words];
        let parts = cut::<u32>(wgpu::WriteOnly::from_mut(bytemuck::cast_slice_mut(&mut memory)), lengths.to_vec());
        let fill = |(number, mut part): (usize, UploadPart<'_, u32>)| {
            let mut count = 0;
            while part.write(&[number as u32 + 1]) {
                count += 1;
            }
            assert!(part.write(&[]), "nothing always fits");
            count
        };
        let counts = std::thread::scope(|scope| {
            let threads: Vec<_> = parts.into_iter().enumerate().map(|part| scope.spawn(move || fill(part))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        (memory, counts)
    }

    #[test]
    fn threads_fill_their_parts_and_no_other() {
        let (memory, counts) = written(10, &[3, 0, 4, 2]);
        assert_eq!(memory, [1, 1, 1, 3, 3, 3, 3, 4, 4, 0]);
        assert_eq!(counts, [3, 0, 4, 2]);
        // A part is cut off at the end of the memory, however long it is.
        let (memory, counts) = written(4, &[1, usize::MAX, 7]);
        assert_eq!((memory, counts), (vec![1, 2, 2, 2], vec![1, 3, 0]));
        assert_eq!(written(0, &[]), (vec![], vec![]));
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut memory = [[0_u32; 2]; 3];
        {
            let view = wgpu::WriteOnly::from_mut(bytemuck::cast_slice_mut(&mut memory));
            let mut part = cut::<[u32; 2]>(view, [3]).remove(0);
            assert!(part.write(&[[1, 2]]));
            assert!(!part.write(&[[9, 9]; 3]));
            assert!(part.write(&[[3, 4], [5, 6]]));
            assert!(!part.write(&[[9, 9]]));
        }
        assert_eq!(memory, [[1, 2], [3, 4], [5, 6]]);
    }
}
