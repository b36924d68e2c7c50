//! Servers on free ports, requests, and checks of answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Runtime;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use zfinder::{
    Columns, Config, Detector, Engine, Preset, Results, RoiBatch, RoiDescriptor, RoiId, RoiResult, Spacepoint, ZFinder,
};
use zfinder_serve::proto::grpc_inference_service_client::GrpcInferenceServiceClient;
use zfinder_serve::proto::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use zfinder_serve::proto::{ModelInferRequest, ModelInferResponse};
use zfinder_serve::{BatchOptions, Model, Options, Server};
use zfinder_study::simulate::Simulation;

pub(crate) type Client = GrpcInferenceServiceClient<Channel>;

/// Longest duration of any step.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Returns options of a server of these presets on free ports.
pub(crate) fn options(presets: &[Preset]) -> Options {
    let any = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    Options {
        grpc: any,
        http: any,
        metrics: any,
        models: presets.iter().map(|&preset| Model::preset(preset)).collect(),
        engine: Engine::Cpu,
        ..Options::new(Detector::atlas2010())
    }
}

/// Returns options of a server whose requests wait a minute for others, so that they stay in the
/// queue.
pub(crate) fn patient(queue_requests: usize) -> Options {
    let batches = BatchOptions { max_delay: LIMIT, queue_requests, ..BatchOptions::default() };
    Options { batches, ..options(&[Preset::Default]) }
}

pub(crate) fn runtime() -> Runtime {
    Runtime::new().unwrap()
}

pub(crate) async fn connect(server: &Server) -> Client {
    connect_to(server.grpc_address().unwrap()).await
}

pub(crate) async fn connect_to(address: SocketAddr) -> Client {
    GrpcInferenceServiceClient::new(channel(address).await).max_decoding_message_size(1 << 30)
}

pub(crate) async fn channel(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap().timeout(LIMIT);
    endpoint.connect().await.unwrap()
}

/// RoIs of a simulation, in f32: columns rho, phi, z, layer and offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) rho: Vec<f32>,
    pub(crate) phi: Vec<f32>,
    pub(crate) z: Vec<f32>,
    pub(crate) layer: Vec<u8>,
    pub(crate) offsets: Vec<i64>,
}

impl Sample {
    /// Makes low-luminosity RoIs after an empty one and before one with a bad spacepoint.
    pub(crate) fn new(rois: usize) -> Self {
        let simulation = Simulation { rois: rois as _, ..Simulation::lowlum() };
        let (batch, _) = simulation.batch();
        let mut sample = Self { offsets: vec![0, 0], ..Self::default() };
        for roi in batch.iter() {
            sample.push(roi.spacepoints());
        }
        sample.push([Spacepoint { rho: f64::NAN, phi: 0.0, z: 0.0, layer: 0 }].into_iter());
        sample
    }

    pub(crate) fn push(&mut self, points: impl Iterator<Item = Spacepoint>) {
        for point in points {
            self.rho.push(point.rho as f32);
            self.phi.push(point.phi as f32);
            self.z.push(point.z as f32);
            self.layer.push(point.layer as u8);
        }
        self.offsets.push(self.layer.len() as i64);
    }

    pub(crate) fn rois(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns a part of the RoIs.
    pub(crate) fn part(&self, rois: std::ops::Range<usize>) -> Self {
        let offsets = &self.offsets[rois.start..=rois.end];
        let points = offsets[0] as usize..*offsets.last().unwrap() as usize;
        Self {
            rho: self.rho[points.clone()].to_vec(),
            phi: self.phi[points.clone()].to_vec(),
            z: self.z[points.clone()].to_vec(),
            layer: self.layer[points].to_vec(),
            offsets: offsets.iter().map(|offset| offset - offsets[0]).collect(),
        }
    }

    pub(crate) fn tensors(&self) -> Vec<(InferInputTensor, Bytes)> {
        vec![
            tensor("OFFSETS", "INT64", &[self.offsets.len()], self.offsets.iter().map(|value| value.to_le_bytes())),
            tensor("RHO", "FP32", &[self.rho.len()], self.rho.iter().map(|value| value.to_le_bytes())),
            tensor("PHI", "FP32", &[self.phi.len()], self.phi.iter().map(|value| value.to_le_bytes())),
            tensor("Z", "FP32", &[self.z.len()], self.z.iter().map(|value| value.to_le_bytes())),
            tensor("LAYER", "UINT8", &[self.layer.len()], self.layer.iter().map(|value| value.to_le_bytes())),
        ]
    }

    pub(crate) fn request(&self, model: &str) -> ModelInferRequest {
        request(model, self.tensors())
    }

    /// Returns the library's answers.
    pub(crate) fn answers(&self, preset: Preset) -> Results {
        let mut batch = RoiBatch::with_f32();
        let columns = Columns::cylindrical(&self.rho, &self.phi, &self.z, &self.layer).unwrap();
        batch.extend_columns(&descriptors(self.rois()), &self.offsets, columns).unwrap();
        find(preset, &batch)
    }
}

pub(crate) fn descriptors(rois: usize) -> Vec<RoiDescriptor> {
    let id = |event_id| RoiId { event_id, roi_id: 0 };
    (0..rois as u64).map(|event| RoiDescriptor { id: id(event), ..RoiDescriptor::default() }).collect()
}

pub(crate) fn find(preset: Preset, batch: &RoiBatch) -> Results {
    let finder =
        ZFinder::builder(Detector::atlas2010()).config(Config::preset(preset)).engine(Engine::Cpu).build().unwrap();
    finder.find_batch(batch).unwrap()
}

pub(crate) fn tensor<const N: usize>(
    name: &str,
    datatype: &str,
    shape: &[usize],
    elements: impl Iterator<Item = [u8; N]>,
) -> (InferInputTensor, Bytes) {
    let shape = shape.iter().map(|&length| length as i64).collect();
    let tensor = InferInputTensor { name: name.into(), datatype: datatype.into(), shape, ..Default::default() };
    (tensor, elements.flatten().collect())
}

pub(crate) fn request(model: &str, tensors: Vec<(InferInputTensor, Bytes)>) -> ModelInferRequest {
    let (inputs, raw_input_contents) = tensors.into_iter().unzip();
    ModelInferRequest { model_name: model.into(), inputs, raw_input_contents, ..Default::default() }
}

pub(crate) fn outputs(names: &[&str]) -> Vec<InferRequestedOutputTensor> {
    names.iter().map(|&name| InferRequestedOutputTensor { name: name.into(), ..Default::default() }).collect()
}

/// Returns the bytes of an output.
pub(crate) fn output<'a>(response: &'a ModelInferResponse, name: &str) -> &'a [u8] {
    let at = response.outputs.iter().position(|output| output.name == name).unwrap_or_else(|| panic!("no {name}"));
    &response.raw_output_contents[at]
}

fn words<const N: usize, T>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).map(|chunk| from(chunk.try_into().unwrap())).collect()
}

/// Checks every bit of an answer. `get` returns the bytes of an output.
pub(crate) fn check<'a>(place: &str, get: impl Fn(&str) -> &'a [u8], wanted: &Results) {
    let counts = wanted.iter().map(|roi| roi.vertices().len() as u32).collect::<Vec<_>>();
    assert_eq!(words(get("COUNTS"), u32::from_le_bytes), counts, "{place}");
    assert_eq!(words(get("SPACEPOINTS"), u64::from_le_bytes), wanted.spacepoint_counts(), "{place}");
    assert_eq!(words(get("OUTSIDE_WINDOW"), u64::from_le_bytes), wanted.outside_window(), "{place}");
    let status = ["ok", "empty", "no_peak", "bad_spacepoint", "capacity_exceeded"];
    let status = |roi: RoiResult<'_>| status.iter().position(|word| *word == roi.status().as_str()).unwrap() as u8;
    assert_eq!(get("STATUS"), wanted.iter().map(status).collect::<Vec<_>>(), "{place}");
    assert_eq!(get("FALLBACK"), wanted.is_fallback().iter().map(|&is| u8::from(is)).collect::<Vec<_>>(), "{place}");
    let vertices = wanted.vertices();
    assert_eq!(words(get("PAIRS"), u64::from_le_bytes), vertices.pairs(), "{place}");
    for (name, values) in [
        ("Z", vertices.z_mm()),
        ("Z_ERROR", vertices.z_error_mm()),
        ("WEIGHT", vertices.weight()),
        ("RANK", vertices.rank()),
        ("SIGNIFICANCE", vertices.significance()),
        ("BACKGROUND", vertices.background()),
    ] {
        let values: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        assert_eq!(words(get(name), u64::from_le_bytes), values, "{place}, {name}");
    }
}

pub(crate) fn check_grpc(place: &str, response: &ModelInferResponse, wanted: &Results) {
    check(place, |name| output(response, name), wanted);
}

/// Sends a request over HTTP/1.1, and returns status, headers in lower case, and body.
pub(crate) fn http(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses a large body closes the connection before the body is sent.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("an end of the headers");
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, answer[end + 4..].to_vec())
}

pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let (status, _, body) = http(address, "GET", path, "", b"");
    (status, String::from_utf8(body).unwrap())
}

/// Returns the value of the metric whose line contains these words.
pub(crate) fn metric(server: &Server, words: &[&str]) -> u64 {
    let (status, text) = get(server.metrics_address().unwrap(), "/metrics");
    assert_eq!(status, 200);
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word)) && !line.starts_with('#');
    let line = text.lines().find(has_all).unwrap_or_else(|| panic!("no metric {words:?} in\n{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Waits until a condition holds.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LIMIT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn refused<T: std::fmt::Debug>(place: &str, answer: Result<T, Status>, code: tonic::Code, words: &str) {
    let status = answer.expect_err(place);
    assert_eq!(status.code(), code, "{place}: {status:?}");
    assert!(status.message().contains(words), "{place}: {status:?}");
}
