//! Tensors of the protocol: a name, a type, a shape and little-endian bytes.

use std::borrow::Cow;

use bytemuck::Pod;
use bytes::Bytes;

use crate::limits::DIMENSIONS;
use crate::proto::DataType as ProtoType;
use crate::refusal::{Refusal, shown};

/// Element types of zfinder's tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataType {
    Bool,
    Uint8,
    Uint32,
    Uint64,
    Int32,
    Int64,
    Fp32,
    Fp64,
}

impl DataType {
    const ALL: [Self; 8] =
        [Self::Bool, Self::Uint8, Self::Uint32, Self::Uint64, Self::Int32, Self::Int64, Self::Fp32, Self::Fp64];

    /// Returns the protocol's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "BOOL",
            Self::Uint8 => "UINT8",
            Self::Uint32 => "UINT32",
            Self::Uint64 => "UINT64",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Fp32 => "FP32",
            Self::Fp64 => "FP64",
        }
    }

    /// Returns the bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Bool | Self::Uint8 => 1,
            Self::Uint32 | Self::Int32 | Self::Fp32 => 4,
            Self::Uint64 | Self::Int64 | Self::Fp64 => 8,
        }
    }

    /// Returns the type in a model's configuration.
    pub(crate) fn proto(self) -> ProtoType {
        match self {
            Self::Bool => ProtoType::TypeBool,
            Self::Uint8 => ProtoType::TypeUint8,
            Self::Uint32 => ProtoType::TypeUint32,
            Self::Uint64 => ProtoType::TypeUint64,
            Self::Int32 => ProtoType::TypeInt32,
            Self::Int64 => ProtoType::TypeInt64,
            Self::Fp32 => ProtoType::TypeFp32,
            Self::Fp64 => ProtoType::TypeFp64,
        }
    }

    /// Parses the protocol's name.
    pub(crate) fn parse(tensor: &str, name: &str) -> Result<Self, Refusal> {
        Self::ALL.into_iter().find(|datatype| datatype.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            let (tensor, name) = (shown(tensor), shown(name));
            Refusal::invalid(format!("input {tensor}: datatype `{name}` is not one of {known}"))
        })
    }
}

/// A tensor of a request or of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) datatype: DataType,
    pub(crate) shape: Vec<i64>,
    /// Elements in row-major order, little-endian.
    pub(crate) data: Bytes,
}

impl Tensor {
    /// Checks that the number of bytes matches the shape.
    pub(crate) fn new(name: &str, datatype: DataType, shape: Vec<i64>, data: Bytes) -> Result<Self, Refusal> {
        let elements = elements(name, &shape)?;
        let wanted = elements.saturating_mul(datatype.size());
        if data.len() != wanted {
            let (name, kind, held) = (shown(name), datatype.name(), data.len());
            let message = format!("input {name}: shape {shape:?} of {kind} has {wanted} bytes, and {held} were sent");
            return Err(Refusal::invalid(message));
        }
        Ok(Self { name: name.to_owned(), datatype, shape, data })
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.data.len() / self.datatype.size()
    }

    /// Whether there is an element.
    pub(crate) fn has_elements(&self) -> bool {
        !self.data.is_empty()
    }
}

/// Returns the number of elements of a shape.
pub(crate) fn elements(name: &str, shape: &[i64]) -> Result<usize, Refusal> {
    if shape.len() > DIMENSIONS {
        let (name, found) = (shown(name), shape.len());
        return Err(Refusal::invalid(format!("input {name}: it has {found} dimensions, and {DIMENSIONS} is the most")));
    }
    let product = shape.iter().try_fold(1usize, |product, &length| {
        usize::try_from(length).ok().and_then(|length| product.checked_mul(length))
    });
    product.ok_or_else(|| Refusal::invalid(format!("input {}: shape {shape:?} is negative or too large", shown(name))))
}

/// An element of a tensor.
pub(crate) trait Element: Pod {
    /// Converts from or to little-endian, which costs nothing on most machines.
    fn little_endian(self) -> Self;
}

macro_rules! elements {
    ($($integer:ty),*) => {$(
        impl Element for $integer {
            fn little_endian(self) -> Self {
                self.to_le()
            }
        }
    )*};
}

elements!(u8, u32, u64, i32, i64);

impl Element for f32 {
    fn little_endian(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
}

impl Element for f64 {
    fn little_endian(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
}

/// Returns the elements in these bytes without a copy. None if alignment or byte order does not
/// permit it.
pub(crate) fn aligned<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    if cfg!(target_endian = "little") { bytemuck::try_cast_slice(bytes).ok() } else { None }
}

/// Returns the elements in these bytes, without a copy if possible.
pub(crate) fn view<T: Element>(bytes: &[u8]) -> Cow<'_, [T]> {
    if let Some(elements) = aligned(bytes) {
        return Cow::Borrowed(elements);
    }
    let chunks = bytes.chunks_exact(size_of::<T>());
    Cow::Owned(chunks.map(|chunk| bytemuck::pod_read_unaligned::<T>(chunk).little_endian()).collect())
}

/// Returns the bytes of elements.
pub(crate) fn bytes_of<T: Element>(mut elements: Vec<T>) -> Bytes {
    if cfg!(target_endian = "big") {
        elements.iter_mut().for_each(|element| *element = element.little_endian());
    }
    match bytemuck::try_cast_vec::<T, u8>(elements) {
        Ok(bytes) => bytes.into(),
        Err((_, elements)) => Bytes::copy_from_slice(bytemuck::cast_slice(&elements)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_viewed_or_copied() {
        let bytes = bytes_of(vec![1.5f32, -2.0, f32::NAN]);
        assert_eq!(bytes[..4], 1.5f32.to_le_bytes());
        let mut shifted = [0u8; 16];
        for shift in 0..4 {
            shifted[shift..shift + 12].copy_from_slice(&bytes);
            let view = view::<f32>(&shifted[shift..shift + 12]);
            assert_eq!(view[..2], [1.5, -2.0]);
            assert!(view[2].is_nan());
        }
    }

    #[test]
    fn shapes_are_held_against_bytes() {
        let tensor = |shape: &[i64], bytes: usize| {
            Tensor::new("X", DataType::Fp32, shape.to_vec(), vec![0; bytes].into()).map_err(|refusal| refusal.message)
        };
        assert_eq!(tensor(&[3], 12).expect("12 bytes").len(), 3);
        assert_eq!(tensor(&[], 4).expect("a scalar").len(), 1);
        assert_eq!(tensor(&[0, 7], 0).expect("nothing").len(), 0);
        for (shape, bytes, words) in [
            (&[3][..], 11, "has 12 bytes, and 11 were sent"),
            (&[-1], 4, "negative or too large"),
            (&[i64::MAX, i64::MAX], 4, "negative or too large"),
            (&[i64::MAX], 4, "bytes, and 4 were sent"),
        ] {
            let message = tensor(shape, bytes).expect_err(words);
            assert!(message.contains(words), "{message}");
        }
    }
}
