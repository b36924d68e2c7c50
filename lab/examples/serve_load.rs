//! Measures a server under load: RoIs a second and latencies of requests of several sizes, compared
//! with the rate of the library in this process. Every answer is compared with the library's, bit
//! by bit.
//!
//! ```text
//! cargo run --release --manifest-path lab/Cargo.toml --example serve_load
//! cargo run --release --manifest-path lab/Cargo.toml --example serve_load -- --help
//! ```
//!
//! Without `--address`, the server runs in this process, and requests use the loopback interface.
//! Samples are RoIs of the simulation `lowlum`. The line `loopback` gives the rate of plain sockets
//! over as many connections, which limits requests that carry their tensors. `--tensors
//! shared-memory` needs a server on this host with `--shared-memory`. Columns of the table:
//!
//! - `full load`: each of the connections sends a request when its last one is answered
//!   (`--in-flight` of them at once);
//! - `half load`: requests come at regular times, half as many as at full load; a latency counts
//!   from the time at which the request was due;
//! - `added`: the 99th percentile at half load, less the median of the same search in this process.

use std::error::Error;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::{Parser, ValueEnum};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::transport::{Channel, Endpoint};
use zfinder::gpu::AdapterChoice;
use zfinder::{Detector, Engine, Results, RoiBatch, RoiView, StreamOptions, ZFinder};
use zfinder_serve::proto::grpc_inference_service_client::GrpcInferenceServiceClient;
use zfinder_serve::proto::infer_parameter::ParameterChoice;
use zfinder_serve::proto::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use zfinder_serve::proto::{
    InferParameter, ModelInferRequest, ModelInferResponse, SystemSharedMemoryRegisterRequest,
    SystemSharedMemoryUnregisterRequest,
};
use zfinder_serve::{BatchOptions, Model, Options, Server, decode_point, encode_point};
use zfinder_study::simulate::Simulation;

type Failure = Box<dyn Error + Send + Sync>;
type Client = GrpcInferenceServiceClient<Channel>;

/// Measures a server under load.
#[derive(Parser)]
struct Load {
    /// gRPC address of a running server of all presets [default: a server in this process]
    #[arg(long)]
    address: Option<SocketAddr>,
    /// GPU by index, name or PCI id, for this process
    #[arg(long, conflicts_with = "cpu")]
    adapter: Option<AdapterChoice>,
    /// Use the CPU engine
    #[arg(long)]
    cpu: bool,
    /// Preset: default, auto, hard-scatter
    #[arg(long, default_value = "default")]
    preset: String,
    /// RoIs a request
    #[arg(long, value_delimiter = ',', default_value = "1,16,256,4096")]
    rois: Vec<usize>,
    /// Connections
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Requests in flight on each connection
    #[arg(long, default_value_t = 2)]
    in_flight: usize,
    /// Transport of tensors
    #[arg(long, value_enum, default_value_t = Transport::Message)]
    tensors: Transport,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Longest wait of a request for others in the server in this process, in microseconds
    #[arg(long, default_value_t = 0)]
    max_delay_us: u64,
    /// RoIs of a batch of the server in this process
    #[arg(long)]
    batch_rois: Option<usize>,
    /// Batches in flight of the server in this process
    #[arg(long)]
    server_in_flight: Option<usize>,
}

/// Transport of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// 13 bytes a spacepoint in the message
    Message,
    /// 8 bytes a spacepoint in the message
    Points,
    /// In an object of `/dev/shm`
    SharedMemory,
}

/// A request, and the bytes of its answer.
struct LoadRequest {
    request: ModelInferRequest,
    answer: [Bytes; 2],
    batch: RoiBatch,
    object: Option<SharedObject>,
}

/// An object of shared memory that ends with this process.
struct SharedObject {
    name: String,
    bytes: u64,
}

impl SharedObject {
    /// Moves the tensors of a request into an object.
    fn take(request: &mut ModelInferRequest, name: String) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for (input, data) in request.inputs.iter_mut().zip(request.raw_input_contents.drain(..)) {
            let number = |number: usize| ParameterChoice::Int64Param(number as i64);
            for (key, choice) in [
                ("shared_memory_region", ParameterChoice::StringParam(name.clone())),
                ("shared_memory_offset", number(all.len())),
                ("shared_memory_byte_size", number(data.len())),
            ] {
                input.parameters.insert(key.into(), InferParameter { parameter_choice: Some(choice) });
            }
            all.extend_from_slice(&data);
        }
        let object = Self { name, bytes: all.len() as u64 };
        std::fs::write(object.path(), all)?;
        Ok(object)
    }

    fn path(&self) -> String {
        format!("/dev/shm/{}", self.name)
    }

    async fn register(&self, client: &mut Client) -> Result<(), Failure> {
        let (name, key) = (self.name.clone(), self.name.clone());
        let region = SystemSharedMemoryRegisterRequest { name, key, offset: 0, byte_size: self.bytes };
        client.system_shared_memory_register(region).await?;
        Ok(())
    }
}

impl Drop for SharedObject {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.path());
    }
}

const OUTPUTS: [&str; 2] = ["COUNTS", "Z"];
/// Number of different requests of each size.
const QUESTIONS: usize = 8;
/// RoIs of a batch in this process.
const STREAM_ROIS: usize = 4096;

fn question(
    finder: &ZFinder,
    model: &str,
    rois: &mut dyn Iterator<Item = RoiView<'_>>,
    count: usize,
    travel: Transport,
) -> LoadRequest {
    let mut batch = RoiBatch::with_f32();
    let mut words: Vec<u8> = Vec::new();
    let [mut rho, mut phi, mut z, mut layer] = [(); 4].map(|()| Vec::new());
    let mut offsets = vec![0i64];
    for roi in rois.take(count) {
        for point in roi.spacepoints() {
            rho.extend((point.rho as f32).to_le_bytes());
            phi.extend((point.phi as f32).to_le_bytes());
            z.extend((point.z as f32).to_le_bytes());
            layer.push(point.layer as u8);
        }
        offsets.push(layer.len() as i64);
        if travel == Transport::Points {
            let encoded: Vec<u64> = roi.spacepoints().map(|point| encode_point(&point).expect("in range")).collect();
            words.extend(encoded.iter().flat_map(|word| word.to_le_bytes()));
            batch.push(Default::default(), encoded.into_iter().map(decode_point));
        } else {
            batch.push(Default::default(), roi.spacepoints());
        }
    }
    let points = layer.len() as i64;
    let offsets_bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let mut request = ModelInferRequest { model_name: model.into(), ..Default::default() };
    let offsets = ("OFFSETS", "INT64", offsets.len() as i64, offsets_bytes);
    let tensors = match travel {
        Transport::Points => vec![offsets, ("POINTS", "UINT64", points, words)],
        Transport::Message | Transport::SharedMemory => vec![
            offsets,
            ("RHO", "FP32", points, rho),
            ("PHI", "FP32", points, phi),
            ("Z", "FP32", points, z),
            ("LAYER", "UINT8", points, layer),
        ],
    };
    for (name, datatype, length, bytes) in tensors {
        let (name, datatype, shape) = (name.into(), datatype.into(), vec![length]);
        request.inputs.push(InferInputTensor { name, datatype, shape, ..Default::default() });
        request.raw_input_contents.push(bytes.into());
    }
    let output = |name: &str| InferRequestedOutputTensor { name: name.into(), ..Default::default() };
    request.outputs = OUTPUTS.map(output).into();
    let results = finder.find_batch(&batch).expect("the library answers");
    let counts = results.iter().flat_map(|result| (result.vertices().len() as u32).to_le_bytes()).collect();
    let answer = [counts, results.vertices().z_mm().iter().flat_map(|z_mm| z_mm.to_le_bytes()).collect()];
    LoadRequest { request, answer, batch, object: None }
}

fn check(response: &ModelInferResponse, question: &LoadRequest) -> Result<(), Failure> {
    if response.raw_output_contents == question.answer { Ok(()) } else { Err("an answer is wrong".into()) }
}

/// A percentile of latencies, in microseconds.
fn percentile(latencies: &mut [Duration], fraction: f64) -> f64 {
    if latencies.is_empty() {
        return f64::NAN;
    }
    latencies.sort_unstable();
    latencies[((latencies.len() - 1) as f64 * fraction).round() as usize].as_secs_f64() * 1e6
}

/// Sends a request when the last one is answered, or, with `due`, at these times. Returns
/// latencies.
async fn drive(
    mut client: Client,
    questions: Arc<Vec<LoadRequest>>,
    first: usize,
    end: Instant,
    mut due: Option<UnboundedReceiver<Instant>>,
) -> Result<Vec<Duration>, Failure> {
    let mut latencies = Vec::new();
    for number in first.. {
        let sent = match &mut due {
            Some(due) => match due.recv().await {
                Some(due) => due,
                None => break,
            },
            None => Instant::now(),
        };
        if sent >= end {
            break;
        }
        let question = &questions[number % questions.len()];
        let response = client.model_infer(question.request.clone()).await?.into_inner();
        latencies.push(sent.elapsed());
        check(&response, question)?;
    }
    Ok(latencies)
}

/// Sends the times at which requests are due to the tasks, one task after another. A thread does
/// so, because timers of tokio count milliseconds.
fn pace(tasks: Vec<UnboundedSender<Instant>>, begin: Instant, end: Instant, rate: f64) {
    for number in 0u32.. {
        let due = begin + Duration::from_secs_f64(f64::from(number) / rate);
        if due >= end {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // A failed task receives nothing.
        let _ = tasks[number as usize % tasks.len()].send(due);
    }
}

/// Returns the rate in bytes a second of plain sockets over this many connections of the loopback
/// interface.
fn loopback_rate(connections: usize, seconds: f64) -> Result<f64, Failure> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds);
    let sent = std::thread::scope(|scope| -> Result<u64, Failure> {
        let mut senders = Vec::new();
        for _ in 0..connections {
            let mut sender = std::net::TcpStream::connect(address)?;
            let (mut receiver, _) = listener.accept()?;
            scope.spawn(move || {
                let mut buffer = vec![0; 1 << 20];
                while matches!(receiver.read(&mut buffer), Ok(bytes) if bytes > 0) {}
            });
            senders.push(scope.spawn(move || -> std::io::Result<u64> {
                let (buffer, mut sent) = (vec![1; 1 << 20], 0);
                while Instant::now() < end {
                    sender.write_all(&buffer)?;
                    sent += buffer.len() as u64;
                }
                Ok(sent)
            }));
        }
        let mut sent = 0;
        for sender in senders {
            sent += sender.join().map_err(|_| "a sender panicked")??;
        }
        Ok(sent)
    })?;
    Ok(sent as f64 / begin.elapsed().as_secs_f64())
}

struct LoadMeasurement {
    requests_a_second: f64,
    latencies: Vec<Duration>,
}

/// Loads the server on all connections. With `rate`, all connections together send this many
/// requests a second.
async fn load(
    options: &Load,
    clients: &[Client],
    questions: &Arc<Vec<LoadRequest>>,
    rate: Option<f64>,
) -> Result<LoadMeasurement, Failure> {
    let tasks = clients.len() * options.in_flight;
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(options.seconds);
    let mut running = tokio::task::JoinSet::new();
    let mut paced = Vec::new();
    for task in 0..tasks {
        let due = rate.map(|_| {
            let (sender, receiver) = unbounded_channel();
            paced.push(sender);
            receiver
        });
        let client = clients[task % clients.len()].clone();
        running.spawn(drive(client, Arc::clone(questions), task, end, due));
    }
    if let Some(rate) = rate {
        std::thread::spawn(move || pace(paced, begin, end, rate));
    }
    let mut latencies = Vec::new();
    while let Some(ended) = running.join_next().await {
        latencies.extend(ended??);
    }
    let requests_a_second = latencies.len() as f64 / begin.elapsed().as_secs_f64();
    Ok(LoadMeasurement { requests_a_second, latencies })
}

/// Returns RoIs a second of a stream in this process.
fn stream_rate(finder: &ZFinder, batch: &RoiBatch, seconds: f64) -> Result<f64, Failure> {
    let mut stream = finder.stream(StreamOptions::default())?;
    let run = |stream: &mut zfinder::Stream, seconds: f64| -> Result<f64, Failure> {
        let (begin, mut rois) = (Instant::now(), 0);
        let mut spare = Vec::new();
        while begin.elapsed().as_secs_f64() < seconds {
            let (next, results) = spare.pop().unwrap_or_else(|| (batch.clone(), Results::new()));
            if let Some(answered) = stream.push_into(next, results)? {
                rois += answered.batch.len();
                spare.push((answered.batch, answered.results));
            }
        }
        for answered in stream.by_ref() {
            rois += answered?.batch.len();
        }
        Ok(rois as f64 / begin.elapsed().as_secs_f64())
    };
    run(&mut stream, 0.3 * seconds)?;
    run(&mut stream, seconds)
}

/// Returns the median duration of the search of a request in this process, in microseconds.
fn search_time(finder: &ZFinder, questions: &[LoadRequest], seconds: f64) -> Result<f64, Failure> {
    let (begin, mut latencies, mut results) = (Instant::now(), Vec::new(), Results::new());
    while latencies.len() < 10 || begin.elapsed().as_secs_f64() < seconds {
        let question = &questions[latencies.len() % questions.len()];
        let called = Instant::now();
        finder.find_batch_into(&question.batch, &mut results)?;
        latencies.push(called.elapsed());
    }
    Ok(percentile(&mut latencies, 0.5))
}

fn main() -> Result<(), Failure> {
    let options = Load::parse();
    let model = Model::presets().into_iter().find(|model| model.name == format!("zfinder-{}", options.preset));
    let model = model.ok_or("there is no such preset")?;
    let engine = match (&options.adapter, options.cpu) {
        (Some(adapter), _) => Engine::Gpu(adapter.clone()),
        (None, true) => Engine::Cpu,
        (None, false) => Engine::Auto,
    };
    let builder = |engine: Engine| ZFinder::builder(Detector::atlas2010()).config(model.config.clone()).engine(engine);
    let finder = builder(engine.clone()).build()?;
    println!("in this process: {}", finder.description());
    let (sample, _) = Simulation::lowlum().batch();
    println!("sample: {} RoIs of {} spacepoints", sample.len(), sample.count_spacepoints());
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = match options.address {
        Some(_) => None,
        None => {
            let batches = BatchOptions {
                max_delay: Duration::from_micros(options.max_delay_us),
                in_flight: options.server_in_flight,
                batch_rois: options.batch_rois,
                ..BatchOptions::default()
            };
            let models = vec![model.clone()];
            let (http, metrics) = (None, None);
            Some(Server::start(Options {
                grpc: Some(any),
                http,
                metrics,
                models,
                engine,
                batches,
                shared_memory: options.tensors == Transport::SharedMemory,
                ..Options::new(Detector::atlas2010())
            })?)
        }
    };
    let address = options.address.or(server.as_ref().and_then(Server::grpc_address)).ok_or("no address")?;
    let runtime = Runtime::new()?;
    let connect = async || -> Result<Client, Failure> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?
            .tcp_nodelay(true)
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(1 << 22);
        Ok(GrpcInferenceServiceClient::new(endpoint.connect().await?).max_decoding_message_size(1 << 30))
    };
    let clients: Result<Vec<Client>, Failure> = runtime
        .block_on(async { futures_util::future::try_join_all((0..options.connections).map(|_| connect())).await });
    let clients = clients?;
    // The CPU engine gives the answers for comparison, because all engines have the same bits.
    let reference = builder(Engine::Cpu).build()?;
    let mut rois = (0..sample.len()).cycle().map(|roi| sample.roi(roi));
    let whole = question(&reference, &model.name, &mut rois, STREAM_ROIS, Transport::Message);
    let rate = stream_rate(&finder, &whole.batch, options.seconds)?;
    println!("stream in this process: {rate:.0} RoI/s in batches of {STREAM_ROIS}");
    let carried = loopback_rate(options.connections, 0.5 * options.seconds)?;
    let roi_bytes = whole.request.raw_input_contents.iter().map(Bytes::len).sum::<usize>() as f64 / STREAM_ROIS as f64;
    println!("loopback: {:.1} GB/s by plain sockets, {:.0} RoI/s in messages", carried * 1e-9, carried / roi_bytes);
    println!(
        "server: {address}, {} connections, {} requests in flight on each",
        options.connections, options.in_flight
    );
    println!(
        "{:>12} | {:>10} {:>8} {:>10} {:>10} | {:>10} {:>10} {:>10} | {:>10}",
        "RoIs/request", "RoI/s", "stream", "p50 us", "p99 us", "half RoI/s", "p50 us", "p99 us", "added us"
    );
    for &count in &options.rois {
        let ask = |_| question(&reference, &model.name, &mut rois, count, options.tensors);
        let mut questions: Vec<LoadRequest> = (0..QUESTIONS).map(ask).collect();
        if options.tensors == Transport::SharedMemory {
            for (at, question) in questions.iter_mut().enumerate() {
                let name = format!("zfinder-load-{}-{count}-{at}", std::process::id());
                let object = SharedObject::take(&mut question.request, name)?;
                runtime.block_on(object.register(&mut clients[0].clone()))?;
                question.object = Some(object);
            }
        }
        let questions = Arc::new(questions);
        let alone = search_time(&finder, &questions, 0.2 * options.seconds)?;
        runtime.block_on(load(&options, &clients, &questions, None))?;
        let mut full = runtime.block_on(load(&options, &clients, &questions, None))?;
        let mut half = runtime.block_on(load(&options, &clients, &questions, Some(0.5 * full.requests_a_second)))?;
        for object in questions.iter().filter_map(|question| question.object.as_ref()) {
            let region = SystemSharedMemoryUnregisterRequest { name: object.name.clone() };
            runtime.block_on(clients[0].clone().system_shared_memory_unregister(region))?;
        }
        let [full_rate, half_rate] = [&full, &half].map(|measured| measured.requests_a_second * count as f64);
        let [full_median, full_high] = [0.5, 0.99].map(|fraction| percentile(&mut full.latencies, fraction));
        let [median, high] = [0.5, 0.99].map(|fraction| percentile(&mut half.latencies, fraction));
        println!(
            "{count:>12} | {full_rate:>10.0} {:>7.1}% {full_median:>10.0} {full_high:>10.0} | \
             {half_rate:>10.0} {median:>10.0} {high:>10.0} | {:>10.0}",
            100.0 * full_rate / rate,
            high - alone
        );
    }
    drop(clients);
    if let Some(server) = server {
        server.handle().shut_down();
        server.wait();
    }
    Ok(())
}
