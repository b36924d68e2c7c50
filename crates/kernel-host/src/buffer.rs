//! Typed device buffers that grow, and read-back to the host.

use std::marker::PhantomData;
use std::sync::Mutex;

use bytemuck::Pod;

use crate::allocation::Allocation;
use crate::error::Error;
use crate::gpu::Gpu;
use crate::poll::{MapOutcome, Submission};
use crate::status::lock;

/// A device buffer of `T`. It is allocated by the first reservation, and reallocated if a
/// reservation exceeds it.
///
/// A reallocation loses the contents, and earlier bind groups still hold the old buffer.
/// [`Buffer::reserve`] and [`Buffer::write`] return whether it happened.
#[derive(Debug)]
pub struct Buffer<T: Pod> {
    label: String,
    usage: wgpu::BufferUsages,
    raw: Option<Allocation>,
    capacity: usize,
    most_bytes: u64,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    const SIZE: u64 = {
        assert!(size_of::<T>() != 0, "a buffer element has to have a size");
        size_of::<T>() as u64
    };

    /// Makes a buffer without memory. [`Buffer::write`] needs `COPY_DST` in the usage,
    /// [`Readback::copy_from`] `COPY_SRC`.
    #[must_use]
    pub fn new(label: &str, usage: wgpu::BufferUsages) -> Self {
        Self { label: label.to_owned(), usage, raw: None, capacity: 0, most_bytes: u64::MAX, element: PhantomData }
    }

    /// Limits the bytes of the buffer, in addition to the device's limit.
    #[must_use]
    pub fn most_bytes(mut self, bytes: u64) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Makes room for `len` elements, at least one. Returns whether the buffer is new; a new buffer
    /// holds zeros. The buffer grows at least to twice its size, within the limits of the device.
    ///
    /// # Errors
    /// [`Error::BufferTooLarge`], and the buffer is as it was; [`Error::OutOfMemory`] or
    /// [`Error::DeviceLost`], and it has no room.
    pub fn reserve(&mut self, gpu: &Gpu, len: usize) -> Result<bool, Error> {
        let len = len.max(1);
        if self.has_room(len) {
            return Ok(false);
        }
        let limit = self.limit(gpu);
        let bytes = (len as u64).saturating_mul(Self::SIZE);
        if bytes > limit {
            return Err(Error::BufferTooLarge { what: self.label.clone(), bytes, limit });
        }
        let generous = (self.capacity as u64).saturating_mul(2).saturating_mul(Self::SIZE).min(limit).max(bytes);
        // Freed first, so that both need not fit at once.
        self.raw = None;
        self.capacity = 0;
        let descriptor = wgpu::BufferDescriptor {
            label: Some(&self.label),
            size: whole_words(bytes),
            usage: self.usage,
            mapped_at_creation: false,
        };
        let raw = gpu.allocate(&descriptor, whole_words(generous))?;
        // Padding at the end is not an element.
        self.capacity = usize::try_from(generous.min(raw.size()) / Self::SIZE).unwrap_or(len);
        self.raw = Some(raw);
        Ok(true)
    }

    /// Returns the device's limit in bytes for this use, in whole words.
    fn limit(&self, gpu: &Gpu) -> u64 {
        let limits = gpu.limits();
        let mut limit = limits.max_buffer_size;
        if self.usage.contains(wgpu::BufferUsages::STORAGE) {
            limit = limit.min(limits.max_storage_buffer_binding_size);
        } else if self.usage.contains(wgpu::BufferUsages::UNIFORM) {
            // A buffer for both uses is bound in parts, and a uniform binding is small.
            limit = limit.min(limits.max_uniform_buffer_binding_size);
        }
        limit = limit.min(self.most_bytes);
        limit - limit % wgpu::COPY_BUFFER_ALIGNMENT
    }

    /// Makes room for `data` and writes it to the beginning. Returns whether the buffer is new.
    ///
    /// # Errors
    /// As [`Buffer::reserve`]; [`Error::Validation`] if the usage lacks `COPY_DST`.
    pub fn write(&mut self, gpu: &Gpu, data: &[T]) -> Result<bool, Error> {
        let grown = self.reserve(gpu, data.len())?;
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let Some(raw) = self.raw.as_deref().filter(|_| !bytes.is_empty()) else {
            return Ok(grown);
        };
        let (words, rest) = bytes.split_at(bytes.len() - bytes.len() % wgpu::COPY_BUFFER_ALIGNMENT as usize);
        gpu.catch(|| {
            if !words.is_empty() {
                gpu.queue().write_buffer(raw, 0, words);
            }
            if !rest.is_empty() {
                let mut last = [0; wgpu::COPY_BUFFER_ALIGNMENT as usize];
                last[..rest.len()].copy_from_slice(rest);
                gpu.queue().write_buffer(raw, words.len() as u64, &last);
            }
        })
        .map_err(|caught| {
            caught.into_error(&self.label, bytes.len() as u64, |message| Error::Validation { message })
        })?;
        Ok(grown)
    }

    /// Returns the whole buffer, for a bind group.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if no room was reserved.
    pub fn binding(&self) -> Result<wgpu::BindingResource<'_>, Error> {
        Ok(self.raw()?.as_entire_binding())
    }

    /// Returns wgpu's buffer.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if no room was reserved.
    pub fn raw(&self) -> Result<&wgpu::Buffer, Error> {
        self.raw.as_deref().ok_or_else(|| self.too_small(1))
    }

    /// Returns the capacity in elements.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns whether [`Buffer::reserve`] would keep the buffer.
    #[must_use]
    pub fn has_room(&self, len: usize) -> bool {
        self.raw.is_some() && len.max(1) <= self.capacity
    }

    /// Returns the bytes on the device.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.raw.as_deref().map_or(0, wgpu::Buffer::size)
    }

    /// Returns the label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn too_small(&self, wanted: usize) -> Error {
        Error::BufferTooSmall { what: self.label.clone(), wanted, held: self.capacity }
    }

    /// Returns the bytes of the first `len` elements in whole words, if the buffer holds as many.
    fn span(&self, len: usize) -> Result<u64, Error> {
        if len > self.capacity {
            return Err(self.too_small(len));
        }
        Ok(whole_words(len as u64 * Self::SIZE))
    }
}

fn whole_words(bytes: u64) -> u64 {
    bytes.next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT)
}

/// A buffer for reading results on the host. Copy into it, submit, then read.
#[derive(Debug)]
pub struct Readback<T: Pod> {
    staging: Buffer<T>,
    /// The mapping of so many bytes that was requested for when the device is done.
    requested: Mutex<Option<(MapOutcome, u64)>>,
}

/// Unmaps when dropped, so that the buffer stays usable if a future is dropped midway.
struct Mapping<'a> {
    gpu: &'a Gpu,
    raw: &'a wgpu::Buffer,
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        self.gpu.unmap(self.raw);
    }
}

impl<T: Pod> Readback<T> {
    /// Makes a buffer without memory.
    #[must_use]
    pub fn new(label: &str) -> Self {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        Self { staging: Buffer::new(label, usage), requested: Mutex::default() }
    }

    /// Lets shaders write to the buffer directly, if the device has `MAPPABLE_PRIMARY_BUFFERS`.
    /// This saves a copy.
    #[must_use]
    pub fn writable_by_shaders(mut self, gpu: &Gpu) -> Self {
        if gpu.has(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS) {
            self.staging.usage |= wgpu::BufferUsages::STORAGE;
        }
        self
    }

    /// Returns the buffer for a bind group; see [`Readback::writable_by_shaders`].
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if no room was reserved.
    pub fn binding(&self) -> Result<wgpu::BindingResource<'_>, Error> {
        self.staging.binding()
    }

    /// Makes room for `len` elements.
    ///
    /// # Errors
    /// As [`Buffer::reserve`].
    pub fn reserve(&mut self, gpu: &Gpu, len: usize) -> Result<bool, Error> {
        self.staging.reserve(gpu, len)
    }

    /// Returns the capacity in elements.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.staging.capacity()
    }

    /// Encodes a copy of the first `len` elements of `buffer`.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if either buffer holds fewer.
    pub fn copy_from(&self, encoder: &mut wgpu::CommandEncoder, buffer: &Buffer<T>, len: usize) -> Result<(), Error> {
        let bytes = buffer.span(len)?.max(self.staging.span(len)?);
        if bytes > 0 {
            encoder.copy_buffer_to_buffer(buffer.raw()?, 0, self.staging.raw()?, 0, bytes);
        }
        Ok(())
    }

    /// Encodes a copy of the first `len` elements of `buffer`, of any type, to element `at` of this
    /// buffer. Many buffers can be read in one mapping this way.
    ///
    /// # Errors
    /// [`Error::BufferTooSmall`] if either buffer holds fewer.
    pub fn gather<U: Pod>(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        buffer: &Buffer<U>,
        len: usize,
        at: usize,
    ) -> Result<(), Error> {
        let bytes = buffer.span(len)?;
        let from = self.staging.span(at)?;
        let end = usize::try_from(from + bytes).unwrap_or(usize::MAX).div_ceil(size_of::<T>());
        self.staging.span(end)?;
        if bytes > 0 {
            encoder.copy_buffer_to_buffer(buffer.raw()?, 0, self.staging.raw()?, from, bytes);
        }
        Ok(())
    }

    /// Blocks until `submission` is done and returns the first `len` elements.
    ///
    /// # Errors
    /// As [`Gpu::wait`]; [`Error::BufferTooSmall`]; [`Error::Map`].
    pub fn read(&self, gpu: &Gpu, submission: &Submission, len: usize) -> Result<Vec<T>, Error> {
        gpu.wait(submission)?;
        self.read_done(gpu, len)
    }

    /// Reads as [`Readback::read`] does, after the submission was awaited.
    ///
    /// # Errors
    /// As [`Readback::read`].
    pub fn read_done(&self, gpu: &Gpu, len: usize) -> Result<Vec<T>, Error> {
        self.look(gpu, len, <[T]>::to_vec)
    }

    /// Calls `then` with the first `len` elements in mapped memory, after a submission was awaited.
    /// Use it to copy elements elsewhere on several threads.
    ///
    /// # Errors
    /// As [`Readback::read`].
    pub fn look<R>(&self, gpu: &Gpu, len: usize, then: impl FnOnce(&[T]) -> R) -> Result<R, Error> {
        let Some((mapping, outcome, bytes)) = self.map(gpu, len)? else {
            return Ok(then(&[]));
        };
        if !outcome.is_known() {
            outcome.wait(gpu)?;
        }
        self.finish(gpu, mapping, &outcome, bytes, len, then)
    }

    /// [`Readback::read`] as a future, on any executor. Dropping it is safe at any time.
    ///
    /// # Errors
    /// As [`Readback::read`].
    pub async fn read_async(&self, gpu: &Gpu, submission: &Submission, len: usize) -> Result<Vec<T>, Error> {
        gpu.wait_async(submission).await?;
        let Some((mapping, outcome, bytes)) = self.map(gpu, len)? else {
            return Ok(Vec::new());
        };
        outcome.wait_async(gpu).await?;
        self.finish(gpu, mapping, &outcome, bytes, len, <[T]>::to_vec)
    }

    /// Requests the mapping of `len` elements; None for 0.
    fn map<'a>(&'a self, gpu: &'a Gpu, len: usize) -> Result<Option<(Mapping<'a>, MapOutcome, u64)>, Error> {
        let bytes = self.staging.span(len)?;
        if bytes == 0 {
            return Ok(None);
        }
        let raw = self.staging.raw()?;
        let failed = |message| Error::Map { what: self.staging.label.clone(), message };
        let outcome = match lock(&self.requested).take() {
            Some((outcome, requested)) if requested >= bytes => outcome,
            Some(_) => return Err(failed("fewer elements were requested".to_owned())),
            None => gpu
                .catch(|| MapOutcome::request(raw, wgpu::MapMode::Read, bytes))
                .map_err(|caught| caught.into_error(&self.staging.label, bytes, failed))?,
        };
        Ok(Some((Mapping { gpu, raw }, outcome, bytes)))
    }

    /// Requests the mapping of the first `len` elements for when the device is done with the work
    /// that was submitted. They must be read once before the buffer is used again; reading them
    /// need not ask the device then.
    ///
    /// # Errors
    /// As [`Readback::read`].
    pub fn map_when_done(&self, gpu: &Gpu, len: usize) -> Result<(), Error> {
        if let Some((mapping, outcome, bytes)) = self.map(gpu, len)? {
            // It is unmapped after it was read.
            std::mem::forget(mapping);
            *lock(&self.requested) = Some((outcome, bytes));
        }
        Ok(())
    }

    fn finish<R>(
        &self,
        gpu: &Gpu,
        mapping: Mapping<'_>,
        outcome: &MapOutcome,
        bytes: u64,
        len: usize,
        then: impl FnOnce(&[T]) -> R,
    ) -> Result<R, Error> {
        let failed = |message: String| match gpu.lost_after_failure() {
            Some(reason) => Error::DeviceLost { reason },
            None => Error::Map { what: self.staging.label.clone(), message },
        };
        match outcome.take() {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                // The buffer was never mapped.
                std::mem::forget(mapping);
                return Err(failed(error.to_string()));
            }
            None => return Err(failed("the device did not answer".to_owned())),
        }
        let view = mapping.raw.get_mapped_range(0..bytes).map_err(|error| failed(error.to_string()))?;
        let bytes = &view[..len * size_of::<T>()];
        Ok(match bytemuck::try_cast_slice(bytes) {
            Ok(elements) => then(elements),
            // Mapped memory is aligned more strictly than any T here needs; if it were not, copy
            // bytewise.
            Err(_) => {
                let mut elements = vec![T::zeroed(); len];
                bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
                then(&elements)
            }
        })
    }
}
