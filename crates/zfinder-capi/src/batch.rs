//! Batches of a caller.

use std::ffi::c_void;

use zfinder::columns::{Coordinate, LayerIndex};
use zfinder::{BatchView, Columns, PhiWindow, Results, RoiBatch, RoiDescriptor, RoiId, ZFinder};

use crate::failure::{Failure, Outcome};
use crate::memory;
use crate::types::{
    ZF_CARTESIAN, ZF_FLOAT, ZF_LAYER_U8, ZF_WINDOW_CONFIG, ZF_WINDOW_FULL, ZF_WINDOW_RANGE, ZF_WINDOW_SPACEPOINTS,
    zf_batch, zf_code, zf_roi,
};

/// A layer that no detector has.
const NO_LAYER: u8 = u8::MAX;

/// Three columns of coordinates.
enum Coordinates<'a> {
    F32([&'a [f32]; 3]),
    F64([&'a [f64]; 3]),
}

/// A column of layers.
enum LayerColumn<'a> {
    Bytes(&'a [u8]),
    Words(&'a [u32]),
}

/// Borrowed columns of a caller.
pub(crate) struct Input<'a> {
    is_cartesian: bool,
    coordinates: Coordinates<'a>,
    layers: LayerColumn<'a>,
}

/// Offsets and descriptors of RoIs.
#[derive(Default)]
pub(crate) struct BatchRois {
    offsets: Vec<usize>,
    descriptors: Vec<RoiDescriptor>,
}

/// Memory of a search, which the next search uses again.
#[derive(Default)]
pub(crate) struct Scratch {
    rois: BatchRois,
    layers: Vec<u8>,
    batch: RoiBatch,
}

impl<'a> Input<'a> {
    /// Borrows the columns of a batch, and reads its RoIs.
    ///
    /// # Safety
    /// The pointers are NULL or have as many elements as the batch says, which nobody changes while
    /// the columns live.
    pub(crate) unsafe fn read(batch: &zf_batch, rois: &mut BatchRois) -> Outcome<Self> {
        memory::check_size::<zf_roi>("batch->roi_size", batch.roi_size)?;
        if batch.flags & !(ZF_CARTESIAN | ZF_FLOAT | ZF_LAYER_U8) != 0 || batch.reserved != 0 {
            return Err(Failure::argument("batch->flags or batch->reserved has a bit that this library does not know"));
        }
        // SAFETY: the promise of this function's caller.
        unsafe { rois.read(batch) }?;
        let is_cartesian = batch.flags & ZF_CARTESIAN != 0;
        let coordinates = if batch.flags & ZF_FLOAT != 0 {
            // SAFETY: the flag says that these are columns of f32.
            Coordinates::F32(unsafe { coordinates(batch) }?)
        } else {
            // SAFETY: without the flag these are columns of f64.
            Coordinates::F64(unsafe { coordinates(batch) }?)
        };
        let layers = if batch.flags & ZF_LAYER_U8 != 0 {
            // SAFETY: the flag says that this is a column of u8.
            LayerColumn::Bytes(unsafe { memory::column("batch->layer", batch.layer.cast(), batch.spacepoints) }?)
        } else {
            // SAFETY: without the flag this is a column of u32.
            LayerColumn::Words(unsafe { memory::column("batch->layer", batch.layer.cast(), batch.spacepoints) }?)
        };
        Ok(Self { is_cartesian, coordinates, layers })
    }

    /// Returns whether a batch with these columns keeps coordinates in f32. rho and phi of x and y
    /// are f64.
    pub(crate) fn is_f32(&self) -> bool {
        !self.is_cartesian && matches!(self.coordinates, Coordinates::F32(_))
    }

    /// Appends the RoIs to a batch.
    pub(crate) fn append(&self, rois: &BatchRois, batch: &mut RoiBatch) -> Outcome<()> {
        match (&self.coordinates, &self.layers) {
            (Coordinates::F32(columns), LayerColumn::Bytes(layers)) => self.extend(rois, *columns, layers, batch),
            (Coordinates::F32(columns), LayerColumn::Words(layers)) => self.extend(rois, *columns, layers, batch),
            (Coordinates::F64(columns), LayerColumn::Bytes(layers)) => self.extend(rois, *columns, layers, batch),
            (Coordinates::F64(columns), LayerColumn::Words(layers)) => self.extend(rois, *columns, layers, batch),
        }
    }

    fn extend<T: Coordinate, L: LayerIndex>(
        &self,
        rois: &BatchRois,
        [a, b, z]: [&[T]; 3],
        layers: &[L],
        batch: &mut RoiBatch,
    ) -> Outcome<()> {
        let columns =
            if self.is_cartesian { Columns::cartesian(a, b, z, layers) } else { Columns::cylindrical(a, b, z, layers) };
        Ok(batch.extend_columns(&rois.descriptors, &rois.offsets, columns?)?)
    }
}

/// Borrows three columns of coordinates.
///
/// # Safety
/// As [`memory::column`].
unsafe fn coordinates<'a, T>(batch: &zf_batch) -> Outcome<[&'a [T]; 3]> {
    let column = |name, pointer: *const c_void| {
        // SAFETY: the promise of this function's caller.
        unsafe { memory::column(name, pointer.cast::<T>(), batch.spacepoints) }
    };
    Ok([
        column("batch->rho_or_x", batch.rho_or_x)?,
        column("batch->phi_or_y", batch.phi_or_y)?,
        column("batch->z", batch.z)?,
    ])
}

impl BatchRois {
    /// Reads offsets and descriptions. The library checks that offsets ascend.
    ///
    /// # Safety
    /// As [`Input::read`].
    unsafe fn read(&mut self, batch: &zf_batch) -> Outcome<()> {
        self.offsets.clear();
        match (batch.rois, batch.offsets.is_null()) {
            (0, true) => self.offsets.push(0),
            (1, true) => self.offsets.extend([0, batch.spacepoints]),
            (rois, _) => {
                let count = rois.checked_add(1).ok_or_else(|| Failure::argument("batch->rois is too large"))?;
                // SAFETY: the promise of this function's caller.
                let offsets = unsafe { memory::column("batch->offsets", batch.offsets, count) }?;
                // An offset that exceeds the address space also exceeds the number of spacepoints.
                self.offsets.extend(offsets.iter().map(|&offset| usize::try_from(offset).unwrap_or(usize::MAX)));
            }
        }
        self.descriptors.clear();
        if batch.roi.is_null() {
            let descriptor =
                |index| RoiDescriptor { id: RoiId { event_id: index as u64, roi_id: 0 }, ..RoiDescriptor::default() };
            self.descriptors.extend((0..batch.rois).map(descriptor));
            return Ok(());
        }
        // SAFETY: the promise of this function's caller.
        let rois = unsafe { memory::column("batch->roi", batch.roi, batch.rois) }?;
        for (index, roi) in rois.iter().enumerate() {
            let window = match roi.window {
                ZF_WINDOW_CONFIG => None,
                ZF_WINDOW_FULL => Some(PhiWindow::FullScan),
                ZF_WINDOW_SPACEPOINTS => Some(PhiWindow::FromSpacepoints),
                ZF_WINDOW_RANGE => {
                    let window = PhiWindow::new(roi.phi_min, roi.phi_max);
                    let failure = |error| Failure::new(zf_code::ZF_COLUMNS, format!("RoI {index}: {error}"));
                    Some(window.map_err(failure)?)
                }
                other => return Err(Failure::argument(format!("RoI {index}: {other} is no window"))),
            };
            self.descriptors.push(RoiDescriptor {
                id: RoiId { event_id: roi.event_id, roi_id: roi.roi_id },
                window,
                eta: roi.eta,
                z_range: (roi.has_z_range != 0).then_some((roi.z_min_mm, roi.z_max_mm)),
            });
        }
        Ok(())
    }
}

impl Scratch {
    /// Searches the RoIs of a caller. Columns rho, phi, z are searched where they are.
    ///
    /// # Safety
    /// As [`Input::read`].
    pub(crate) unsafe fn search(&mut self, finder: &ZFinder, batch: &zf_batch, results: &mut Results) -> Outcome<()> {
        // SAFETY: the promise of this function's caller.
        let input = unsafe { self.read(batch) }?;
        Ok(finder.find_batch_into(self.view(&input)?, results)?)
    }

    /// Borrows the columns of a batch, and reads its RoIs.
    ///
    /// # Safety
    /// As [`Input::read`].
    pub(crate) unsafe fn read<'a>(&mut self, batch: &zf_batch) -> Outcome<Input<'a>> {
        // SAFETY: the promise of this function's caller.
        unsafe { Input::read(batch, &mut self.rois) }
    }

    /// Returns the RoIs that were read with these columns. Columns rho, phi, z stay where they are.
    pub(crate) fn view<'a>(&'a mut self, input: &Input<'a>) -> Outcome<BatchView<'a>> {
        if input.is_cartesian {
            self.batch.clear();
            input.append(&self.rois, &mut self.batch)?;
            return Ok((&self.batch).into());
        }
        let layers = match input.layers {
            LayerColumn::Bytes(layers) => layers,
            LayerColumn::Words(layers) => {
                self.layers.clear();
                self.layers.extend(layers.iter().map(|&layer| u8::try_from(layer).unwrap_or(NO_LAYER)));
                &self.layers
            }
        };
        let rois = &self.rois;
        Ok(match input.coordinates {
            Coordinates::F32(columns) => view(rois, columns, layers)?,
            Coordinates::F64(columns) => view(rois, columns, layers)?,
        })
    }
}

fn view<'a, T: Coordinate>(
    rois: &'a BatchRois,
    [rho, phi, z]: [&'a [T]; 3],
    layers: &'a [u8],
) -> zfinder::Result<BatchView<'a>> {
    BatchView::new(&rois.descriptors, &rois.offsets, Columns::cylindrical(rho, phi, z, layers)?)
}
