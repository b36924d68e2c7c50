//! The protocol over gRPC.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};

use crate::answer::OutputSelection;
use crate::drain::until_drained;
use crate::limits::STREAM_IN_FLIGHT;
use crate::proto;
use crate::proto::grpc_inference_service_server::GrpcInferenceService;
use crate::proto::infer_parameter::ParameterChoice;
use crate::proto::model_infer_request::InferInputTensor;
use crate::proto::model_infer_response::InferOutputTensor;
use crate::proto::model_metadata_response::TensorMetadata;
use crate::proto::system_shared_memory_status_response::RegionStatus;
use crate::queue::ClientId;
use crate::refusal::{Reason, Refusal, check_name, shown};
use crate::scheduler;
use crate::schema::{self, TensorSchema};
use crate::service::{self, Served, Service};
use crate::shared_memory::{Region, Regions, TensorPlace};
use crate::statistics::Total;
use crate::tensor::{DataType, Tensor, bytes_of};

type Answer<T> = Result<Response<T>, Status>;

/// The service of the protocol.
pub(crate) struct Grpc(pub(crate) Arc<Service>);

fn answer<T>(message: T) -> Answer<T> {
    Ok(Response::new(message))
}

fn unsupported<T>(message: &str) -> Answer<T> {
    Err(Refusal::new(Reason::Unsupported, message).into())
}

const NO_CUDA: &str = "memory of CUDA is not offered; send tensors in raw_input_contents or system shared memory";

#[async_trait::async_trait]
impl GrpcInferenceService for Grpc {
    async fn server_live(&self, _: Request<proto::ServerLiveRequest>) -> Answer<proto::ServerLiveResponse> {
        answer(proto::ServerLiveResponse { live: true })
    }

    async fn server_ready(&self, _: Request<proto::ServerReadyRequest>) -> Answer<proto::ServerReadyResponse> {
        answer(proto::ServerReadyResponse { ready: self.0.is_ready() })
    }

    async fn model_ready(&self, request: Request<proto::ModelReadyRequest>) -> Answer<proto::ModelReadyResponse> {
        let proto::ModelReadyRequest { name, version } = request.into_inner();
        let ready = self.0.find(&name, &version).is_ok() && self.0.is_ready();
        answer(proto::ModelReadyResponse { ready })
    }

    async fn server_metadata(&self, _: Request<proto::ServerMetadataRequest>) -> Answer<proto::ServerMetadataResponse> {
        answer(proto::ServerMetadataResponse {
            name: service::SERVER_NAME.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            extensions: self.0.extensions(),
        })
    }

    async fn model_metadata(
        &self,
        request: Request<proto::ModelMetadataRequest>,
    ) -> Answer<proto::ModelMetadataResponse> {
        let proto::ModelMetadataRequest { name, version } = request.into_inner();
        let served = self.0.find(&name, &version)?;
        let metadata = |tensor: &TensorSchema| TensorMetadata {
            name: tensor.name.into(),
            datatype: tensor.datatype.name().into(),
            shape: tensor.shape.into(),
        };
        answer(proto::ModelMetadataResponse {
            versions: self.0.versions(served),
            name: self.0.name(served),
            platform: service::PLATFORM.into(),
            inputs: served.inputs.tensors().iter().map(metadata).collect(),
            outputs: schema::OUTPUTS.iter().map(metadata).collect(),
        })
    }

    async fn model_infer(&self, request: Request<proto::ModelInferRequest>) -> Answer<proto::ModelInferResponse> {
        let arrived = Instant::now();
        let deadline = timeout(request.metadata()).and_then(|timeout| arrived.checked_add(timeout));
        let client = client(request.extensions());
        answer(infer(&self.0, client, request.into_inner(), arrived, deadline).await?)
    }

    type ModelStreamInferStream =
        Pin<Box<dyn Stream<Item = Result<proto::ModelStreamInferResponse, Status>> + Send + 'static>>;

    async fn model_stream_infer(
        &self,
        request: Request<Streaming<proto::ModelInferRequest>>,
    ) -> Answer<Self::ModelStreamInferStream> {
        let service = Arc::clone(&self.0);
        let client = client(request.extensions());
        let deadline = timeout(request.metadata()).and_then(|timeout| Instant::now().checked_add(timeout));
        let messages = until_drained(request.into_inner(), service.phases.clone());
        let answers = messages.map(move |message| {
            let service = Arc::clone(&service);
            async move {
                let request = message?;
                // A refused id is not repeated.
                let id = check_name("the id", &request.id).map_or_else(|_| String::new(), |()| request.id.clone());
                Ok(match infer(&service, client, request, Instant::now(), deadline).await {
                    Ok(response) => {
                        proto::ModelStreamInferResponse { infer_response: Some(response), ..Default::default() }
                    }
                    Err(refusal) => proto::ModelStreamInferResponse {
                        error_message: refusal.message,
                        infer_response: Some(proto::ModelInferResponse { id, ..Default::default() }),
                    },
                })
            }
        });
        answer(Box::pin(answers.buffered(STREAM_IN_FLIGHT)))
    }

    async fn model_config(&self, request: Request<proto::ModelConfigRequest>) -> Answer<proto::ModelConfigResponse> {
        let proto::ModelConfigRequest { name, version } = request.into_inner();
        let served = self.0.find(&name, &version)?;
        answer(proto::ModelConfigResponse { config: Some(config(&self.0, served)) })
    }

    async fn model_statistics(
        &self,
        request: Request<proto::ModelStatisticsRequest>,
    ) -> Answer<proto::ModelStatisticsResponse> {
        let proto::ModelStatisticsRequest { name, version } = request.into_inner();
        let models = self.0.select(&name, &version)?;
        let model_stats = models.into_iter().map(|model| statistics(&self.0, model)).collect();
        answer(proto::ModelStatisticsResponse { model_stats })
    }

    async fn repository_index(
        &self,
        _: Request<proto::RepositoryIndexRequest>,
    ) -> Answer<proto::RepositoryIndexResponse> {
        let index = |served: Served| proto::repository_index_response::ModelIndex {
            name: self.0.name(served),
            version: self.0.models[served.model].version.to_string(),
            state: "READY".into(),
            reason: String::new(),
        };
        answer(proto::RepositoryIndexResponse { models: self.0.served().map(index).collect() })
    }

    async fn repository_model_load(
        &self,
        _: Request<proto::RepositoryModelLoadRequest>,
    ) -> Answer<proto::RepositoryModelLoadResponse> {
        unsupported(service::NO_CONTROL)
    }

    async fn repository_model_unload(
        &self,
        _: Request<proto::RepositoryModelUnloadRequest>,
    ) -> Answer<proto::RepositoryModelUnloadResponse> {
        unsupported(service::NO_CONTROL)
    }

    async fn system_shared_memory_status(
        &self,
        request: Request<proto::SystemSharedMemoryStatusRequest>,
    ) -> Answer<proto::SystemSharedMemoryStatusResponse> {
        let regions = self.0.regions.list(&request.into_inner().name)?;
        let status = |(name, region): (String, Arc<Region>)| {
            let Region { key, offset, bytes: byte_size, .. } = &*region;
            let (key, offset, byte_size) = (key.clone(), *offset, *byte_size);
            (name.clone(), RegionStatus { name, key, offset, byte_size })
        };
        answer(proto::SystemSharedMemoryStatusResponse { regions: regions.into_iter().map(status).collect() })
    }

    async fn system_shared_memory_register(
        &self,
        request: Request<proto::SystemSharedMemoryRegisterRequest>,
    ) -> Answer<proto::SystemSharedMemoryRegisterResponse> {
        let proto::SystemSharedMemoryRegisterRequest { name, key, offset, byte_size } = request.into_inner();
        self.0.regions.register(&name, &key, offset, byte_size)?;
        answer(proto::SystemSharedMemoryRegisterResponse {})
    }

    async fn system_shared_memory_unregister(
        &self,
        request: Request<proto::SystemSharedMemoryUnregisterRequest>,
    ) -> Answer<proto::SystemSharedMemoryUnregisterResponse> {
        self.0.regions.unregister(&request.into_inner().name);
        answer(proto::SystemSharedMemoryUnregisterResponse {})
    }

    async fn cuda_shared_memory_status(
        &self,
        _: Request<proto::CudaSharedMemoryStatusRequest>,
    ) -> Answer<proto::CudaSharedMemoryStatusResponse> {
        answer(proto::CudaSharedMemoryStatusResponse::default())
    }

    async fn cuda_shared_memory_register(
        &self,
        _: Request<proto::CudaSharedMemoryRegisterRequest>,
    ) -> Answer<proto::CudaSharedMemoryRegisterResponse> {
        unsupported(NO_CUDA)
    }

    async fn cuda_shared_memory_unregister(
        &self,
        _: Request<proto::CudaSharedMemoryUnregisterRequest>,
    ) -> Answer<proto::CudaSharedMemoryUnregisterResponse> {
        answer(proto::CudaSharedMemoryUnregisterResponse {})
    }
}

/// The client of a call: its connection.
fn client(extensions: &tonic::Extensions) -> ClientId {
    extensions.get().copied().unwrap_or_default()
}

/// Reads the header `grpc-timeout`: up to eight digits and a unit. None if it is missing or
/// invalid.
fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.checked_mul(3600)?),
        "M" => Duration::from_secs(number.checked_mul(60)?),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Answers a message of either call.
async fn infer(
    service: &Service,
    client: ClientId,
    message: proto::ModelInferRequest,
    arrived: Instant,
    deadline: Option<Instant>,
) -> Result<proto::ModelInferResponse, Refusal> {
    check_name("the id", &message.id)?;
    let served = service.find(&message.model_name, &message.model_version)?;
    let model = served.model;
    let (id, timeout) = (message.id.clone(), parameter_timeout(&message.parameters));
    let parsed = parse(&service.regions, message);
    let Parsed { tensors, wanted, places } = match parsed {
        Ok(parsed) => parsed,
        Err(refusal) => {
            service.statistics(model).fail(refusal.reason, arrived.elapsed());
            return Err(refusal);
        }
    };
    let of_message = timeout.and_then(|timeout| arrived.checked_add(timeout));
    let deadline = deadline.into_iter().chain(of_message).min();
    let request = service::Request { model, client, tensors, wanted, arrived, deadline };
    let scheduler::Answer { tensors, warning } = service.infer(request).await?;
    let mut response = proto::ModelInferResponse {
        model_name: service.name(served),
        model_version: service.models[model].version.to_string(),
        id,
        ..Default::default()
    };
    if let Some(warning) = warning {
        let parameter_choice = Some(ParameterChoice::StringParam(warning));
        response.parameters.insert("warning".to_owned(), proto::InferParameter { parameter_choice });
    }
    for (Tensor { name, datatype, shape, mut data }, place) in tensors.into_iter().zip(places) {
        let mut parameters = HashMap::new();
        if let Some(place) = place {
            service.regions.write(&name, &place, &data)?;
            let size = ParameterChoice::Int64Param(data.len() as i64);
            let region = ParameterChoice::StringParam(place.region);
            for (key, value) in [("shared_memory_region", region), ("shared_memory_byte_size", size)] {
                parameters.insert(key.to_owned(), proto::InferParameter { parameter_choice: Some(value) });
            }
            // Raw contents and outputs stay aligned.
            data = Bytes::new();
        }
        let datatype = datatype.name().to_owned();
        response.outputs.push(InferOutputTensor { name, datatype, shape, parameters, ..Default::default() });
        response.raw_output_contents.push(data);
    }
    Ok(response)
}

/// The parameter `timeout` of a request, in microseconds.
fn parameter_timeout(parameters: &HashMap<String, proto::InferParameter>) -> Option<Duration> {
    match parameters.get("timeout")?.parameter_choice.as_ref()? {
        ParameterChoice::Int64Param(microseconds) => u64::try_from(*microseconds).ok(),
        ParameterChoice::Uint64Param(microseconds) => Some(*microseconds),
        _ => None,
    }
    .filter(|&microseconds| microseconds > 0)
    .map(Duration::from_micros)
}

/// The content of a message.
struct Parsed {
    tensors: Vec<Tensor>,
    wanted: OutputSelection,
    /// The place of each wanted output in shared memory, if it has one.
    places: Vec<Option<TensorPlace>>,
}

/// Reads tensors and wanted outputs from a message.
fn parse(regions: &Regions, message: proto::ModelInferRequest) -> Result<Parsed, Refusal> {
    let of_tensors = message.inputs.iter().flat_map(|input| input.parameters.keys());
    message.parameters.keys().chain(of_tensors).try_for_each(|name| schema::check_parameter(name))?;
    let wanted = OutputSelection::new(message.outputs.iter().map(|output| output.name.as_str()))?;
    let places = message.outputs.iter().map(|output| place(&output.name, &output.parameters));
    let mut places = places.collect::<Result<Vec<_>, _>>()?;
    places.resize(wanted.len(), None);
    // Inputs in shared memory have no raw contents.
    let inputs = message.inputs.into_iter().map(|input| Ok((place(&input.name, &input.parameters)?, input)));
    let inputs = inputs.collect::<Result<Vec<_>, Refusal>>()?;
    let sent = inputs.iter().filter(|(place, _)| place.is_none()).count();
    let raw = message.raw_input_contents.len();
    if raw > 0 && raw != sent {
        let message =
            format!("there are {sent} inputs and {raw} raw_input_contents; inputs in shared memory have none");
        return Err(Refusal::invalid(message));
    }
    let (mut raw, mut read) = (message.raw_input_contents.into_iter(), 0);
    let tensors = inputs.into_iter().map(|(place, input)| match place {
        Some(place) => {
            let datatype = DataType::parse(&input.name, &input.datatype)?;
            Tensor::new(&input.name, datatype, input.shape, regions.read(&place, &mut read)?)
        }
        None => tensor(input, raw.next()),
    });
    Ok(Parsed { tensors: tensors.collect::<Result<_, _>>()?, wanted, places })
}

/// Returns the place of a tensor in shared memory from its parameters.
fn place(tensor: &str, parameters: &HashMap<String, proto::InferParameter>) -> Result<Option<TensorPlace>, Refusal> {
    let choice = |key: &str| parameters.get(key)?.parameter_choice.as_ref();
    let text = |key: &str| match choice(key) {
        Some(ParameterChoice::StringParam(text)) => Some(text.as_str()),
        _ => None,
    };
    let number = |key: &str| match choice(key) {
        Some(ParameterChoice::Int64Param(number)) => u64::try_from(*number).ok(),
        Some(ParameterChoice::Uint64Param(number)) => Some(*number),
        _ => None,
    };
    TensorPlace::read(tensor, text, number)
}

fn tensor(input: InferInputTensor, raw: Option<Bytes>) -> Result<Tensor, Refusal> {
    let InferInputTensor { name, datatype, shape, contents, .. } = input;
    let datatype = DataType::parse(&name, &datatype)?;
    let data = match (raw, contents) {
        (Some(_), Some(_)) => {
            return Err(Refusal::invalid(format!("input {} has contents beside raw_input_contents", shown(&name))));
        }
        (Some(raw), None) => raw,
        (None, contents) => typed(&name, datatype, contents.unwrap_or_default())?,
    };
    Tensor::new(&name, datatype, shape, data)
}

/// Returns the bytes of elements that are sent as numbers.
fn typed(name: &str, datatype: DataType, contents: proto::InferTensorContents) -> Result<Bytes, Refusal> {
    let proto::InferTensorContents { bool_contents, int_contents, int64_contents, uint_contents, .. } = contents;
    Ok(match datatype {
        DataType::Bool => bytes_of(bool_contents.into_iter().map(u8::from).collect::<Vec<_>>()),
        DataType::Uint8 => {
            let bytes: Result<Vec<u8>, _> = uint_contents.into_iter().map(u8::try_from).collect();
            let bytes = bytes.map_err(|_| Refusal::invalid(format!("input {}: a number is above 255", shown(name))))?;
            bytes_of(bytes)
        }
        DataType::Uint32 => bytes_of(uint_contents),
        DataType::Uint64 => bytes_of(contents.uint64_contents),
        DataType::Int32 => bytes_of(int_contents),
        DataType::Int64 => bytes_of(int64_contents),
        DataType::Fp32 => bytes_of(contents.fp32_contents),
        DataType::Fp64 => bytes_of(contents.fp64_contents),
    })
}

fn config(service: &Service, served: Served) -> proto::ModelConfig {
    let input = |tensor: &TensorSchema| proto::ModelInput {
        name: tensor.name.into(),
        data_type: tensor.datatype.proto().into(),
        dims: tensor.shape.into(),
        optional: tensor.is_optional,
    };
    let output = |tensor: &TensorSchema| proto::ModelOutput {
        name: tensor.name.into(),
        data_type: tensor.datatype.proto().into(),
        dims: tensor.shape.into(),
    };
    let parameter = |(key, value): (&str, String)| (key.to_owned(), proto::ModelParameter { string_value: value });
    let batching = proto::ModelDynamicBatching {
        preferred_batch_size: vec![i32::try_from(service.batch_rois()).unwrap_or(i32::MAX)],
        max_queue_delay_microseconds: service.max_delay_us(),
    };
    proto::ModelConfig {
        name: service.name(served),
        platform: service::PLATFORM.into(),
        // A request has any number of RoIs, so tensors have no batch dimension.
        max_batch_size: 0,
        input: served.inputs.tensors().iter().map(input).collect(),
        output: schema::OUTPUTS.iter().map(output).collect(),
        scheduling_choice: Some(proto::model_config::SchedulingChoice::DynamicBatching(batching)),
        parameters: service.parameters(served.model).into_iter().map(parameter).collect(),
        backend: service::PLATFORM.into(),
        model_transaction_policy: Some(proto::ModelTransactionPolicy { decoupled: false }),
    }
}

fn statistics(service: &Service, model: usize) -> proto::ModelStatistics {
    let statistics = service.statistics(model);
    let duration = |total: &Total| Some(proto::StatisticDuration { count: total.count(), ns: total.nanoseconds() });
    proto::ModelStatistics {
        name: service.models[model].name.clone(),
        version: service.models[model].version.to_string(),
        last_inference: statistics.last_milliseconds(),
        inference_count: statistics.rois.get(),
        execution_count: statistics.batches.get(),
        inference_stats: Some(proto::InferStatistics {
            success: duration(&statistics.success),
            fail: duration(&statistics.failure),
            queue: duration(&statistics.queue),
            compute_input: duration(&statistics.input),
            compute_infer: duration(&statistics.search),
            compute_output: duration(&statistics.output),
        }),
    }
}
