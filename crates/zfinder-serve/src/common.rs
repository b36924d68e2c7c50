//! The services that every gRPC server has: health checks, and reflection of its protocols.

use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::HealthReporter;
use tonic_reflection::server::{Builder, v1, v1alpha};

use crate::drain::{Phase, Phases};
use crate::error::{Error, Result};
use crate::grpc::Grpc;
use crate::proto::grpc_inference_service_server::GrpcInferenceServiceServer;

/// Descriptions of the messages and calls of the protocol, made from `proto/inference.proto`.
const DESCRIPTORS: &[u8] = include_bytes!("generated/inference.binpb");

/// Returns the health service. It says that the server serves until it drains. Streams of watchers
/// then end, so that their connections can close.
pub(crate) fn health(phases: Phases) -> (HealthServer<impl Health>, impl Future<Output = ()>) {
    let (reporter, server) = tonic_health::server::health_reporter();
    (server, report(reporter, phases))
}

async fn report(mut reporter: HealthReporter, mut phases: Phases) {
    let name = <GrpcInferenceServiceServer<Grpc> as NamedService>::NAME;
    reporter.set_service_status(name, ServingStatus::Serving).await;
    phases.reached(Phase::Draining).await;
    for name in ["", name] {
        reporter.set_service_status(name, ServingStatus::NotServing).await;
        reporter.clear_service_status(name).await;
    }
}

fn descriptors<'a>() -> Builder<'a> {
    let builder = Builder::configure().register_encoded_file_descriptor_set(DESCRIPTORS);
    builder.register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Returns the reflection service.
pub(crate) fn reflection() -> Result<v1::ServerReflectionServer<impl v1::ServerReflection>> {
    descriptors().build_v1().map_err(|error| Error::Reflection(error.to_string()))
}

/// Returns the reflection service in its older version, which many clients call first.
pub(crate) fn older_reflection() -> Result<v1alpha::ServerReflectionServer<impl v1alpha::ServerReflection>> {
    descriptors().build_v1alpha().map_err(|error| Error::Reflection(error.to_string()))
}
