//! Tests of the metadata of the server and of its models.

use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::{v1, v1alpha};
use zfinder::{Config, Preset};
use zfinder_serve::proto::*;
use zfinder_serve::{Model, Options, Server};

use crate::common::*;

#[test]
fn models_have_metadata_configurations_and_statistics() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), "peaks = 2").unwrap();
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    std::fs::write(folder.path().join("mine/10.toml"), "peaks = 3").unwrap();
    std::fs::write(folder.path().join("mine/9.toml"), "peaks = 4").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "no model").unwrap();
    let mut models = vec![Model::preset(Preset::HardScatter)];
    models.extend(Model::folder(folder.path()).unwrap());
    let server = Server::start(Options { models, ..options(&[]) }).unwrap();
    let sample = Sample::new(3);
    runtime().block_on(async {
        let mut client = connect(&server).await;
        assert!(client.server_live(ServerLiveRequest {}).await.unwrap().into_inner().live);
        assert!(client.server_ready(ServerReadyRequest {}).await.unwrap().into_inner().ready);
        let metadata = client.server_metadata(ServerMetadataRequest {}).await.unwrap().into_inner();
        assert_eq!(metadata.name, "zfinder");
        let is_ready = |name: &str, version: &str| ModelReadyRequest { name: name.into(), version: version.into() };
        for (name, version, wanted) in [("mine", "", true), ("mine", "9", true), ("mine", "2", false), ("x", "", false)]
        {
            assert_eq!(client.model_ready(is_ready(name, version)).await.unwrap().into_inner().ready, wanted);
        }
        let of = ModelMetadataRequest { name: "mine".into(), version: String::new() };
        let metadata = client.model_metadata(of).await.unwrap().into_inner();
        assert_eq!(metadata.versions, ["1", "9", "10"]);
        assert_eq!((metadata.inputs.len(), metadata.outputs.len()), (11, 21));
        for (name, inputs) in
            [("mine-xyz", &["OFFSETS", "X", "Y", "Z", "LAYER"][..]), ("mine-points", &["OFFSETS", "POINTS"])]
        {
            let of = ModelMetadataRequest { name: name.into(), version: "9".into() };
            let metadata = client.model_metadata(of).await.unwrap().into_inner();
            let names: Vec<&str> = metadata.inputs.iter().map(|input| &*input.name).collect();
            assert_eq!((&*metadata.name, &names[..]), (name, inputs));
            let of = ModelConfigRequest { name: name.into(), version: String::new() };
            let config = client.model_config(of).await.unwrap().into_inner().config.unwrap();
            assert!(config.name == name && config.input.iter().all(|input| !input.optional), "{config:?}");
            let response = client.model_infer(sample.request(name)).await.unwrap().into_inner();
            assert_eq!((&*response.model_name, &*response.model_version), (name, "10"));
        }
        for (version, peaks) in [("1", 2), ("9", 4), ("", 3)] {
            let of = ModelConfigRequest { name: "mine".into(), version: version.into() };
            let config = client.model_config(of).await.unwrap().into_inner().config.unwrap();
            let toml = &config.parameters["config_toml"].string_value;
            assert!(toml.contains(&format!("peaks = {peaks}\n")), "{toml}");
        }
        let response = client.model_infer(sample.request("mine")).await.unwrap().into_inner();
        assert_eq!(response.model_version, "10");
        let of = ModelStatisticsRequest { name: "mine".into(), version: String::new() };
        let statistics = client.model_statistics(of).await.unwrap().into_inner().model_stats;
        assert_eq!((statistics.len(), statistics[0].inference_count), (1, 3 * sample.rois() as u64));
        let all = client.model_statistics(ModelStatisticsRequest::default()).await.unwrap().into_inner();
        assert_eq!(all.model_stats.len(), 4);
        let index = client.repository_index(RepositoryIndexRequest::default()).await.unwrap().into_inner();
        assert_eq!(index.models.len(), 12);
        let loaded = client.repository_model_load(RepositoryModelLoadRequest::default()).await;
        refused("load", loaded, tonic::Code::Unimplemented, "at the start");
        let registered = client.system_shared_memory_register(SystemSharedMemoryRegisterRequest::default()).await;
        refused("register", registered, tonic::Code::Unimplemented, "--shared-memory");
        client.system_shared_memory_unregister(SystemSharedMemoryUnregisterRequest::default()).await.unwrap();
    });
    let address = server.http_address().unwrap();
    for (path, status, words) in [
        ("/v2", 200, "\"name\":\"zfinder\""),
        ("/v2/health/live", 200, ""),
        ("/v2/health/ready", 200, ""),
        ("/v2/models/mine", 200, "\"versions\":[\"1\",\"9\",\"10\"]"),
        ("/v2/models/mine/ready", 200, ""),
        ("/v2/models/mine/versions/2/ready", 503, "its versions are 1, 9, 10"),
        ("/v2/models/mine/versions/9/config", 200, "peaks = 4"),
        ("/v2/models/mine-xyz", 200, "\"name\":\"mine-xyz\",\"outputs\""),
        ("/v2/models/mine-points/config", 200, "\"optional\":false"),
        ("/v2/models/mine/stats", 200, "inference_count"),
        ("/v2/models/stats", 200, "zfinder-hard-scatter"),
        ("/v2/models/x", 404, "models are zfinder-hard-scatter, mine"),
        ("/v2/models/mine/nothing", 404, "there is no"),
        ("/v3", 404, "there is no"),
        ("/v2/models/mine/infer", 405, "POST"),
        ("/v2/systemsharedmemory/status", 200, "[]"),
        ("/v2/systemsharedmemory/region/a/status", 501, "--shared-memory"),
    ] {
        let (found, body) = get(address, path);
        assert!(found == status && body.contains(words), "{path}: {found} {body}");
    }
    assert_eq!(get(server.metrics_address().unwrap(), "/").0, 404);
}

const SERVICE: &str = "inference.GRPCInferenceService";

#[test]
fn health_is_told_until_the_server_drains() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    runtime().block_on(async {
        let mut client = HealthClient::new(channel(server.grpc_address().unwrap()).await);
        let of = |service: &str| HealthCheckRequest { service: service.into() };
        for service in ["", SERVICE] {
            let health = client.check(of(service)).await.unwrap().into_inner();
            assert_eq!(health.status(), ServingStatus::Serving, "{service}");
        }
        let unknown = client.check(of("other")).await.unwrap_err();
        assert_eq!(unknown.code(), tonic::Code::NotFound);
        let mut watched = client.watch(of(SERVICE)).await.unwrap().into_inner();
        let mut next = async || watched.message().await.unwrap().map(|health| health.status());
        assert_eq!(next().await, Some(ServingStatus::Serving));
        server.handle().shut_down();
        assert_eq!(next().await, Some(ServingStatus::NotServing));
        assert_eq!(next().await, None);
    });
    assert!(server.wait(), "a watcher does not keep the server");
}

#[test]
fn the_server_describes_its_protocol() {
    let server = Server::start(options(&[Preset::Default])).unwrap();
    runtime().block_on(async {
        let channel = channel(server.grpc_address().unwrap()).await;
        let mut client = ServerReflectionClient::new(channel.clone());
        let ask = |request| v1::ServerReflectionRequest { host: String::new(), message_request: Some(request) };
        let asked = [
            ask(MessageRequest::ListServices(String::new())),
            ask(MessageRequest::FileContainingSymbol(format!("{SERVICE}.ModelInfer"))),
        ];
        let mut answers = client.server_reflection_info(tokio_stream::iter(asked)).await.unwrap().into_inner();
        let mut next = async || answers.message().await.unwrap().unwrap().message_response.unwrap();
        let MessageResponse::ListServicesResponse(list) = next().await else { panic!("no list") };
        let mut names: Vec<&str> = list.service.iter().map(|service| &*service.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", SERVICE]);
        let MessageResponse::FileDescriptorResponse(file) = next().await else { panic!("no file") };
        let bytes = &file.file_descriptor_proto[0];
        assert!(bytes.windows(17).any(|part| part == b"ModelInferRequest"));
        let mut older = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
        let list = v1alpha::server_reflection_request::MessageRequest::ListServices(String::new());
        let asked = v1alpha::ServerReflectionRequest { host: String::new(), message_request: Some(list) };
        let mut answers = older.server_reflection_info(tokio_stream::iter([asked])).await.unwrap().into_inner();
        assert!(answers.message().await.unwrap().is_some());
    });
}

#[test]
fn models_of_a_folder_start_from_auto_or_from_their_preset() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("peaks = 2", Config::preset(Preset::Auto).with(|c| c.peaks = 2)),
        ("preset = \"jet\"", Config::preset(Preset::Jet)),
    ] {
        std::fs::write(folder.path().join("mine.toml"), text).unwrap();
        assert_eq!(Model::folder(folder.path()).unwrap()[0].config, expected);
    }
}

#[test]
fn folders_that_cannot_be_served() {
    let folder = tempfile::tempdir().unwrap();
    let error = |words: &str| {
        let error = Model::folder(folder.path()).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    error("there is no model in it");
    std::fs::write(folder.path().join("bad.toml"), "peks = 2").unwrap();
    error("bad.toml");
    std::fs::remove_file(folder.path().join("bad.toml")).unwrap();
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    std::fs::write(folder.path().join("mine/first.toml"), "").unwrap();
    error("a version is a number");
}

#[test]
fn options_that_cannot_be_served() {
    let refused = |options: Options, words: &str| {
        let error = Server::start(options).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(options(&[]), "no model");
    refused(options(&[Preset::Auto, Preset::Auto]), "two models `zfinder-auto`");
    let models = vec![Model { name: "my-xyz".into(), ..Model::preset(Preset::Auto) }];
    refused(Options { models, ..options(&[]) }, "a name with -xyz is that of another model's inputs");
    refused(Options { grpc: None, http: None, ..options(&[Preset::Auto]) }, "neither gRPC nor HTTP");
    refused(Options { max_connections: 0, ..options(&[Preset::Auto]) }, "max_connections");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    refused(Options { http: Some(address), ..options(&[Preset::Default]) }, &format!("cannot listen on {address}"));
}
