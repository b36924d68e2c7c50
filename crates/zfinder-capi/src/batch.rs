//! Batches of a caller.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::c_void;

use zfinder::columns::{Coordinate, LayerIndex};
use zfinder::config::Tracklets;
use zfinder::region::{Calorimeter, ObjectKind, Region, SeedObject};
use zfinder::{BatchView, Columns, Config, PhiWindow, Results, RoiBatch, RoiDescriptor, RoiId, ZFinder};

use crate::failure::{Failure, Outcome};
use crate::memory;
use crate::types::{
    ZF_CARTESIAN, ZF_FLOAT, ZF_LAYER_U8, ZF_WINDOW_CONFIG, ZF_WINDOW_FULL, ZF_WINDOW_RANGE, ZF_WINDOW_SPACEPOINTS,
    zf_batch, zf_code, zf_object, zf_roi,
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

/// Borrowed columns.
enum Points<'a> {
    Columns { coordinates: Coordinates<'a>, layers: LayerColumn<'a> },
    Strided(Strided<'a>),
}

/// Members of structures: elements at equal distances, as bytes.
struct Strided<'a> {
    coordinates: [&'a [u8]; 3],
    coordinate_stride: usize,
    is_f32: bool,
    layers: &'a [u8],
    layer_stride: usize,
    is_byte: bool,
}

impl Strided<'_> {
    /// # Safety
    /// As [`Input::read`].
    unsafe fn read(batch: &zf_batch) -> Outcome<Self> {
        let (is_f32, is_byte) = (batch.flags & ZF_FLOAT != 0, batch.flags & ZF_LAYER_U8 != 0);
        let stride = |stride: usize, size: usize| if stride == 0 { size } else { stride };
        let coordinate_stride = stride(batch.coordinate_stride, if is_f32 { 4 } else { 8 });
        let layer_stride = stride(batch.layer_stride, if is_byte { 1 } else { 4 });
        let column = |name, pointer: *const c_void| {
            // SAFETY: the promise of this function's caller.
            unsafe {
                if is_f32 {
                    memory::strided(name, pointer.cast::<f32>(), batch.spacepoints, coordinate_stride)
                } else {
                    memory::strided(name, pointer.cast::<f64>(), batch.spacepoints, coordinate_stride)
                }
            }
        };
        let coordinates = [
            column("batch->rho_or_x", batch.rho_or_x)?,
            column("batch->phi_or_y", batch.phi_or_y)?,
            column("batch->z", batch.z)?,
        ];
        // SAFETY: the promise of this function's caller.
        let layers = unsafe {
            if is_byte {
                memory::strided("batch->layer", batch.layer.cast::<u8>(), batch.spacepoints, layer_stride)
            } else {
                memory::strided("batch->layer", batch.layer.cast::<u32>(), batch.spacepoints, layer_stride)
            }
        }?;
        Ok(Self { coordinates, coordinate_stride, is_f32, layers, layer_stride, is_byte })
    }

    /// Copies the elements into columns.
    fn gather(&self, to: &mut Gathered) {
        for (column, bytes) in to.coordinates.iter_mut().zip(self.coordinates) {
            if self.is_f32 {
                gather(column, bytes, self.coordinate_stride, |element| f64::from(f32::from_ne_bytes(element)));
            } else {
                gather(column, bytes, self.coordinate_stride, f64::from_ne_bytes);
            }
        }
        if self.is_byte {
            gather(&mut to.layers, self.layers, self.layer_stride, |[layer]| u32::from(layer));
        } else {
            gather(&mut to.layers, self.layers, self.layer_stride, u32::from_ne_bytes);
        }
    }
}

/// Elements of structures, in columns.
#[derive(Default)]
struct Gathered {
    coordinates: [Vec<f64>; 3],
    layers: Vec<u32>,
}

thread_local! {
    /// Memory that the next batch of a thread uses again.
    static GATHERED: RefCell<Gathered> = RefCell::default();
}

/// Copies elements of N bytes at equal distances.
fn gather<const N: usize, T>(to: &mut Vec<T>, bytes: &[u8], stride: usize, convert: impl Fn([u8; N]) -> T) {
    to.clear();
    to.extend(bytes.chunks(stride).filter_map(|element| element.first_chunk().map(|element| convert(*element))));
}

/// Borrowed columns of a caller, and the regions of its objects.
pub(crate) struct Input<'a> {
    is_cartesian: bool,
    points: Points<'a>,
    regions: Option<Vec<Option<Region>>>,
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
    pub(crate) unsafe fn read(batch: &zf_batch, rois: &mut BatchRois, config: &Config) -> Outcome<Self> {
        memory::check_size::<zf_roi>("batch->roi_size", batch.roi_size)?;
        if batch.flags & !(ZF_CARTESIAN | ZF_FLOAT | ZF_LAYER_U8) != 0 || batch.reserved != 0 {
            return Err(Failure::argument("batch->flags or batch->reserved has a bit that this library does not know"));
        }
        // SAFETY: the promise of this function's caller.
        unsafe { rois.read(batch) }?;
        let is_cartesian = batch.flags & ZF_CARTESIAN != 0;
        // SAFETY: the promise of this function's caller.
        let regions = unsafe { regions(batch, config) }?;
        if batch.coordinate_stride != 0 || batch.layer_stride != 0 {
            // SAFETY: the promise of this function's caller.
            let points = Points::Strided(unsafe { Strided::read(batch) }?);
            return Ok(Self { is_cartesian, points, regions });
        }
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
        Ok(Self { is_cartesian, points: Points::Columns { coordinates, layers }, regions })
    }

    /// Returns whether a batch with these columns keeps coordinates in f32. rho and phi of x and y
    /// are f64.
    pub(crate) fn is_f32(&self) -> bool {
        let is_f32 = match &self.points {
            Points::Columns { coordinates, .. } => matches!(coordinates, Coordinates::F32(_)),
            Points::Strided(strided) => strided.is_f32,
        };
        !self.is_cartesian && is_f32
    }

    /// Appends the RoIs to a batch.
    pub(crate) fn append(&self, rois: &BatchRois, batch: &mut RoiBatch) -> Outcome<()> {
        let Some(regions) = &self.regions else { return self.append_whole(rois, batch) };
        let mut whole = RoiBatch::new();
        self.append_whole(rois, &mut whole)?;
        let selected = Region::select_batch(&whole, regions)?;
        selected.iter().for_each(|roi| batch.push(*roi.descriptor, roi.spacepoints()));
        Ok(())
    }

    fn append_whole(&self, rois: &BatchRois, batch: &mut RoiBatch) -> Outcome<()> {
        let (coordinates, layers) = match &self.points {
            Points::Columns { coordinates, layers } => (coordinates, layers),
            Points::Strided(strided) => {
                let mut gathered = GATHERED.take();
                strided.gather(&mut gathered);
                let coordinates = gathered.coordinates.each_ref().map(Vec::as_slice);
                let appended = self.extend(rois, coordinates, &gathered.layers, batch);
                GATHERED.set(gathered);
                return appended;
            }
        };
        match (coordinates, layers) {
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

/// Returns the region of the objects of each RoI; None without objects.
///
/// # Safety
/// As [`Input::read`].
unsafe fn regions(batch: &zf_batch, config: &Config) -> Outcome<Option<Vec<Option<Region>>>> {
    if batch.object.is_null() && batch.object_offsets.is_null() {
        return Ok(None);
    }
    memory::check_size::<zf_object>("batch->object_size", batch.object_size)?;
    if config.tracklets != Tracklets::Off {
        return Err(Failure::argument(
            "objects leave spacepoints out, whose places tracklets name: set tracklets = off",
        ));
    }
    let count = batch.rois.checked_add(1).ok_or_else(|| Failure::argument("batch->rois is too large"))?;
    // SAFETY: the promise of this function's caller.
    let offsets = unsafe { memory::column("batch->object_offsets", batch.object_offsets, count) }?;
    let wrong = || Failure::new(zf_code::ZF_COLUMNS, "batch->object_offsets do not ascend from 0");
    let offsets: Vec<usize> = offsets.iter().map(|&at| at.try_into()).collect::<Result<_, _>>().map_err(|_| wrong())?;
    if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[1] < pair[0]) {
        return Err(wrong());
    }
    let objects = offsets[count - 1];
    // SAFETY: the promise of this function's caller.
    let objects = unsafe { memory::structures("batch->object", batch.object, objects, batch.object_size) }?;
    let seed = |(index, of): (usize, &zf_object)| {
        let refuse = |error: String| Failure::new(zf_code::ZF_COLUMNS, format!("object {index}: {error}"));
        let kind = ObjectKind::ALL.get(of.kind as usize).filter(|_| of.reserved == 0);
        let kind = kind.ok_or_else(|| refuse(format!("{} is no kind", of.kind)))?;
        SeedObject::new(of.eta, of.phi, of.et_gev, *kind).map_err(|error| refuse(error.to_string()))
    };
    let seeds: Vec<SeedObject> = objects.iter().enumerate().map(seed).collect::<Outcome<_>>()?;
    let size = |size: f64, default: f64| if size == 0.0 { default } else { size };
    let default = Calorimeter::default();
    let calorimeter = Calorimeter {
        barrel_rho_mm: size(batch.calorimeter_rho_mm, default.barrel_rho_mm),
        endcap_z_mm: size(batch.calorimeter_z_mm, default.endcap_z_mm),
        ..default
    };
    let region = |pair: &[usize]| {
        let of_event = &seeds[pair[0]..pair[1]];
        (!of_event.is_empty()).then(|| Region::of_objects(of_event, &calorimeter, config)).transpose()
    };
    Ok(Some(offsets.windows(2).map(region).collect::<zfinder::Result<_>>()?))
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
        let rois = if batch.roi_size == size_of::<zf_roi>() {
            // SAFETY: the promise of this function's caller.
            Cow::Borrowed(unsafe { memory::column("batch->roi", batch.roi, batch.rois) }?)
        } else {
            // SAFETY: the promise of this function's caller.
            Cow::Owned(unsafe { memory::structures("batch->roi", batch.roi, batch.rois, batch.roi_size) }?)
        };
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
        let input = unsafe { self.read(batch, finder.config()) }?;
        Ok(finder.find_batch_into(self.view(&input)?, results)?)
    }

    /// Borrows the columns of a batch, and reads its RoIs.
    ///
    /// # Safety
    /// As [`Input::read`].
    pub(crate) unsafe fn read<'a>(&mut self, batch: &zf_batch, config: &Config) -> Outcome<Input<'a>> {
        // SAFETY: the promise of this function's caller.
        unsafe { Input::read(batch, &mut self.rois, config) }
    }

    /// Returns the RoIs that were read with these columns. Columns rho, phi, z stay where they are.
    pub(crate) fn view<'a>(&'a mut self, input: &Input<'a>) -> Outcome<BatchView<'a>> {
        let (coordinates, layers) = match &input.points {
            Points::Columns { coordinates, layers } if !input.is_cartesian && input.regions.is_none() => {
                (coordinates, layers)
            }
            _ => {
                self.batch.clear();
                input.append(&self.rois, &mut self.batch)?;
                return Ok((&self.batch).into());
            }
        };
        let layers: &[u8] = match layers {
            LayerColumn::Bytes(layers) => layers,
            LayerColumn::Words(layers) => {
                self.layers.clear();
                self.layers.extend(layers.iter().map(|&layer| u8::try_from(layer).unwrap_or(NO_LAYER)));
                &self.layers
            }
        };
        let rois = &self.rois;
        Ok(match coordinates {
            Coordinates::F32(columns) => view(rois, *columns, layers)?,
            Coordinates::F64(columns) => view(rois, *columns, layers)?,
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
