//! Steps in fields, and nothing else.

use std::hint::black_box;
use std::time::Duration;

use command_host::{Code, Failure, timed};
use rayon::prelude::*;
use transport::{AdapterChoice, AnyField, Engine, Kind, Path, Probe, ProbeOptions, State, Walk, simulate};

use super::report::{Report, Spread, Walked};
use super::{Plan, fields, on_threads};

/// Of a step \[mm\].
const LENGTH: f64 = 5.0;
/// States whose paths are checked.
const CHECKED: usize = 256;
/// How far f32 may be from f64, of the distance from the middle of the world and of the momentum.
const WITHIN: f64 = 1e-4;

pub(super) fn time(plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    let states = states(plan.states);
    let steps = plan.path_steps;
    for (name, field) in &fields()? {
        let walks =
            [("plain", Walk::Plain { steps, length: LENGTH }), ("halved", Walk::Halved { steps, length: LENGTH })];
        let probe = match &plan.gpu {
            Some(_) => Some(Probe::new(field, &options(plan)?)?),
            None => None,
        };
        for (way, walk) in walks {
            let mut row =
                |threads: Option<usize>, rounds: &[Duration], one_thread: &mut Option<f64>| -> Result<(), Failure> {
                    let time = Spread::of(rounds);
                    let rate = time.rate(states.len() as f64 * f64::from(steps));
                    let times_one_thread = threads.map(|_| rate / *one_thread.get_or_insert(rate));
                    report.path(Walked {
                        field: name,
                        way,
                        threads,
                        states: states.len(),
                        steps,
                        track_steps_per_s: rate,
                        times_one_thread,
                        time,
                    })?;
                    Ok(())
                };
            let few = &states[..states.len().min(CHECKED)];
            let who = format!("{name} field, {way} steps");
            match &probe {
                Some(probe) => {
                    check(&probe.walk(&walk, -1.0, few)?, few, field, &walk, &who)?;
                    match probe.time(&walk, -1.0, &states, plan.rounds)? {
                        Some(rounds) => row(None, &rounds, &mut None)?,
                        None => report.leave_out("steps in fields: the device has no clock".to_owned()),
                    }
                }
                None => {
                    let found: Vec<_> = few.iter().map(|&state| walk.path(field, -1.0, state)).collect();
                    check(&found, few, field, &walk, &who)?;
                    let mut one_thread = None;
                    for threads in plan.thread_counts() {
                        let rounds = on_threads(threads, || {
                            timed(plan.rounds, || -> Result<(), Failure> {
                                states.par_iter().for_each(|&state| {
                                    black_box(walk.path(field, -1.0, state));
                                });
                                Ok(())
                            })
                        })??;
                        row(Some(threads), &rounds, &mut one_thread)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The prototype's electrons.
pub(super) fn states(count: usize) -> Vec<State<f32>> {
    let electrons = simulate(count, 0.0, 1);
    debug_assert!(electrons.iter().all(|primary| primary.kind == Kind::Electron));
    let narrow = |vector: [f64; 3]| vector.map(|number| number as f32);
    let state =
        |primary: &transport::Primary| State { place: narrow(primary.place), momentum: narrow(primary.momentum) };
    electrons.iter().map(state).collect()
}

/// Which adapter the engine is.
pub(super) fn options(plan: &Plan) -> Result<ProbeOptions, Failure> {
    let adapter = match &plan.engine {
        Engine::Gpu(adapter) => adapter.clone(),
        Engine::Auto => AdapterChoice::Hardware,
        _ => return Err(Failure::new(Code::Usage, "steps in fields are timed on a GPU or on the CPU")),
    };
    Ok(ProbeOptions { adapter, ..ProbeOptions::default() })
}

fn check(found: &[Path<f32>], from: &[State<f32>], field: &AnyField, walk: &Walk, who: &str) -> Result<(), Failure> {
    let wide = |vector: [f32; 3]| vector.map(f64::from);
    let norm = |vector: [f64; 3]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let off = |found: [f32; 3], wanted: [f64; 3]| {
        let found = wide(found);
        norm([0, 1, 2].map(|axis| found[axis] - wanted[axis])) / norm(wanted)
    };
    for (number, (found, from)) in found.iter().zip(from).enumerate() {
        let wanted = walk.path(field, -1.0, State { place: wide(from.place), momentum: wide(from.momentum) }).state;
        let (place, momentum) = (off(found.state.place, wanted.place), off(found.state.momentum, wanted.momentum));
        // NaN is wrong too.
        if !(place <= WITHIN && momentum <= WITHIN) {
            let what = format!(
                "{who}: electron {number} is off by {place:.0e} of its place and {momentum:.0e} of its momentum"
            );
            return Err(Failure::wrong_answer(what));
        }
    }
    Ok(())
}
