//! Tests that answers have the bits of the library, however a request travels.

use std::io::Write;

use tokio_stream::StreamExt;
use zfinder::{Columns, Preset, Results, RoiBatch};
use zfinder_serve::proto::{InferTensorContents, ModelInferRequest};
use zfinder_serve::{Model, Options, Server, decode_point, encode_point};
use zfinder_testing::engines::on_shared_device;
use zfinder_testing::on_fast_adapters;

use crate::common::*;

#[test]
fn every_preset_on_the_cpu() {
    every_preset(options(Preset::ALL), "CPU");
}

#[test]
fn every_preset_on_a_gpu() {
    let Some(adapter) = on_fast_adapters().into_iter().next() else { return };
    let engine = on_shared_device(&adapter);
    every_preset(Options { engine, ..options(Preset::ALL) }, &adapter.name);
}

fn every_preset(options: Options, place: &str) {
    let server = Server::start(options).unwrap();
    let sample = Sample::new(4);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        for preset in Preset::ALL {
            let name = Model::preset(*preset).name;
            let response = client.model_infer(sample.request(&name)).await.unwrap().into_inner();
            assert_eq!((&*response.model_name, &*response.model_version), (&*name, "1"));
            check_grpc(&format!("{place}, {name}"), &response, &sample.answers(*preset));
        }
    });
}

/// Requests that carry the same RoIs in other forms: name, request, the library's answers.
fn other_ways(sample: &Sample, model: &str, preset: Preset) -> Vec<(&'static str, ModelInferRequest, Results)> {
    let mut ways = Vec::new();
    let tensors = sample.tensors();
    let rois = descriptors(sample.rois());
    // x and y.
    let (x, y): (Vec<f32>, Vec<f32>) =
        sample.rho.iter().zip(&sample.phi).map(|(rho, phi)| (rho * phi.cos(), rho * phi.sin())).unzip();
    let mut cartesian = tensors.clone();
    cartesian[1] = tensor("X", "FP32", &[x.len()], x.iter().map(|value| value.to_le_bytes()));
    cartesian[2] = tensor("Y", "FP32", &[y.len()], y.iter().map(|value| value.to_le_bytes()));
    let mut batch = RoiBatch::new();
    batch
        .extend_columns(&rois, &sample.offsets, Columns::cartesian(&x, &y, &sample.z, &sample.layer).unwrap())
        .unwrap();
    ways.push(("x, y, z", request(model, cartesian), find(preset, &batch)));
    // FP64.
    let mut double = tensors.clone();
    let columns = [("RHO", &sample.rho), ("PHI", &sample.phi), ("Z", &sample.z)];
    for (at, (name, column)) in columns.into_iter().enumerate() {
        let values = column.iter().map(|&value| f64::from(value).to_le_bytes());
        double[at + 1] = tensor(name, "FP64", &[column.len()], values);
    }
    ways.push(("FP64", request(model, double), sample.answers(preset)));
    // POINTS, without the RoI whose spacepoint cannot be encoded.
    let good = sample.part(0..sample.rois() - 1);
    let all = (0..good.layer.len()).map(|i| zfinder::Spacepoint {
        rho: good.rho[i].into(),
        phi: good.phi[i].into(),
        z: good.z[i].into(),
        layer: good.layer[i].into(),
    });
    let words: Vec<u64> = all.map(|point| encode_point(&point).unwrap()).collect();
    let mut batch = RoiBatch::new();
    for (descriptor, range) in rois.iter().zip(good.offsets.windows(2)) {
        let points = &words[range[0] as usize..range[1] as usize];
        batch.push(*descriptor, points.iter().map(|&word| decode_point(word)));
    }
    let offsets = good.offsets.iter().map(|&offset| (offset as u32).to_le_bytes());
    let points = vec![
        tensor("OFFSETS", "UINT32", &[good.offsets.len()], offsets),
        tensor("POINTS", "UINT64", &[words.len()], words.iter().map(|word| word.to_le_bytes())),
    ];
    ways.push(("POINTS", request(model, points), find(preset, &batch)));
    // Windows, pseudorapidities and z ranges.
    let mut described = tensors.clone();
    let mut descriptors = rois.clone();
    let (mut windows, mut eta, mut z_ranges) = (Vec::new(), Vec::new(), Vec::new());
    for (at, descriptor) in descriptors.iter_mut().enumerate() {
        let has_window = at % 2 == 0;
        windows.extend(if has_window { [3.0f32, -2.5] } else { [f32::NAN; 2] });
        descriptor.window = has_window.then(|| zfinder::PhiWindow::new(3.0, -2.5).unwrap());
        eta.push(0.25 * at as f64);
        descriptor.eta = 0.25 * at as f64;
        z_ranges.extend(if at % 3 == 0 { [-100.0f64, 50.5] } else { [f64::NAN; 2] });
        descriptor.z_range = (at % 3 == 0).then_some((-100.0, 50.5));
    }
    described.push(tensor("PHI_WINDOW", "FP32", &[rois.len(), 2], windows.iter().map(|value| value.to_le_bytes())));
    described.push(tensor("ETA", "FP64", &[rois.len()], eta.iter().map(|value| value.to_le_bytes())));
    described.push(tensor("Z_RANGE", "FP64", &[rois.len(), 2], z_ranges.iter().map(|value| value.to_le_bytes())));
    let mut batch = RoiBatch::with_f32();
    let columns = Columns::cylindrical(&sample.rho, &sample.phi, &sample.z, &sample.layer).unwrap();
    batch.extend_columns(&descriptors, &sample.offsets, columns).unwrap();
    ways.push(("windows", request(model, described), find(preset, &batch)));
    // Numbers in protobuf.
    let mut typed = request(model, tensors);
    typed.raw_input_contents.clear();
    let contents = [
        InferTensorContents { int64_contents: sample.offsets.clone(), ..Default::default() },
        InferTensorContents { fp32_contents: sample.rho.clone(), ..Default::default() },
        InferTensorContents { fp32_contents: sample.phi.clone(), ..Default::default() },
        InferTensorContents { fp32_contents: sample.z.clone(), ..Default::default() },
        InferTensorContents {
            uint_contents: sample.layer.iter().map(|&layer| layer.into()).collect(),
            ..Default::default()
        },
    ];
    for (input, contents) in typed.inputs.iter_mut().zip(contents) {
        input.contents = Some(contents);
    }
    ways.push(("typed contents", typed, sample.answers(preset)));
    // Every input of the metadata, those of other sets without elements.
    let every: Vec<ModelInferRequest> = ways.iter().map(|(_, request, _)| with_every_input(request)).collect();
    for (at, request) in every.into_iter().enumerate() {
        let expected = ways[at].2.clone();
        ways.push(("every input", request, expected));
    }
    // No RoI.
    ways.push(("no RoI", Sample { offsets: vec![0], ..Sample::default() }.request(model), Results::new()));
    ways
}

/// Adds the inputs that a request does not have, without elements, as clients do that send
/// everything that the metadata lists.
fn with_every_input(request: &ModelInferRequest) -> ModelInferRequest {
    let mut request = request.clone();
    let is_raw = !request.raw_input_contents.is_empty();
    for name in ["PHI_WINDOW", "Z_RANGE", "ETA", "X", "Y", "Z", "LAYER", "RHO", "PHI", "POINTS"] {
        if request.inputs.iter().any(|input| input.name == name) {
            continue;
        }
        let datatype = match name {
            "LAYER" => "UINT8",
            "POINTS" => "UINT64",
            _ => "FP32",
        };
        let shape: &[usize] = if matches!(name, "PHI_WINDOW" | "Z_RANGE") { &[0, 2] } else { &[0] };
        let (input, contents) = tensor::<1>(name, datatype, shape, std::iter::empty());
        request.inputs.insert(0, input);
        if is_raw {
            request.raw_input_contents.insert(0, contents);
        }
    }
    request
}

#[test]
fn tensors_travel_in_every_way() {
    let server = Server::start(options(&[Preset::Auto])).unwrap();
    let sample = Sample::new(6);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        for (way, request, wanted) in other_ways(&sample, "zfinder-auto", Preset::Auto) {
            let response = client.model_infer(request).await.unwrap_or_else(|error| panic!("{way}: {error}"));
            check_grpc(way, &response.into_inner(), &wanted);
        }
        // Some outputs, in the order of the request.
        let asked = ModelInferRequest { outputs: outputs(&["Z", "COUNTS"]), ..sample.request("zfinder-auto") };
        let response = client.model_infer(asked).await.unwrap().into_inner();
        let names: Vec<_> = response.outputs.iter().map(|output| &*output.name).collect();
        assert_eq!((names, response.raw_output_contents.len()), (vec!["Z", "COUNTS"], 2));
    });
}

/// Requests of many clients and of all kinds join batches. Their answers equal those of each
/// request alone.
#[test]
fn requests_join_batches() {
    let mut options = options(&[Preset::Auto]);
    options.batches.max_delay = std::time::Duration::from_millis(20);
    let server = Server::start(options).unwrap();
    let sample = Sample::new(6);
    let ways = other_ways(&sample, "zfinder-auto", Preset::Auto);
    runtime().block_on(async {
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..24 {
            let mut client = connect(&server).await;
            let (way, request, wanted) = ways[number % ways.len()].clone();
            clients.spawn(async move {
                for _ in 0..3 {
                    let response =
                        client.model_infer(request.clone()).await.unwrap_or_else(|error| panic!("{way}: {error}"));
                    check_grpc(way, &response.into_inner(), &wanted);
                }
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
    });
    let batches = metric(&server, &["nv_inference_exec_count"]);
    assert!(batches < 72, "{batches} batches of 72 requests");
    assert_eq!(metric(&server, &["nv_inference_request_success"]), 72);
}

#[test]
fn a_stream_answers_in_order_and_goes_on_after_a_refusal() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let sample = Sample::new(8);
    let parts: Vec<Sample> = (0..sample.rois()).map(|roi| sample.part(roi..roi + 1)).collect();
    let wanted = sample.answers(Preset::Default);
    let request = |(number, part): (usize, &Sample)| {
        let model = if number == 3 { "unknown" } else { "zfinder-default" };
        ModelInferRequest { id: number.to_string(), ..part.request(model) }
    };
    let requests: Vec<_> = parts.iter().enumerate().map(request).collect();
    runtime().block_on(async {
        let mut client = connect(&server).await;
        let mut answers = client.model_stream_infer(tokio_stream::iter(requests)).await.unwrap().into_inner();
        for (number, wanted) in wanted.iter().enumerate() {
            let answer = answers.next().await.unwrap().unwrap();
            let response = answer.infer_response.unwrap();
            assert_eq!(response.id, number.to_string());
            if number == 3 {
                assert!(answer.error_message.contains("no model `unknown`"), "{}", answer.error_message);
            } else {
                assert_eq!(answer.error_message, "");
                check_grpc("stream", &response, &Results::from_iter([wanted]));
            }
        }
        assert!(answers.next().await.is_none());
    });
}

/// Returns the bytes of a request over HTTP with binary tensors, and the length of its JSON.
pub(crate) fn binary_request(sample: &Sample, is_binary_output: bool) -> (Vec<u8>, usize) {
    let mut inputs = Vec::new();
    let mut bytes = Vec::new();
    for (tensor, data) in sample.tensors() {
        let (name, datatype, shape, size) = (tensor.name, tensor.datatype, tensor.shape, data.len());
        inputs.push(format!(
            r#"{{"name":"{name}","datatype":"{datatype}","shape":{shape:?},"parameters":{{"binary_data_size":{size}}}}}"#
        ));
        bytes.extend_from_slice(&data);
    }
    let inputs = inputs.join(",");
    let json = format!(r#"{{"id":"7","parameters":{{"binary_data_output":{is_binary_output}}},"inputs":[{inputs}]}}"#);
    let length = json.len();
    let mut body = json.into_bytes();
    body.write_all(&bytes).unwrap();
    (body, length)
}

/// Checks every bit of an answer over HTTP with binary tensors, and returns its JSON.
pub(crate) fn check_binary(place: &str, length: usize, answer: &[u8], wanted: &Results) -> serde_json::Value {
    let (json, mut bytes) = answer.split_at(length);
    let json: serde_json::Value = serde_json::from_slice(json).unwrap();
    let mut columns = std::collections::HashMap::new();
    for output in json["outputs"].as_array().unwrap() {
        let (column, rest) = bytes.split_at(output["parameters"]["binary_data_size"].as_u64().unwrap() as usize);
        columns.insert(output["name"].as_str().unwrap().to_owned(), column);
        bytes = rest;
    }
    check(place, |name| columns[name], wanted);
    json
}

/// Returns a sample whose columns were changed.
fn changed(change: impl Fn(&mut Sample)) -> Sample {
    let mut sample = Sample::new(5).part(1..5);
    change(&mut sample);
    sample
}

#[test]
fn answers_to_spacepoints_in_another_unit_have_a_warning_and_degrees_are_refused() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    let good = changed(|_| ());
    let centimetres = changed(|sample| {
        sample.rho.iter_mut().chain(&mut sample.z).for_each(|length| *length /= 10.0);
    });
    let degrees = changed(|sample| sample.phi.iter_mut().for_each(|phi| *phi = 180.0 + phi.to_degrees()));
    runtime().block_on(async {
        let mut client = connect(&server).await;
        // Also after the finder has seen good spacepoints, and before it has.
        for _ in 0..2 {
            let refusal = client.model_infer(degrees.request("zfinder-default")).await.unwrap_err();
            assert_eq!(refusal.code(), tonic::Code::InvalidArgument);
            assert!(refusal.message().contains("are these degrees?"), "{refusal}");
            let answer = client.model_infer(centimetres.request("zfinder-default")).await.unwrap().into_inner();
            let warning = format!("{:?}", answer.parameters.get("warning"));
            assert!(warning.contains("if their lengths are in cm: give lengths in mm"), "{warning}");
            let answer = client.model_infer(good.request("zfinder-default")).await.unwrap().into_inner();
            assert!(answer.parameters.is_empty(), "{:?}", answer.parameters);
        }
    });
    let warning_of = |sample: &Sample| {
        let (body, length) = binary_request(sample, false);
        let header = format!("Inference-Header-Content-Length: {length}\r\n");
        let address = server.http_address().unwrap();
        let (status, _, answer) = http(address, "POST", "/v2/models/zfinder-default/infer", &header, &body);
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        (status, answer["parameters"]["warning"].as_str().map(str::to_owned), answer)
    };
    assert_eq!(warning_of(&good).1, None);
    let (status, warning, _) = warning_of(&centimetres);
    assert!(status == 200 && warning.is_some_and(|warning| warning.contains("cm: give lengths in mm")));
    let (status, _, answer) = warning_of(&degrees);
    assert!(status == 400 && answer["error"].as_str().is_some_and(|error| error.contains("degrees?")), "{answer}");
}

#[test]
fn http_in_bytes_and_in_json() {
    let server = Server::start(options(&[Preset::Auto])).unwrap();
    let address = server.http_address().unwrap();
    let sample = Sample::new(5);
    let wanted = sample.answers(Preset::Auto);
    let path = "/v2/models/zfinder-auto/infer";
    let (body, length) = binary_request(&sample, true);
    let header = format!("Inference-Header-Content-Length: {length}\r\n");
    let (status, head, answer) = http(address, "POST", path, &header, &body);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    let length = head.lines().find_map(|line| line.strip_prefix("inference-header-content-length: ")).unwrap();
    let json = check_binary("HTTP", length.trim().parse().unwrap(), &answer, &wanted);
    assert_eq!((&json["id"], &json["model_version"]), (&"7".into(), &"1".into()));
    // The same answer in JSON, whose numbers have all digits.
    let (body, length) = binary_request(&sample, false);
    let header = format!("Inference-Header-Content-Length: {length}\r\n");
    let (status, _, answer) = http(address, "POST", "/v2/models/zfinder-auto/versions/1/infer", &header, &body);
    assert_eq!(status, 200);
    let json: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    let outputs = json["outputs"].as_array().unwrap();
    let z = outputs.iter().find(|output| output["name"] == "Z").unwrap()["data"].as_array().unwrap();
    let z: Vec<u64> = z.iter().map(|z| z.as_f64().unwrap().to_bits()).collect();
    let all: Vec<u64> = wanted.vertices().z_mm().iter().map(|z| z.to_bits()).collect();
    assert_eq!(z, all);
}
