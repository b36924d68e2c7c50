//! `zfinder serve`: vertices for clients of the KServe v2 protocol.

use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing::Level;
use zfinder::Preset;
use zfinder_io::ReadOptions;
use zfinder_serve::{BatchOptions, Model, Options, Server, TlsOptions};

use super::engine::DeviceOptions;
use super::input;
use super::options::words;
use super::search::counted;
use command_host::{Failure, note, on_interrupt};

/// Serves vertices to clients of the KServe v2 protocol, over gRPC and HTTP
///
/// Each preset is a model: zfinder-auto, zfinder-hard-scatter, ... Requests of many clients join
/// batches. The answers have the bits of `zfinder find`. docs/how-to/serve.md describes tensors,
/// metrics and clients.
///
/// TERM and INT let accepted requests finish; a second signal ends the server at once.
#[derive(Args)]
#[command(verbatim_doc_comment, after_help = AFTER_HELP)]
pub(super) struct Serve {
    /// Port of gRPC, 0 for any free port, or off
    #[arg(long, value_name = "PORT|off", value_parser = port, default_value = "8001", help_heading = "Listening")]
    grpc: Port,
    /// Port of HTTP, 0 for any free port, or off
    #[arg(long, value_name = "PORT|off", value_parser = port, default_value = "8000", help_heading = "Listening")]
    http: Port,
    /// Port of metrics for Prometheus, 0 for any free port, or off
    #[arg(long, value_name = "PORT|off", value_parser = port, default_value = "8002", help_heading = "Listening")]
    metrics: Port,
    /// Address to listen on; 0.0.0.0 or :: for all. Anyone who reaches it may use the server,
    /// unless --tls-client-ca is given
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into(), help_heading = "Listening")]
    bind: IpAddr,
    /// Answer requests of this web page, such as https://example.org:8080; may be repeated. Requests
    /// of other pages are refused, and so are requests for other hosts on the loopback interface
    #[arg(long, value_name = "ORIGIN", help_heading = "Listening")]
    allow_origin: Vec<String>,
    /// PEM file of the server's certificate and its intermediates: encrypts gRPC and HTTP
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Listening")]
    tls_cert: Option<PathBuf>,
    /// PEM file of the server's private key
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Listening")]
    tls_key: Option<PathBuf>,
    /// PEM file of authorities: only clients with a certificate of them are let in
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Listening")]
    tls_client_ca: Option<PathBuf>,

    /// Serve this preset; may be repeated [default: all presets]
    #[arg(long, value_parser = words::<Preset>(Preset::WORDS), value_name = "NAME", help_heading = "Models")]
    preset: Vec<Preset>,
    /// Also serve the configurations in this folder: NAME.toml is version 1 of model NAME,
    /// NAME/2.toml is version 2
    #[arg(long, value_name = "FOLDER", help_heading = "Models")]
    model_folder: Option<PathBuf>,
    /// Layers of all models: atlas2010, generic, odd or a TOML file
    #[arg(long, value_name = "NAME|FILE.toml", help_heading = "Models")]
    detector: String,

    /// Longest time that a request waits for others to join its batch, in microseconds. Requests
    /// that arrive while the engine is busy join regardless
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Batches")]
    max_delay_us: u64,
    /// RoIs of a batch that does not wait for more [default: 512 on the CPU, 2048 on a GPU]
    #[arg(long, value_name = "N", help_heading = "Batches")]
    batch_rois: Option<usize>,
    /// Requests that may wait; one more is refused with RESOURCE_EXHAUSTED
    #[arg(long, value_name = "N", default_value = "8192", help_heading = "Batches")]
    queue: usize,
    /// Bytes of requests that may wait, in MiB
    #[arg(long, value_name = "MIB", default_value = "1024", help_heading = "Batches")]
    queue_mib: u32,
    /// Batches in flight on each device, 1,024 at most, and as many heavy requests in addition
    /// [default: on the CPU half the cores, 2 to 8; on a GPU twice the cores, 2 to 16]
    #[arg(long, value_name = "N", help_heading = "Batches")]
    in_flight: Option<usize>,

    /// Largest request, in MiB, before and after decompression
    #[arg(long, value_name = "MIB", default_value = "64", help_heading = "Limits")]
    max_message_mib: u32,
    /// Bytes of all requests that are being received, in MiB; one more is refused with
    /// RESOURCE_EXHAUSTED
    #[arg(long, value_name = "MIB", default_value = "4096", help_heading = "Limits")]
    max_receiving_mib: u32,
    /// Bytes of all answers that wait to be sent, in MiB; one more request is refused with
    /// RESOURCE_EXHAUSTED
    #[arg(long, value_name = "MIB", default_value = "1024", help_heading = "Limits")]
    max_sending_mib: u32,
    /// Let clients on this host put tensors into shared memory (/dev/shm, Linux). Every client of
    /// the server can then read and write objects there with this user's rights
    #[arg(long, help_heading = "Listening")]
    shared_memory: bool,
    /// Connections at once; one more takes the place of the one that has been idle longest, or
    /// waits. The metrics have 64 more
    #[arg(long, value_name = "N", default_value = "16384", help_heading = "Limits")]
    max_connections: usize,
    /// Longest duration of requests in flight after TERM, in seconds. Then they are refused with
    /// UNAVAILABLE
    #[arg(long, value_name = "SECONDS", default_value_t = 30, help_heading = "Limits")]
    drain_seconds: u32,

    #[command(flatten)]
    device: DeviceOptions,

    /// Format of the log on standard error
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT", help_heading = "Output")]
    log_format: LogFormat,
}

const AFTER_HELP: &str = "Examples:
  zfinder serve --detector generic
  zfinder serve --detector generic --preset auto --preset hard-scatter --engine cpu
  zfinder serve --detector mine.toml --bind 0.0.0.0 --tls-cert server.pem --tls-key server.key
  zfinder serve --detector generic --model-folder models --max-delay-us 200

Exit codes:
  0  ended by a signal; all accepted requests were answered
  1  a certificate or a file of the model folder that cannot be used, or an address that cannot be listened on
  2  wrong usage
  3  no such adapter, or the GPU failed at the start
  5  ended by a signal; requests were refused because --drain-seconds had passed";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object a line
    Json,
}

/// A port; None switches the protocol off.
#[derive(Clone, Copy)]
struct Port(Option<u16>);

fn port(text: &str) -> Result<Port, String> {
    match text {
        "off" => Ok(Port(None)),
        _ => text
            .parse()
            .map(|port| Port(Some(port)))
            .map_err(|_| "a number from 0 to 65535, or off, is expected".into()),
    }
}

impl Serve {
    pub(super) fn run(self, level: Level) -> Result<(), Failure> {
        self.log(level);
        let is_open = !self.bind.is_loopback() && self.tls_client_ca.is_none();
        let is_encrypted = self.tls_cert.is_some();
        // Each line of a JSON log is an object.
        let tell: fn(&str) = match self.log_format {
            LogFormat::Text => note,
            LogFormat::Json => |text| tracing::info!("{text}"),
        };
        let options = self.options()?;
        let models = counted(options.models.len(), "model");
        raise_file_limit();
        let server = Server::start(options).map_err(name_option)?;
        tell(&format!("serving {models}"));
        if is_open {
            let how = if is_encrypted { "" } else { ", and requests are not encrypted" };
            tell(&format!(
                "warning: anyone who reaches this address may use the server{how}; see --tls-cert and --tls-client-ca"
            ));
        }
        for device in server.devices() {
            tell(&format!("computes on: {device}"));
        }
        let addresses =
            [("gRPC", server.grpc_address()), ("HTTP", server.http_address()), ("metrics", server.metrics_address())];
        for (what, address) in addresses {
            address.iter().for_each(|address| tell(&format!("{what} on {address}")));
        }
        let handle = server.handle();
        on_interrupt(move || handle.shut_down());
        tell("ready");
        if server.wait() {
            tell("all accepted requests are answered");
            return Ok(());
        }
        Err(Failure::new(command_host::Code::Skipped, "requests in flight were refused at the end")
            .with_help("--drain-seconds gives them more time"))
    }

    fn log(&self, level: Level) {
        let level = level.max(Level::INFO);
        let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
        // This fails only if the process already has a subscriber.
        let _ = match self.log_format {
            LogFormat::Text => subscriber.with_ansi(io::stderr().is_terminal()).try_init(),
            LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
        };
    }

    fn options(self) -> Result<Options, Failure> {
        let address = |Port(port): Port| port.map(|port| SocketAddr::new(self.bind, port));
        let mut models: Vec<Model> = self.preset.iter().map(|&preset| Model::preset(preset)).collect();
        if models.is_empty() {
            models = Model::presets();
        }
        if let Some(folder) = &self.model_folder {
            models.extend(Model::folder(folder)?);
        }
        let tls = self.tls_cert.zip(self.tls_key).map(|(certificate, key)| TlsOptions {
            certificate,
            key,
            client_authorities: self.tls_client_ca,
        });
        let detector = input::detector(Some(&self.detector), &[], &ReadOptions::default())?;
        Ok(Options {
            grpc: address(self.grpc),
            http: address(self.http),
            metrics: address(self.metrics),
            models,
            engine: self.device.engine()?,
            threads: self.device.threads()?,
            batches: BatchOptions {
                max_delay: Duration::from_micros(self.max_delay_us),
                batch_rois: self.batch_rois,
                queue_requests: self.queue,
                queue_bytes: mebibytes(self.queue_mib),
                in_flight: self.in_flight,
                ..BatchOptions::default()
            },
            max_message_bytes: mebibytes(self.max_message_mib),
            max_receiving_bytes: mebibytes(self.max_receiving_mib),
            max_sending_bytes: mebibytes(self.max_sending_mib),
            shared_memory: self.shared_memory,
            max_connections: self.max_connections,
            allowed_origins: self.allow_origin,
            drain: Duration::from_secs(self.drain_seconds.into()),
            tls,
            ..Options::new(detector)
        })
    }
}

fn mebibytes(number: u32) -> usize {
    (number as usize).saturating_mul(1 << 20)
}

/// Names the option of the command in an error of the library, which checks all numbers.
fn name_option(error: zfinder_serve::Error) -> Failure {
    let zfinder_serve::Error::Option { name, reason } = &error else { return error.into() };
    let option = match *name {
        "batches.batch_rois" => "--batch-rois",
        "batches.queue_requests" => "--queue",
        "batches.queue_bytes" => "--queue-mib",
        "batches.in_flight" => "--in-flight",
        "batches.max_delay" => "--max-delay-us",
        "max_message_bytes" => "--max-message-mib",
        "max_receiving_bytes" => "--max-receiving-mib",
        "max_sending_bytes" => "--max-sending-mib",
        "max_connections" => "--max-connections",
        "allowed_origins" => "--allow-origin",
        "shared_memory" => "--shared-memory",
        _ => return error.into(),
    };
    Failure::new(command_host::Code::Usage, format!("{option}: {reason}"))
}

/// Raises the limit of open files as far as the system permits: each connection is a file.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Without the permission, the server closes idle connections earlier.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(not(unix))]
fn raise_file_limit() {}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use zfinder::Detector;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        serve: Serve,
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let command = Command::try_parse_from(["serve", "--detector", "generic"]).expect("a command");
        let options = command.serve.options().unwrap_or_else(|_| panic!("options"));
        let library = Options::new(Detector::generic());
        assert_eq!(options.batches, library.batches);
        assert_eq!(
            (options.max_message_bytes, options.max_receiving_bytes, options.max_sending_bytes),
            (library.max_message_bytes, library.max_receiving_bytes, library.max_sending_bytes)
        );
        assert_eq!((options.max_connections, options.drain), (library.max_connections, library.drain));
        assert_eq!((options.grpc, options.http, options.metrics), (library.grpc, library.http, library.metrics));
        assert!(options.allowed_origins.is_empty() && !options.shared_memory);
    }
}
