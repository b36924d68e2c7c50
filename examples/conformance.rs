//! Compares an engine with answers recorded from another program.
//!
//! `cargo run --release --example conformance -- DIR [--engine E] [--adapter A] [--case C]`
//!
//! DIR holds `expected.json` (samples, cases, options, vertices; see
//! docs/how-to/compare-with-another-program.md) and its files of spacepoints. Prints one line for
//! each case. Exits with 1 if any RoI disagrees, and with 2 on bad input.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::Deserialize;
use serde_json::Value;
use zfinder::config::{DefaultWindow, Neighbours, PairWeight};
use zfinder::gpu::AdapterChoice;
use zfinder::thesis::Accumulate;
use zfinder::{
    Config, Detector, Engine, Precision, Preset, Results, RoiBatch, RoiDescriptor, RoiId, Spacepoint, Vertex, ZFinder,
};

#[derive(Parser)]
pub(crate) struct Args {
    /// Folder with expected.json
    pub(crate) dir: PathBuf,
    /// auto, gpu, cpu or reference
    #[arg(long, default_value = "reference")]
    pub(crate) engine: String,
    /// Adapter of the gpu engine: index, name or PCI id
    #[arg(long)]
    pub(crate) adapter: Option<AdapterChoice>,
    /// One case only; may be repeated
    #[arg(long)]
    pub(crate) case: Vec<String>,
    /// Sum z by compare and retry, the thesis's way
    #[arg(long)]
    pub(crate) compare_exchange: bool,
    /// Arithmetic in f64
    #[arg(long)]
    pub(crate) f64: bool,
}

#[derive(Deserialize)]
struct Expected {
    samples: BTreeMap<String, Sample>,
}

#[derive(Deserialize)]
struct Sample {
    events: String,
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    options: BTreeMap<String, Value>,
    /// z \[mm\] and weight of each vertex of each RoI.
    vertices: Vec<Vec<(f64, f64)>>,
}

#[derive(Deserialize)]
struct Row {
    event_id: u64,
    roi_id: u64,
    x: f64,
    y: f64,
    z: f64,
    layer: u32,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::from(2)
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let path = args.dir.join("expected.json");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let expected: Expected = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    for case in &args.case {
        if !expected.samples.values().any(|sample| sample.cases.contains_key(case)) {
            return Err(format!("{}: no case `{case}`", path.display()).into());
        }
    }
    let engine = engine_of(args)?;
    let tolerance = Tolerance::new(&engine);

    let mut finders: Vec<ZFinder> = Vec::new();
    let (mut compared, mut all_agree) = (0, true);
    for (name, sample) in &expected.samples {
        let rois = read_spacepoints(&args.dir.join(&sample.events))?;
        for (case_name, case) in &sample.cases {
            if !args.case.is_empty() && !args.case.contains(case_name) {
                continue;
            }
            let (config, eta) = match config_of(&case.options) {
                Ok(options) => options,
                Err(reason) => {
                    println!("{name:5} {case_name:24} NOT COMPARED: {reason}");
                    all_agree &= args.case.is_empty();
                    continue;
                }
            };
            // Samples share cases, and some cases share a configuration: each finder is built once.
            let known = finders.iter().find(|finder| *finder.config() == config).cloned();
            let finder = match known {
                Some(finder) => finder,
                None => {
                    let finder = ZFinder::builder(Detector::atlas2010())
                        .config(config)
                        .engine(engine.clone())
                        .thesis(if args.compare_exchange { Accumulate::CompareExchange } else { Accumulate::Fixed })
                        .precision(if args.f64 { Precision::F64 } else { Precision::F32 })
                        .build()?;
                    finders.push(finder.clone());
                    finder
                }
            };
            if compared == 0 {
                let Tolerance { z_mm, weight } = tolerance;
                println!("{}; z within {z_mm} mm, weights within {weight}", finder.description());
            }
            let mut batch = RoiBatch::new();
            for (id, spacepoints) in &rois {
                let descriptor = RoiDescriptor { id: *id, eta, ..RoiDescriptor::default() };
                batch.push(descriptor, spacepoints.iter().copied());
            }
            let results = finder.find_batch(&batch)?;
            if results.len() != case.vertices.len() {
                return Err(format!("{name}: {} RoIs, {} answers expected", results.len(), case.vertices.len()).into());
            }
            let agreement = tolerance.compare(&results, &case.vertices, finder.config());
            println!("{name:5} {case_name:24} {agreement}");
            all_agree &= agreement.agree == agreement.rois;
            compared += 1;
        }
    }
    if compared == 0 {
        return Err("no case was compared".into());
    }
    Ok(all_agree)
}

/// Returns the engine of the options.
fn engine_of(args: &Args) -> Result<Engine, Box<dyn Error>> {
    Ok(match (args.engine.as_str(), &args.adapter) {
        ("gpu", adapter) => Engine::Gpu(adapter.clone().unwrap_or_default()),
        (_, Some(_)) => return Err("--adapter goes with --engine gpu".into()),
        ("auto", None) => Engine::Auto,
        ("cpu", None) => Engine::Cpu,
        ("reference", None) => Engine::Reference,
        (other, None) => return Err(format!("--engine {other}: auto, gpu, cpu or reference").into()),
    })
}

/// Largest allowed differences from the recorded answers.
#[derive(Clone, Copy)]
struct Tolerance {
    z_mm: f64,
    weight: f64,
}

impl Tolerance {
    /// The reference engine is the specification in f64; all other engines round in f32 and in
    /// fixed point.
    fn new(engine: &Engine) -> Self {
        let (z_mm, weight) = if *engine == Engine::Reference { (1e-6, 0.0) } else { (0.01, 2.0) };
        Self { z_mm, weight }
    }

    /// Compares results with the recorded vertices, and prints RoIs that disagree.
    fn compare(self, results: &Results, expected: &[Vec<(f64, f64)>], config: &Config) -> Agreement {
        // Weights are recorded with six digits. Weights of mixed vertices are not whole numbers.
        let weight_rounding = if config.vertex_mixing > 0.0 { 0.5e-5 } else { 0.0 };
        let mut agreement = Agreement { rois: results.len(), ..Agreement::default() };
        for (result, wanted) in results.iter().zip(expected) {
            let close = |found: Vertex, &(z, weight): &(f64, f64)| {
                let (dz, dw) = ((found.z_mm - z).abs(), (found.weight - weight).abs());
                agreement.worst_z = agreement.worst_z.max(dz);
                agreement.worst_weight = agreement.worst_weight.max(dw);
                // Half a unit of the recorded sixth decimal.
                dz <= self.z_mm + 0.5e-6 && dw <= self.weight + weight_rounding * weight
            };
            if result.vertices().len() == wanted.len() && result.vertices().iter().zip(wanted).all(pair(close)) {
                agreement.agree += 1;
            } else {
                println!("  {:?}: found {:?}, expected {wanted:?}", result.id(), result.vertices());
            }
        }
        agreement
    }
}

/// The outcome of one comparison.
#[derive(Default)]
struct Agreement {
    rois: usize,
    agree: usize,
    worst_z: f64,
    worst_weight: f64,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rois, agree, worst_z, worst_weight } = self;
        write!(f, "{agree} of {rois} RoIs agree; largest difference {worst_z:.7} mm, weight {worst_weight}")
    }
}

/// Adapts a comparison of two values for `all` over pairs.
fn pair<A, B>(mut compare: impl FnMut(A, B) -> bool) -> impl FnMut((A, B)) -> bool {
    move |(a, b)| compare(a, b)
}

/// Returns the configuration of a case's options, and the RoIs' eta. The error is an option that
/// this program does not support.
fn config_of(options: &BTreeMap<String, Value>) -> Result<(Config, f64), String> {
    let mut config = Config::preset(Preset::Default).with(|c| c.wrap_full_scan = false);
    let mut eta = 0.0;
    for (key, value) in options {
        let number = value.as_f64().ok_or_else(|| format!("option {key} = {value} is no number"))?;
        match key.as_str() {
            "phiBinSize" => config.phi_slice_deg = number,
            "minZBinSize" => config.z_bin_mm = number,
            "zBinSizeEtaCoeff" => config.z_bin_eta_coeff = number,
            "dphideta" => config.dphi_deta = number,
            "neighborMultiplier" => {
                config.neighbour_multiplier = number;
                config.neighbours = if number == 0.0 { Neighbours::Single } else { Neighbours::Bending };
            }
            "numberOfPeaks" => config.peaks = number as u32,
            "nFirstLayers" => config.first_layers = number as u32,
            "preferCentralZ" => config.prefer_central = number != 0.0,
            "tripletMode" => {
                config.pair_weight = match number as u32 {
                    0 => PairWeight::One,
                    1 => PairWeight::Any,
                    _ => PairWeight::Count,
                }
            }
            "tripletDZ" => config.triplet_dz_mm = number,
            "tripletDK" => config.triplet_dk = number,
            "tripletDP" => config.triplet_dp = number,
            "fullScanMode" => {
                config.phi_window = if number == 0.0 { DefaultWindow::Spacepoints } else { DefaultWindow::FullScan };
            }
            "roiEta" => eta = number,
            "zMin" => config.z_min_mm = number,
            "zMax" => config.z_max_mm = number,
            "vrtxDistCut" => config.vertex_distance_cut = number,
            "vrtxMixing" => config.vertex_mixing = number,
            "nvrtxSeparation" => config.vertex_separation_bins = number,
            "chargeAware" => config.charge_aware = number != 0.0,
            "zHistoPerPhi" => config.histogram_per_slice = number != 0.0,
            _ => return Err(format!("no option for {key} = {number}")),
        }
    }
    Ok((config, eta))
}

fn read_spacepoints(path: &Path) -> Result<BTreeMap<RoiId, Vec<Spacepoint>>, Box<dyn Error>> {
    let mut rois = BTreeMap::<_, Vec<_>>::new();
    let mut reader = csv::Reader::from_path(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for row in reader.deserialize() {
        let Row { event_id, roi_id, x, y, z, layer } = row.map_err(|error| format!("{}: {error}", path.display()))?;
        rois.entry(RoiId { event_id, roi_id }).or_default().push(Spacepoint::from_xyz(x, y, z, layer));
    }
    Ok(rois)
}
