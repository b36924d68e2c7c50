//! The report of a run.

use std::collections::BTreeMap;
use std::io::{self, Write};

use command_host::{scientific, table};
use serde::Serialize;
use transport::{Kind, Outcome, Primary, Process, Status};

use super::input::Particles;

/// The largest missing part of the energy. More is a fault.
pub(super) const BALANCE: f64 = 1e-4;

/// The attenuation of photons of these energies \[MeV\] is compared with published values.
const TRUSTED: [f64; 2] = [0.01, 1e4];

/// Returns a warning if particles have energies beyond the trusted range of the physics. Electrons
/// and positrons of less energy stop where they are.
pub(super) fn untrusted(primaries: &[Primary]) -> Option<String> {
    let [low, high] = TRUSTED;
    let beyond = |primary: &&Primary| {
        let energy = primary.kinetic();
        energy > high || (primary.kind == Kind::Photon && energy < low)
    };
    let count = primaries.iter().filter(beyond).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} particles are beyond the trusted range: photons of 10 keV to 10 GeV, electrons and \
             positrons of up to 10 GeV",
            primaries.len()
        )
    })
}

/// The options of a run.
#[derive(Serialize)]
pub(super) struct RunOptions {
    pub(super) version: &'static str,
    pub(super) engine: String,
    pub(super) particles: String,
    pub(super) field: String,
    pub(super) geometry: String,
    pub(super) kernels: String,
    pub(super) random: String,
    pub(super) electron_cut_mev: f64,
    pub(super) photon_cut_mev: f64,
    pub(super) stop_mev: f64,
}

#[derive(Serialize)]
pub(super) struct Report {
    #[serde(flatten)]
    asked: RunOptions,
    /// Limits of the physics that this run exceeds.
    warnings: Vec<String>,
    /// Particles that were transported.
    tracks: usize,
    rejected: Vec<Reason>,
    status: &'static str,
    /// Tracks that wait because slots are full.
    waiting: u64,
    /// Tracks that are left.
    left: usize,
    /// Steps that all tracks made together.
    iterations: u32,
    /// Steps of a track each.
    steps: u64,
    /// From host memory to host memory, once.
    seconds: f64,
    steps_per_s: f64,
    processes: Vec<Done>,
    secondaries: u64,
    slots: usize,
    energy: Energy,
    histogram: Histogram,
}

/// Particles that were not transported.
#[derive(Serialize)]
struct Reason {
    reason: &'static str,
    particles: usize,
    /// The first of them, from 0 on.
    first: usize,
    /// Where it is from.
    place: Option<String>,
}

#[derive(Serialize)]
struct Done {
    process: &'static str,
    steps: u64,
    /// Of all steps.
    share: f64,
}

#[derive(Serialize)]
struct Energy {
    initial_mev: f64,
    deposited_mev: f64,
    escaped_mev: f64,
    /// Of tracks that made too many steps.
    given_up_mev: f64,
    left_mev: f64,
    /// Of what was there at first.
    missing: f64,
}

#[derive(Serialize)]
struct Histogram {
    r_mm: [f64; 2],
    z_mm: [f64; 2],
    /// Of r and of z.
    bins: [usize; 2],
    /// Deposited beyond its bins.
    beyond_mev: f64,
}

impl Report {
    pub(super) fn of(
        asked: RunOptions,
        warnings: Vec<String>,
        particles: &Particles,
        outcome: &Outcome,
        seconds: f64,
    ) -> Self {
        let steps = outcome.steps();
        let mut reasons = BTreeMap::<&str, Vec<usize>>::new();
        for &(number, why) in &outcome.rejected {
            reasons.entry(why.name()).or_default().push(number);
        }
        let rejected = reasons.into_iter().filter_map(|(reason, numbers)| {
            let &first = numbers.first()?;
            Some(Reason { reason, particles: numbers.len(), first, place: particles.place(first) })
        });
        let done = |process: Process| {
            let steps_of = outcome.processes[process as usize];
            Done { process: process.name(), steps: steps_of, share: steps_of as f64 / steps.max(1) as f64 }
        };
        let (status, waiting) = match outcome.status {
            Status::Finished => ("finished", 0),
            Status::StepsMade => ("steps made", 0),
            Status::CapacityExceeded { waiting } => ("capacity exceeded", waiting),
        };
        let (balance, grid) = (&outcome.balance, outcome.deposits.grid());
        Self {
            asked,
            warnings,
            tracks: particles.primaries.len() - outcome.rejected.len(),
            rejected: rejected.collect(),
            status,
            waiting,
            left: outcome.left.len(),
            iterations: outcome.iterations,
            steps,
            seconds,
            steps_per_s: steps as f64 / seconds.max(1e-9),
            processes: Process::ALL.into_iter().filter(|&process| process != Process::Vacant).map(done).collect(),
            secondaries: outcome.secondaries,
            slots: outcome.slots,
            energy: Energy {
                initial_mev: balance.initial,
                deposited_mev: balance.deposited,
                escaped_mev: balance.escaped,
                given_up_mev: balance.abandoned,
                left_mev: balance.left,
                missing: balance.missing(),
            },
            histogram: Histogram { r_mm: grid.r, z_mm: grid.z, bins: grid.bins, beyond_mev: outcome.deposits.beyond() },
        }
    }

    /// Returns the particles that were not transported and the reasons, one for each line.
    fn rejected(&self) -> Vec<String> {
        let line = |Reason { reason, particles, first, place }: &Reason| {
            let place = place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
            format!("{particles} not transported: {reason} (the first is number {first}{place})")
        };
        self.rejected.iter().map(line).collect()
    }

    /// Returns the reason if no particle was transported.
    pub(super) fn nothing(&self) -> Option<String> {
        (self.tracks == 0).then(|| format!("no particle can be transported: {}", self.rejected().join("; ")))
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let RunOptions { engine, particles, field, geometry, kernels, random, .. } = &self.asked;
        let RunOptions { electron_cut_mev, photon_cut_mev, stop_mev, .. } = self.asked;
        writeln!(out, "{engine}, {kernels} kernels")?;
        writeln!(out, "{particles}; {geometry}; {field}; {random}")?;
        writeln!(
            out,
            "electrons from {electron_cut_mev} MeV on, photons from {photon_cut_mev} MeV on, stopped at {stop_mev} MeV"
        )?;
        for line in self.rejected() {
            writeln!(out, "{line}")?;
        }
        let &Self { status, waiting, left, iterations, steps, seconds, steps_per_s, secondaries, slots, .. } = self;
        let tracks = match (status, waiting) {
            ("finished", _) => String::new(),
            (_, 0) => format!(", {left} tracks are left"),
            (_, waiting) => format!(", {left} tracks are left and {waiting} of them wait for room"),
        };
        writeln!(out, "\n{status} after {iterations} iterations{tracks}")?;
        writeln!(
            out,
            "{steps} track-steps in {seconds:.3} s from host memory to host memory, once: {} a second",
            scientific(steps_per_s)
        )?;
        writeln!(out, "{secondaries} secondaries, {slots} slots\n")?;
        let mut processes = table(["a step ends with", "steps", "share"], 1);
        for Done { process, steps, share } in &self.processes {
            processes.add_row([(*process).to_owned(), steps.to_string(), format!("{:.3} %", 100.0 * share)]);
        }
        writeln!(out, "{processes}\n")?;
        let Energy { initial_mev, deposited_mev, escaped_mev, given_up_mev, left_mev, missing } = self.energy;
        let mut energy = table(["energy", "MeV", "part"], 1);
        for (name, mev) in [
            ("initial", initial_mev),
            ("deposited", deposited_mev),
            ("  beyond the histogram", self.histogram.beyond_mev),
            ("escaped", escaped_mev),
            ("given up", given_up_mev),
            ("left", left_mev),
        ] {
            let part = if initial_mev > 0.0 { mev / initial_mev } else { 0.0 };
            energy.add_row([name.to_owned(), format!("{mev:.3}"), format!("{part:.6}")]);
        }
        energy.add_row(["missing".to_owned(), format!("{:.3}", missing * initial_mev), format!("{missing:.1e}")]);
        writeln!(out, "{energy}")
    }
}
