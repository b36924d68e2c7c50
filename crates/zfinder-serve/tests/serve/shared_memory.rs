//! Tests that tensors in shared memory have the same answers as tensors in a message.

use std::collections::HashMap;
use std::path::PathBuf;

use tonic::Code;
use zfinder::Preset;
use zfinder_serve::proto::infer_parameter::ParameterChoice;
use zfinder_serve::proto::{
    InferParameter, ModelInferRequest, SystemSharedMemoryRegisterRequest, SystemSharedMemoryStatusRequest,
    SystemSharedMemoryUnregisterRequest,
};
use zfinder_serve::{Options, Server};

use crate::common::*;

const OUTPUTS: [&str; 12] = [
    "COUNTS",
    "STATUS",
    "FALLBACK",
    "SPACEPOINTS",
    "OUTSIDE_WINDOW",
    "Z",
    "Z_ERROR",
    "WEIGHT",
    "RANK",
    "SIGNIFICANCE",
    "BACKGROUND",
    "PAIRS",
];
/// Bytes for each output.
const ROOM: usize = 4096;

/// An object in shared memory that ends with the test.
struct Object {
    key: String,
    path: PathBuf,
}

impl Object {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let key = format!("/zfinder-serve-{name}-{}", std::process::id());
        let path = PathBuf::from(format!("/dev/shm{key}"));
        std::fs::write(&path, bytes).unwrap();
        Self { key, path }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn parameters(region: &str, offset: usize, bytes: usize) -> HashMap<String, InferParameter> {
    let number = |number: usize| ParameterChoice::Int64Param(number as i64);
    [
        ("shared_memory_region", ParameterChoice::StringParam(region.into())),
        ("shared_memory_offset", number(offset)),
        ("shared_memory_byte_size", number(bytes)),
    ]
    .map(|(key, choice)| (key.to_owned(), InferParameter { parameter_choice: Some(choice) }))
    .into()
}

/// Returns a request with adjacent tensors, and the bytes of all.
fn request_of(sample: &Sample, model: &str) -> (ModelInferRequest, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut request = ModelInferRequest { model_name: model.into(), ..Default::default() };
    for (mut tensor, data) in sample.tensors() {
        tensor.parameters = parameters("in", bytes.len(), data.len());
        bytes.extend_from_slice(&data);
        request.inputs.push(tensor);
    }
    request.outputs = outputs(&OUTPUTS);
    for (at, output) in request.outputs.iter_mut().enumerate() {
        output.parameters = parameters("out", at * ROOM, ROOM);
    }
    (request, bytes)
}

fn register(name: &str, object: &Object, bytes: usize) -> SystemSharedMemoryRegisterRequest {
    SystemSharedMemoryRegisterRequest { name: name.into(), key: object.key.clone(), offset: 0, byte_size: bytes as u64 }
}

#[test]
fn tensors_in_shared_memory() {
    let server = Server::start(Options { shared_memory: true, ..options(&[Preset::Auto]) }).unwrap();
    let sample = Sample::new(5);
    let wanted = sample.answers(Preset::Auto);
    let (request, bytes) = request_of(&sample, "zfinder-auto");
    let input = Object::new("in", &bytes);
    let output = Object::new("out", &vec![0xff; OUTPUTS.len() * ROOM]);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        refused("before", client.model_infer(request.clone()).await, Code::NotFound, "register it");
        client.system_shared_memory_register(register("in", &input, bytes.len())).await.unwrap();
        client.system_shared_memory_register(register("out", &output, OUTPUTS.len() * ROOM)).await.unwrap();
        let response = client.model_infer(request.clone()).await.unwrap().into_inner();
        let sizes: HashMap<_, _> = response
            .outputs
            .iter()
            .map(|output| match &output.parameters["shared_memory_byte_size"].parameter_choice {
                Some(ParameterChoice::Int64Param(size)) => (output.name.clone(), *size as usize),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(response.raw_output_contents.iter().all(|data| data.is_empty()));
        let all = std::fs::read(&output.path).unwrap();
        let place = |name: &str| OUTPUTS.iter().position(|output| *output == name).unwrap() * ROOM;
        check("shared memory", |name| &all[place(name)..place(name) + sizes[name]], &wanted);

        // Inputs in shared memory, outputs in the message; and one input of each kind.
        let mut inputs_alone = ModelInferRequest { outputs: Vec::new(), ..request.clone() };
        let response = client.model_infer(inputs_alone.clone()).await.unwrap().into_inner();
        check_grpc("inputs in shared memory", &response, &wanted);
        let (_, layer) = sample.tensors().pop().unwrap();
        inputs_alone.inputs[4].parameters.clear();
        inputs_alone.raw_input_contents = vec![layer];
        let response = client.model_infer(inputs_alone.clone()).await.unwrap().into_inner();
        check_grpc("layers in the message", &response, &wanted);
        inputs_alone.raw_input_contents.push(Default::default());
        refused("two", client.model_infer(inputs_alone).await, Code::InvalidArgument, "1 inputs and 2 raw");

        // Places that do not fit.
        let mut beyond = request.clone();
        beyond.inputs[0].parameters = parameters("in", bytes.len(), 8);
        refused("beyond", client.model_infer(beyond).await, Code::InvalidArgument, "do not lie in region `in`");
        let mut small = request.clone();
        small.outputs[5].parameters = parameters("out", 0, 7);
        refused("small", client.model_infer(small).await, Code::InvalidArgument, "output Z has");
        let mut sizeless = request.clone();
        sizeless.inputs[0].parameters.remove("shared_memory_byte_size");
        refused("size", client.model_infer(sizeless).await, Code::InvalidArgument, "byte_size is missing");
        let mut wrong = request.clone();
        wrong.inputs[1].parameters = parameters("in", 0, 4);
        refused("shape", client.model_infer(wrong).await, Code::InvalidArgument, "and 4 were sent");

        let status = client.system_shared_memory_status(SystemSharedMemoryStatusRequest::default()).await.unwrap();
        let regions = status.into_inner().regions;
        assert_eq!((regions.len(), &regions["in"].key), (2, &input.key));
        let name = SystemSharedMemoryUnregisterRequest { name: "in".into() };
        client.system_shared_memory_unregister(name).await.unwrap();
        refused("after", client.model_infer(request).await, Code::NotFound, "no shared memory region `in`");
    });
}

#[test]
fn shared_memory_over_http() {
    let server = Server::start(Options { shared_memory: true, ..options(&[Preset::Auto]) }).unwrap();
    let address = server.http_address().unwrap();
    let sample = Sample::new(3);
    let (_, bytes) = request_of(&sample, "zfinder-auto");
    let input = Object::new("http-in", &bytes);
    let output = Object::new("http-out", &vec![0; ROOM]);
    for (name, object, bytes) in [("in", &input, bytes.len()), ("out", &output, ROOM)] {
        let body = format!(r#"{{"key":"{}","byte_size":{bytes}}}"#, object.key);
        let path = format!("/v2/systemsharedmemory/region/{name}/register");
        assert_eq!(http(address, "POST", &path, "", body.as_bytes()).0, 200);
        assert_eq!(http(address, "POST", &path, "", body.as_bytes()).0, 400, "twice");
    }
    let (status, listed) = get(address, "/v2/systemsharedmemory/status");
    assert!(status == 200 && listed.contains(&input.key) && listed.contains("\"out\""), "{listed}");
    let mut inputs = Vec::new();
    let mut offset = 0;
    for (tensor, data) in sample.tensors() {
        let (name, datatype, shape, size) = (tensor.name, tensor.datatype, tensor.shape, data.len());
        inputs.push(format!(
            r#"{{"name":"{name}","datatype":"{datatype}","shape":{shape:?},"parameters":{{"shared_memory_region":"in","shared_memory_offset":{offset},"shared_memory_byte_size":{size}}}}}"#
        ));
        offset += size;
    }
    let output_of = |room: usize| {
        format!(
            r#"{{"inputs":[{}],"outputs":[{{"name":"Z","parameters":{{"shared_memory_region":"out","shared_memory_byte_size":{room}}}}}]}}"#,
            inputs.join(",")
        )
    };
    let path = "/v2/models/zfinder-auto/infer";
    let (status, _, answer) = http(address, "POST", path, "", output_of(ROOM).as_bytes());
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    let wanted: Vec<u8> = sample.answers(Preset::Auto).vertices().z_mm().iter().flat_map(|z| z.to_le_bytes()).collect();
    assert_eq!(std::fs::read(&output.path).unwrap()[..wanted.len()], wanted);
    let (status, _, answer) = http(address, "POST", path, "", output_of(3).as_bytes());
    assert!(status == 400 && String::from_utf8_lossy(&answer).contains("room for 3"));
    assert_eq!(http(address, "POST", "/v2/systemsharedmemory/unregister", "", b"").0, 200);
    assert_eq!(get(address, "/v2/systemsharedmemory/status").1, "[]");
    assert_eq!(http(address, "POST", "/v2/systemsharedmemory/region/a/register", "", b"{").0, 400);
    assert_eq!(get(address, "/v2/systemsharedmemory/region/a/register").0, 405);
    assert_eq!(get(address, "/v2/systemsharedmemory/a/b/c/d").0, 404);
    assert_eq!(get(address, "/v2/cudasharedmemory/status").0, 501);
}
