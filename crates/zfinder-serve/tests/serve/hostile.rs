//! Tests of clients that are silent, stop half-way, do not read, or are web pages.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prost::Message;
use tokio_stream::StreamExt;
use tonic::{Code, Request};
use zfinder::Preset;
use zfinder_serve::proto::ModelInferRequest;
use zfinder_serve::{BatchOptions, Error, Options, Server};

use crate::answers::{binary_request, check_binary};
use crate::common::*;

const INFER: &str = "/v2/models/zfinder-default/infer";

/// Returns options with a short time for clients that stop.
fn brief() -> Options {
    Options { idle: Duration::from_millis(200), ..options(&[Preset::Default]) }
}

fn open(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Sends the head of a request over HTTP/1.1, and half of its body.
fn half_sent(address: SocketAddr) -> TcpStream {
    let mut stream = open(address);
    let head = format!("POST {INFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n");
    stream.write_all(&[head.as_bytes(), &[b' '; 1000]].concat()).unwrap();
    stream
}

/// Returns all that a connection sends until it ends.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[test]
fn silent_connections_are_closed() {
    let server = Server::start(brief()).unwrap();
    let ports = [server.grpc_address(), server.http_address(), server.metrics_address()].map(Option::unwrap);
    let sent: [&[u8]; 4] =
        [b"", b"PRI", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n"];
    for address in ports {
        let streams = sent.map(|bytes| {
            let mut stream = open(address);
            stream.write_all(bytes).unwrap();
            stream
        });
        let begin = Instant::now();
        for stream in streams {
            rest(stream);
        }
        assert!(begin.elapsed() < LIMIT / 2, "{address}: {:?}", begin.elapsed());
    }
    assert_eq!(get(ports[1], "/v2/health/ready").0, 200);
}

#[test]
fn idle_connections_give_way_to_new_ones() {
    let server = Server::start(Options { max_connections: 4, ..options(&[Preset::Default]) }).unwrap();
    let (grpc, http) = (server.grpc_address().unwrap(), server.http_address().unwrap());
    let begin = Instant::now();
    // Ten times as many connections as places, on both ports.
    let silent: Vec<_> = (0..40).map(|number| open([grpc, http][number % 2])).collect();
    assert_eq!(get(http, "/v2/health/ready").0, 200);
    let sample = Sample::new(1);
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let response = runtime.block_on(client.model_infer(sample.request("zfinder-default"))).unwrap().into_inner();
    check_grpc("beside silent connections", &response, &sample.answers(Preset::Default));
    // Without eviction, the first of them ends after 10 s.
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    drop(silent);
}

#[test]
fn metrics_and_health_have_room_of_their_own() {
    let server = Server::start(Options { max_connections: 2, ..options(&[Preset::Default]) }).unwrap();
    let http = server.http_address().unwrap();
    // Requests in progress take all room, so that nobody can give way.
    let busy: Vec<_> = (0..2).map(|_| half_sent(http)).collect();
    wait_until("both are open", || metric(&server, &["zfinder_connections"]) >= 3);
    let third = std::thread::spawn(move || get(http, "/v2/health/ready").0);
    let metrics = server.metrics_address().unwrap();
    for path in ["/v2/health/ready", "/v2/health/live", "/metrics"] {
        assert_eq!(get(metrics, path).0, 200, "{path}");
    }
    std::thread::sleep(Duration::from_millis(200));
    assert!(!third.is_finished(), "a third connection is served");
    drop(busy);
    assert_eq!(third.join().unwrap(), 200);
}

#[test]
fn half_sent_requests_end_and_give_their_bytes_back() {
    let bytes = 2000;
    let server = Server::start(Options { max_message_bytes: bytes, max_receiving_bytes: bytes, ..brief() }).unwrap();
    let http_address = server.http_address().unwrap();
    let answer = rest(half_sent(http_address));
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("did not arrive within 200ms"), "{answer}");
    // Half a message of gRPC, and a whole one without the end of its call.
    runtime().block_on(async {
        let content = ModelInferRequest { id: "0".repeat(1500), ..Default::default() }.encode_to_vec();
        for sent in [0, 1000, content.len()] {
            let message = [&[0][..], &(content.len() as u32).to_be_bytes(), &content[..sent]].concat();
            let body = tokio_stream::iter([Ok::<_, tonic::Status>(hyper::body::Frame::data(Bytes::from(message)))]);
            let body = http_body_util::StreamBody::new(body.chain(tokio_stream::pending()));
            let stream = tokio::net::TcpStream::connect(server.grpc_address().unwrap()).await.unwrap();
            let io = hyper_util::rt::TokioIo::new(stream);
            let executor = hyper_util::rt::TokioExecutor::new();
            let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, io).await.unwrap();
            tokio::spawn(connection);
            let request = hyper::Request::post("http://localhost/inference.GRPCInferenceService/ModelInfer")
                .header("content-type", "application/grpc")
                .header("te", "trailers");
            let response = sender.send_request(request.body(body).unwrap()).await.unwrap();
            assert_eq!(response.headers()["grpc-status"], "4", "{sent}");
        }
    });
    // The whole limit is left.
    let (status, _, body) = http(http_address, "POST", INFER, "", &[b' '; 1990]);
    assert_eq!(status, 400, "{}", String::from_utf8_lossy(&body));
}

#[test]
fn a_stream_may_be_idle_between_messages() {
    let server = Server::start(brief()).unwrap();
    let sample = Sample::new(1);
    let wanted = sample.answers(Preset::Default);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        let (sender, requests) = tokio::sync::mpsc::channel(1);
        let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
        sender.send(sample.request("zfinder-default")).await.unwrap();
        let mut answers = client.model_stream_infer(requests).await.unwrap().into_inner();
        for pause in [0, 700, 300] {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let answer = answers.message().await.unwrap().unwrap();
            check_grpc("after a pause", &answer.infer_response.unwrap(), &wanted);
            sender.send(sample.request("zfinder-default")).await.unwrap();
        }
    });
}

#[test]
fn clients_of_http_that_do_not_read_are_disconnected() {
    let max_sending_bytes = 1 << 20;
    let server = Server::start(Options { max_sending_bytes, ..brief() }).unwrap();
    let empty = Sample { offsets: vec![0; 20_000], ..Sample::default() };
    let (body, length) = binary_request(&empty, true);
    let head = format!(
        "POST {INFER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\
         Inference-Header-Content-Length: {length}\r\n\r\n",
        body.len()
    );
    let mut stream = open(server.http_address().unwrap());
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    let request = [head.as_bytes(), &body].concat();
    let begin = Instant::now();
    while stream.write_all(&request).is_ok() {
        assert!(begin.elapsed() < LIMIT, "a client that does not read is served");
    }
    assert!(begin.elapsed() < LIMIT / 2, "{:?}", begin.elapsed());
    // Its bytes are free again.
    let sample = Sample::new(1);
    let (body, length) = binary_request(&sample, true);
    let header = format!("Inference-Header-Content-Length: {length}\r\n");
    wait_until("there is room", || http(server.http_address().unwrap(), "POST", INFER, &header, &body).0 == 200);
}

#[test]
fn web_pages_are_refused() {
    let allowed_origins = vec!["https://friend.example:8080".to_owned()];
    let server = Server::start(Options { allowed_origins, ..options(&[Preset::Default]) }).unwrap();
    let (http_address, metrics) = (server.http_address().unwrap(), server.metrics_address().unwrap());
    let ask = |address: SocketAddr, method: &str, path: &str, headers: &str| {
        let mut stream = open(address);
        let text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        String::from_utf8(rest(stream)).unwrap().to_lowercase()
    };
    let page = "Host: localhost\r\nOrigin: https://evil.example\r\nContent-Type: text/plain\r\nContent-Length: 0";
    let register = "/v2/systemsharedmemory/region/a/register";
    for (method, address, path) in [
        ("POST", http_address, INFER),
        ("POST", http_address, register),
        ("GET", http_address, "/v2"),
        ("OPTIONS", http_address, INFER),
        ("GET", metrics, "/metrics"),
    ] {
        let answer = ask(address, method, path, page);
        assert!(answer.starts_with("http/1.1 403 ") && answer.contains("--allow-origin"), "{method} {path}: {answer}");
        assert!(!answer.contains("access-control"), "{answer}");
        let rebound = "Host: evil.example:8000\r\nContent-Length: 0";
        let answer = ask(address, method, path, rebound);
        assert!(answer.starts_with("http/1.1 403 ") && answer.contains("evil.example:8000"), "{answer}");
    }
    for host in ["localhost:1", "127.0.0.1", "127.1.2.3:4", "[::1]:5", "friend.example"] {
        assert!(ask(http_address, "GET", "/v2", &format!("Host: {host}")).starts_with("http/1.1 200 "), "{host}");
    }
    let friend = "Host: localhost\r\nOrigin: https://friend.example:8080";
    let answer = ask(http_address, "GET", "/v2", friend);
    assert!(answer.starts_with("http/1.1 200 "), "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://friend.example:8080\r\n"), "{answer}");
    let preflight = format!("{friend}\r\nAccess-Control-Request-Method: POST");
    let answer = ask(http_address, "OPTIONS", INFER, &preflight);
    assert!(answer.starts_with("http/1.1 204 ") && answer.contains("access-control-allow-methods: get, head, post"));
    // gRPC: a name that leads here, and the header of a page.
    runtime().block_on(async {
        let address = server.grpc_address().unwrap();
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}")).unwrap();
        let foreign = endpoint.clone().origin("http://evil.example".parse().unwrap()).connect().await.unwrap();
        let mut foreign = zfinder_serve::proto::grpc_inference_service_client::GrpcInferenceServiceClient::new(foreign);
        let request = zfinder_serve::proto::ServerLiveRequest {};
        refused("host", foreign.server_live(request).await, Code::PermissionDenied, "`evil.example`");
        let mut client = connect(&server).await;
        let mut page = Request::new(request);
        page.metadata_mut().insert("origin", "https://evil.example".parse().unwrap());
        refused("origin", client.server_live(page).await, Code::PermissionDenied, "https://evil.example");
        assert!(client.server_live(request).await.unwrap().into_inner().live);
    });
}

/// Requests in progress when the time to drain ends: halves, and a search that takes longer.
#[test]
fn every_request_has_an_answer_when_the_time_to_drain_ends() {
    let drain = Duration::from_millis(200);
    let server = Server::start(Options { drain, ..options(&[Preset::Default, Preset::FullScan]) }).unwrap();
    let (http_address, grpc) = (server.http_address().unwrap(), server.grpc_address().unwrap());
    let sample = Sample::new(1);
    let mut large = sample.part(0..2);
    while large.layer.len() < 2_000_000 {
        let points: Vec<_> = (0..sample.layer.len() / 2).collect();
        large.rho.extend(points.iter().map(|&at| sample.rho[at]));
        large.phi.extend(points.iter().map(|&at| sample.phi[at]));
        large.z.extend(points.iter().map(|&at| sample.z[at]));
        large.layer.extend(points.iter().map(|&at| sample.layer[at]));
        large.offsets.push(large.layer.len() as i64);
    }
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let request = large.request("zfinder-full-scan");
    let searched = runtime.spawn(async move { client.model_infer(request).await });
    let half = half_sent(http_address);
    wait_until("requests are in progress", || {
        metric(&server, &["zfinder_connections"]) >= 3
            && metric(&server, &["nv_inference_pending_request_count"]) == 0
            && metric(&server, &["nv_inference_exec_count"]) == 0
    });
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    server.handle().shut_down();
    assert!(!server.wait(), "requests were refused");
    assert!(begin.elapsed() < LIMIT / 4, "{:?}", begin.elapsed());
    refused("a long search", runtime.block_on(searched).unwrap(), Code::Unavailable, "shutting down");
    let answer = rest(half);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("shutting down"), "{answer}");
    assert!(TcpStream::connect(grpc).is_err());
}

/// Clients of HTTP/1.1 keep their connections, and send requests with pauses while the server
/// drains.
#[test]
fn no_request_on_a_kept_connection_is_lost_when_the_server_drains() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let address = server.http_address().unwrap();
    let clients: Vec<_> = (0..16_u64)
        .map(|number| {
            std::thread::spawn(move || {
                let mut random = fastrand::Rng::with_seed(number);
                let mut stream = open(address);
                for answered in 0.. {
                    stream.write_all(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
                    let mut answer = Vec::new();
                    while !answer.ends_with(b"\"}") && !answer.ends_with(b"]}") {
                        let mut byte = [0];
                        let read = stream.read(&mut byte);
                        assert!(read.is_ok_and(|read| read == 1), "client {number}: no answer after {answered}");
                        answer.extend(byte);
                    }
                    if String::from_utf8_lossy(&answer).to_lowercase().contains("connection: close") {
                        return answered;
                    }
                    std::thread::sleep(Duration::from_millis(random.u64(0..20)));
                }
                unreachable!("the loop has no end")
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    server.handle().shut_down();
    assert!(server.wait());
    for client in clients {
        assert!(client.join().unwrap() > 0);
    }
}

#[test]
fn long_names_are_cut_in_refusals() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let long = "\u{e9}".repeat(1 << 20);
    let sample = Sample::new(1);
    let good = sample.request("zfinder-default");
    runtime().block_on(async {
        let mut client = connect(&server).await;
        let mut cases = vec![
            (Code::NotFound, ModelInferRequest { model_name: long.clone(), ..good.clone() }),
            (Code::NotFound, ModelInferRequest { model_version: long.clone(), ..good.clone() }),
            (Code::InvalidArgument, ModelInferRequest { id: long.clone(), ..good.clone() }),
            (Code::InvalidArgument, ModelInferRequest { outputs: outputs(&[&long]), ..good.clone() }),
        ];
        let mut request = good.clone();
        request.inputs[1].name = long.clone();
        cases.push((Code::InvalidArgument, request));
        let mut request = good.clone();
        request.inputs[1].datatype = long.clone();
        cases.push((Code::InvalidArgument, request));
        for (number, (code, request)) in cases.into_iter().enumerate() {
            let status = client.model_infer(request).await.expect_err("a refusal");
            assert_eq!(status.code(), code, "{number}: {status:?}");
            let message = status.message();
            assert!(message.len() < 2500 && message.is_ascii(), "{number}: {} bytes", message.len());
        }
        let region = zfinder_serve::proto::SystemSharedMemoryStatusRequest { name: long.clone() };
        let status = client.system_shared_memory_status(region).await.expect_err("a refusal");
        assert!(status.message().len() < 2500);
        let response = client.model_infer(good).await.unwrap().into_inner();
        check_grpc("after long names", &response, &sample.answers(Preset::Default));
    });
    let (status, _, body) =
        http(server.http_address().unwrap(), "POST", INFER, "", format!(r#"{{"inputs": "{long}"}}"#).as_bytes());
    assert!(status == 400 && body.len() < 2500, "{status}: {} bytes", body.len());
}

#[test]
fn options_out_of_range_are_errors() {
    let batches = |batches: BatchOptions| Options { batches, ..options(&[Preset::Default]) };
    let usual = BatchOptions::default;
    let of = || options(&[Preset::Default]);
    for (name, words, options) in [
        ("batches.in_flight", "1024 is the most", batches(BatchOptions { in_flight: Some(1025), ..usual() })),
        ("batches.in_flight", "1024 is the most", batches(BatchOptions { in_flight: Some(usize::MAX), ..usual() })),
        ("batches.in_flight", "1 is the least", batches(BatchOptions { in_flight: Some(0), ..usual() })),
        ("batches.batch_rois", "1 is the least", batches(BatchOptions { batch_rois: Some(0), ..usual() })),
        ("batches.batch_spacepoints", "1 is the least", batches(BatchOptions { batch_spacepoints: 0, ..usual() })),
        ("batches.queue_requests", "1 is the least", batches(BatchOptions { queue_requests: 0, ..usual() })),
        ("batches.queue_bytes", "1 is the least", batches(BatchOptions { queue_bytes: 0, ..usual() })),
        ("batches.max_delay", "is the most", batches(BatchOptions { max_delay: Duration::MAX, ..usual() })),
        ("max_message_bytes", "1 is the least", Options { max_message_bytes: 0, ..of() }),
        ("max_receiving_bytes", "1 is the least", Options { max_receiving_bytes: 0, ..of() }),
        ("max_receiving_bytes", "the largest request", Options { max_receiving_bytes: 1000, ..of() }),
        ("max_sending_bytes", "1 is the least", Options { max_sending_bytes: 0, ..of() }),
        ("max_connections", "1 is the least", Options { max_connections: 0, ..of() }),
        ("max_connections", "is the most", Options { max_connections: usize::MAX, ..of() }),
        ("idle", "not above 0 s", Options { idle: Duration::ZERO, ..of() }),
        ("idle", "not above 0 s", Options { idle: Duration::MAX, ..of() }),
        ("allowed_origins", "is not an origin", Options { allowed_origins: vec!["*".into()], ..of() }),
    ] {
        match Server::start(options) {
            Err(Error::Option { name: found, reason }) => {
                assert!(found == name && reason.contains(words), "{name}: {found}: {reason}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let threads = std::num::NonZeroUsize::new(usize::MAX);
    assert!(matches!(Server::start(Options { threads, ..of() }), Err(Error::Finder { .. })));
    // Extreme values that are accepted.
    let options =
        Options { drain: Duration::MAX, max_receiving_bytes: usize::MAX, max_message_bytes: usize::MAX, ..of() };
    let options = Options { max_sending_bytes: usize::MAX, ..options };
    let server = Server::start(options).unwrap();
    let sample = Sample::new(1);
    let (body, length) = binary_request(&sample, true);
    let header = format!("Inference-Header-Content-Length: {length}\r\n");
    let (status, head, answer) = http(server.http_address().unwrap(), "POST", INFER, &header, &body);
    assert_eq!(status, 200);
    let length = head.lines().find_map(|line| line.strip_prefix("inference-header-content-length: ")).unwrap();
    check_binary("largest limits", length.trim().parse().unwrap(), &answer, &sample.answers(Preset::Default));
    server.handle().shut_down();
    assert!(server.wait());
}
