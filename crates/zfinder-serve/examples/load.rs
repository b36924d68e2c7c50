//! Measures a server under load: RoIs a second and latencies of requests of several sizes, beside
//! the rate of the library in this process. Every answer is compared with the library's, bit by
//! bit.
//!
//! ```text
//! cargo run --release -p zfinder-serve --example load
//! cargo run --release -p zfinder-serve --example load -- --adapter 0 --connections 32
//! cargo run --release -p zfinder-serve --example load -- --address 10.0.0.5:8001
//! ```
//!
//! Without `--address`, the server runs in this process, and requests go through the loopback
//! interface. Samples are RoIs of the simulation `lowlum`. Columns of the table:
//!
//! - `full load`: each of the connections sends a request when its last one is answered
//!   (`--in-flight` of them at once);
//! - `half load`: requests come at regular times, half as many as at full load; a latency counts
//!   from the time at which the request was due;
//! - `added`: the 99th percentile at half load, less the median of the same search in this process.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tonic::transport::{Channel, Endpoint};
use zfinder::{AdapterChoice, Engine, RoiBatch, RoiView, StreamOptions, ZFinder};
use zfinder_serve::proto::grpc_inference_service_client::GrpcInferenceServiceClient;
use zfinder_serve::proto::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use zfinder_serve::proto::{ModelInferRequest, ModelInferResponse};
use zfinder_serve::{BatchOptions, Model, Options, Server};
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
    /// Compute on the CPU
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
    /// Seconds of each measurement
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Longest wait of a request for others, in microseconds, of the server in this process
    #[arg(long, default_value_t = 0)]
    max_delay_us: u64,
    /// RoIs of a batch of the server in this process
    #[arg(long)]
    batch_rois: Option<usize>,
    /// Batches in flight of the server in this process
    #[arg(long)]
    server_in_flight: Option<usize>,
}

/// A request and the bytes of its answer.
struct Question {
    request: ModelInferRequest,
    answer: [Bytes; 2],
    batch: RoiBatch,
}

const OUTPUTS: [&str; 2] = ["COUNTS", "Z"];
/// Different requests of a size.
const QUESTIONS: usize = 8;
/// RoIs of a batch in this process.
const STREAM_ROIS: usize = 4096;

fn question(finder: &ZFinder, model: &str, rois: &mut dyn Iterator<Item = RoiView<'_>>, count: usize) -> Question {
    let mut batch = RoiBatch::single();
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
        batch.push(Default::default(), roi.spacepoints());
    }
    let points = layer.len() as i64;
    let offsets_bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let mut request = ModelInferRequest { model_name: model.into(), ..Default::default() };
    for (name, datatype, length, bytes) in [
        ("OFFSETS", "INT64", offsets.len() as i64, offsets_bytes),
        ("RHO", "FP32", points, rho),
        ("PHI", "FP32", points, phi),
        ("Z", "FP32", points, z),
        ("LAYER", "UINT8", points, layer),
    ] {
        let (name, datatype, shape) = (name.into(), datatype.into(), vec![length]);
        request.inputs.push(InferInputTensor { name, datatype, shape, ..Default::default() });
        request.raw_input_contents.push(bytes.into());
    }
    let output = |name: &str| InferRequestedOutputTensor { name: name.into(), ..Default::default() };
    request.outputs = OUTPUTS.map(output).into();
    let results = finder.find_batch(&batch).expect("the library answers");
    let counts = results.iter().flat_map(|result| (result.vertices.len() as u32).to_le_bytes()).collect();
    let vertices = results.iter().flat_map(|result| &result.vertices);
    Question { request, answer: [counts, vertices.flat_map(|vertex| vertex.z_mm.to_le_bytes()).collect()], batch }
}

fn check(response: &ModelInferResponse, question: &Question) -> Result<(), Failure> {
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
    questions: Arc<Vec<Question>>,
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

/// Sends the times at which requests are due to the tasks, in turn. A thread, because timers of
/// tokio count milliseconds.
fn pace(tasks: Vec<UnboundedSender<Instant>>, begin: Instant, end: Instant, rate: f64) {
    for number in 0u32.. {
        let due = begin + Duration::from_secs_f64(f64::from(number) / rate);
        if due >= end {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // A task that has failed takes none.
        let _ = tasks[number as usize % tasks.len()].send(due);
    }
}

struct Measured {
    requests_a_second: f64,
    latencies: Vec<Duration>,
}

/// Loads the server by all connections. With `rate`, so many requests a second in all.
async fn load(
    options: &Load,
    clients: &[Client],
    questions: &Arc<Vec<Question>>,
    rate: Option<f64>,
) -> Result<Measured, Failure> {
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
    Ok(Measured { requests_a_second, latencies })
}

/// RoIs a second of a stream in this process.
fn stream_rate(finder: &ZFinder, batch: &RoiBatch, seconds: f64) -> Result<f64, Failure> {
    let mut stream = finder.stream(StreamOptions::default())?;
    let run = |stream: &mut zfinder::Stream, seconds: f64| -> Result<f64, Failure> {
        let (begin, mut rois) = (Instant::now(), 0);
        let mut spare = Vec::new();
        while begin.elapsed().as_secs_f64() < seconds {
            let next = spare.pop().unwrap_or_else(|| batch.clone());
            if let Some(answered) = stream.push(next)? {
                rois += answered.batch.len();
                spare.push(answered.batch);
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

/// Median of the search of a request in this process, in microseconds.
fn search_time(finder: &ZFinder, questions: &[Question], seconds: f64) -> Result<f64, Failure> {
    let (begin, mut latencies, mut results) = (Instant::now(), Vec::new(), Vec::new());
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
    let builder = |engine: Engine| ZFinder::builder().config(model.config.clone()).engine(engine);
    let finder = builder(engine.clone()).build()?;
    println!("in this process: {}", finder.description());
    let (sample, _) = Simulation::lowlum().batch();
    println!("sample: {} RoIs of {} spacepoints", sample.len(), sample.spacepoints());
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
                ..Options::default()
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
    // Answers for comparison come from the CPU engine, whose bits are those of all engines.
    let reference = builder(Engine::Cpu).build()?;
    let mut rois = (0..sample.len()).cycle().map(|roi| sample.roi(roi));
    let whole = question(&reference, &model.name, &mut rois, STREAM_ROIS);
    let rate = stream_rate(&finder, &whole.batch, options.seconds)?;
    println!("stream in this process: {rate:.0} RoI/s in batches of {STREAM_ROIS}");
    println!(
        "server: {address}, {} connections, {} requests in flight on each",
        options.connections, options.in_flight
    );
    println!(
        "{:>12} | {:>10} {:>8} {:>10} {:>10} | {:>10} {:>10} {:>10} | {:>10}",
        "RoIs/request", "RoI/s", "stream", "p50 us", "p99 us", "half RoI/s", "p50 us", "p99 us", "added us"
    );
    for &count in &options.rois {
        let questions = (0..QUESTIONS).map(|_| question(&reference, &model.name, &mut rois, count)).collect();
        let questions: Arc<Vec<Question>> = Arc::new(questions);
        let alone = search_time(&finder, &questions, 0.2 * options.seconds)?;
        runtime.block_on(load(&options, &clients, &questions, None))?;
        let mut full = runtime.block_on(load(&options, &clients, &questions, None))?;
        let mut half = runtime.block_on(load(&options, &clients, &questions, Some(0.5 * full.requests_a_second)))?;
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
