//! Tests of invalid, too large, too many and too late requests.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use tonic::Code;
use zfinder::Preset;
use zfinder_serve::proto::{InferParameter, ModelInferRequest, infer_parameter::ParameterChoice};
use zfinder_serve::{BatchOptions, Options, Server};

use crate::common::*;

type Change = Box<dyn Fn(&mut ModelInferRequest)>;

fn shape(at: usize, shape: &[i64]) -> Change {
    let shape = shape.to_vec();
    Box::new(move |request| request.inputs[at].shape = shape.clone())
}

fn raw(at: usize, bytes: &[u8]) -> Change {
    let bytes = bytes.to_vec();
    Box::new(move |request| request.raw_input_contents[at] = bytes.clone().into())
}

fn offsets(offsets: &[i64]) -> Change {
    let offsets = offsets.to_vec();
    Box::new(move |request| {
        let values = offsets.iter().map(|value| value.to_le_bytes());
        (request.inputs[0], request.raw_input_contents[0]) = tensor("OFFSETS", "INT64", &[offsets.len()], values);
    })
}

fn more(name: &'static str, datatype: &'static str, shape: &'static [usize], value: f32) -> Change {
    Box::new(move |request| {
        let elements = shape.iter().product();
        let (input, bytes) = tensor(name, datatype, shape, std::iter::repeat_n(value.to_le_bytes(), elements));
        request.inputs.push(input);
        request.raw_input_contents.push(bytes);
    })
}

fn parameter(name: &'static str) -> Change {
    Box::new(move |request| drop(request.parameters.insert(name.into(), InferParameter::default())))
}

#[test]
fn wrong_tensors_are_refused_and_the_server_goes_on() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(2);
    let good = sample.request("zfinder-default");
    let (rois, points) = (sample.rois(), sample.layer.len() as i64);
    let cases: Vec<(&str, Code, Change)> = vec![
        ("there is no model `q`", Code::NotFound, Box::new(|request| request.model_name = "q".into())),
        ("version `2`", Code::NotFound, Box::new(|request| request.model_version = "2".into())),
        ("version `one`", Code::NotFound, Box::new(|request| request.model_version = "one".into())),
        ("there is no input `Q`", Code::InvalidArgument, Box::new(|request| request.inputs[1].name = "Q".into())),
        ("no input `EVENT_NUMBER`", Code::InvalidArgument, more("EVENT_NUMBER", "UINT32", &[4], 0.0)),
        ("no input `eventNumber`", Code::InvalidArgument, more("eventNumber", "FP32", &[4], 0.0)),
        ("no input `event`", Code::InvalidArgument, more("event", "FP32", &[4], 0.0)),
        ("parameter `event_id` looks like an event number", Code::InvalidArgument, parameter("event_id")),
        (
            "parameter `eventNumber` looks like an event number",
            Code::InvalidArgument,
            Box::new(|request| {
                request.inputs[0].parameters.insert("eventNumber".into(), InferParameter::default());
            }),
        ),
        ("PHI is given twice", Code::InvalidArgument, Box::new(|request| request.inputs[1].name = "PHI".into())),
        (
            "input RHO is missing",
            Code::InvalidArgument,
            Box::new(|request| {
                request.inputs.remove(1);
                request.raw_input_contents.remove(1);
            }),
        ),
        (
            "5 inputs and 4 raw",
            Code::InvalidArgument,
            Box::new(|request| {
                request.raw_input_contents.pop();
            }),
        ),
        (
            "does not go together",
            Code::InvalidArgument,
            Box::new(|request| {
                let (input, bytes) = (request.inputs[1].clone(), request.raw_input_contents[1].clone());
                request.inputs.push(zfinder_serve::proto::model_infer_request::InferInputTensor {
                    name: "X".into(),
                    ..input.clone()
                });
                request
                    .inputs
                    .push(zfinder_serve::proto::model_infer_request::InferInputTensor { name: "Y".into(), ..input });
                request.raw_input_contents.extend([bytes.clone(), bytes]);
            }),
        ),
        (
            "`FP128` is not one of",
            Code::InvalidArgument,
            Box::new(|request| request.inputs[1].datatype = "FP128".into()),
        ),
        (
            "datatype is INT32, and FP32 or FP64",
            Code::InvalidArgument,
            Box::new(|request| request.inputs[1].datatype = "INT32".into()),
        ),
        ("bytes, and", Code::InvalidArgument, shape(1, &[points + 1])),
        ("negative or too large", Code::InvalidArgument, shape(1, &[-1])),
        ("negative or too large", Code::InvalidArgument, shape(1, &[i64::MAX, i64::MAX])),
        ("shape is [1, ", Code::InvalidArgument, shape(1, &[1, points])),
        ("bytes, and 3 were sent", Code::InvalidArgument, raw(4, &[0; 3])),
        ("the first offset", Code::InvalidArgument, offsets(&[1, points])),
        ("offset 2 is below", Code::InvalidArgument, offsets(&[0, 5, 3, points])),
        ("the last offset", Code::InvalidArgument, offsets(&[0, -1])),
        ("the last offset", Code::InvalidArgument, offsets(&[0, points + 1])),
        ("none was sent", Code::InvalidArgument, offsets(&[])),
        ("shape is [3], and [4, 2]", Code::InvalidArgument, more("PHI_WINDOW", "FP32", &[3], 0.0)),
        ("zero width", Code::InvalidArgument, more("PHI_WINDOW", "FP32", &[4, 2], 1.0)),
        ("is not finite", Code::InvalidArgument, more("ETA", "FP32", &[4], f32::INFINITY)),
        ("Z_RANGE or ETA, RoI 0", Code::InvalidArgument, more("Z_RANGE", "FP32", &[4, 2], 1.0)),
        ("there is no output `Q`", Code::InvalidArgument, Box::new(|request| request.outputs = outputs(&["Q"]))),
        ("asked for twice", Code::InvalidArgument, Box::new(|request| request.outputs = outputs(&["Z", "Z"]))),
        (
            "shared memory",
            Code::Unimplemented,
            Box::new(|request| {
                let text =
                    |text: &str| InferParameter { parameter_choice: Some(ParameterChoice::StringParam(text.into())) };
                let number = InferParameter { parameter_choice: Some(ParameterChoice::Int64Param(8)) };
                request.inputs[0].parameters.insert("shared_memory_region".into(), text("a"));
                request.inputs[0].parameters.insert("shared_memory_byte_size".into(), number);
                request.raw_input_contents.remove(0);
            }),
        ),
    ];
    assert_eq!(rois, 4);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        for (words, code, change) in cases {
            let mut request = good.clone();
            change(&mut request);
            refused(words, client.model_infer(request).await, code, words);
        }
        let response = client.model_infer(good).await.unwrap().into_inner();
        check_grpc("after refusals", &response, &sample.answers(Preset::Default));
    });
    assert!(metric(&server, &["nv_inference_request_failure", "INVALID"]) > 20);
    assert_eq!(metric(&server, &["zfinder_unknown_model_requests"]), 3);
}

#[test]
fn large_messages_are_refused() {
    let server = Server::start(Options { max_message_bytes: 10_000, ..options(&[Preset::Default]) }).unwrap();
    let sample = Sample::new(40);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        let answer = client.model_infer(sample.request("zfinder-default")).await;
        refused("large", answer, Code::OutOfRange, "too large");
        client.model_infer(sample.part(0..1).request("zfinder-default")).await.unwrap();
    });
    let path = "/v2/models/zfinder-default/infer";
    let (status, _, body) = http(server.http_address().unwrap(), "POST", path, "", &[b' '; 10_001]);
    let body = String::from_utf8_lossy(&body);
    assert!(status == 413 && body.contains("the limit is 10000 bytes") && body.contains("--max-message-mib"), "{body}");
}

/// A message that stops half-way leaves no allowance for a second one, until its client is gone.
#[test]
fn bytes_being_received_are_limited() {
    let (max_message_bytes, max_receiving_bytes) = (100_000, 100_000);
    let server =
        Server::start(Options { max_message_bytes, max_receiving_bytes, ..options(&[Preset::Default]) }).unwrap();
    let sample = Sample::new(10);
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let mut ask = || runtime.block_on(client.model_infer(sample.request("zfinder-default")));
    ask().unwrap();
    let half_message = || {
        let mut stream = TcpStream::connect(server.http_address().unwrap()).unwrap();
        let head = "POST /v2/models/zfinder-default/infer HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 99000\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&[b' '; 98_000]).unwrap();
        stream
    };
    let mut half = half_message();
    wait_until("half a message leaves no room", || match ask() {
        // The half may have been refused in favour of the whole one.
        Ok(_) => {
            half = half_message();
            false
        }
        answer => {
            refused("half", answer, Code::ResourceExhausted, "are being received");
            true
        }
    });
    drop(half);
    wait_until("there is room again", || ask().is_ok());
}

#[test]
fn wrong_http_requests_are_refused() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let path = "/v2/models/zfinder-default/infer";
    for (headers, body, status, words) in [
        ("", "{", 400, "is not JSON"),
        ("", "{", 400, "its length must be in Inference-Header-Content-Length"),
        ("Inference-Header-Content-Length: x\r\n", "{}", 400, "Inference-Header-Content-Length is `x`, which is not a"),
        ("Inference-Header-Content-Length: -1\r\n", "{}", 400, "is `-1`, which is not a number"),
        ("Inference-Header-Content-Length: 9\r\n", "{}", 400, "Content-Length is 9, and the body has 2 bytes"),
        ("Inference-Header-Content-Length: 1\r\n", "{}", 400, "Content-Length is 1, and the body has 2 bytes"),
        ("Content-Encoding: gzip\r\n", "{}", 400, "the body cannot be decompressed as gzip"),
        ("Content-Encoding: deflate\r\n", "", 400, "the body cannot be decompressed as deflate"),
        (
            "Content-Encoding: br\r\n",
            "{}",
            415,
            "Content-Encoding is `br`; the server reads one encoding of gzip, deflate and identity",
        ),
        (
            "Content-Type: text/csv\r\n",
            "1,2,3",
            400,
            "Content-Type is `text/csv`, and the server reads application/json",
        ),
        // curl sends this type with JSON.
        ("Content-Type: application/x-www-form-urlencoded\r\n", r#"{"inputs": []}"#, 400, "input LAYER is missing"),
        ("", r#"{"inputs": []}"#, 400, "input LAYER is missing"),
        ("", r#"{"inputs": [], "parameters": {"priority": 1}}"#, 400, "input LAYER is missing"),
        ("", r#"{"inputs": [], "parameters": {"Event_ID": 1}}"#, 400, "parameter `Event_ID` looks like"),
        (
            "",
            r#"{"inputs": [{"name": "event", "datatype": "INT64", "shape": [1], "data": [1]}]}"#,
            400,
            "there is no input `event`",
        ),
    ] {
        let (found, _, answer) = http(server.http_address().unwrap(), "POST", path, headers, body.as_bytes());
        let answer = String::from_utf8(answer).unwrap();
        assert!(found == status && answer.contains(words), "{headers}{body}: {found} {answer}");
    }
}

/// Waits until this many requests are pending.
fn wait_for_pending(server: &Server, requests: u64) {
    wait_until("requests wait", || metric(server, &["nv_inference_pending_request_count"]) == requests);
}

#[test]
fn a_full_queue_refuses_and_a_drained_one_answers() {
    let server = Server::start(patient(2)).unwrap();
    let sample = Sample::new(1);
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let wait = |mut client: Client| {
        let request = sample.request("zfinder-default");
        runtime.spawn(async move { client.model_infer(request).await })
    };
    let waiting = [wait(client.clone()), wait(client.clone())];
    wait_for_pending(&server, 2);
    let answer = runtime.block_on(client.model_infer(sample.request("zfinder-default")));
    refused("full", answer, Code::ResourceExhausted, "the queue is full: 2 requests wait");
    assert_eq!(metric(&server, &["nv_inference_request_failure", "REJECTED"]), 1);
    // The server ends without waiting for other requests.
    server.handle().shut_down();
    assert!(server.wait());
    for waiting in waiting {
        let response = runtime.block_on(waiting).unwrap().unwrap().into_inner();
        check_grpc("drained", &response, &sample.answers(Preset::Default));
    }
}

#[test]
fn a_full_queue_counts_bytes() {
    let mut options = patient(100);
    options.batches = BatchOptions { queue_bytes: 20_000, ..options.batches };
    let server = Server::start(options).unwrap();
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    let large = Sample::new(20).request("zfinder-default");
    let mut first = client.clone();
    let request = large.clone();
    let _waiting = runtime.spawn(async move { first.model_infer(request).await });
    wait_for_pending(&server, 1);
    refused("full", runtime.block_on(client.model_infer(large)), Code::ResourceExhausted, "--queue-mib");
}

#[test]
fn expired_and_cancelled_requests_are_not_computed() {
    let mut options = patient(100);
    options.batches.max_delay = Duration::from_secs(2);
    let server = Server::start(options).unwrap();
    let sample = Sample::new(1);
    let runtime = runtime();
    let mut client = runtime.block_on(connect(&server));
    // The deadline of gRPC; the client's own timer runs out first or after.
    let mut request = tonic::Request::new(sample.request("zfinder-default"));
    request.set_timeout(Duration::from_millis(20));
    let status = runtime.block_on(client.model_infer(request)).expect_err("too late");
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    // The parameter of the request.
    let mut request = sample.request("zfinder-default");
    let timeout = InferParameter { parameter_choice: Some(ParameterChoice::Int64Param(20_000)) };
    request.parameters.insert("timeout".into(), timeout);
    refused("timeout", runtime.block_on(client.model_infer(request)), Code::DeadlineExceeded, "deadline");
    let mut leaving = client.clone();
    let request = sample.request("zfinder-default");
    let left = runtime.spawn(async move { leaving.model_infer(request).await });
    wait_for_pending(&server, 3);
    left.abort();
    runtime.block_on(client.model_infer(sample.request("zfinder-default"))).unwrap();
    assert_eq!(metric(&server, &["zfinder_cancelled_requests"]), 3);
    assert_eq!(metric(&server, &["nv_inference_count"]), sample.rois() as u64);
    assert_eq!(metric(&server, &["nv_inference_exec_count"]), 1);
}
