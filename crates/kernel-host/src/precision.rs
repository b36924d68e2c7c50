//! The number type of a computation.

use std::fmt;
use std::str::FromStr;

/// The number type that a system computes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// 32 bits. Every GPU has it.
    #[default]
    F32,
    /// 64 bits. A GPU needs `SHADER_F64`.
    F64,
}

impl Precision {
    /// Returns the features that a device needs to compute in this number type.
    #[must_use]
    pub const fn required_features(self) -> wgpu::Features {
        match self {
            Self::F32 => wgpu::Features::empty(),
            Self::F64 => wgpu::Features::SHADER_F64,
        }
    }
}

/// Writes `f32` or `f64`.
impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// The error of a text that names no [`Precision`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no number type: expected f32 or f64")]
pub struct UnknownPrecision(String);

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(text: &str) -> Result<Self, UnknownPrecision> {
        match text {
            "f32" => Ok(Self::F32),
            "f64" => Ok(Self::F64),
            _ => Err(UnknownPrecision(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for precision in [Precision::F32, Precision::F64] {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        let error = "f16".parse::<Precision>().expect_err("unknown");
        assert_eq!(error.to_string(), "`f16` is no number type: expected f32 or f64");
        assert_eq!(format!("{:>5}", Precision::F64), "  f64");
    }

    #[test]
    fn only_64_bits_need_a_feature() {
        assert!(Precision::F32.required_features().is_empty());
        assert_eq!(Precision::F64.required_features(), wgpu::Features::SHADER_F64);
    }
}
