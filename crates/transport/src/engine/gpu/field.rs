//! What a GPU needs of a field, and of what is asked of paths in it.

use bytemuck::{Pod, Zeroable};
use kernel_host::wgpu::{BindingResource, BufferUsages};
use kernel_host::{Buffer, Gpu, Source};

use crate::error::Result;
use crate::field::{AnyField, Map};
use crate::integrate::Accuracy;
use crate::shaders::{self, FieldPiece};

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
    unused: u32,
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
    Map(Buffer<MapParams>, Buffer<[f32; 2]>),
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
                values.write(gpu, map.values())?;
                Self::Map(params, values)
            }
        })
    }

    /// The piece that defines it, added to a kernel's.
    pub(crate) fn piece(&self, source: Source) -> Source {
        let piece = match self {
            Self::Uniform(_) => FieldPiece::Uniform,
            Self::Parametrised => FieldPiece::Parametrised,
            Self::Map(..) => FieldPiece::Map,
        };
        shaders::field(source, piece)
    }

    /// What that piece has bound, by name: to be added to a kernel's.
    pub(crate) fn bindings(&self) -> Result<Vec<(&'static str, BindingResource<'_>)>> {
        Ok(match self {
            Self::Uniform(params) => vec![("field_params", params.binding()?)],
            Self::Parametrised => Vec::new(),
            Self::Map(params, values) => vec![("field_params", params.binding()?), ("field_map", values.binding()?)],
        })
    }
}

impl MapParams {
    /// Points can be numbered in 32 bits, whichever map it is.
    fn of(map: &Map) -> Self {
        let [points_r, points_z] = map.points().map(|points| points as u32);
        Self { points_r, points_z, per_mm: (1.0 / map.step()) as f32, unused: 0 }
    }
}
