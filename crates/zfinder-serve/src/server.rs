//! A running server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tonic::Status;
use tonic::codegen::{BoxFuture, Service as _};
use zfinder::{Detector, Engine, StreamOptions};

use crate::common;
use crate::connections::{Connections, Room};
use crate::device::{self, Host};
use crate::drain::{Phase, Phases};
use crate::error::{Error, Result};
use crate::grpc::Grpc;
use crate::http;
use crate::limits::{
    CONNECTIONS, DRAIN, IDLE, IO_THREADS, LAST_WORDS, LONGEST_TIME, MESSAGE_BYTES, METRICS_CONNECTIONS,
    RECEIVING_BYTES, SENDING_BYTES,
};
use crate::listener::{Listener, Tls};
use crate::messages;
use crate::model::Model;
use crate::origin::OriginCheck;
use crate::proto::grpc_inference_service_server::GrpcInferenceServiceServer;
use crate::received::{ReceiveLimits, Received};
use crate::refusal::Refusal;
use crate::scheduler::{BatchOptions, Scheduler};
use crate::schema::InputSet;
use crate::sending::SendLimits;
use crate::service::Service;
use crate::shared_memory::Regions;
#[cfg(feature = "tls")]
use crate::tls::TlsOptions;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address of gRPC. Port 0 selects any free port.
    pub grpc: Option<SocketAddr>,
    /// Address of HTTP.
    pub http: Option<SocketAddr>,
    /// Address of the metrics, over HTTP, never encrypted.
    pub metrics: Option<SocketAddr>,
    /// Models; by default all presets.
    pub models: Vec<Model>,
    /// The detector of all models.
    pub detector: Detector,
    /// The engine.
    pub engine: Engine,
    /// Threads of the CPU engine; by default one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Options for joining requests to batches.
    pub batches: BatchOptions,
    /// Most bytes of a request, before and after decompression; by default 64 MiB.
    pub max_message_bytes: usize,
    /// Most bytes of all requests that are being received; by default 4 GiB. Further requests are
    /// refused.
    pub max_receiving_bytes: usize,
    /// Most bytes of all answers that wait to be sent; by default 1 GiB. Further requests are
    /// refused.
    pub max_sending_bytes: usize,
    /// Whether clients on this host may put tensors into shared memory (`/dev/shm`, Linux only).
    /// Every client of the server can then read and write objects there with the rights of the
    /// server's user.
    pub shared_memory: bool,
    /// Most connections at once; by default 16,384. The metrics have 64 more. A further connection
    /// takes the place of the one that has been idle longest, or waits.
    pub max_connections: usize,
    /// Longest time for a client to send its first request, or the next part of one; by default
    /// 10 s. A stream may be idle for any time between two messages. A client may leave an answer
    /// unread for six times as long, while less than half of `max_sending_bytes` are in use.
    pub idle: Duration,
    /// Web pages whose requests are answered, such as `https://example.org`; by default none. Other
    /// requests with the header Origin are refused.
    pub allowed_origins: Vec<String>,
    /// Longest duration of requests in flight at the end; by default 30 s. Then they are refused.
    pub drain: Duration,
    /// Certificates for gRPC and HTTP; None disables encryption.
    #[cfg(feature = "tls")]
    pub tls: Option<TlsOptions>,
}

impl Options {
    /// Returns options for this detector, with ports of the protocol on the loopback interface, all
    /// presets, and no encryption.
    pub fn new(detector: Detector) -> Self {
        let loopback = |port| Some(SocketAddr::from(([127, 0, 0, 1], port)));
        Self {
            grpc: loopback(8001),
            http: loopback(8000),
            metrics: loopback(8002),
            models: Model::presets(),
            detector,
            engine: Engine::Auto,
            threads: None,
            batches: BatchOptions::default(),
            max_message_bytes: MESSAGE_BYTES,
            max_receiving_bytes: RECEIVING_BYTES,
            max_sending_bytes: SENDING_BYTES,
            shared_memory: false,
            max_connections: CONNECTIONS,
            idle: IDLE,
            allowed_origins: Vec::new(),
            drain: DRAIN,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

/// A running server, until [`ServerHandle::shut_down`]. Dropping it ends it at once.
///
/// ```
/// use zfinder::{Detector, Engine, Preset};
/// use zfinder_serve::{Model, Options, Server};
/// let any = Some(([127, 0, 0, 1], 0).into());
/// let models = vec![Model::preset(Preset::Auto)];
/// let (grpc, http, metrics) = (any, any, None);
/// let engine = Engine::Cpu;
/// let options = Options::new(Detector::generic());
/// let options = Options { grpc, http, metrics, models, engine, ..options };
/// let server = Server::start(options)?;
/// assert_ne!(server.grpc_address().expect("gRPC is served").port(), 0);
/// server.handle().shut_down();
/// server.wait();
/// # Ok::<(), zfinder_serve::Error>(())
/// ```
#[derive(Debug)]
pub struct Server {
    runtime: Option<Runtime>,
    listeners: JoinSet<()>,
    scheduler: Stopping,
    addresses: [Option<SocketAddr>; 3],
    handle: ServerHandle,
    drain: Duration,
    description: Vec<String>,
}

/// Ends a server from any thread.
#[derive(Clone, Debug)]
pub struct ServerHandle(watch::Sender<Phase>);

impl ServerHandle {
    /// Starts to drain: the server is no longer ready, accepts no connection, and ends when all
    /// accepted requests are answered. A stream of gRPC that its client has not ended by then ends
    /// with `UNAVAILABLE` after these answers.
    pub fn shut_down(&self) {
        let begin = |phase: &mut Phase| std::mem::replace(phase, (*phase).max(Phase::Draining)) == Phase::Serving;
        self.0.send_if_modified(begin);
    }
}

/// Stops the scheduler when it is dropped.
struct Stopping(Arc<Scheduler>);

impl std::fmt::Debug for Stopping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scheduler")
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Server {
    /// Builds the finders of all models and listens. Blocks while devices are opened and shaders
    /// are compiled.
    ///
    /// # Errors
    /// Invalid models, a missing adapter, an address that cannot be used, unusable certificates.
    pub fn start(options: Options) -> Result<Self> {
        check(&options)?;
        let models: Arc<[Model]> = options.models.clone().into();
        let detector = Arc::new(options.detector.clone());
        let host = Host::new(&models, &detector, &options.engine, options.threads)?;
        let devices = device::open(&options.engine, &models, &detector, &host)?;
        let description = devices.iter().map(|device| device.name.clone()).collect();
        let scheduler = Scheduler::start(options.batches.clone(), devices, host)?;
        let scheduler = Stopping(scheduler);
        let (sender, phases) = Phases::new();
        let batches = BatchOptions {
            batch_rois: Some(options.batches.batch_rois_on(&scheduler.0.devices)),
            ..options.batches.clone()
        };
        let regions = Regions::new(options.shared_memory, options.max_message_bytes);
        let sending = Arc::new(SendLimits::new(options.max_sending_bytes, options.idle));
        let connections = Arc::new(Connections::new(options.idle, Arc::clone(&sending)));
        let service = Service::new(
            models,
            Arc::clone(&scheduler.0),
            batches,
            regions,
            Arc::clone(&connections),
            Arc::clone(&sending),
            phases.clone(),
        );
        let service = Arc::new(service);
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores.clamp(2, IO_THREADS))
            .thread_name("zfinder serve")
            .enable_io()
            .enable_time()
            .build()?;
        let mut listeners = JoinSet::new();
        // The rest of a refused request may be as large as a request.
        let discard = options.max_message_bytes;
        let receiving = ReceiveLimits::new(options.max_receiving_bytes, discard, options.idle, phases.clone());
        runtime.spawn(Arc::clone(&connections).watch());
        let ports = Ports {
            runtime: &runtime,
            service: &service,
            connections,
            room: Room::new("connections", options.max_connections),
            metrics_room: Room::new("connections of the metrics port", METRICS_CONNECTIONS),
            receiving: Arc::new(receiving),
            sending,
            phases,
        };
        let addresses = ports.listen(&options, &mut listeners)?;
        let (handle, drain) = (ServerHandle(sender), options.drain);
        Ok(Self { runtime: Some(runtime), listeners, scheduler, addresses, handle, drain, description })
    }

    /// Returns the address of gRPC.
    pub fn grpc_address(&self) -> Option<SocketAddr> {
        self.addresses[0]
    }

    /// Returns the address of HTTP.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.addresses[1]
    }

    /// Returns the address of the metrics.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.addresses[2]
    }

    /// Returns a description of each device.
    pub fn devices(&self) -> &[String] {
        &self.description
    }

    /// Returns a handle that ends the server.
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Blocks until the server is shut down and all accepted requests are answered. After
    /// [`Options::drain`] the remaining requests are refused, also those whose search takes longer.
    /// Returns whether all were answered.
    pub fn wait(mut self) -> bool {
        let Some(runtime) = self.runtime.take() else { return true };
        let (phase, mut drain) = (self.handle.0.clone(), self.handle.0.subscribe());
        let (scheduler, longest) = (Arc::clone(&self.scheduler.0), self.drain);
        let mut listeners = std::mem::take(&mut self.listeners);
        let is_drained = runtime.block_on(async {
            // An error is impossible while this server has a handle.
            let _ = drain.wait_for(|phase| *phase >= Phase::Draining).await;
            tracing::info!("draining");
            scheduler.drain();
            let all = async { while listeners.join_next().await.is_some() {} };
            if tokio::time::timeout(longest, all).await.is_ok() {
                return true;
            }
            tracing::warn!("requests in flight are refused: the time to drain has passed");
            phase.send_replace(Phase::Over);
            // Stopping waits for batches on other threads.
            let stopped = tokio::task::spawn_blocking(move || scheduler.stop());
            let last_words = async { while listeners.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(LAST_WORDS, last_words).await;
            drop(stopped);
            false
        });
        runtime.shutdown_timeout(LAST_WORDS);
        is_drained
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The server may be dropped within another runtime, which must not block.
            runtime.shutdown_background();
        }
    }
}

/// Checks options before devices are opened.
fn check(options: &Options) -> Result<()> {
    let refuse = |name, reason: &str| Err(Error::Option { name, reason: reason.to_owned() });
    if options.grpc.is_none() && options.http.is_none() {
        return refuse("grpc", "neither gRPC nor HTTP is served");
    }
    let BatchOptions { max_delay, batch_rois, batch_spacepoints, queue_requests, queue_bytes, in_flight } =
        options.batches;
    let most_in_flight = StreamOptions::MOST_IN_FLIGHT;
    for (name, number, most) in [
        ("batches.batch_rois", batch_rois.unwrap_or(1), usize::MAX),
        ("batches.batch_spacepoints", batch_spacepoints, usize::MAX),
        ("batches.queue_requests", queue_requests, usize::MAX),
        ("batches.queue_bytes", queue_bytes, usize::MAX),
        ("batches.in_flight", in_flight.unwrap_or(1), most_in_flight),
        ("max_message_bytes", options.max_message_bytes, usize::MAX),
        ("max_receiving_bytes", options.max_receiving_bytes, usize::MAX),
        ("max_sending_bytes", options.max_sending_bytes, usize::MAX),
        ("max_connections", options.max_connections, Semaphore::MAX_PERMITS),
    ] {
        if number == 0 {
            return refuse(name, "0 is too small, and 1 is the least");
        }
        if number > most {
            return refuse(name, &format!("{number} is too large, and {most} is the most"));
        }
    }
    if options.idle.is_zero() || options.idle > LONGEST_TIME {
        return refuse("idle", &format!("{:?} is not above 0 s and up to {LONGEST_TIME:?}", options.idle));
    }
    if max_delay > LONGEST_TIME {
        return refuse("batches.max_delay", &format!("{max_delay:?} is too long, and {LONGEST_TIME:?} is the most"));
    }
    OriginCheck::new([127, 0, 0, 1].into(), &options.allowed_origins)?;
    if options.max_receiving_bytes < options.max_message_bytes {
        return refuse("max_receiving_bytes", "must be at least the largest request, max_message_bytes");
    }
    if options.shared_memory && !cfg!(target_os = "linux") {
        return refuse("shared_memory", "is served on Linux alone");
    }
    let models = &options.models;
    if models.is_empty() {
        return Err(Error::Models("there is no model to serve".into()));
    }
    for (index, model) in models.iter().enumerate() {
        let name = &model.name;
        if name.is_empty() || name.contains('/') || name == "stats" {
            return Err(Error::Models(format!("`{name}` cannot be the name of a model")));
        }
        if let Some(inputs) = InputSet::ALL[1..].iter().find(|inputs| name.ends_with(inputs.suffix())) {
            let suffix = inputs.suffix();
            return Err(Error::Models(format!("`{name}`: a name with {suffix} is that of another model's inputs")));
        }
        if models[..index].iter().any(|other| other.name == *name && other.version == model.version) {
            return Err(Error::Models(format!("there are two models `{name}` of version {}", model.version)));
        }
    }
    Ok(())
}

/// State that the ports share.
struct Ports<'a> {
    runtime: &'a Runtime,
    service: &'a Arc<Service>,
    connections: Arc<Connections>,
    room: Room,
    /// The metrics, and the health checks of their port, are answered when `room` is full.
    metrics_room: Room,
    receiving: Arc<ReceiveLimits>,
    sending: Arc<SendLimits>,
    phases: Phases,
}

impl Ports<'_> {
    fn listener(&self, address: SocketAddr, options: &Options, tls: Option<Tls>, room: &Room) -> Result<Listener> {
        let socket = self.runtime.block_on(TcpListener::bind(address));
        let socket = socket.map_err(|source| Error::Listen { address, source })?;
        Ok(Listener {
            socket,
            tls,
            is_http2_only: false,
            connections: Arc::clone(&self.connections),
            room: room.clone(),
            receiving: Arc::clone(&self.receiving),
            sending: Arc::clone(&self.sending),
            idle: options.idle,
            phases: self.phases.clone(),
        })
    }

    /// Listens on all ports, and returns their addresses.
    fn listen(&self, options: &Options, to: &mut JoinSet<()>) -> Result<[Option<SocketAddr>; 3]> {
        let most_bytes = options.max_message_bytes;
        let origins = |address: SocketAddr| OriginCheck::new(address.ip(), &options.allowed_origins).map(Arc::new);
        let mut addresses = [None; 3];
        if let Some(address) = options.grpc {
            let listener = self.listener(address, options, tls(options, &["h2"])?, &self.room)?;
            addresses[0] = Some(listener.socket.local_addr()?);
            let origins = origins(address)?;
            let grpc = GrpcInferenceServiceServer::new(Grpc(Arc::clone(self.service)));
            let grpc = grpc.max_decoding_message_size(most_bytes).max_encoding_message_size(usize::MAX);
            let (health, report) = common::health(self.phases.clone());
            self.runtime.spawn(report);
            let reflection = common::reflection()?;
            let older_reflection = common::older_reflection()?;
            let handle = move |request: Request<Received>| {
                if let Err(refusal) = origins.check(&request) {
                    let refused = Ok(Status::from(refusal).into_http());
                    return Box::pin(std::future::ready(refused)) as BoxFuture<_, Infallible>;
                }
                let request = messages::decompress(request, most_bytes);
                match request.uri().path().split('/').nth(1) {
                    Some("grpc.health.v1.Health") => health.clone().call(request),
                    Some("grpc.reflection.v1.ServerReflection") => reflection.clone().call(request),
                    Some("grpc.reflection.v1alpha.ServerReflection") => older_reflection.clone().call(request),
                    _ => grpc.clone().call(request),
                }
            };
            let listener = Listener { is_http2_only: true, ..listener };
            let stopping = || Status::from(Refusal::stopping()).into_http();
            to.spawn_on(listener.run(handle, stopping), self.runtime.handle());
        }
        if let Some(address) = options.http {
            let listener = self.listener(address, options, tls(options, &["h2", "http/1.1"])?, &self.room)?;
            addresses[1] = Some(listener.socket.local_addr()?);
            let (service, origins) = (Arc::clone(self.service), origins(address)?);
            let handle = move |request| {
                let (service, origins) = (Arc::clone(&service), Arc::clone(&origins));
                async move { Ok::<_, Infallible>(http::answer(service, most_bytes, origins, request).await) }
            };
            to.spawn_on(listener.run(handle, http::stopping), self.runtime.handle());
        }
        if let Some(address) = options.metrics {
            let listener = self.listener(address, options, None, &self.metrics_room)?;
            addresses[2] = Some(listener.socket.local_addr()?);
            let (service, origins) = (Arc::clone(self.service), origins(address)?);
            let handle = move |request| {
                let response = http::answer_metrics(&service, &origins, request);
                async move { Ok::<_, Infallible>(response) }
            };
            to.spawn_on(listener.run(handle, http::stopping), self.runtime.handle());
        }
        Ok(addresses)
    }
}

#[cfg(feature = "tls")]
fn tls(options: &Options, protocols: &[&str]) -> Result<Option<Tls>> {
    options.tls.as_ref().map(|tls| tls.acceptor(protocols)).transpose()
}

#[cfg(not(feature = "tls"))]
fn tls(_: &Options, _: &[&str]) -> Result<Option<Tls>> {
    Ok(None)
}
