//! Tests of damaged messages: the server answers or refuses each, and keeps running.

use std::time::{Duration, Instant};

use bytes::{Buf, BufMut, Bytes};
use prost::Message;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use zfinder::Preset;
use zfinder_serve::Server;

use crate::answers::binary_request;
use crate::common::*;

/// A codec of raw bytes, so that invalid messages can be sent.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// Damages bytes: flips, truncations, repetitions, numbers at the limits of their types.
fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    for _ in 0..random.usize(1..4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.usize(..bytes.len());
        match random.u8(..6) {
            0 => bytes[at] ^= 1 << random.u8(..8),
            1 => bytes[at] = *random.choice([0, 1, 0x7f, 0x80, 0xff].iter()).unwrap(),
            2 => bytes.truncate(at),
            3 => {
                let end = (at + random.usize(1..64)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + random.usize(1..64)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.usize(..bytes.len());
                bytes.splice(to..to, copy);
            }
            _ => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(0xff);
            }
        }
    }
}

async fn send(grpc: &mut tonic::client::Grpc<Channel>, message: Vec<u8>) -> Result<Bytes, Status> {
    grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let path = "/inference.GRPCInferenceService/ModelInfer".parse().unwrap();
    Ok(grpc.unary(Request::new(message.into()), path, Raw).await?.into_inner())
}

/// Sends damaged messages for a time, or a number of them.
fn hammer(seed: u64, least: usize, longest: Duration) {
    let server = Server::start(options(&[Preset::Auto])).unwrap();
    let sample = Sample::new(3);
    let good = sample.request("zfinder-auto").encode_to_vec();
    let (http_good, length) = binary_request(&sample, true);
    let runtime = runtime();
    let endpoint = Endpoint::from_shared(format!("http://{}", server.grpc_address().unwrap())).unwrap().timeout(LIMIT);
    let channel = runtime.block_on(endpoint.connect()).unwrap();
    let mut grpc = tonic::client::Grpc::new(channel);
    let mut random = fastrand::Rng::with_seed(seed);
    let (begin, mut sent, mut answered) = (Instant::now(), 0, 0);
    while sent < least || begin.elapsed() < longest {
        let mut message = good.clone();
        damage(&mut message, &mut random);
        match runtime.block_on(send(&mut grpc, message)) {
            Ok(_) => answered += 1,
            Err(status) => {
                let wanted =
                    [Code::InvalidArgument, Code::NotFound, Code::Internal, Code::Unimplemented, Code::OutOfRange];
                assert!(wanted.contains(&status.code()), "seed {seed}, message {sent}: {status:?}");
                assert!(!status.message().contains("panicked"), "seed {seed}, message {sent}: {status:?}");
            }
        }
        if sent % 4 == 0 {
            let mut body = http_good.clone();
            damage(&mut body, &mut random);
            let length = if random.u8(..4) == 0 { random.usize(..2 * length) } else { length };
            let header = format!("Inference-Header-Content-Length: {length}\r\n");
            let path = "/v2/models/zfinder-auto/infer";
            let (status, _, answer) = http(server.http_address().unwrap(), "POST", path, &header, &body);
            let words = String::from_utf8_lossy(&answer);
            assert!(matches!(status, 200 | 400 | 501), "seed {seed}, message {sent}: {status} {words}");
        }
        sent += 1;
    }
    assert!(answered > 0 && answered < sent, "{answered} of {sent} damaged messages are requests");
    let answer = runtime.block_on(send(&mut grpc, good)).unwrap();
    let response = zfinder_serve::proto::ModelInferResponse::decode(answer).unwrap();
    check_grpc("after the hammer", &response, &sample.answers(Preset::Auto));
}

#[test]
fn damaged_messages_are_answered_or_refused() {
    hammer(41, 300, Duration::ZERO);
}

/// `cargo test -p zfinder-serve --test serve -- --ignored`; ZFINDER_HAMMER_SECONDS is the time, 600
/// by default.
#[test]
#[ignore = "long form of `damaged_messages_are_answered_or_refused`: scripts/test full"]
fn damaged_messages_for_ten_minutes() {
    let seconds = std::env::var("ZFINDER_HAMMER_SECONDS").map_or(600, |seconds| seconds.parse().unwrap());
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    hammer(seed.into(), 0, Duration::from_secs(seconds));
}
