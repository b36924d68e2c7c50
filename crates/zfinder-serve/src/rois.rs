//! The RoIs of a request, checked.

use std::collections::HashSet;

use bytes::Bytes;
use zfinder::columns::Coordinate;
use zfinder::{BatchView, Columns, Config, PhiWindow, RoiBatch, RoiDescriptor, RoiId};

use crate::limits::{REQUEST_ROIS, ROI_WORK, TENSORS};
use crate::points::decode_point;
use crate::refusal::{Reason, Refusal, shown};
use crate::schema::{self, InputSet};
use crate::tensor::{DataType, Element, Tensor, aligned, view};

/// RoIs whose spacepoints stay in the received message.
#[derive(Debug)]
pub(crate) struct RequestRois {
    spacepoints: Spacepoints,
    offsets: Vec<usize>,
    descriptors: Vec<RoiDescriptor>,
}

/// Columns of spacepoints, as sent.
#[derive(Debug)]
enum Spacepoints {
    Columns { is_cartesian: bool, is_f32: bool, coordinates: [Bytes; 3], layer: Bytes },
    Points(Bytes),
}

/// The tensors of a request by name.
struct InputTensors(Vec<Tensor>);

impl InputTensors {
    fn new(tensors: Vec<Tensor>) -> Result<Self, Refusal> {
        if tensors.len() > TENSORS {
            return Err(Refusal::invalid(format!(
                "the request has {} inputs, and {TENSORS} is the most",
                tensors.len()
            )));
        }
        let mut names = HashSet::new();
        for tensor in &tensors {
            if !schema::INPUTS.iter().any(|input| input.name == tensor.name) {
                let known: Vec<_> = schema::INPUTS.iter().map(|input| input.name).collect();
                let message = format!("there is no input `{}`; inputs are {}", shown(&tensor.name), known.join(", "));
                return Err(Refusal::invalid(message));
            }
            if !names.insert(tensor.name.as_str()) {
                return Err(Refusal::invalid(format!("input {} is given twice", tensor.name)));
            }
        }
        Ok(Self(tensors))
    }

    /// Whether the request has this input, with elements unless `even_empty`.
    fn has(&self, name: &str, even_empty: bool) -> bool {
        self.0.iter().any(|tensor| tensor.name == name && (even_empty || tensor.has_elements()))
    }

    fn take(&mut self, name: &str) -> Option<Tensor> {
        let at = self.0.iter().position(|tensor| tensor.name == name)?;
        Some(self.0.swap_remove(at))
    }

    fn take_column(&mut self, name: &str, datatypes: &[DataType]) -> Result<Tensor, Refusal> {
        let tensor = self.take(name).ok_or_else(|| Refusal::invalid(format!("input {name} is missing")))?;
        check_type(&tensor, datatypes)?;
        check_shape(&tensor, &[None])?;
        Ok(tensor)
    }
}

fn check_type(tensor: &Tensor, datatypes: &[DataType]) -> Result<(), Refusal> {
    if datatypes.contains(&tensor.datatype) {
        return Ok(());
    }
    let wanted: Vec<_> = datatypes.iter().map(|datatype| datatype.name()).collect();
    let (name, found, wanted) = (&tensor.name, tensor.datatype.name(), wanted.join(" or "));
    Err(Refusal::invalid(format!("input {name}: datatype is {found}, and {wanted} is wanted")))
}

/// Checks the dimensions; None is any length.
fn check_shape(tensor: &Tensor, wanted: &[Option<usize>]) -> Result<(), Refusal> {
    let fits =
        |(&length, wanted): (&i64, &Option<usize>)| wanted.is_none_or(|wanted| usize::try_from(length) == Ok(wanted));
    if tensor.shape.len() == wanted.len() && tensor.shape.iter().zip(wanted).all(fits) {
        return Ok(());
    }
    let wanted: Vec<_> = wanted.iter().map(|length| length.map_or("N".into(), |length| length.to_string())).collect();
    let (name, found, wanted) = (&tensor.name, &tensor.shape, wanted.join(", "));
    Err(Refusal::invalid(format!("input {name}: shape is {found:?}, and [{wanted}] is wanted")))
}

impl RequestRois {
    /// Checks the tensors of a request for a model with this configuration.
    pub(crate) fn read(tensors: Vec<Tensor>, config: &Config) -> Result<Self, Refusal> {
        let mut inputs = InputTensors::new(tensors)?;
        let spacepoints = Spacepoints::take(&mut inputs)?;
        let offsets = inputs.take("OFFSETS").ok_or_else(|| Refusal::invalid("input OFFSETS is missing"))?;
        let offsets = read_offsets(&offsets, spacepoints.len())?;
        let descriptors = read_descriptors(&mut inputs, offsets.len() - 1, config)?;
        // Some clients send every input of the metadata.
        inputs.0.retain(Tensor::has_elements);
        match inputs.0.first() {
            None => Ok(Self { spacepoints, offsets, descriptors }),
            Some(left) => Err(Refusal::invalid(format!(
                "input {} does not go together with the others: spacepoints are X, Y, Z, LAYER or RHO, PHI, Z, LAYER or POINTS",
                left.name
            ))),
        }
    }

    /// Returns the number of RoIs.
    pub(crate) fn len(&self) -> usize {
        self.descriptors.len()
    }

    /// Returns the number of spacepoints.
    pub(crate) fn spacepoints(&self) -> usize {
        self.spacepoints.len()
    }

    /// Returns the work of a request among others, in spacepoints. See [`ROI_WORK`].
    pub(crate) fn work(&self) -> usize {
        self.spacepoints() + ROI_WORK * self.len()
    }

    /// Returns the bytes of the tensors.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = match &self.spacepoints {
            Spacepoints::Columns { coordinates, layer, .. } => {
                coordinates.iter().map(Bytes::len).sum::<usize>() + layer.len()
            }
            Spacepoints::Points(points) => points.len(),
        };
        tensors + self.offsets.len() * size_of::<usize>() + self.descriptors.len() * size_of::<RoiDescriptor>()
    }

    /// Appends the RoIs to a batch.
    fn append(&self, batch: &mut RoiBatch) -> zfinder::Result<()> {
        match &self.spacepoints {
            Spacepoints::Columns { is_cartesian, is_f32: true, coordinates, layer } => {
                self.extend::<f32>(*is_cartesian, coordinates, layer, batch)
            }
            Spacepoints::Columns { is_cartesian, is_f32: false, coordinates, layer } => {
                self.extend::<f64>(*is_cartesian, coordinates, layer, batch)
            }
            Spacepoints::Points(points) => {
                let words = view::<u64>(points);
                for (descriptor, range) in self.descriptors.iter().zip(self.offsets.windows(2)) {
                    batch.push(*descriptor, words[range[0]..range[1]].iter().copied().map(decode_point));
                }
                Ok(())
            }
        }
    }

    fn extend<T: Element + Coordinate>(
        &self,
        is_cartesian: bool,
        coordinates: &[Bytes; 3],
        layer: &[u8],
        batch: &mut RoiBatch,
    ) -> zfinder::Result<()> {
        let [a, b, z] = coordinates.each_ref().map(|column| view::<T>(column));
        let columns =
            if is_cartesian { Columns::cartesian(&a, &b, &z, layer) } else { Columns::cylindrical(&a, &b, &z, layer) };
        batch.extend_columns(&self.descriptors, &self.offsets, columns?)
    }

    /// Returns the columns rho, phi, z in f32 and layers, if the request has these.
    fn f32_columns(&self) -> Option<([&Bytes; 3], &Bytes)> {
        match &self.spacepoints {
            Spacepoints::Columns { is_cartesian: false, is_f32: true, coordinates, layer } => {
                Some((coordinates.each_ref(), layer))
            }
            _ => None,
        }
    }

    /// Returns a view of the received RoIs, if alignment permits.
    fn in_place(&self) -> Option<zfinder::Result<BatchView<'_>>> {
        let (coordinates, layer) = self.f32_columns()?;
        let [rho, phi, z] = coordinates.map(|column| aligned::<f32>(column));
        Some(
            Columns::cylindrical(rho?, phi?, z?, layer)
                .and_then(|columns| BatchView::new(&self.descriptors, &self.offsets, columns)),
        )
    }
}

/// A batch of several requests, whose memory is reused.
#[derive(Debug, Default)]
pub(crate) struct JoinedBatch {
    f32_batch: F32Batch,
    f64_batch: RoiBatch,
}

/// Columns rho, phi, z in f32 of several requests. Each byte is copied once.
#[derive(Debug, Default)]
struct F32Batch {
    coordinates: [Vec<f32>; 3],
    layer: Vec<u8>,
    offsets: Vec<usize>,
    descriptors: Vec<RoiDescriptor>,
}

impl F32Batch {
    fn fill<'a>(&mut self, requests: impl Iterator<Item = &'a RequestRois>) {
        self.coordinates.iter_mut().for_each(Vec::clear);
        self.layer.clear();
        self.offsets.clear();
        self.offsets.push(0);
        self.descriptors.clear();
        for rois in requests {
            let Some((coordinates, layer)) = rois.f32_columns() else { continue };
            let first = self.layer.len();
            for (to, from) in self.coordinates.iter_mut().zip(coordinates) {
                to.extend(from.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
            }
            self.layer.extend_from_slice(layer);
            self.offsets.extend(rois.offsets.iter().skip(1).map(|offset| first + offset));
            self.descriptors.extend_from_slice(&rois.descriptors);
        }
    }

    fn view(&self) -> zfinder::Result<BatchView<'_>> {
        let [rho, phi, z] = &self.coordinates;
        BatchView::new(&self.descriptors, &self.offsets, Columns::cylindrical(rho, phi, z, &self.layer)?)
    }
}

impl JoinedBatch {
    /// Makes one batch of requests. A single request is not copied, if alignment permits.
    pub(crate) fn fill<'a>(&'a mut self, requests: &[&'a RequestRois]) -> zfinder::Result<BatchView<'a>> {
        if let [rois] = requests
            && let Some(view) = rois.in_place()
        {
            return view;
        }
        if requests.iter().all(|rois| rois.f32_columns().is_some()) {
            self.f32_batch.fill(requests.iter().copied());
            return self.f32_batch.view();
        }
        self.f64_batch.clear();
        requests.iter().try_for_each(|rois| rois.append(&mut self.f64_batch))?;
        Ok((&self.f64_batch).into())
    }
}

impl Spacepoints {
    /// Takes the tensors of spacepoints from a request.
    fn take(inputs: &mut InputTensors) -> Result<Self, Refusal> {
        // Without a spacepoint, the inputs that are there tell the set.
        let set_of = |even_empty| {
            let has = |name| inputs.has(name, even_empty);
            if has("POINTS") {
                return Some(InputSet::Points);
            }
            if has("X") || has("Y") {
                return Some(InputSet::Cartesian);
            }
            ["RHO", "PHI", "Z", "LAYER"].into_iter().any(has).then_some(InputSet::Every)
        };
        let set = set_of(false).or_else(|| set_of(true));
        if set == Some(InputSet::Points) {
            return Ok(Self::Points(inputs.take_column("POINTS", &[DataType::Uint64])?.data));
        }
        let is_cartesian = set == Some(InputSet::Cartesian);
        let names = if is_cartesian { ["X", "Y", "Z"] } else { ["RHO", "PHI", "Z"] };
        let layer = inputs.take_column("LAYER", &[DataType::Uint8])?;
        let mut columns = Vec::new();
        for name in names {
            let column = inputs.take_column(name, &[DataType::Fp32, DataType::Fp64])?;
            if column.len() != layer.len() {
                let (elements, layers) = (column.len(), layer.len());
                let message = format!("input {name} has {elements} elements, and LAYER has {layers}");
                return Err(Refusal::invalid(message));
            }
            columns.push(column);
        }
        let datatype = columns[0].datatype;
        if columns.iter().any(|column| column.datatype != datatype) {
            let message = format!("inputs {} must be all FP32 or all FP64", names.join(", "));
            return Err(Refusal::invalid(message));
        }
        let mut coordinates = columns.into_iter().map(|column| column.data);
        let coordinates = [(); 3].map(|()| coordinates.next().unwrap_or_default());
        let is_f32 = datatype == DataType::Fp32;
        Ok(Self::Columns { is_cartesian, is_f32, coordinates, layer: layer.data })
    }

    fn len(&self) -> usize {
        match self {
            Self::Columns { layer, .. } => layer.len(),
            Self::Points(points) => points.len() / size_of::<u64>(),
        }
    }
}

/// Checks the number of RoIs of a request with this many offsets. Each RoI takes memory, also an
/// empty one.
pub(crate) fn check_offsets(offsets: usize) -> Result<(), Refusal> {
    let rois = offsets.saturating_sub(1);
    if rois <= REQUEST_ROIS {
        return Ok(());
    }
    let message = format!("the request has {rois} RoIs, and {REQUEST_ROIS} is the most; send several requests");
    Err(Refusal::new(Reason::TooLarge, message))
}

/// Reads offsets that ascend from 0 to the number of spacepoints.
fn read_offsets(tensor: &Tensor, spacepoints: usize) -> Result<Vec<usize>, Refusal> {
    let datatypes = [DataType::Int64, DataType::Uint32, DataType::Int32, DataType::Uint64];
    check_type(tensor, &datatypes)?;
    check_shape(tensor, &[None])?;
    check_offsets(tensor.len())?;
    fn converted<T: Element + TryInto<usize>>(bytes: &[u8]) -> Vec<usize> {
        // A negative offset becomes larger than any number of spacepoints.
        view::<T>(bytes).iter().map(|&offset| offset.try_into().unwrap_or(usize::MAX)).collect()
    }
    let offsets = match tensor.datatype {
        DataType::Uint32 => converted::<u32>(&tensor.data),
        DataType::Int32 => converted::<i32>(&tensor.data),
        DataType::Uint64 => converted::<u64>(&tensor.data),
        _ => converted::<i64>(&tensor.data),
    };
    let refuse = |message: String| Err(Refusal::invalid(format!("input OFFSETS: {message}")));
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return refuse("there is one offset more than RoIs, and none was sent".into());
    };
    if first != 0 {
        return refuse("the first offset must be 0".into());
    }
    if let Some(at) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
        return refuse(format!("offset {} is below the one before it", at + 1));
    }
    if last != spacepoints {
        return refuse(format!("the last offset must be the number of spacepoints, {spacepoints}"));
    }
    Ok(offsets)
}

/// Reads the windows, pseudorapidities and z ranges of RoIs.
fn read_descriptors(inputs: &mut InputTensors, rois: usize, config: &Config) -> Result<Vec<RoiDescriptor>, Refusal> {
    let mut take = |name, width| -> Result<Option<Vec<f64>>, Refusal> {
        let Some(tensor) = inputs.take(name).filter(|tensor| tensor.has_elements() || rois == 0) else {
            return Ok(None);
        };
        check_type(&tensor, &[DataType::Fp32, DataType::Fp64])?;
        let shape = [Some(rois), Some(width)];
        check_shape(&tensor, if width == 1 { &shape[..1] } else { &shape })?;
        Ok(Some(match tensor.datatype {
            DataType::Fp32 => view::<f32>(&tensor.data).iter().map(|&value| value.into()).collect(),
            _ => view::<f64>(&tensor.data).into_owned(),
        }))
    };
    let (windows, eta, z_ranges) = (take("PHI_WINDOW", 2)?, take("ETA", 1)?, take("Z_RANGE", 2)?);
    let refuse = |name: &str, roi: usize, error: zfinder::Error| {
        Err(Refusal::invalid(format!("input {name}, RoI {roi}: {error}")))
    };
    let mut descriptors = Vec::with_capacity(rois);
    for roi in 0..rois {
        let pair = |values: &Option<Vec<f64>>| {
            let pair = values.as_ref().map(|values| (values[2 * roi], values[2 * roi + 1]));
            pair.filter(|(low, high)| !(low.is_nan() && high.is_nan()))
        };
        let window = match pair(&windows).map(|(low, high)| PhiWindow::new(low, high)).transpose() {
            Ok(window) => window,
            Err(error) => return refuse("PHI_WINDOW", roi, error),
        };
        let eta = eta.as_ref().map_or(0.0, |eta| eta[roi]);
        if !eta.is_finite() {
            return Err(Refusal::invalid(format!("input ETA, RoI {roi}: {eta} is not finite")));
        }
        let z_range = pair(&z_ranges);
        if (eta != 0.0 || z_range.is_some())
            && let Err(error) = config.validate_z_range(eta, z_range)
        {
            return refuse("Z_RANGE or ETA", roi, error);
        }
        descriptors.push(RoiDescriptor { id: RoiId { event_id: roi as u64, roi_id: 0 }, window, eta, z_range });
    }
    Ok(descriptors)
}
