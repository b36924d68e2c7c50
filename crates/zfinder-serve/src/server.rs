//! A running server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hyper::Request;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tonic::codegen::Service as _;
use zfinder::{Detector, Engine};

use crate::common;
use crate::device::{self, Device, Finders};
use crate::error::{Error, Result};
use crate::grpc::Grpc;
use crate::http;
use crate::listener::{Listener, Tls};
use crate::messages;
use crate::model::Model;
use crate::proto::grpc_inference_service_server::GrpcInferenceServiceServer;
use crate::received::{ReceiveLimits, Received};
use crate::scheduler::{BatchOptions, Scheduler};
use crate::schema::InputSet;
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
    /// Most bytes of a request, before and after decompression.
    pub max_message_bytes: usize,
    /// Most bytes of all requests that are being received. Further requests are refused.
    pub max_receiving_bytes: usize,
    /// Whether clients on this host may put tensors into shared memory (`/dev/shm`, Linux only).
    /// Every client of the server can then read and write objects there with the rights of the
    /// server's user.
    pub shared_memory: bool,
    /// Most connections at once. Further connections wait.
    pub max_connections: usize,
    /// Longest duration of requests in flight at the end.
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
            max_message_bytes: 64 << 20,
            max_receiving_bytes: 4 << 30,
            shared_memory: false,
            max_connections: 16_384,
            drain: Duration::from_secs(30),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

/// Most threads that transport messages.
const MOST_IO_THREADS: usize = 8;
/// Time for connections to send the last refusals.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
pub struct ServerHandle(watch::Sender<bool>);

impl ServerHandle {
    /// Starts to drain: the server is no longer ready, accepts no connection, and ends when all
    /// accepted requests are answered. A stream of gRPC that its client has not ended by then ends
    /// with `UNAVAILABLE` after these answers.
    pub fn shut_down(&self) {
        self.0.send_replace(true);
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
        let devices = device::open(&options.engine, &models, &detector, options.threads)?;
        let host = devices.iter().find(|device| !device.is_gpu).and_then(|device| device.finders());
        let cpu = match host {
            Some(finders) => finders,
            None => device::finders(&models, &detector, &Engine::Cpu, options.threads)?,
        };
        Self::start_on(options, devices, cpu)
    }

    /// Listens for requests to these devices.
    pub(crate) fn start_on(options: Options, devices: Vec<Arc<Device>>, cpu: Finders) -> Result<Self> {
        let description = devices.iter().map(|device| device.name.clone()).collect();
        let scheduler = Scheduler::start(options.batches.clone(), devices, cpu)?;
        let scheduler = Stopping(scheduler);
        let (sender, receiver) = watch::channel(false);
        let models = options.models.clone().into();
        let batches = BatchOptions {
            batch_rois: Some(options.batches.batch_rois_on(&scheduler.0.devices)),
            ..options.batches.clone()
        };
        let regions = Regions::new(options.shared_memory, options.max_message_bytes);
        let service = Service::new(models, Arc::clone(&scheduler.0), batches, regions, receiver.clone());
        let service = Arc::new(service);
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(cores.clamp(2, MOST_IO_THREADS))
            .thread_name("zfinder serve")
            .enable_io()
            .enable_time()
            .build()?;
        let mut listeners = JoinSet::new();
        // The rest of a refused request may be as large as a request.
        let limits = ReceiveLimits::new(options.max_receiving_bytes, options.max_message_bytes, receiver.clone());
        let ports = Ports {
            runtime: &runtime,
            service: &service,
            room: Arc::new(Semaphore::new(options.max_connections)),
            next_client: Arc::default(),
            limits: Arc::new(limits),
            drain: receiver,
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
    /// [`Options::drain`] the remaining requests are refused. Returns whether all were answered.
    pub fn wait(mut self) -> bool {
        let Some(runtime) = self.runtime.take() else { return true };
        let mut drain = self.handle.0.subscribe();
        let (scheduler, longest) = (Arc::clone(&self.scheduler.0), self.drain);
        let mut listeners = std::mem::take(&mut self.listeners);
        let is_drained = runtime.block_on(async {
            // An error is impossible while this server has a handle.
            let _ = drain.wait_for(|is_draining| *is_draining).await;
            tracing::info!("draining");
            scheduler.drain();
            let all = async { while listeners.join_next().await.is_some() {} };
            if tokio::time::timeout(longest, all).await.is_ok() {
                return true;
            }
            tracing::warn!("requests in flight are refused: the time to drain has passed");
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
    let BatchOptions { batch_rois, batch_spacepoints, queue_requests, in_flight, .. } = options.batches;
    if batch_rois == Some(0) || batch_spacepoints == 0 || queue_requests == 0 || in_flight == Some(0) {
        return refuse("batches", "batches, the queue and batches in flight must have room for one");
    }
    if options.max_connections == 0 || options.max_connections > Semaphore::MAX_PERMITS {
        return refuse("max_connections", "must be at least 1");
    }
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
    room: Arc<Semaphore>,
    next_client: Arc<AtomicU64>,
    limits: Arc<ReceiveLimits>,
    drain: watch::Receiver<bool>,
}

impl Ports<'_> {
    fn listener(&self, address: SocketAddr, tls: Option<Tls>, is_http2_only: bool) -> Result<Listener> {
        let socket = self.runtime.block_on(TcpListener::bind(address));
        let socket = socket.map_err(|source| Error::Listen { address, source })?;
        Ok(Listener {
            socket,
            tls,
            is_http2_only,
            service: Arc::clone(self.service),
            room: Arc::clone(&self.room),
            next_client: Arc::clone(&self.next_client),
            limits: Arc::clone(&self.limits),
            drain: self.drain.clone(),
        })
    }

    /// Listens on all ports, and returns their addresses.
    fn listen(&self, options: &Options, to: &mut JoinSet<()>) -> Result<[Option<SocketAddr>; 3]> {
        let most_bytes = options.max_message_bytes;
        let mut addresses = [None; 3];
        if let Some(address) = options.grpc {
            let listener = self.listener(address, tls(options, &["h2"])?, true)?;
            addresses[0] = Some(listener.socket.local_addr()?);
            let grpc = GrpcInferenceServiceServer::new(Grpc(Arc::clone(self.service)));
            let grpc = grpc.max_decoding_message_size(most_bytes).max_encoding_message_size(usize::MAX);
            let (health, report) = common::health(self.drain.clone());
            self.runtime.spawn(report);
            let reflection = common::reflection()?;
            let older_reflection = common::older_reflection()?;
            let handle = move |request: Request<Received>| {
                let request = messages::decompress(request, most_bytes);
                match request.uri().path().split('/').nth(1) {
                    Some("grpc.health.v1.Health") => health.clone().call(request),
                    Some("grpc.reflection.v1.ServerReflection") => reflection.clone().call(request),
                    Some("grpc.reflection.v1alpha.ServerReflection") => older_reflection.clone().call(request),
                    _ => grpc.clone().call(request),
                }
            };
            to.spawn_on(listener.run(handle), self.runtime.handle());
        }
        if let Some(address) = options.http {
            let listener = self.listener(address, tls(options, &["h2", "http/1.1"])?, false)?;
            addresses[1] = Some(listener.socket.local_addr()?);
            let service = Arc::clone(self.service);
            let handle = move |request| {
                let service = Arc::clone(&service);
                async move { Ok::<_, Infallible>(http::answer(service, most_bytes, request).await) }
            };
            to.spawn_on(listener.run(handle), self.runtime.handle());
        }
        if let Some(address) = options.metrics {
            let listener = self.listener(address, None, false)?;
            addresses[2] = Some(listener.socket.local_addr()?);
            let service = Arc::clone(self.service);
            let handle = move |request| {
                let response = http::answer_metrics(&service, request);
                async move { Ok::<_, Infallible>(response) }
            };
            to.spawn_on(listener.run(handle), self.runtime.handle());
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
