//! Tests that refused requests cost a client neither its connection nor its other requests.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use zfinder::{Preset, Results};
use zfinder_serve::proto::ModelInferResponse;
use zfinder_serve::{Options, Server};

use crate::answers::{binary_request, check_binary};
use crate::common::*;

const MESSAGE_BYTES: usize = 8_000;
/// Refused requests on one connection: more than the 1,024 resets after which `h2` ends a
/// connection.
const REFUSED: usize = 1_040;

const INFER: &str = "/inference.GRPCInferenceService/ModelInfer";
const HTTP_INFER: &str = "/v2/models/zfinder-default/infer";

/// A request by its parts, and the status of its answer: of gRPC, or of HTTP.
struct Case {
    name: &'static str,
    path: &'static str,
    header: (&'static str, String),
    body: Vec<u8>,
    status: u16,
    /// Whether the server answers before the end of the body.
    is_early: bool,
}

/// A message of gRPC: whether it is compressed, its length, its bytes.
fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn grpc(name: &'static str, status: u16, body: Vec<u8>) -> Case {
    Case { name, path: INFER, header: ("te", "trailers".into()), body, status, is_early: false }
}

fn early_grpc(name: &'static str, status: u16, body: Vec<u8>) -> Case {
    Case { is_early: true, ..grpc(name, status, body) }
}

fn good_grpc(sample: &Sample) -> Case {
    grpc("good", 0, message(&sample.request("zfinder-default").encode_to_vec()))
}

fn refused_by_grpc(sample: &Sample) -> Vec<Case> {
    let mut wrong = sample.request("zfinder-default");
    wrong.raw_input_contents.pop();
    let mut compressed = message(b"no gzip");
    compressed[0] = 1;
    let mut half = message(&wrong.encode_to_vec());
    half.truncate(100);
    let encoding = ("grpc-encoding", "br".into());
    vec![
        grpc("wrong tensors", 3, message(&wrong.encode_to_vec())),
        grpc("unknown model", 5, message(&sample.request("unknown").encode_to_vec())),
        early_grpc("too large", 11, message(&[0; MESSAGE_BYTES + 1_000])),
        Case { path: "/inference.GRPCInferenceService/Unknown", ..early_grpc("unknown call", 12, message(b"any")) },
        Case { header: encoding, ..early_grpc("unknown encoding", 12, message(b"any")) },
        early_grpc("no protobuf", 13, message(&[0xff; 100])),
        // Empty inputs: 2 bytes each, and 200 of memory.
        grpc("many empty inputs", 3, message(&[0x2a, 0].repeat(3_900))),
        early_grpc("compressed without an encoding", 13, compressed.clone()),
        Case { header: ("grpc-encoding", "gzip".into()), ..early_grpc("no gzip", 13, compressed) },
        early_grpc("no protobuf, and more", 13, [message(&[0xff; 100]), vec![7; 1_000]].concat()),
        grpc("half a message", 13, half),
        grpc("no message", 13, Vec::new()),
    ]
}

fn http(name: &'static str, status: u16, body: &[u8]) -> Case {
    let header = ("accept", "*/*".into());
    Case { name, path: HTTP_INFER, header, body: body.to_vec(), status, is_early: false }
}

fn early_http(name: &'static str, status: u16, body: &[u8]) -> Case {
    Case { is_early: true, ..http(name, status, body) }
}

fn good_http(sample: &Sample) -> Case {
    let (body, length) = binary_request(sample, true);
    Case { header: ("inference-header-content-length", length.to_string()), ..http("good", 200, &body) }
}

fn refused_by_http() -> Vec<Case> {
    let length = ("inference-header-content-length", "x".into());
    vec![
        http("no JSON", 400, b"{"),
        Case { header: length, ..early_http("no length", 400, b"{}") },
        Case { path: "/v2/models/unknown/infer", ..early_http("unknown model", 404, b"{}") },
        Case { path: "/v2/health/live", ..early_http("wrong method", 405, b"{}") },
        early_http("too large", 413, &[b' '; MESSAGE_BYTES + 1_000]),
        Case { header: ("content-encoding", "br".into()), ..early_http("unknown encoding", 415, b"{}") },
        Case { header: ("content-encoding", "gzip".into()), ..early_http("no gzip", 400, b"no gzip at all") },
    ]
}

/// A connection of HTTP/2 that sends the end of a body after the answer, if there is one before.
/// Libraries do this only when the two happen to meet on the way.
struct LateConnection {
    stream: TcpStream,
    next: u32,
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACKNOWLEDGED: u8 = 1;
const END_HEADERS: u8 = 4;

impl LateConnection {
    fn open(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let mut connection = Self { stream, next: 1 };
        connection.write(&frame(SETTINGS, 0, 0, &[]));
        connection.write(&frame(WINDOW_UPDATE, 0, 0, &(1u32 << 30).to_be_bytes()));
        connection
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Returns kind, flags, stream and payload of the next frame.
    fn read(&mut self) -> (u8, u8, u32, Vec<u8>) {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).unwrap();
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.stream.read_exact(&mut payload).unwrap();
        (kind, flags, u32::from_be_bytes(stream), payload)
    }

    /// Sends a request, and returns the data of its answer.
    fn ask(&mut self, case: &Case) -> Vec<u8> {
        let stream = self.next;
        self.next += 2;
        let end = if case.is_early { 0 } else { END_STREAM };
        let request = [frame(HEADERS, END_HEADERS, stream, &headers(case)), frame(DATA, end, stream, &case.body)];
        self.write(&request.concat());
        let mut data = Vec::new();
        loop {
            let (kind, flags, of, payload) = self.read();
            match kind {
                SETTINGS | PING if flags & ACKNOWLEDGED == 0 => {
                    let payload = if kind == PING { &payload[..] } else { &[] };
                    self.write(&frame(kind, ACKNOWLEDGED, 0, payload));
                }
                RESET => panic!("{}: the server reset stream {of}", case.name),
                GO_AWAY => panic!("{}: {}", case.name, String::from_utf8_lossy(&payload)),
                DATA | HEADERS => {
                    assert_eq!(of, stream, "{}", case.name);
                    if kind == DATA {
                        data.extend(payload);
                    }
                    if flags & END_STREAM != 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        if case.is_early {
            self.write(&frame(DATA, END_STREAM, stream, &[]));
        }
        data
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns the headers of a request: literals of HPACK.
fn headers(case: &Case) -> Vec<u8> {
    let (name, value) = &case.header;
    let fixed = [(":method", "POST"), (":scheme", "http"), (":path", case.path), (":authority", "127.0.0.1")];
    let content_type = [("content-type", "application/grpc"), (name, value)];
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    let header = |(name, value): (&str, &str)| [vec![0], text(name), text(value)].concat();
    fixed.into_iter().chain(content_type).flat_map(header).collect()
}

/// Sends many refused requests, then a good one.
fn refused_then_answered(address: SocketAddr, case: &Case, good: &Case, wanted: &Results) {
    let mut connection = LateConnection::open(address);
    for _ in 0..REFUSED {
        connection.ask(case);
    }
    let answer = connection.ask(good);
    let response = ModelInferResponse::decode(&answer[5..]).unwrap();
    check_grpc(&format!("after many of: {}", case.name), &response, wanted);
}

#[test]
fn many_refused_requests_leave_the_connection_open() {
    let options = Options { max_message_bytes: MESSAGE_BYTES, ..options(&[Preset::Default]) };
    let server = Server::start(options).unwrap();
    let sample = Sample::new(2);
    let wanted = sample.answers(Preset::Default);
    for case in refused_by_grpc(&sample) {
        refused_then_answered(server.grpc_address().unwrap(), &case, &good_grpc(&sample), &wanted);
    }
    // Over HTTP, fewer: the first reset ends the test.
    for case in refused_by_http() {
        let mut connection = LateConnection::open(server.http_address().unwrap());
        for _ in 0..50 {
            connection.ask(&case);
        }
    }
}

/// As above, for requests that exceed the limit on the bytes being received.
#[test]
fn many_requests_beyond_the_receiving_limit_leave_the_connection_open() {
    let (max_message_bytes, max_receiving_bytes) = (MESSAGE_BYTES, MESSAGE_BYTES);
    let server =
        Server::start(Options { max_message_bytes, max_receiving_bytes, ..options(&[Preset::Default]) }).unwrap();
    let sample = Sample::new(2);
    let wanted = sample.answers(Preset::Default);
    // Half a message takes most of the limit.
    let mut half = TcpStream::connect(server.http_address().unwrap()).unwrap();
    let head = format!("POST {HTTP_INFER} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {MESSAGE_BYTES}\r\n\r\n");
    half.write_all(&[head.as_bytes(), &[b' '; MESSAGE_BYTES - 500]].concat()).unwrap();
    let mut connection = LateConnection::open(server.grpc_address().unwrap());
    // Until the half is received, the message is refused for its content, before its end too.
    let large = early_grpc("beyond the limit", 8, message(&[0xff; 1_000]));
    for _ in 0..REFUSED {
        connection.ask(&large);
    }
    drop(half);
    // It may be refused until the server sees that the half is gone: without an answer.
    let good = good_grpc(&sample);
    let mut answer = connection.ask(&good);
    while answer.is_empty() {
        answer = connection.ask(&good);
    }
    check_grpc("after many", &ModelInferResponse::decode(&answer[5..]).unwrap(), &wanted);
}

type Body = StreamBody<tokio_stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

fn request(case: &Case, address: SocketAddr) -> Request<Body> {
    let body = StreamBody::new(tokio_stream::iter(vec![Ok(Frame::data(case.body.clone().into()))]));
    let (name, value) = &case.header;
    let request = Request::post(format!("http://{address}{}", case.path)).header("host", "127.0.0.1");
    request.header(*name, value).body(body).unwrap()
}

/// Sends a message of gRPC, and returns the status of its answer.
pub(crate) async fn status_of(address: SocketAddr, bytes: &[u8]) -> u16 {
    let stream = TokioIo::new(tokio::net::TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let case = grpc("a message", 0, message(bytes));
    receive(sender.send_request(request(&case, address)).await.unwrap()).await.0
}

/// Returns the status of an answer, the length of its JSON, and its body.
async fn receive(response: Response<Incoming>) -> (u16, usize, Bytes) {
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap();
    let number = |name: &str| {
        let value = head.headers.get(name).or_else(|| body.trailers()?.get(name))?;
        value.to_str().unwrap().parse::<usize>().ok()
    };
    let status = number("grpc-status").map_or(head.status.as_u16(), |status| status as u16);
    let length = number("inference-header-content-length").unwrap_or(0);
    (status, length, body.to_bytes())
}

/// Each refusal has its status, over HTTP/2 and HTTP/1.1, and the connection goes on.
#[test]
fn refusals_have_statuses_and_keep_the_connection() {
    let options = Options { max_message_bytes: MESSAGE_BYTES, ..options(&[Preset::Default]) };
    let server = Server::start(options).unwrap();
    let (grpc, http) = (server.grpc_address().unwrap(), server.http_address().unwrap());
    let sample = Sample::new(2);
    let wanted = sample.answers(Preset::Default);
    runtime().block_on(async {
        for (address, cases, good) in
            [(grpc, refused_by_grpc(&sample), good_grpc(&sample)), (http, refused_by_http(), good_http(&sample))]
        {
            let stream = TokioIo::new(tokio::net::TcpStream::connect(address).await.unwrap());
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            for case in cases.iter().chain([&good]) {
                let response = sender.send_request(request(case, address)).await;
                let (status, length, body) = receive(response.unwrap()).await;
                assert_eq!(status, case.status, "{}: {}", case.name, String::from_utf8_lossy(&body));
                match case.status {
                    0 => check_grpc("gRPC", &ModelInferResponse::decode(&body[5..]).unwrap(), &wanted),
                    200 => drop(check_binary("HTTP/2", length, &body, &wanted)),
                    _ => {}
                }
            }
        }
        let stream = TokioIo::new(tokio::net::TcpStream::connect(http).await.unwrap());
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        for case in refused_by_http() {
            for case in [&case, &case, &good_http(&sample)] {
                sender.ready().await.unwrap_or_else(|error| panic!("{}: {error:?}", case.name));
                let (status, length, body) = receive(sender.send_request(request(case, http)).await.unwrap()).await;
                assert_eq!(status, case.status, "{}: {}", case.name, String::from_utf8_lossy(&body));
                if status == 200 {
                    check_binary("HTTP/1.1", length, &body, &wanted);
                }
            }
        }
    });
}
