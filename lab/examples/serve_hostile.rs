//! Attacks a server while honest clients use it.
//!
//! ```text
//! cargo build --release -p zfinder-cli
//! cargo run --release --manifest-path lab/Cargo.toml --example serve_hostile -- \
//!     target/release/zfinder
//! ```
//!
//! The program starts `zfinder serve` with small limits. Honest clients ask over gRPC and HTTP,
//! first alone, then beside all attacks at once. At the end the server gets TERM under this load.
//! Each answer is compared with the library's. The program exits with 1 unless:
//!
//! - the 99th percentile of honest latencies beside attacks is at most five times the one without;
//! - each health check on the metrics port takes at most 100 ms;
//! - the resident memory is flat: its largest value in the last quarter of the time is at most 1.1
//!   times the one in the second quarter, and 32 MB;
//! - each honest request is answered, or refused with a status, also at TERM.
//!
//! The threads of the attacks have the lowest priority on Linux, because attackers have machines of
//! their own.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::StreamExt;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use zfinder::{Config, Detector, Engine, Preset, RoiBatch, ZFinder};
use zfinder_serve::proto::ModelInferRequest;
use zfinder_serve::proto::grpc_inference_service_client::GrpcInferenceServiceClient;
use zfinder_serve::proto::model_infer_request::{InferInputTensor, InferRequestedOutputTensor};
use zfinder_study::simulate::Simulation;

type Failure = Box<dyn Error + Send + Sync>;
type Client = GrpcInferenceServiceClient<Channel>;

/// Attacks a server while honest clients use it.
#[derive(Clone, Parser)]
struct Hostile {
    /// The command `zfinder`
    command: PathBuf,
    /// Seconds with attacks; a sixth of this time without them comes first
    #[arg(long, default_value_t = 600.0)]
    seconds: f64,
    /// Seed of the attacks
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// `--in-flight` of the server; its default without a value
    #[arg(long)]
    in_flight: Option<usize>,
    /// Kinds of attacks, numbered as in `Target::attack`
    #[arg(long, value_delimiter = ',', default_value = "0,1,2,3,4,5,6,7,8")]
    kinds: Vec<usize>,
}

/// Limits of the server, small enough that the attacks reach them.
const LIMITS: [&str; 12] = [
    "--max-connections",
    "128",
    "--max-message-mib",
    "16",
    "--max-receiving-mib",
    "128",
    "--max-sending-mib",
    "32",
    "--queue-mib",
    "64",
    "--drain-seconds",
    "5",
];
const MODEL: &str = "zfinder-default";
const INFER: &str = "/v2/models/zfinder-default/infer";
/// Longest time of a health check.
const HEALTH: Duration = Duration::from_millis(100);

/// A running server.
struct Server {
    child: Child,
    grpc: SocketAddr,
    http: SocketAddr,
    metrics: SocketAddr,
}

impl Server {
    fn start(options: &Hostile) -> Result<Self, Failure> {
        let mut child = Command::new(&options.command)
            .args(["serve", "--detector", "atlas2010", "--preset", "default", "--engine", "cpu"])
            .args(["--grpc", "0", "--http", "0", "--metrics", "0"])
            .args(LIMITS)
            .args(options.in_flight.map(|batches| format!("--in-flight={batches}")))
            .stderr(Stdio::piped())
            .spawn()?;
        let mut log = BufReader::new(child.stderr.take().ok_or("no log")?).lines();
        let mut addresses = Vec::new();
        for line in log.by_ref() {
            let line = line?;
            addresses.extend(line.rsplit_once(" on ").and_then(|(_, address)| address.parse::<SocketAddr>().ok()));
            if line == "ready" {
                break;
            }
        }
        thread::spawn(move || {
            for line in log.map_while(Result::ok) {
                println!("server: {line}");
            }
        });
        let [grpc, http, metrics] = addresses[..] else { return Err("the server does not start".into()) };
        Ok(Self { child, grpc, http, metrics })
    }

    /// The resident memory in bytes.
    fn memory(&self) -> Option<usize> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().trim_end_matches(" kB").parse::<usize>().ok()? * 1024)
    }
}

/// An honest request and the outputs that the library finds.
struct Question {
    request: ModelInferRequest,
    http: Vec<u8>,
    answer: [Vec<u8>; 2],
}

fn question() -> Result<Question, Failure> {
    let (sample, _) = Simulation { rois: 16, ..Simulation::lowlum() }.batch();
    let mut batch = RoiBatch::with_f32();
    let [mut rho, mut phi, mut z, mut layer] = [(); 4].map(|()| Vec::new());
    let mut offsets = vec![0_i64];
    for roi in sample.iter() {
        for point in roi.spacepoints() {
            rho.extend((point.rho as f32).to_le_bytes());
            phi.extend((point.phi as f32).to_le_bytes());
            z.extend((point.z as f32).to_le_bytes());
            layer.push(point.layer as u8);
        }
        offsets.push(layer.len() as i64);
        batch.push(Default::default(), roi.spacepoints());
    }
    let points = layer.len();
    let offset_bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let tensors = [
        ("OFFSETS", "INT64", offsets.len(), offset_bytes),
        ("RHO", "FP32", points, rho),
        ("PHI", "FP32", points, phi),
        ("Z", "FP32", points, z),
        ("LAYER", "UINT8", points, layer),
    ];
    let (mut inputs, mut bytes) = (Vec::new(), Vec::new());
    let mut request = ModelInferRequest { model_name: MODEL.into(), ..Default::default() };
    for (name, datatype, length, data) in tensors {
        let size = data.len();
        inputs.push(format!(
            r#"{{"name":"{name}","datatype":"{datatype}","shape":[{length}],"parameters":{{"binary_data_size":{size}}}}}"#
        ));
        bytes.extend_from_slice(&data);
        let (name, datatype, shape) = (name.into(), datatype.into(), vec![length as i64]);
        request.inputs.push(InferInputTensor { name, datatype, shape, ..Default::default() });
        request.raw_input_contents.push(data.into());
    }
    let output = |name: &str| InferRequestedOutputTensor { name: name.into(), ..Default::default() };
    request.outputs = ["COUNTS", "Z"].map(output).into();
    let json = format!(
        r#"{{"parameters":{{"binary_data_output":true}},"inputs":[{}],"outputs":[{{"name":"COUNTS"}},{{"name":"Z"}}]}}"#,
        inputs.join(",")
    );
    let head = format!(
        "POST {INFER} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\
         Inference-Header-Content-Length: {}\r\n\r\n",
        json.len() + bytes.len(),
        json.len()
    );
    let http = [head.as_bytes(), json.as_bytes(), &bytes].concat();
    let builder = ZFinder::builder(Detector::atlas2010()).config(Config::preset(Preset::Default));
    let results = builder.engine(Engine::Cpu).build()?.find_batch(&batch)?;
    let counts = results.iter().flat_map(|roi| (roi.vertices().len() as u32).to_le_bytes()).collect();
    let answer = [counts, results.vertices().z_mm().iter().flat_map(|z_mm| z_mm.to_le_bytes()).collect()];
    Ok(Question { request, http, answer })
}

/// The outcome of an honest request.
enum Outcome {
    Answered,
    Refused,
    /// The server accepts no connection.
    Closed,
    Lost(String),
}

fn ask_http(address: SocketAddr, question: &Question) -> Outcome {
    let Ok(mut stream) = TcpStream::connect(address) else { return Outcome::Closed };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    // A refusal may come before the end of the request.
    let _ = stream.write_all(&question.http);
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let end = question.answer.concat();
    let status = answer.get(9..12).and_then(|status| std::str::from_utf8(status).ok());
    match status {
        Some("200") if answer.ends_with(&end) => Outcome::Answered,
        Some("429" | "503") => Outcome::Refused,
        Some(status) => Outcome::Lost(format!("HTTP {status}")),
        None => Outcome::Lost(format!("HTTP without a status: {read:?}")),
    }
}

async fn ask_grpc(client: &mut Client, question: &Question) -> Outcome {
    let response = loop {
        match client.model_infer(question.request.clone()).await {
            // Other clients of gRPC try again by themselves.
            Err(status) if was_not_sent(&status) => {}
            response => break response,
        }
    };
    match response {
        Ok(response) => {
            let contents = response.into_inner().raw_output_contents;
            let is_right = contents.iter().zip(&question.answer).all(|(found, wanted)| found[..] == wanted[..]);
            if is_right { Outcome::Answered } else { Outcome::Lost("a wrong answer".into()) }
        }
        Err(status) if matches!(status.code(), Code::ResourceExhausted | Code::Unavailable) => {
            if format!("{status:?}").contains("ConnectError") { Outcome::Closed } else { Outcome::Refused }
        }
        Err(status) => Outcome::Lost(format!("{status:?}")),
    }
}

/// Whether the connection closed before the client sent anything.
fn was_not_sent(status: &tonic::Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return true;
        }
        source = error.source();
    }
    false
}

/// The outcomes of honest requests.
#[derive(Default)]
struct Tally {
    /// Over HTTP, each on a new connection, and over gRPC.
    latencies: Mutex<[Vec<Duration>; 2]>,
    refused: AtomicUsize,
    lost: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts an outcome. Returns false if the server accepts no connection.
    fn count(&self, outcome: Outcome, is_grpc: bool, begin: Instant) -> bool {
        match outcome {
            Outcome::Answered => {
                self.latencies.lock().expect("no panic")[usize::from(is_grpc)].push(begin.elapsed());
            }
            Outcome::Refused => drop(self.refused.fetch_add(1, Ordering::Relaxed)),
            Outcome::Lost(how) => self.lost.lock().expect("no panic").push(how),
            Outcome::Closed => return false,
        }
        true
    }

    /// Prints percentiles, and returns the 99th.
    fn print(&self, name: &str) -> Duration {
        let latencies = self.latencies.lock().expect("no panic");
        let percentiles = |mut latencies: Vec<Duration>| {
            latencies.sort_unstable();
            let last = latencies.len().saturating_sub(1) as f64;
            let percentile = |part: f64| latencies.get((last * part) as usize).copied().unwrap_or(Duration::MAX);
            (latencies.len(), percentile(0.5), percentile(0.99))
        };
        for (protocol, latencies) in ["HTTP", "gRPC"].into_iter().zip(&*latencies) {
            let (answered, median, p99) = percentiles(latencies.clone());
            println!("{name}, {protocol}: {answered} answered; p50 {median:.1?}, p99 {p99:.1?}");
        }
        let (refused, lost) = (self.refused.load(Ordering::Relaxed), self.lost.lock().expect("no panic").len());
        let (answered, median, p99) = percentiles(latencies.concat());
        println!("{name}: {answered} answered, {refused} refused, {lost} lost; p50 {median:.1?}, p99 {p99:.1?}");
        p99
    }
}

/// A load of honest clients, which goes on until it is stopped or the server accepts no connection.
struct Honest {
    tally: Arc<Mutex<Arc<Tally>>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Honest {
    fn start(server: &Server, question: &Arc<Question>) -> Self {
        let tally = Arc::new(Mutex::new(Arc::new(Tally::default())));
        let current = |tally: &Mutex<Arc<Tally>>| Arc::clone(&tally.lock().expect("no panic"));
        let mut threads = Vec::new();
        for number in 0..4 {
            let (tally, question) = (Arc::clone(&tally), Arc::clone(question));
            let (grpc, http) = (server.grpc, server.http);
            threads.push(thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                let _guard = runtime.enter();
                let endpoint = Endpoint::from_shared(format!("http://{grpc}")).expect("an address");
                let mut client = Client::new(endpoint.connect_lazy());
                loop {
                    let begin = Instant::now();
                    let is_grpc = number % 2 == 1;
                    let outcome = match is_grpc {
                        true => runtime.block_on(ask_grpc(&mut client, &question)),
                        false => ask_http(http, &question),
                    };
                    if !current(&tally).count(outcome, is_grpc, begin) {
                        return;
                    }
                    runtime.block_on(tokio::time::sleep(Duration::from_millis(5)));
                }
            }));
        }
        Self { tally, threads }
    }

    /// Returns the outcomes so far, and begins new ones.
    fn take(&self) -> Arc<Tally> {
        std::mem::take(&mut *self.tally.lock().expect("no panic"))
    }
}

/// The server under attack, and state that the attacks share.
struct Target {
    ports: [SocketAddr; 3],
    stop: AtomicBool,
    question: Arc<Question>,
    attacks: AtomicUsize,
}

impl Target {
    fn post(&self, headers: &str, body: &[u8]) {
        let Ok(mut stream) = TcpStream::connect(self.ports[1]) else { return };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        let length = body.len();
        let head = format!("POST {INFER} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n");
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let _ = stream.read_to_end(&mut Vec::new());
    }

    /// Makes one attack of a kind.
    fn attack(
        &self,
        kind: usize,
        random: &mut fastrand::Rng,
        runtime: &tokio::runtime::Runtime,
        held: &mut Vec<TcpStream>,
    ) {
        self.attacks.fetch_add(1, Ordering::Relaxed);
        let local = "Host: localhost\r\n";
        match kind {
            // Connections that send nothing, or half of a preface.
            0 => {
                for _ in 0..random.usize(1..60) {
                    let Ok(mut stream) = TcpStream::connect(self.ports[random.usize(..3)]) else { continue };
                    let preface: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
                    let _ = stream.write_all(&preface[..random.usize(..=preface.len())]);
                    held.push(stream);
                }
            }
            // Bodies that stop half-way.
            1 => {
                let Ok(mut stream) = TcpStream::connect(self.ports[1]) else { return };
                let head = format!("POST {INFER} HTTP/1.1\r\n{local}Content-Length: 9000000\r\n\r\n");
                let body = vec![b' '; random.usize(1..1_000_000)];
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
                held.push(stream);
            }
            // JSON that grows.
            2 => {
                let objects = r#"{"":0},"#.repeat(random.usize(1..1_000_000));
                self.post(
                    local,
                    format!(r#"{{"inputs":[{{"name":"Z","datatype":"FP32","shape":[9],"data":[{objects}"#).as_bytes(),
                );
                let zeros = "0,".repeat(random.usize(1..3_000_000));
                self.post(local, format!(r#"{{"parameters":{{"a":[{zeros}0]}},"inputs":[]}}"#).as_bytes());
            }
            // Foreign hosts and pages.
            3 => {
                self.post("Host: evil.example\r\n", b"{}");
                self.post("Host: localhost\r\nOrigin: https://evil.example\r\nContent-Type: text/plain\r\n", b"{}");
            }
            // Resets: connections that end before an answer is read.
            4 => {
                let Ok(mut stream) = TcpStream::connect(self.ports[random.usize(..3)]) else { return };
                let _ = stream.write_all(&self.question.http[..random.usize(..self.question.http.len())]);
            }
            // Messages that grow, and long names.
            5 => {
                let inputs = vec![InferInputTensor::default(); random.usize(1..200_000)];
                let name = "\u{e9}".repeat(random.usize(1..3_000_000));
                let mut client = self.client(runtime);
                let _ = runtime.block_on(client.model_infer(ModelInferRequest { inputs, ..Default::default() }));
                let request = ModelInferRequest { model_name: name.clone(), id: name, ..Default::default() };
                let _ = runtime.block_on(client.model_infer(request));
            }
            // Cancelled requests.
            6 => {
                let mut client = self.client(runtime);
                for _ in 0..20 {
                    let pause = Duration::from_micros(random.u64(..3_000));
                    let request = client.model_infer(self.question.request.clone());
                    let _ = runtime.block_on(async { tokio::time::timeout(pause, request).await });
                }
            }
            // Crowds at one azimuth, whose search takes seconds, and clients that leave before.
            7 => {
                let points = random.usize(2_000..40_000);
                let mut request = self.question.request.clone();
                for (input, data) in request.inputs.iter_mut().zip(&mut request.raw_input_contents) {
                    let column =
                        |value: &dyn Fn(usize) -> f32| (0..points).flat_map(|i| value(i).to_le_bytes()).collect();
                    let (length, bytes): (usize, Vec<u8>) = match &*input.name {
                        "OFFSETS" => (2, [0, points as i64].into_iter().flat_map(i64::to_le_bytes).collect()),
                        "RHO" => (points, column(&|i| 50.0 + 40.0 * (i % 4) as f32)),
                        "PHI" => (points, column(&|_| 0.1)),
                        "Z" => (points, column(&|i| (i % 997) as f32 * 0.1)),
                        _ => (points, (0..points).map(|i| (i % 4) as u8).collect()),
                    };
                    input.shape = vec![length as i64];
                    *data = bytes.into();
                }
                let mut client = self.client(runtime);
                let patience = Duration::from_millis(random.u64(50..3_000));
                let answer = client.model_infer(request);
                let _ = runtime.block_on(async { tokio::time::timeout(patience, answer).await });
            }
            // Streams that ask and do not read.
            _ => {
                let offsets: Vec<u8> = vec![0; 8 * 2001];
                let mut request = ModelInferRequest { outputs: Vec::new(), ..self.question.request.clone() };
                for (input, data) in request.inputs.iter_mut().zip(&mut request.raw_input_contents) {
                    let is_offsets = input.name == "OFFSETS";
                    input.shape = vec![if is_offsets { 2001 } else { 0 }];
                    *data = if is_offsets { offsets.clone().into() } else { Default::default() };
                }
                let streams: Vec<_> = (0..random.usize(1..8))
                    .filter_map(|_| {
                        let mut client = self.client(runtime);
                        let requests = futures_util::stream::iter(vec![request.clone(); 64]);
                        let requests = requests.chain(futures_util::stream::pending());
                        runtime.block_on(client.model_stream_infer(requests)).ok()
                    })
                    .collect();
                // The connections go on in the background.
                thread::sleep(Duration::from_secs(random.u64(1..20)));
                drop(streams);
            }
        }
        // Held connections end at any time.
        while held.len() > 200 || random.u8(..8) == 0 && !held.is_empty() {
            held.swap_remove(random.usize(..held.len()));
        }
    }

    fn client(&self, runtime: &tokio::runtime::Runtime) -> Client {
        let _guard = runtime.enter();
        let endpoint = Endpoint::from_shared(format!("http://{}", self.ports[0])).expect("an address");
        Client::new(endpoint.timeout(Duration::from_secs(30)).connect_lazy())
    }
}

fn lowest_priority() {
    #[cfg(target_os = "linux")]
    rustix::process::setpriority_process(None, 19).expect("a thread may lower its priority");
}

/// Returns the duration of a health check, or its failure.
fn health(address: SocketAddr) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200 ") { Ok(begin.elapsed()) } else { Err(answer.into()) }
}

/// Measures health and memory for a time. Returns the memory, and the worst checks of the metrics
/// port and of HTTP.
fn watch(server: &Server, time: Duration) -> Result<(Vec<usize>, [Duration; 2]), Failure> {
    let (begin, mut memory, mut worst) = (Instant::now(), Vec::new(), [Duration::ZERO; 2]);
    while begin.elapsed() < time {
        for (worst, address) in worst.iter_mut().zip([server.metrics, server.http]) {
            *worst = (*worst).max(health(address)?);
        }
        memory.extend(server.memory());
        thread::sleep(Duration::from_millis(100));
    }
    Ok((memory, worst))
}

fn main() -> Result<(), Failure> {
    let options = Hostile::parse();
    let question = Arc::new(question()?);
    let mut server = Server::start(&options)?;
    let honest = Honest::start(&server, &question);
    thread::sleep(Duration::from_secs(1));
    honest.take();
    let (memory, worst) = watch(&server, Duration::from_secs_f64(options.seconds / 6.0))?;
    let quiet = honest.take().print("quiet");
    println!(
        "quiet: worst health check {:.1?} (metrics), {:.1?} (HTTP); {} MiB",
        worst[0],
        worst[1],
        memory.iter().max().unwrap_or(&0) >> 20
    );

    let (ports, stop) = ([server.grpc, server.http, server.metrics], AtomicBool::new(false));
    let target = Arc::new(Target { ports, stop, question, attacks: AtomicUsize::new(0) });
    let mut attackers = Vec::new();
    for &kind in &options.kinds {
        let (target, seed) = (Arc::clone(&target), options.seed.wrapping_mul(31).wrapping_add(kind as u64));
        attackers.push(thread::spawn(move || {
            lowest_priority();
            let mut random = fastrand::Rng::with_seed(seed);
            let mut runtime = tokio::runtime::Builder::new_multi_thread();
            let runtime = runtime.worker_threads(1).on_thread_start(lowest_priority).enable_all().build();
            let (runtime, mut held) = (runtime.expect("a runtime"), Vec::new());
            while !target.stop.load(Ordering::Relaxed) {
                target.attack(kind, &mut random, &runtime, &mut held);
                thread::sleep(Duration::from_millis(random.u64(..400)));
            }
        }));
    }
    let (memory, worst) = watch(&server, Duration::from_secs_f64(options.seconds))?;
    let tally = honest.take();
    let hostile = tally.print("hostile");
    println!("hostile: worst health check {:.1?} (metrics), {:.1?} (HTTP)", worst[0], worst[1]);
    let quarters: Vec<usize> =
        memory.chunks(memory.len().div_ceil(4).max(1)).filter_map(|part| part.iter().max().copied()).collect();
    println!("memory in quarters: {:?} MiB", quarters.iter().map(|bytes| bytes >> 20).collect::<Vec<_>>());

    let killed = Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status()?;
    assert!(killed.success(), "kill");
    let code = server.child.wait()?.code();
    let at_end = honest.take();
    for thread in honest.threads {
        thread.join().map_err(|_| "an honest client panicked")?;
    }
    target.stop.store(true, Ordering::Relaxed);
    for attacker in attackers {
        attacker.join().map_err(|_| "an attacker panicked")?;
    }
    at_end.print("at TERM");
    println!("{} attacks; exit code of the server {code:?}", target.attacks.load(Ordering::Relaxed));
    let mut faults = Vec::new();
    for lost in [&tally, &at_end].iter().flat_map(|tally| tally.lost.lock().expect("no panic").clone()) {
        faults.push(format!("an honest request was lost: {lost}"));
    }
    if hostile > 5 * quiet {
        faults.push(format!("p99 is {hostile:.1?} beside attacks, and {quiet:.1?} without"));
    }
    if worst[0] > HEALTH {
        faults.push(format!("a health check took {:.1?}", worst[0]));
    }
    if let [_, second, _, last] = quarters[..]
        && last > second / 10 * 11 + 32_000_000
    {
        faults.push(format!("memory grows from {second} to {last} bytes"));
    }
    if !matches!(code, Some(0 | 5)) {
        faults.push(format!("the server ended with {code:?}"));
    }
    faults.iter().take(20).for_each(|fault| println!("fault: {fault}"));
    if faults.is_empty() { Ok(()) } else { Err(format!("{} faults", faults.len()).into()) }
}
