//! Tests of the end of a server, of its clients and of its device.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tonic::Code;
use zfinder::gpu::{AdapterChoice, kernel_host};
use zfinder::{Engine, Preset};
use zfinder_serve::{Options, Server};
use zfinder_testing::on_fast_adapters;

use crate::common::*;

/// Clients send requests without pause while the server shuts down: each request has an answer or a
/// status, and each answer is correct.
#[test]
fn no_request_is_lost_when_the_server_ends_under_load() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(3);
    let wanted = Arc::new(sample.answers(Preset::Default));
    let runtime = runtime();
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = runtime.block_on(connect(&server));
            let (sample, wanted, answered) = (sample.clone(), Arc::clone(&wanted), Arc::clone(&answered));
            runtime.spawn(async move {
                loop {
                    match client.model_infer(sample.request("zfinder-default")).await {
                        Ok(response) => check_grpc("load", &response.into_inner(), &wanted),
                        Err(status) => return status,
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    wait_until("answers", || answered.load(Ordering::Relaxed) > 50);
    let (grpc, http_address) = (server.grpc_address().unwrap(), server.http_address().unwrap());
    server.handle().shut_down();
    assert!(server.wait(), "all requests in flight were answered");
    for client in clients {
        let status = runtime.block_on(client).unwrap();
        assert!(matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled), "{status:?}");
    }
    for address in [grpc, http_address] {
        assert!(TcpStream::connect(address).is_err(), "{address} is closed");
    }
}

/// A stream whose client has not ended it when the server drains: received requests are answered,
/// and a status says that later ones are not.
#[test]
fn a_stream_learns_which_requests_a_draining_server_has_not_answered() {
    const REQUESTS: usize = 400;
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(3);
    let wanted = sample.answers(Preset::Default);
    let runtime = runtime();
    let (sender, requests) = tokio::sync::mpsc::channel(REQUESTS);
    let send = |requests: usize| (0..requests).all(|_| sender.try_send(sample.request("zfinder-default")).is_ok());
    assert!(send(REQUESTS / 4));
    let mut client = runtime.block_on(connect(&server));
    // A stream that the client ends before the server drains.
    let whole = tokio_stream::iter((0..5).map(|_| sample.request("zfinder-default")).collect::<Vec<_>>());
    let mut whole = runtime.block_on(client.model_stream_infer(whole)).unwrap().into_inner();
    while let Some(answer) = runtime.block_on(whole.message()).unwrap() {
        check_grpc("a whole stream", &answer.infer_response.unwrap(), &wanted);
    }
    let stream = tokio_stream::wrappers::ReceiverStream::new(requests);
    let mut answers = runtime.block_on(client.model_stream_infer(stream)).unwrap().into_inner();
    let mut answered = 0;
    let status = loop {
        match runtime.block_on(answers.message()) {
            Ok(Some(answer)) => check_grpc("a stream", &answer.infer_response.unwrap(), &wanted),
            Ok(None) => panic!("the stream ended without an error after {answered} of {REQUESTS} requests"),
            Err(status) => break status,
        }
        answered += 1;
        if answered == 10 {
            server.handle().shut_down();
            // Fails as soon as the client knows the status.
            send(REQUESTS - REQUESTS / 4);
        }
    };
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let words = format!("the first {answered} requests of this stream are answered");
    assert!(answered < REQUESTS && status.message().contains(&words), "{answered}: {status:?}");
    assert!(server.wait());
}

/// Pipelined requests of HTTP/1.1 while the server drains: each answer is whole, and the last one
/// says that the connection ends.
#[test]
fn a_draining_server_marks_its_last_answer_over_http() {
    const REQUESTS: usize = 400;
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(3);
    let wanted = sample.answers(Preset::Default);
    let whole = http_request(&sample);
    let mut stream = TcpStream::connect(server.http_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    // The server closes the connection before all requests are written.
    let writer = std::thread::spawn(move || (0..REQUESTS).all(|_| writer.write_all(&whole).is_ok()));
    let mut answered = 0;
    loop {
        let (head, body) = read_response(&mut stream);
        let json = header(&head, "inference-header-content-length");
        crate::answers::check_binary(&format!("answer {answered}"), json, &body, &wanted);
        answered += 1;
        if head.contains("\r\nconnection: close\r\n") {
            break;
        }
        assert!(answered < REQUESTS, "all requests were answered before the server drained");
        if answered == 10 {
            server.handle().shut_down();
        }
    }
    assert!(answered >= 10, "{answered}");
    // An end or a reset; no more answers.
    assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    writer.join().unwrap();
    assert!(server.wait());
}

/// Requests that cannot be answered in time are refused.
#[test]
fn the_time_to_drain_is_bounded() {
    let mut options = options(&[Preset::Default]);
    options.drain = std::time::Duration::from_millis(200);
    let server = Server::start(options).unwrap();
    let runtime = runtime();
    // A client that does not read to the end of its stream keeps the connection open.
    let mut client = runtime.block_on(connect(&server));
    let (sender, requests) = tokio::sync::mpsc::channel(1);
    let stream = tokio_stream::wrappers::ReceiverStream::new(requests);
    let _answers = runtime.block_on(client.model_stream_infer(stream)).unwrap();
    // Half a request over HTTP.
    let mut half = TcpStream::connect(server.http_address().unwrap()).unwrap();
    half.write_all(
        b"POST /v2/models/zfinder-default/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
    )
    .unwrap();
    wait_until("connections", || metric(&server, &["zfinder_connections"]) >= 2);
    let begin = std::time::Instant::now();
    server.handle().shut_down();
    server.wait();
    assert!(begin.elapsed() < LIMIT / 4, "{:?}", begin.elapsed());
    drop(sender);
}

/// Returns the bytes of a whole request to the preset `default` over HTTP.
fn http_request(sample: &Sample) -> Vec<u8> {
    let (body, length) = crate::answers::binary_request(sample, true);
    let head = format!(
        "POST /v2/models/zfinder-default/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\
         Inference-Header-Content-Length: {length}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body].concat()
}

/// Clients that vanish at any moment leave no state behind.
#[test]
fn killed_clients_leave_nothing_behind() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(2);
    let whole = http_request(&sample);
    for number in 0..60 {
        // Both ports receive prefixes of all lengths.
        let address = if number % 2 == 0 { server.http_address() } else { server.grpc_address() };
        let mut stream = TcpStream::connect(address.unwrap()).unwrap();
        let _ = stream.write_all(&whole[..whole.len() * number / 60]);
    }
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    for _ in 0..20 {
        let mut client = client.clone();
        let request = sample.request("zfinder-default");
        let task = runtime.spawn(async move { client.model_infer(request).await });
        std::thread::yield_now();
        task.abort();
    }
    let response = runtime.block_on(client.model_infer(sample.request("zfinder-default"))).unwrap().into_inner();
    check_grpc("after", &response, &sample.answers(Preset::Default));
    drop(client);
    drop(runtime);
    // The connection that asks for the metrics counts too.
    wait_until("connections end", || metric(&server, &["zfinder_connections"]) <= 1);
    assert_eq!(metric(&server, &["nv_inference_pending_request_count"]), 0);
}

/// Clients that open connections and send nothing do not hinder other clients. scripts/test full
/// opens 10,000.
#[test]
fn idle_connections_hinder_nobody() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let addresses = [server.grpc_address().unwrap(), server.http_address().unwrap()];
    let connections: Vec<_> = (0..200).map(|number| TcpStream::connect(addresses[number % 2]).unwrap()).collect();
    let open = ["zfinder_connections"];
    wait_until("all connections are open", || metric(&server, &open) >= 200);
    let sample = Sample::new(2);
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let response = runtime.block_on(client.model_infer(sample.request("zfinder-default"))).unwrap().into_inner();
    check_grpc("beside idle connections", &response, &sample.answers(Preset::Default));
    drop((client, runtime, connections));
    // The connection that asks for the metrics counts too.
    wait_until("connections end", || metric(&server, &open) <= 1);
}

/// A client that sends requests and reads no answer delays only itself, and loses no answer.
#[test]
fn slow_readers_delay_only_themselves() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(40);
    let wanted = sample.answers(Preset::Default);
    let whole = http_request(&sample);
    let mut slow = TcpStream::connect(server.http_address().unwrap()).unwrap();
    slow.set_read_timeout(Some(LIMIT)).unwrap();
    let mut writer = slow.try_clone().unwrap();
    const REQUESTS: usize = 100;
    let writer = std::thread::spawn(move || (0..REQUESTS).for_each(|_| writer.write_all(&whole).unwrap()));
    let runtime = runtime();
    // The same over gRPC: a stream whose answers nobody reads yet.
    let mut client = runtime.block_on(connect(&server));
    let requests = tokio_stream::iter((0..REQUESTS).map(|_| sample.request("zfinder-default")).collect::<Vec<_>>());
    let mut answers = runtime.block_on(client.model_stream_infer(requests)).unwrap().into_inner();
    let mut other = runtime.block_on(connect(&server));
    for _ in 0..10 {
        let response = runtime.block_on(other.model_infer(sample.request("zfinder-default"))).unwrap().into_inner();
        check_grpc("beside slow readers", &response, &wanted);
    }
    for _ in 0..REQUESTS {
        let answer = runtime.block_on(answers.message()).unwrap().unwrap();
        check_grpc("slow stream", &answer.infer_response.unwrap(), &wanted);
    }
    for number in 0..REQUESTS {
        let (head, body) = read_response(&mut slow);
        let json = header(&head, "inference-header-content-length");
        crate::answers::check_binary(&format!("slow answer {number}"), json, &body, &wanted);
    }
    writer.join().unwrap();
}

/// Reads one response of HTTP/1.1, and returns its head in lower case, and its body.
fn read_response(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let mut body = vec![0; header(&head, "content-length")];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

/// Returns the number in a header.
fn header(head: &str, name: &str) -> usize {
    let value = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.unwrap_or_else(|| panic!("no {name} in {head}")).parse().unwrap()
}

/// A lost device changes no bit, because the CPU engine answers.
#[test]
fn the_cpu_answers_for_a_lost_device() {
    let Some(adapter) = on_fast_adapters().into_iter().next() else { return };
    let choice = AdapterChoice::Index(adapter.index);
    let gpu = kernel_host::Gpu::new(&kernel_host::GpuOptions { adapter: choice, ..Default::default() });
    let gpu = gpu.unwrap();
    let engine = Engine::Gpu(AdapterChoice::Open(gpu.clone()));
    let server = Server::start(Options { engine, ..options(&[Preset::Default]) }).unwrap();
    let sample = Sample::new(4);
    let wanted = sample.answers(Preset::Default);
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let mut ask = |place: &str| {
        let response = runtime.block_on(client.model_infer(sample.request("zfinder-default"))).unwrap().into_inner();
        check_grpc(place, &response, &wanted);
    };
    ask("GPU");
    let lost = ["zfinder_device_lost"];
    assert_eq!((metric(&server, &lost), metric(&server, &["zfinder_fallback_batches"])), (0, 0));
    // The device is lost while other clients wait for answers.
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..3)
        .map(|_| {
            let mut client = runtime.block_on(connect(&server));
            let (sample, wanted, answered) = (sample.clone(), wanted.clone(), Arc::clone(&answered));
            runtime.spawn(async move {
                for _ in 0..20 {
                    let response = client.model_infer(sample.request("zfinder-default")).await.unwrap().into_inner();
                    check_grpc("around the loss", &response, &wanted);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    wait_until("answers before the loss", || answered.load(Ordering::Relaxed) > 5);
    gpu.device().destroy();
    for client in clients {
        runtime.block_on(client).unwrap();
    }
    let fallback = metric(&server, &["zfinder_fallback_batches"]);
    assert!(fallback > 0);
    for _ in 0..3 {
        ask("CPU");
    }
    assert_eq!(metric(&server, &lost), 1);
    assert_eq!(metric(&server, &["zfinder_fallback_batches"]), fallback + 3);
    assert_eq!(get(server.http_address().unwrap(), "/v2/health/ready").0, 200);
}
