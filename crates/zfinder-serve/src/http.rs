//! The protocol over HTTP, and the metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Body as _;
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::encoding::{Encoding, Inflater, SizeLimit};
use crate::json;
use crate::limits::{INFLATED_AT_ONCE, REGISTRATION_BYTES};
use crate::metrics;
use crate::origin::{self, OriginCheck};
use crate::path;
use crate::queue::ClientId;
use crate::received::{Allowance, Received};
use crate::refusal::{Reason, Refusal, shown, shown_error};
use crate::schema::{self, TensorSchema};
use crate::service::{self, Served, Service};
use crate::statistics::Total;

/// The length of the JSON of a request or an answer, if binary tensors follow.
const HEADER_LENGTH: HeaderName = HeaderName::from_static("inference-header-content-length");

pub(crate) type Body = Full<Bytes>;

/// Answers a request of the protocol.
pub(crate) async fn answer(
    service: Arc<Service>,
    most_bytes: usize,
    origins: Arc<OriginCheck>,
    mut request: Request<Received>,
) -> Response<Body> {
    let origin = match origins.check(&request) {
        Ok(origin) => origin,
        Err(refusal) => return refuse(&refusal),
    };
    let preflight = if origin.is_some() { origin::preflight(&request) } else { None };
    let is_head = replace_head(&mut request);
    let mut response = match preflight {
        Some(response) => response,
        None => route(&service, most_bytes, request).await.unwrap_or_else(|refusal| refuse(&refusal)),
    };
    if let Some(origin) = origin {
        origin::allow(&mut response, origin);
    }
    if is_head { without_body(response) } else { response }
}

/// Answers a request to the port of the metrics, which has the health checks too: it answers when
/// other ports have no room.
pub(crate) fn answer_metrics(
    service: &Service,
    origins: &OriginCheck,
    mut request: Request<Received>,
) -> Response<Body> {
    if let Err(refusal) = origins.check(&request) {
        return refuse(&refusal);
    }
    let is_head = replace_head(&mut request);
    let is_get = request.method() == Method::GET;
    let response = match request.uri().path() {
        "/metrics" | "/v2/health/live" | "/v2/health/ready" if !is_get => wrong_method(&request, &Method::GET),
        "/v2/health/live" => health(true),
        "/v2/health/ready" => health(service.is_ready()),
        "/metrics" => {
            let mut response = Response::new(Body::from(metrics::render(service)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
            response
        }
        _ => refuse(&unknown(&request)),
    };
    if is_head { without_body(response) } else { response }
}

/// Returns the answer to a request that is in progress when the time to drain ends.
pub(crate) fn stopping() -> Response<Body> {
    refuse(&Refusal::stopping())
}

/// Replaces the method HEAD by GET. Returns whether the method was HEAD.
fn replace_head(request: &mut Request<Received>) -> bool {
    let is_head = request.method() == Method::HEAD;
    if is_head {
        *request.method_mut() = Method::GET;
    }
    is_head
}

/// Returns the answer to HEAD from the answer to GET: its status and its headers.
fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    // hyper derives the length from the body, and this body is empty.
    if let Some(length) = body.size_hint().exact() {
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(head, Body::default())
}

/// Answers a request for a model or for all models.
async fn route(
    service: &Arc<Service>,
    most_bytes: usize,
    request: Request<Received>,
) -> Result<Response<Body>, Refusal> {
    let path = request.uri().path().to_owned();
    let decoded = path::segments(&path)?;
    let segments: Vec<&str> = decoded.iter().map(|segment| &**segment).collect();
    let (model, version, call) = match segments[..] {
        ["v2", "systemsharedmemory", ref call @ ..] => return shared_memory(service, call, request).await,
        ["v2", "models", "stats"] => ("", "", &["stats"][..]),
        ["v2", "models", model, "versions", version, ref call @ ..] => (model, version, call),
        ["v2", "models", model, ref call @ ..] => (model, "", call),
        _ => return of_server(service, &request, &segments),
    };
    let wanted = match call {
        ["infer"] => Method::POST,
        [] | ["config" | "stats" | "ready"] => Method::GET,
        _ => return Err(unknown(&request)),
    };
    if request.method() != wanted {
        return Ok(wrong_method(&request, &wanted));
    }
    let value = match call {
        ["infer"] => return Ok(infer(service, model, version, most_bytes, request).await),
        ["config"] => config(service, service.find(model, version)?),
        ["stats"] => {
            let models = service.select(model, version)?;
            let stats: Vec<Value> = models.into_iter().map(|model| statistics(service, model)).collect();
            json!({ "model_stats": stats })
        }
        ["ready"] => {
            return Ok(match service.find(model, version) {
                Ok(_) => health(service.is_ready()),
                Err(refusal) => respond(StatusCode::SERVICE_UNAVAILABLE, &json!({ "error": refusal.message })),
            });
        }
        _ => metadata(service, service.find(model, version)?),
    };
    Ok(respond(StatusCode::OK, &value))
}

/// Answers a request about the server.
fn of_server(service: &Service, request: &Request<Received>, segments: &[&str]) -> Result<Response<Body>, Refusal> {
    let wanted = match segments {
        ["v2"] | ["v2", "health", "live" | "ready"] => Method::GET,
        ["v2", "repository", "index"] | ["v2", "repository", "models", _, "load" | "unload"] => Method::POST,
        ["v2", "cudasharedmemory", ..] => {
            let message = "memory of CUDA is not offered; send binary data or use system shared memory";
            return Err(Refusal::new(Reason::Unsupported, message));
        }
        _ => return Err(unknown(request)),
    };
    if request.method() != wanted {
        return Ok(wrong_method(request, &wanted));
    }
    Ok(match segments {
        ["v2", "health", "live"] => health(true),
        ["v2", "health", "ready"] => health(service.is_ready()),
        ["v2", "repository", "index"] => {
            let index = |served: Served| {
                let version = service.models[served.model].version.to_string();
                json!({ "name": service.name(served), "version": version, "state": "READY" })
            };
            let models: Vec<Value> = service.served().map(index).collect();
            respond(StatusCode::OK, &models.into())
        }
        ["v2", "repository", ..] => {
            return Err(Refusal::new(Reason::Unsupported, service::NO_CONTROL));
        }
        _ => respond(
            StatusCode::OK,
            &json!({
                "name": service::SERVER_NAME,
                "version": env!("CARGO_PKG_VERSION"),
                "extensions": service.extensions(),
            }),
        ),
    })
}

/// A client's description of a region.
#[derive(Deserialize)]
struct Registration {
    key: String,
    #[serde(default)]
    offset: u64,
    byte_size: u64,
}

const REGISTRATION: SizeLimit =
    SizeLimit { what: "registration", bytes: REGISTRATION_BYTES, advice: "send key, offset and byte_size alone" };

/// Registers, lists and unregisters regions of shared memory.
async fn shared_memory(
    service: &Service,
    call: &[&str],
    request: Request<Received>,
) -> Result<Response<Body>, Refusal> {
    let (name, call) = match *call {
        [call] => ("", call),
        ["region", name, call] => (name, call),
        _ => ("", ""),
    };
    let wanted = match call {
        "status" => Method::GET,
        "register" | "unregister" => Method::POST,
        _ => return Err(unknown(&request)),
    };
    if request.method() != wanted {
        return Ok(wrong_method(&request, &wanted));
    }
    Ok(match call {
        "status" => {
            let listed = service.regions.list(name)?;
            let status = listed.iter().map(|(name, region)| {
                json!({ "name": name, "key": region.key, "offset": region.offset, "byte_size": region.bytes })
            });
            respond(StatusCode::OK, &status.collect())
        }
        "register" => {
            let (body, _allowance) = read_body(request, REGISTRATION).await?;
            let Registration { key, offset, byte_size } = serde_json::from_slice(&body)
                .map_err(shown_error)
                .map_err(|error| Refusal::invalid(format!("the registration is not JSON of one: {error}")))?;
            service.regions.register(name, &key, offset, byte_size)?;
            Response::new(Body::default())
        }
        _ => {
            service.regions.unregister(name);
            Response::new(Body::default())
        }
    })
}

fn unknown(request: &Request<Received>) -> Refusal {
    Refusal::new(Reason::NotFound, format!("there is no `{}`", shown(request.uri().path())))
}

fn health(is_well: bool) -> Response<Body> {
    let status = if is_well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut response = Response::new(Body::default());
    *response.status_mut() = status;
    response
}

fn respond(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn refuse(refusal: &Refusal) -> Response<Body> {
    respond(refusal.http_status(), &json!({ "error": refusal.message }))
}

/// Refuses the method of a request. Every path that answers GET answers HEAD too.
fn wrong_method(request: &Request<Received>, wanted: &Method) -> Response<Body> {
    let allowed = if *wanted == Method::GET { "GET, HEAD" } else { wanted.as_str() };
    let (path, found) = (shown(request.uri().path()), shown(request.method().as_str()));
    let error = json!({ "error": format!("`{path}` takes the methods {allowed}, not {found}") });
    let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, &error);
    if let Ok(value) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(ALLOW, value);
    }
    response
}

/// Returns the length of the JSON of a request if its headers say that binary tensors follow.
fn header_length(headers: &HeaderMap) -> Result<Option<usize>, Refusal> {
    let Some(value) = headers.get(&HEADER_LENGTH) else { return Ok(None) };
    let length = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    length.map(Some).ok_or_else(|| {
        let value = shown(&String::from_utf8_lossy(value.as_bytes()));
        Refusal::invalid(format!(
            "Inference-Header-Content-Length is `{value}`, which is not a number of bytes; it is the length of the JSON \
             before binary tensors"
        ))
    })
}

/// Names the header Content-Type in a refusal if the body is no JSON object and the header does not
/// promise one. The server does not require the header, because clients send any value.
fn name_content_type(refusal: Refusal, value: Option<&HeaderValue>, body: &Bytes) -> Refusal {
    let Some(value) = value.map(|value| String::from_utf8_lossy(value.as_bytes())) else { return refusal };
    let kind = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_expected = matches!(&*kind, "application/json" | "application/octet-stream");
    if is_expected || body.trim_ascii_start().first() == Some(&b'{') {
        return refusal;
    }
    let (message, value) = (refusal.message, shown(&value));
    let message = format!(
        "{message}; Content-Type is `{value}`, and the server reads application/json and application/octet-stream"
    );
    Refusal::new(refusal.reason, message)
}

/// Reads the body of a request, and decompresses it. Returns its bytes, and their share of the
/// limit on bytes that are being received.
async fn read_body(request: Request<Received>, limit: SizeLimit) -> Result<(Bytes, Allowance), Refusal> {
    let encoding = Encoding::read(request.headers(), "Content-Encoding")?;
    let unreadable = |error: Box<dyn std::error::Error + Send + Sync>| match error.downcast::<Status>() {
        Ok(status) if status.code() == Code::DeadlineExceeded => Refusal::new(Reason::Stalled, status.message()),
        Ok(status) => Refusal::new(Reason::Full, status.message()),
        Err(error) => Refusal::invalid(format!("the {} cannot be read: {error}", limit.what)),
    };
    let mut body = request.into_body();
    let mut inflater = encoding.map(|encoding| Inflater::new(encoding, limit, body.allowance()));
    let mut bytes = BytesMut::new();
    let mut left = limit.bytes;
    while let Some(frame) = body.frame().await {
        let Ok(part) = frame.map_err(unreadable)?.into_data() else { continue };
        let state = if inflater.is_some() { "compressed" } else { "" };
        left = left.checked_sub(part.len()).ok_or_else(|| limit.refuse(state))?;
        let Some(inflater) = &mut inflater else {
            if bytes.is_empty() && body.is_end_stream() {
                return Ok((part, body.into_allowance()));
            }
            bytes.extend_from_slice(&part);
            continue;
        };
        for part in part.chunks(INFLATED_AT_ONCE) {
            inflater.push(part)?;
            // A part may become 1,000 times as large.
            tokio::task::yield_now().await;
        }
        // The inflater counts the bytes that it holds, and the compressed ones are read.
        body.keep(0);
    }
    match inflater {
        Some(inflater) => inflater.finish(),
        None => Ok((bytes.freeze(), body.into_allowance())),
    }
}

/// Answers a request for a search.
async fn infer(
    service: &Arc<Service>,
    model: &str,
    version: &str,
    most_bytes: usize,
    request: Request<Received>,
) -> Response<Body> {
    let arrived = Instant::now();
    let served = match service.find(model, version) {
        Ok(served) => served,
        Err(refusal) => return refuse(&refusal),
    };
    let model = served.model;
    let fail = |response: Response<Body>, reason| {
        service.statistics(model).fail(reason, arrived.elapsed());
        response
    };
    let client = request.extensions().get::<ClientId>().copied().unwrap_or_default();
    let header_length = match header_length(request.headers()) {
        Ok(length) => length,
        Err(refusal) => return fail(refuse(&refusal), refusal.reason),
    };
    let content_type = request.headers().get(CONTENT_TYPE).cloned();
    let limit = SizeLimit { what: "body", bytes: most_bytes, advice: SizeLimit::ADVICE };
    let (body, mut allowance) = match read_body(request, limit).await {
        Ok(body) => body,
        Err(refusal) => return fail(refuse(&refusal), refusal.reason),
    };
    let parse = {
        let (service, body) = (Arc::clone(service), body.clone());
        // The body counts as being received until the queue counts its tensors.
        move || json::parse(&service.regions, &body, header_length, &mut allowance)
    };
    let parsed = service.work(header_length.unwrap_or(body.len()), parse).await;
    let json::Parsed { id, tensors, wanted, travel, timeout } = match parsed.and_then(|parsed| parsed) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            let refusal = name_content_type(refusal, content_type.as_ref(), &body);
            return fail(refuse(&refusal), refusal.reason);
        }
    };
    drop(body);
    let deadline = timeout.and_then(|microseconds| arrived.checked_add(Duration::from_micros(microseconds)));
    let request = service::Request { model, client, tensors, wanted, arrived, deadline };
    let answer = match service.infer(request).await {
        Ok(answer) => answer,
        Err(refusal) => return refuse(&refusal),
    };
    let numbers = answer.tensors.iter().zip(&travel).filter(|(_, travel)| **travel == json::Transport::Numbers);
    let bytes = numbers.map(|(tensor, _)| tensor.data.len()).sum();
    let name = (service.name(served), service.models[model].version);
    let render = {
        let service = Arc::clone(service);
        move || json::render(&service.regions, name, &id, &answer, &travel)
    };
    match service.work(bytes, render).await.and_then(|rendered| rendered) {
        Ok((body, header_length)) => answered(body, header_length),
        Err(refusal) => refuse(&refusal),
    }
}

fn answered(body: Bytes, header_length: Option<usize>) -> Response<Body> {
    let mut response = Response::new(Body::new(body));
    let kind = if header_length.is_some() { "application/octet-stream" } else { "application/json" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(length) = header_length {
        response.headers_mut().insert(HEADER_LENGTH, HeaderValue::from(length));
    }
    response
}

fn tensor(tensor: &TensorSchema) -> Value {
    json!({ "name": tensor.name, "datatype": tensor.datatype.name(), "shape": tensor.shape })
}

fn metadata(service: &Service, served: Served) -> Value {
    json!({
        "name": service.name(served),
        "versions": service.versions(served),
        "platform": service::PLATFORM,
        "inputs": served.inputs.tensors().iter().map(tensor).collect::<Vec<_>>(),
        "outputs": schema::OUTPUTS.iter().map(tensor).collect::<Vec<_>>(),
    })
}

fn config(service: &Service, served: Served) -> Value {
    let tensor = |tensor: &TensorSchema| {
        let datatype = tensor.datatype.proto().as_str_name();
        json!({ "name": tensor.name, "data_type": datatype, "dims": tensor.shape, "optional": tensor.is_optional })
    };
    let parameters: serde_json::Map<String, Value> = service
        .parameters(served.model)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), json!({ "string_value": value })))
        .collect();
    json!({
        "name": service.name(served),
        "platform": service::PLATFORM,
        "backend": service::PLATFORM,
        "max_batch_size": 0,
        "input": served.inputs.tensors().iter().map(tensor).collect::<Vec<_>>(),
        "output": schema::OUTPUTS.iter().map(tensor).collect::<Vec<_>>(),
        "dynamic_batching": {
            "preferred_batch_size": [service.batch_rois()],
            "max_queue_delay_microseconds": service.max_delay_us(),
        },
        "model_transaction_policy": { "decoupled": false },
        "parameters": parameters,
    })
}

fn statistics(service: &Service, model: usize) -> Value {
    let statistics = service.statistics(model);
    let duration = |total: &Total| json!({ "count": total.count(), "ns": total.nanoseconds() });
    json!({
        "name": service.models[model].name,
        "version": service.models[model].version.to_string(),
        "last_inference": statistics.last_milliseconds(),
        "inference_count": statistics.rois.get(),
        "execution_count": statistics.batches.get(),
        "inference_stats": {
            "success": duration(&statistics.success),
            "fail": duration(&statistics.failure),
            "queue": duration(&statistics.queue),
            "compute_input": duration(&statistics.input),
            "compute_infer": duration(&statistics.search),
            "compute_output": duration(&statistics.output),
        },
    })
}
