//! The tensors of every model.

use crate::limits::SHOWN_CHARACTERS;
use crate::refusal::{Refusal, shown};
use crate::tensor::DataType;

/// Version of the tensors' names, types and meaning, and of the encoding of `POINTS`.
pub(crate) const VERSION: &str = "1";

/// A tensor of every model.
pub(crate) struct TensorSchema {
    pub(crate) name: &'static str,
    pub(crate) datatype: DataType,
    /// -1: any length.
    pub(crate) shape: &'static [i64],
    pub(crate) is_optional: bool,
}

const fn tensor(name: &'static str, datatype: DataType, shape: &'static [i64], is_optional: bool) -> TensorSchema {
    TensorSchema { name, datatype, shape, is_optional }
}

/// The inputs. Spacepoints are X, Y, Z, LAYER or RHO, PHI, Z, LAYER or POINTS.
pub(crate) const INPUTS: [TensorSchema; 11] = [
    tensor("OFFSETS", DataType::Int64, &[-1], false),
    tensor("X", DataType::Fp32, &[-1], true),
    tensor("Y", DataType::Fp32, &[-1], true),
    tensor("Z", DataType::Fp32, &[-1], true),
    tensor("LAYER", DataType::Uint8, &[-1], true),
    tensor("RHO", DataType::Fp32, &[-1], true),
    tensor("PHI", DataType::Fp32, &[-1], true),
    tensor("POINTS", DataType::Uint64, &[-1], true),
    tensor("PHI_WINDOW", DataType::Fp32, &[-1, 2], true),
    tensor("ETA", DataType::Fp32, &[-1], true),
    tensor("Z_RANGE", DataType::Fp32, &[-1, 2], true),
];

/// The inputs of a model under one of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputSet {
    /// The name of the model: all inputs, of which a request has one set.
    Every,
    /// The name with `-xyz`, for clients that send every input of the metadata.
    Cartesian,
    /// The name with `-points`.
    Points,
}

impl InputSet {
    pub(crate) const ALL: [Self; 3] = [Self::Every, Self::Cartesian, Self::Points];

    /// The end of a model's name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Every => "",
            Self::Cartesian => "-xyz",
            Self::Points => "-points",
        }
    }

    /// The inputs in the metadata.
    pub(crate) fn tensors(self) -> &'static [TensorSchema] {
        match self {
            Self::Every => &INPUTS,
            Self::Cartesian => &CARTESIAN_INPUTS,
            Self::Points => &POINTS_INPUTS,
        }
    }
}

const CARTESIAN_INPUTS: [TensorSchema; 5] = [
    tensor("OFFSETS", DataType::Int64, &[-1], false),
    tensor("X", DataType::Fp32, &[-1], false),
    tensor("Y", DataType::Fp32, &[-1], false),
    tensor("Z", DataType::Fp32, &[-1], false),
    tensor("LAYER", DataType::Uint8, &[-1], false),
];

const POINTS_INPUTS: [TensorSchema; 2] =
    [tensor("OFFSETS", DataType::Int64, &[-1], false), tensor("POINTS", DataType::Uint64, &[-1], false)];

/// The outputs of RoIs, of vertices and of tracklets, with one element or row each.
pub(crate) const OUTPUTS: [TensorSchema; 21] = [
    tensor("COUNTS", DataType::Uint32, &[-1], false),
    tensor("STATUS", DataType::Uint8, &[-1], false),
    tensor("FALLBACK", DataType::Bool, &[-1], false),
    tensor("SPACEPOINTS", DataType::Uint64, &[-1], false),
    tensor("OUTSIDE_WINDOW", DataType::Uint64, &[-1], false),
    tensor("Z", DataType::Fp64, &[-1], false),
    tensor("Z_ERROR", DataType::Fp64, &[-1], false),
    tensor("WEIGHT", DataType::Fp64, &[-1], false),
    tensor("RANK", DataType::Fp64, &[-1], false),
    tensor("SIGNIFICANCE", DataType::Fp64, &[-1], false),
    tensor("BACKGROUND", DataType::Fp64, &[-1], false),
    tensor("PAIRS", DataType::Uint64, &[-1], false),
    tensor("VERTEX_X", DataType::Fp64, &[-1], false),
    tensor("VERTEX_Y", DataType::Fp64, &[-1], false),
    tensor("COVARIANCE", DataType::Fp64, &[-1, 6], false),
    tensor("VERTEX_TRACKLETS", DataType::Uint64, &[-1], false),
    tensor("SUM_PT2", DataType::Fp64, &[-1], false),
    tensor("TRACKLET_COUNTS", DataType::Uint32, &[-1], false),
    tensor("TRACKLET_VERTEX", DataType::Int32, &[-1], false),
    tensor("TRACKLET_HITS", DataType::Int32, &[-1, 6], false),
    tensor("TRACKLET_PARAMETERS", DataType::Fp64, &[-1, 16], false),
];

/// The meaning of the tensors, for a model's configuration.
pub(crate) const MEANING: &str = "\
OFFSETS: RoI i has the spacepoints from OFFSETS[i] up to OFFSETS[i + 1]. \
X, Y, Z [mm] or RHO [mm], PHI [rad], Z [mm], and LAYER: one element a spacepoint; FP64 is accepted in place of FP32. \
POINTS: the same in 64 bits: layer (6 bits, lowest), phi (20), rho (18), z (20). \
An optional input without elements is absent. \
PHI_WINDOW [rad], Z_RANGE [mm]: lower and upper edge of each RoI; NaN, NaN is the configuration's. \
ETA: pseudorapidity of each RoI. \
COUNTS: vertices of each RoI; outputs of vertices hold those of RoI 0, then those of RoI 1, and so on, the best first. \
Z, Z_ERROR, SIGNIFICANCE, BACKGROUND, WEIGHT, RANK, PAIRS: one element a vertex; NaN is unknown. \
VERTEX_X, VERTEX_Y [mm], COVARIANCE (xx, xy, xz, yy, yz, zz [mm^2]), VERTEX_TRACKLETS, SUM_PT2 [GeV^2]: of vertices of \
tracklets. \
TRACKLET_COUNTS: tracklets of each RoI; TRACKLET_VERTEX: place among the RoI's vertices or -1; TRACKLET_HITS: places of \
spacepoints in the RoI, -1 for none; TRACKLET_PARAMETERS: z0 [mm], cot(theta), phi0 [rad], curvature c [1/mm], d0 [mm], \
pT [GeV], chi2, and the covariances (z0, z0), (z0, cot), (cot, cot), (phi0, phi0), (phi0, c), (phi0, d0), (c, c), (c, d0), \
(d0, d0).";

/// Refuses a parameter that looks like an event number, which no other code would read. Other
/// unknown parameters belong to other servers of the protocol. They are ignored as the protocol
/// asks.
pub(crate) fn check_parameter(name: &str) -> Result<(), Refusal> {
    // No name of an event number is longer.
    if name.len() > SHOWN_CHARACTERS || matches!(column_names::event_column([name].into_iter()), Ok(None)) {
        return Ok(());
    }
    let name = shown(name);
    Err(Refusal::invalid(format!(
        "parameter `{name}` looks like an event number, and would not be read: answers come in the order of the RoIs in \
         OFFSETS; the `id` of a request returns with its answer"
    )))
}
