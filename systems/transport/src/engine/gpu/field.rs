//! Resources of a field on a GPU, and the required accuracy of paths in it.

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{BindingResource, BufferUsages};
use kernel_host::{Buffer, Gpu};

use super::shaders::FieldPiece;
use crate::error::Result;
use crate::field::{AnyField, Map};
use crate::integrate::Accuracy;

/// As in shaders/field/uniform.wgsl.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct UniformParams {
    value: [f32; 3],
    unused: u32,
}

/// As in shaders/field/map.wgsl.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct MapParams {
    points_r: u32,
    points_z: u32,
    per_mm: f32,
    first_z: f32,
}

/// As in shaders/integrate.wgsl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct GpuAccuracy {
    least_step: f32,
    step_error: f32,
    relative: [f32; 2],
    sagitta: f32,
    steps: u32,
    unused: [u32; 2],
}

impl From<&Accuracy> for GpuAccuracy {
    fn from(accuracy: &Accuracy) -> Self {
        Self {
            least_step: accuracy.least_step as f32,
            step_error: accuracy.step_error as f32,
            relative: accuracy.relative.map(|bound| bound as f32),
            sagitta: accuracy.sagitta as f32,
            steps: accuracy.steps,
            unused: [0; 2],
        }
    }
}

/// A field on a device.
#[derive(Debug)]
pub(crate) enum GpuField {
    Uniform(Buffer<UniformParams>),
    Parametrised,
    Map(Buffer<MapParams>, Buffer<[[f32; 2]; 2]>),
}

impl GpuField {
    pub(crate) fn new(gpu: &Gpu, field: &AnyField) -> Result<Self> {
        let usage = BufferUsages::COPY_DST;
        Ok(match field {
            AnyField::Uniform(value) => {
                let mut params = Buffer::new("field params", usage | BufferUsages::UNIFORM);
                params.write(gpu, &[UniformParams { value: value.map(|number| number as f32), unused: 0 }])?;
                Self::Uniform(params)
            }
            AnyField::Parametrised => Self::Parametrised,
            AnyField::Map(map) => {
                let mut params = Buffer::new("field params", usage | BufferUsages::UNIFORM);
                params.write(gpu, &[MapParams::of(map)])?;
                let mut values = Buffer::new("field map", usage | BufferUsages::STORAGE);
                values.write(gpu, &in_pairs(map))?;
                Self::Map(params, values)
            }
        })
    }

    /// Which piece defines it: [`shaders::field`](super::shaders::field).
    pub(crate) fn kind(&self) -> FieldPiece {
        match self {
            Self::Uniform(_) => FieldPiece::Uniform,
            Self::Parametrised => FieldPiece::Parametrised,
            Self::Map(..) => FieldPiece::Map,
        }
    }

    /// Bindings of that piece by name, to be added to a kernel's.
    pub(crate) fn bindings(&self) -> Result<Vec<(&'static str, BindingResource<'_>)>> {
        Ok(match self {
            Self::Uniform(params) => vec![("field_params", params.binding()?)],
            Self::Parametrised => Vec::new(),
            Self::Map(params, values) => vec![("field_params", params.binding()?), ("field_map", values.binding()?)],
        })
    }
}

/// Each point with the next one away from the axis, for all but the last: a cell is then two pairs
/// side by side, in one line of a cache.
fn in_pairs(map: &Map) -> Vec<[[f32; 2]; 2]> {
    let values = map.values();
    values.iter().zip(&values[map.points()[1]..]).map(|(&inner, &outer)| [inner, outer]).collect()
}

impl MapParams {
    /// Points can be numbered in 32 bits, whichever map it is.
    fn of(map: &Map) -> Self {
        let [points_r, points_z] = map.points().map(|points| points as u32);
        let first_z = -0.5 * f64::from(points_z - 1) * map.step();
        Self { points_r, points_z, per_mm: (1.0 / map.step()) as f32, first_z: first_z as f32 }
    }
}
