//! Tests of the memory of a server under attack. Each runs in a process of its own, because the
//! peak of a process belongs to all its tests.

use std::process::Command;
use std::time::Duration;

use tonic::Code;
use zfinder::Preset;
use zfinder_serve::proto::ModelInferRequest;
use zfinder_serve::{Options, Server};

use crate::common::*;

const INFER: &str = "/v2/models/zfinder-default/infer";
const CHILD: &str = "ZFINDER_MEMORY_CHILD";
const MIB: usize = 1 << 20;

/// Returns a number of /proc/self/status in bytes.
fn status(key: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

/// Runs an attack in a child. Checks the growth of its peak, and of its memory after the attack, in
/// MiB.
fn within(test: &str, most_peak: usize, most_after: usize, attack: impl FnOnce(&mut dyn FnMut())) {
    if std::env::var_os(CHILD).is_none() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", &format!("memory::{test}")])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let said = [child.stdout, child.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(child.status.success() && said[0].contains("MiB at the peak"), "{}\n{}", said[0], said[1]);
        return;
    }
    let mut before = 0;
    attack(&mut || before = status("VmRSS"));
    assert!(before > 0, "the attack has begun");
    let [peak, after] = ["VmHWM", "VmRSS"].map(|key| status(key).saturating_sub(before) / MIB);
    println!("{test}: {peak} MiB at the peak, {after} MiB after");
    assert!(peak <= most_peak, "{test}: the peak is {peak} MiB, and {most_peak} is the most");
    assert!(after <= most_after, "{test}: {after} MiB are left, and {most_after} is the most");
}

/// Returns a server that has answered a request, and the honest request.
fn server(options: Options) -> (Server, Sample) {
    let server = Server::start(options).unwrap();
    let sample = Sample::new(2);
    honest(&server, &sample);
    (server, sample)
}

fn honest(server: &Server, sample: &Sample) {
    runtime().block_on(async {
        let mut client = connect(server).await;
        let response = client.model_infer(sample.request("zfinder-default")).await.unwrap().into_inner();
        check_grpc("honest", &response, &sample.answers(Preset::Default));
    });
}

/// JSON of 30 MB in which each member is an empty object: 3 GB as a tree of values.
#[test]
fn json_of_many_objects_takes_the_memory_of_its_text() {
    within("json_of_many_objects_takes_the_memory_of_its_text", 150, 60, |begin| {
        let (server, sample) = server(options(&[Preset::Default]));
        let objects = r#"{"":0},"#.repeat(30_000_000 / 7);
        let objects = objects.trim_end_matches(',');
        begin();
        for (body, code) in [
            (format!(r#"{{"inputs":[{{"name":"Z","datatype":"FP32","shape":[9],"data":[{objects}]}}]}}"#), 400),
            (format!(r#"{{"parameters":{{"a":[{objects}]}},"b":[{objects}],"inputs":[]}}"#), 400),
        ] {
            let (status, _, answer) = http(server.http_address().unwrap(), "POST", INFER, "", body.as_bytes());
            let answer = String::from_utf8_lossy(&answer);
            assert!(status == code && answer.len() < 2000, "{status} {answer}");
        }
        honest(&server, &sample);
    });
}

/// 16 MiB of offsets that are 0: 2 million empty RoIs in bytes, or 8 million in JSON.
#[test]
fn many_empty_rois_are_refused() {
    within("many_empty_rois_are_refused", 180, 100, |begin| {
        let (server, sample) = server(options(&[Preset::Default]));
        begin();
        let offsets = 16 * MIB / 8;
        let empty = Sample { offsets: vec![0; offsets], ..Sample::default() };
        runtime().block_on(async {
            let mut client = connect(&server).await;
            let answer = client.model_infer(empty.request("zfinder-default")).await;
            refused("gRPC", answer, Code::ResourceExhausted, "the request has 2097151 RoIs, and 65536 is the most");
        });
        let offsets = 8 * MIB;
        let zeros = "0,".repeat(offsets);
        let zeros = zeros.trim_end_matches(',');
        let body =
            format!(r#"{{"inputs":[{{"name":"OFFSETS","datatype":"INT64","shape":[{offsets}],"data":[{zeros}]}}]}}"#);
        let (status, _, answer) = http(server.http_address().unwrap(), "POST", INFER, "", body.as_bytes());
        let answer = String::from_utf8_lossy(&answer);
        assert!(status == 413 && answer.contains("8388607 RoIs, and 65536 is the most"), "{status} {answer}");
        honest(&server, &sample);
    });
}

/// A message of 30 MB whose fields are empty: 3 GB when it is decoded.
#[test]
fn messages_that_grow_take_no_memory() {
    within("messages_that_grow_take_no_memory", 200, 60, |begin| {
        let (server, sample) = server(options(&[Preset::Default]));
        begin();
        let request = ModelInferRequest { inputs: vec![Default::default(); 100], ..Default::default() };
        let mut message = prost::Message::encode_to_vec(&request);
        message = message.repeat(30_000_000 / message.len());
        let status = runtime().block_on(crate::one_connection::status_of(server.grpc_address().unwrap(), &message));
        assert_eq!(status, 3);
        honest(&server, &sample);
    });
}

/// Clients of gRPC that ask and do not read: 195 MB of answers.
#[test]
fn answers_that_are_not_read_are_limited_and_their_streams_end() {
    within("answers_that_are_not_read_are_limited_and_their_streams_end", 130, 130, |begin| {
        let (max_sending_bytes, idle) = (8 * MIB, Duration::from_millis(300));
        let (server, sample) = server(Options { max_sending_bytes, idle, ..options(&[Preset::Default]) });
        let empty = Sample { offsets: vec![0; 4001], ..Sample::default() }.request("zfinder-default");
        begin();
        let runtime = runtime();
        let mut streams = Vec::new();
        for _ in 0..30 {
            let mut client = runtime.block_on(connect(&server));
            let requests = tokio_stream::iter(vec![empty.clone(); 64]);
            streams.push(runtime.block_on(client.model_stream_infer(requests)).unwrap().into_inner());
            // Requests that wait take memory too, and have their own limit.
            std::thread::sleep(idle / 10);
            wait_until("requests are searched", || metric(&server, &["nv_inference_pending_request_count"]) == 0);
        }
        // All requests are searched or refused, and the readers have not moved for a while.
        std::thread::sleep(4 * idle);
        wait_until("there is room again", || {
            let mut client = runtime.block_on(connect(&server));
            runtime.block_on(client.model_infer(sample.request("zfinder-default"))).is_ok()
        });
        let ended = streams.into_iter().filter_map(|mut answers| {
            loop {
                match runtime.block_on(answers.message()) {
                    Ok(Some(_)) => {}
                    Ok(None) => return None,
                    Err(status) => return Some(status.code()),
                }
            }
        });
        let ended: Vec<Code> = ended.collect();
        assert!(ended.len() > 10, "{ended:?}");
        honest(&server, &sample);
    });
}
