//! The stages of a step, and whole runs.

use std::time::Duration;

use command_host::{Failure, timed};
use transport::{Engine, Kernels, Outcome, Primary, Process, Simulation, SimulationBuilder, simulate};

use super::super::options::{KernelsName, typed};
use super::super::report::BALANCE;
use super::report::{First, Ran, Report, Spread, StagePart};
use super::{Plan, on_threads};

/// The largest difference of a GPU's numbers of steps from the CPU's: relative, or in square roots
/// of a small number.
const WITHIN: f64 = 1e-3;
const ROOTS: f64 = 2.0;

const WAYS: [KernelsName; 2] = [KernelsName::Split, KernelsName::Monolithic];

/// Shares of the stages on the slides, in percent: lengths of steps (GPIL), count and sort
/// together, interactions (DoIt). The rest of their step initialises random numbers, which takes no
/// time here.
fn of_slides(stage: &str) -> Option<f64> {
    match stage {
        "step_length" => Some(47.0),
        "sort" => Some(2.2 + 2.7),
        "interact" => Some(42.3),
        _ => None,
    }
}

fn builder(engine: Engine, kernels: Kernels, plan: &Plan) -> SimulationBuilder {
    let builder = Simulation::builder().engine(engine).kernels(kernels).most_steps(plan.most_steps);
    builder.most_loops(plan.most_loops).tail_steps(plan.tail_steps)
}

fn simulation(engine: Engine, kernels: Kernels, plan: &Plan) -> transport::Result<Simulation> {
    builder(engine, kernels, plan).build()
}

/// The kernels and workgroup sizes of a GPU, with their simulation.
fn on_gpu(plan: &Plan) -> impl Iterator<Item = (KernelsName, Option<u32>, transport::Result<Simulation>)> + '_ {
    let all = WAYS.into_iter().flat_map(|way| plan.workgroup_sizes.iter().map(move |&size| (way, size)));
    all.map(|(way, size)| {
        let builder = builder(plan.engine.clone(), way.into(), plan);
        (way, size, size.map_or(builder.clone(), |threads| builder.workgroup_size(threads)).build())
    })
}

/// The prototype's.
fn particles(count: usize) -> Vec<Primary> {
    simulate(count, 0.2, 1)
}

pub(super) fn time_first(plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    let primaries = particles(plan.tracks);
    for threads in plan.thread_counts() {
        for way in WAYS {
            let cpu = simulation(Engine::Cpu, way.into(), plan)?;
            let rounds = on_threads(threads, || first_step(&cpu, &primaries, plan.rounds))??;
            let time = Spread::of(&rounds);
            if !time.is_seen() {
                let who = format!("{} kernels, threads: {threads}", typed(way));
                report.leave_out(format!("the first step, {who}: no longer than no step; take more rounds or tracks"));
            }
            report.first(First {
                threads: Some(threads),
                kernels: typed(way),
                workgroup_size: None,
                tracks: primaries.len(),
                tracks_per_s: time.is_seen().then(|| time.rate(primaries.len() as f64)),
                times_one_thread: None,
                stages: Vec::new(),
                time,
            })?;
        }
    }
    if plan.gpu.is_some() {
        let wanted = simulation(Engine::Cpu, Kernels::Monolithic, plan)?.run_for(&primaries, 1)?;
        for (way, workgroup_size, gpu) in on_gpu(plan) {
            let gpu = gpu?;
            let who = format!("the first step, {} kernels", typed(way));
            check(&gpu.run_for(&primaries, 1)?, Some(&wanted), &who)?;
            let Some(stages) = gpu.time(&primaries, plan.rounds)? else {
                report.leave_out("stages of a step: the device has no clock".to_owned());
                continue;
            };
            let whole: Vec<Duration> =
                (0..plan.rounds).map(|round| stages.iter().filter_map(|stage| stage.rounds.get(round)).sum()).collect();
            let time = Spread::of(&whole);
            let parts = stages.iter().map(|stage| {
                let part = Spread::of(&stage.rounds);
                let share = part.median_us / time.median_us;
                let of_slides = of_slides(stage.stage).map(|percent| percent / 100.0);
                StagePart { stage: stage.stage, share, of_slides, time: part }
            });
            report.first(First {
                threads: None,
                kernels: typed(way),
                workgroup_size,
                tracks: primaries.len(),
                tracks_per_s: time.is_seen().then(|| time.rate(primaries.len() as f64)),
                times_one_thread: None,
                stages: parts.collect(),
                time,
            })?;
        }
    }
    Ok(())
}

/// Returns the additional time of a run of one step over a run of none, which transfers the same
/// particles and tracks. None if the difference is within the noise.
fn first_step(cpu: &Simulation, primaries: &[Primary], rounds: usize) -> transport::Result<Vec<Duration>> {
    let mut without = timed(rounds, || cpu.run_for(primaries, 0))?;
    without.sort_unstable();
    let none = without.get(without.len() / 2).copied().unwrap_or_default();
    let with = timed(rounds, || cpu.run_for(primaries, 1))?;
    Ok(with.into_iter().map(|time| time.saturating_sub(none)).collect())
}

pub(super) fn time_runs(plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    let primaries = particles(plan.showers);
    let mut wanted: Option<Outcome> = None;
    let mut ran = |threads: Option<usize>,
                   (way, workgroup_size): (KernelsName, Option<u32>),
                   simulation: &Simulation,
                   rounds: usize,
                   wanted: &mut Option<Outcome>| {
        let mut outcome = None;
        let mut run = || -> transport::Result<()> {
            outcome = Some(simulation.run(&primaries)?);
            Ok(())
        };
        if threads.is_none() {
            // The first run allocates memory, and does not count.
            run()?;
        }
        let time = Spread::of(&timed(rounds, run)?);
        let Some(outcome) = outcome else { return Ok(()) };
        let who = format!(
            "whole runs, {} kernels{}",
            typed(way),
            threads.map_or_else(String::new, |threads| format!(", {threads} threads"))
        );
        check(&outcome, wanted.as_ref(), &who)?;
        let steps = outcome.steps();
        report.ran(Ran {
            threads,
            kernels: typed(way),
            workgroup_size,
            particles: primaries.len(),
            iterations: outcome.iterations,
            steps,
            slots: outcome.slots,
            missing: outcome.balance.missing(),
            given_up: outcome.balance.abandoned / outcome.balance.initial,
            steps_per_s: time.rate(steps as f64),
            times_one_thread: None,
            time,
        })?;
        wanted.get_or_insert(outcome);
        Ok::<_, Failure>(())
    };
    // With a GPU, only the faster kernels of the CPU, once.
    let (ways, rounds) = if plan.gpu.is_some() { (&WAYS[1..], 1) } else { (&WAYS[..], plan.rounds) };
    for threads in plan.thread_counts() {
        for &way in ways {
            let cpu = simulation(Engine::Cpu, way.into(), plan)?;
            on_threads(threads, || ran(Some(threads), (way, None), &cpu, rounds, &mut wanted))??;
        }
    }
    if plan.gpu.is_some() {
        for (way, workgroup_size, gpu) in on_gpu(plan) {
            ran(None, (way, workgroup_size), &gpu?, plan.rounds, &mut wanted)?;
        }
    }
    Ok(())
}

/// Checks the energy balance and the numbers of steps by process.
fn check(found: &Outcome, wanted: Option<&Outcome>, who: &str) -> Result<(), Failure> {
    let missing = found.balance.missing();
    if missing.is_nan() || missing.abs() > BALANCE {
        return Err(Failure::wrong_answer(format_args!("{who}: {missing:.1e} of the energy is missing")));
    }
    let Some(wanted) = wanted else { return Ok(()) };
    for process in Process::ALL {
        let [found, wanted] = [found, wanted].map(|outcome| outcome.processes[process as usize]);
        let most = (WITHIN * wanted as f64).max(ROOTS * (wanted as f64).sqrt());
        if found.abs_diff(wanted) as f64 > most {
            let what = format!("{who}: {found} steps end with {}, and {wanted} on the CPU", process.name());
            return Err(Failure::wrong_answer(what));
        }
    }
    Ok(())
}
