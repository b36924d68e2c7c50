//! Refuses messages that take much more memory when they are decoded than as they are sent.
//!
//! An empty input takes 2 bytes of a message and some 200 of memory, and a varint of one byte
//! becomes a number of eight. The memory of a message is estimated from its bytes, before it is
//! decoded.

use std::any::TypeId;
use std::marker::PhantomData;

use bytes::Buf;
use prost::Message;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::limits::{DECODED_ALSO, DECODED_FIELD, DECODED_INLINE, DECODED_TIMES};
use crate::proto::ModelInferRequest;
use crate::proto::model_infer_request::InferInputTensor;

/// The codec of prost, with a limit on the memory of decoded messages.
pub(crate) struct BoundedCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for BoundedCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Message + Send + 'static, U: Message + Default + Send + 'static> Codec for BoundedCodec<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(PhantomData)
    }
}

/// The decoder of [`BoundedCodec`].
pub(crate) struct BoundedDecoder<U>(PhantomData<U>);

impl<U: Message + Default + Send + 'static> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        if message.remaining() <= DECODED_INLINE {
            return decode_bounded(message);
        }
        // Ten megabytes of text take 10 ms, for which the other connections of this thread move to
        // another one.
        tokio::task::block_in_place(|| decode_bounded(message))
    }
}

/// Decodes a message, unless it would take too much memory.
fn decode_bounded<U: Message + Default + Send + 'static>(message: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
    let bytes = message.chunk();
    let is_request = TypeId::of::<U>() == TypeId::of::<ModelInferRequest>();
    let estimate =
        if is_request { request_memory(bytes) } else { memory(bytes, |_, payload| DECODED_FIELD + payload.len()) };
    let most = DECODED_TIMES * bytes.len() + DECODED_ALSO;
    if estimate > most {
        return Err(Status::invalid_argument(format!(
            "the message has {} bytes and would take {estimate} when it is decoded: it has too many fields or numbers \
                 of one byte",
            bytes.len()
        )));
    }
    ProstCodec::<U, U>::default().decoder().decode(message)
}

/// Estimates the memory of a request: see `proto/inference.proto` for the numbers of the fields.
fn request_memory(bytes: &[u8]) -> usize {
    memory(bytes, |number, payload| match number {
        // A tensor stays in the message.
        7 => size_of::<bytes::Bytes>(),
        5 => size_of::<InferInputTensor>() + memory(payload, input_field),
        _ => DECODED_FIELD + payload.len(),
    })
}

fn input_field(number: u64, payload: &[u8]) -> usize {
    match number {
        3 => 8 * varints(payload),
        5 => memory(payload, contents_field),
        _ => DECODED_FIELD + payload.len(),
    }
}

/// Numbers are packed, in fields 1 to 7 by type.
fn contents_field(number: u64, payload: &[u8]) -> usize {
    match number {
        1 => varints(payload),
        2 | 4 => 4 * varints(payload),
        3 | 5 => 8 * varints(payload),
        6 | 7 => payload.len(),
        _ => DECODED_FIELD + payload.len(),
    }
}

fn varints(payload: &[u8]) -> usize {
    payload.iter().filter(|&&byte| byte < 0x80).count()
}

/// Adds the memory of the fields of a message: 8 bytes for a number, and the value of `of_field`
/// for a field with bytes. A damaged message ends early: prost refuses it.
fn memory(mut bytes: &[u8], of_field: impl Fn(u64, &[u8]) -> usize) -> usize {
    let mut sum = 0;
    while let Some(key) = varint(&mut bytes) {
        let length = match key & 7 {
            0 => varint(&mut bytes).map(|_| 0),
            1 => Some(8),
            5 => Some(4),
            2 => varint(&mut bytes).and_then(|length| usize::try_from(length).ok()),
            _ => None,
        };
        let Some((payload, rest)) = length.and_then(|length| bytes.split_at_checked(length)) else { return sum };
        sum += if key & 7 == 2 { of_field(key >> 3, payload) } else { 8 };
        bytes = rest;
    }
    sum
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::proto::{InferParameter, InferTensorContents};

    fn decoded(message: &[u8]) -> bool {
        request_memory(message) <= DECODED_TIMES * message.len() + DECODED_ALSO
    }

    fn input(contents: InferTensorContents) -> InferInputTensor {
        InferInputTensor {
            name: "x".into(),
            datatype: "FP32".into(),
            shape: vec![9],
            contents: Some(contents),
            ..Default::default()
        }
    }

    #[test]
    fn usual_requests_are_decoded() {
        let floats = InferTensorContents { fp32_contents: vec![1.5; 100_000], ..Default::default() };
        let layers = InferTensorContents { uint_contents: vec![3; 100_000], ..Default::default() };
        let inputs = vec![input(floats.clone()), input(floats.clone()), input(floats), input(layers)];
        let typed = ModelInferRequest { inputs, ..Default::default() };
        let raw = ModelInferRequest {
            inputs: vec![input(InferTensorContents::default()); 11],
            raw_input_contents: vec![Bytes::from(vec![0; 1 << 20]); 11],
            parameters: (0..20).map(|at| (at.to_string(), InferParameter::default())).collect(),
            ..Default::default()
        };
        assert!(decoded(&typed.encode_to_vec()) && decoded(&raw.encode_to_vec()) && decoded(b""));
    }

    #[test]
    fn messages_that_grow_are_refused() {
        let many = 1_000_000;
        let one_byte = InferTensorContents { int64_contents: vec![1; many], ..Default::default() };
        let empty_texts = InferTensorContents { bytes_contents: vec![Bytes::new(); many], ..Default::default() };
        for inputs in [
            vec![InferInputTensor::default(); many],
            vec![input(one_byte)],
            vec![input(empty_texts)],
            vec![InferInputTensor { shape: vec![1; many], ..Default::default() }],
        ] {
            let request = ModelInferRequest { inputs, ..Default::default() };
            assert!(!decoded(&request.encode_to_vec()));
        }
        let raw = ModelInferRequest { raw_input_contents: vec![Bytes::new(); many], ..Default::default() };
        assert!(!decoded(&raw.encode_to_vec()));
        assert!(memory(&[0x0a, 0].repeat(many), |_, payload| DECODED_FIELD + payload.len()) > many * DECODED_FIELD - 1);
    }

    #[test]
    fn damaged_messages_end_early() {
        for bytes in [&[0x80; 20][..], &[0x2a, 0xff, 0xff, 0xff, 0xff, 0x7f], &[0x2b], &[0x2a]] {
            assert!(request_memory(bytes) <= 8, "{bytes:?}");
        }
    }
}
