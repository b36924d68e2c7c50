//! Tests of compressed requests at each front end: JSON and binary tensors over HTTP, and unary
//! calls and streams of gRPC.

use std::io::Write;
use std::net::SocketAddr;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use zfinder::{Preset, Results};
use zfinder_serve::proto::{ModelInferRequest, ModelInferResponse, ModelStreamInferResponse};
use zfinder_serve::{Options, Server};

use crate::answers::{binary_request, check_binary};
use crate::common::*;

const MODEL: &str = "zfinder-default";
const MESSAGE_BYTES: usize = 100_000;

fn compress(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    let level = Compression::fast();
    match encoding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => bytes.to_vec(),
    }
}

/// A way to send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrontEnd {
    Json,
    Binary,
    Unary,
    Stream,
}

const ALL: [FrontEnd; 4] = [FrontEnd::Json, FrontEnd::Binary, FrontEnd::Unary, FrontEnd::Stream];

/// The outcome of a request: a status of HTTP or gRPC, the message of a refusal, and the body.
struct Outcome {
    status: u16,
    message: String,
    body: Vec<u8>,
    json_length: Option<usize>,
}

impl FrontEnd {
    fn is_http(self) -> bool {
        matches!(self, Self::Json | Self::Binary)
    }

    /// Returns the statuses of an answer, of a body that is too large, of one that cannot be
    /// decompressed, and of an unknown encoding.
    fn statuses(self) -> [u16; 4] {
        if self.is_http() { [200, 413, 400, 415] } else { [0, 8, 13, 12] }
    }

    /// Returns the body or the message of a request, and the length of its JSON.
    fn content(self, sample: &Sample) -> (Vec<u8>, Option<usize>) {
        match self {
            Self::Json => (json_request(sample).into_bytes(), None),
            Self::Binary => {
                let (body, length) = binary_request(sample, true);
                (body, Some(length))
            }
            Self::Unary | Self::Stream => (sample.request(MODEL).encode_to_vec(), None),
        }
    }

    /// Sends compressed content under the name of an encoding.
    fn send(self, server: &Server, encoding: &str, content: &[u8], json_length: Option<usize>) -> Outcome {
        if self.is_http() {
            let length = json_length.map(|length| format!("Inference-Header-Content-Length: {length}\r\n"));
            let headers = format!("Content-Encoding: {encoding}\r\n{}", length.unwrap_or_default());
            let path = format!("/v2/models/{MODEL}/infer");
            let (status, head, body) = http(server.http_address().unwrap(), "POST", &path, &headers, content);
            let length = head.lines().find_map(|line| line.strip_prefix("inference-header-content-length: "));
            let json_length = length.map(|length| length.trim().parse().unwrap());
            return Outcome { status, message: String::from_utf8_lossy(&body).into_owned(), body, json_length };
        }
        let call = if self == Self::Unary { "ModelInfer" } else { "ModelStreamInfer" };
        let flag = u8::from(encoding != "identity");
        let message = [&[flag], &(content.len() as u32).to_be_bytes()[..], content].concat();
        runtime().block_on(call_grpc(server.grpc_address().unwrap(), call, encoding, message))
    }

    fn check(self, encoding: &str, outcome: &Outcome, wanted: &Results) {
        let place = format!("{self:?}, {encoding}");
        assert_eq!(outcome.status, self.statuses()[0], "{place}: {}", outcome.message);
        match self {
            Self::Json => {
                let json: serde_json::Value = serde_json::from_slice(&outcome.body).unwrap();
                let counts = json["outputs"].as_array().unwrap().iter().find(|output| output["name"] == "COUNTS");
                let counts = counts.unwrap()["data"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap());
                let wanted: Vec<u64> = wanted.iter().map(|roi| roi.vertices().len() as u64).collect();
                assert_eq!(counts.collect::<Vec<_>>(), wanted, "{place}");
            }
            Self::Binary => drop(check_binary(&place, outcome.json_length.unwrap(), &outcome.body, wanted)),
            Self::Unary => check_grpc(&place, &ModelInferResponse::decode(&outcome.body[5..]).unwrap(), wanted),
            Self::Stream => {
                let response = ModelStreamInferResponse::decode(&outcome.body[5..]).unwrap();
                assert_eq!(response.error_message, "", "{place}");
                check_grpc(&place, &response.infer_response.unwrap(), wanted);
            }
        }
    }
}

fn json_request(sample: &Sample) -> String {
    let column = |name: &str, datatype: &str, data: serde_json::Value| {
        let length = data.as_array().unwrap().len();
        serde_json::json!({ "name": name, "datatype": datatype, "shape": [length], "data": data })
    };
    serde_json::json!({ "inputs": [
        column("OFFSETS", "INT64", sample.offsets.clone().into()),
        column("RHO", "FP32", sample.rho.clone().into()),
        column("PHI", "FP32", sample.phi.clone().into()),
        column("Z", "FP32", sample.z.clone().into()),
        column("LAYER", "UINT8", sample.layer.clone().into()),
    ]})
    .to_string()
}

/// Calls gRPC with these bytes as the body of the request.
async fn call_grpc(address: SocketAddr, call: &str, encoding: &str, body: Vec<u8>) -> Outcome {
    let stream = TokioIo::new(tokio::net::TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}/inference.GRPCInferenceService/{call}"))
        .header("te", "trailers")
        .header("content-type", "application/grpc")
        .header("grpc-encoding", encoding)
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap();
    let text = |name: &str| {
        let value = head.headers.get(name).or_else(|| body.trailers()?.get(name))?;
        Some(value.to_str().unwrap().to_owned())
    };
    let status = text("grpc-status").unwrap().parse().unwrap();
    let message = text("grpc-message").unwrap_or_default().replace("%20", " ").replace("%60", "`");
    Outcome { status, message, body: body.to_bytes().into(), json_length: None }
}

fn server() -> Server {
    let options = Options { max_message_bytes: MESSAGE_BYTES, ..options(&[Preset::Default]) };
    Server::start(options).unwrap()
}

#[test]
fn compressed_requests_have_the_answers_of_uncompressed_ones() {
    let server = server();
    let sample = Sample::new(3);
    let wanted = sample.answers(Preset::Default);
    for front_end in ALL {
        let (content, json_length) = front_end.content(&sample);
        for encoding in ["identity", "gzip", "deflate"] {
            let outcome = front_end.send(&server, encoding, &compress(encoding, &content), json_length);
            front_end.check(encoding, &outcome, &wanted);
        }
    }
}

#[test]
fn a_bomb_is_refused_by_the_limit_on_uncompressed_requests() {
    let server = server();
    for front_end in ALL {
        let [answered, too_large, ..] = front_end.statuses();
        for encoding in ["gzip", "deflate"] {
            let bomb = compress(encoding, &vec![b' '; 8 << 20]);
            assert!(bomb.len() < MESSAGE_BYTES);
            let outcome = front_end.send(&server, encoding, &bomb, Some(2));
            let words = ["decompressed", "is too large: the limit is 100000 bytes", "--max-message-mib"];
            let has_words = words.iter().all(|words| outcome.message.contains(words));
            assert!(outcome.status == too_large && has_words, "{front_end:?}, {encoding}: {}", outcome.message);
            let (content, json_length) = front_end.content(&Sample::new(2));
            let outcome = front_end.send(&server, encoding, &compress(encoding, &content), json_length);
            assert_eq!(outcome.status, answered, "after a bomb: {}", outcome.message);
        }
    }
}

#[test]
fn invalid_compressed_requests_are_refused() {
    let server = server();
    for front_end in ALL {
        let [_, _, invalid, unknown] = front_end.statuses();
        let (content, json_length) = front_end.content(&Sample::new(2));
        let gzip = compress("gzip", &content);
        let header = if front_end.is_http() { "Content-Encoding" } else { "grpc-encoding" };
        for (encoding, content, status, words) in [
            ("gzip", &content[..], invalid, "cannot be decompressed as gzip".to_owned()),
            ("deflate", &gzip, invalid, "cannot be decompressed as deflate".into()),
            ("gzip", &gzip[..gzip.len() - 1], invalid, "cannot be decompressed as gzip".into()),
            (
                "br",
                &content,
                unknown,
                format!("{header} is `br`; the server reads one encoding of gzip, deflate and identity"),
            ),
        ] {
            let outcome = front_end.send(&server, encoding, content, json_length);
            let place = format!("{front_end:?}, {encoding}");
            assert!(outcome.status == status && outcome.message.contains(&words), "{place}: {}", outcome.message);
        }
    }
}

/// Clients that send a small compressed message, and not the end of their call, take from the limit
/// on the bytes that are being received.
#[test]
fn decompressed_bytes_are_being_received_until_the_call_begins() {
    let limit = 2 * MESSAGE_BYTES;
    let options = options(&[Preset::Default]);
    let options = Options { max_message_bytes: MESSAGE_BYTES, max_receiving_bytes: limit, ..options };
    let server = Server::start(options).unwrap();
    let message = ModelInferRequest { id: "0".repeat(MESSAGE_BYTES * 9 / 10), ..Default::default() }.encode_to_vec();
    let content = compress("gzip", &message);
    let compressed = [&[1], &(content.len() as u32).to_be_bytes()[..], &content].concat();
    assert!(compressed.len() < 1_000);
    // The second message of a unary call is read and discarded, and so is the third.
    let body = compressed.repeat(3);
    runtime().block_on(async {
        let address = server.grpc_address().unwrap();
        let outcome = call_grpc(address, "ModelInfer", "gzip", body.clone()).await;
        assert!(outcome.status == 8 && outcome.message.contains("--max-receiving-mib"), "{}", outcome.message);
        // A stream holds one message at a time. The model is unknown.
        let outcome = call_grpc(address, "ModelStreamInfer", "gzip", body).await;
        assert_eq!(outcome.status, 0, "{}", outcome.message);
    });
}
