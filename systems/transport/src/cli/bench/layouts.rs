//! Layouts of tracks in device memory.

use command_host::Failure;
use transport::{Layout, State, Uniform, plain_step, time_layout};

use super::Plan;
use super::paths::{options, states};
use super::report::{LaidOut, Report, Spread};

/// The largest difference of a position from f64 \[mm\].
const WITHIN: f64 = 1e-2;
/// Bytes of a state, read and written.
const BYTES: f64 = 48.0;

pub(super) fn time(plan: &Plan, report: &mut Report) -> Result<(), Failure> {
    if plan.gpu.is_none() {
        return Ok(());
    }
    let states = states(plan.states);
    let adapter = options(plan)?.adapter;
    let mut structures = None;
    for layout in Layout::ALL {
        let found = time_layout(&adapter, layout, &states, plan.rounds)?;
        check(&found.states, &states, layout)?;
        let Some(rounds) = found.rounds else {
            report.leave_out("layouts: the device has no clock".to_owned());
            return Ok(());
        };
        let time = Spread::of(&rounds);
        let slow = *structures.get_or_insert(time.median_us);
        report.layout(LaidOut {
            layout: layout.name(),
            states: states.len(),
            gb_per_s: time.rate(BYTES * states.len() as f64) / 1e9,
            faster_than_structures: slow / time.median_us,
            time,
        })?;
    }
    Ok(())
}

fn check(found: &[State<f32>], from: &[State<f32>], layout: Layout) -> Result<(), Failure> {
    let wide = |vector: [f32; 3]| vector.map(f64::from);
    for (number, (found, from)) in found.iter().zip(from).enumerate() {
        let from = State { place: wide(from.place), momentum: wide(from.momentum) };
        let wanted = plain_step(&Uniform([0.0, 0.0, 3.8]), -1.0, from, 5.0);
        let off = (0..3).map(|i| (f64::from(found.place[i]) - wanted.place[i]).abs()).fold(0.0, f64::max);
        if off.is_nan() || off > WITHIN {
            let what = format!("{}: electron {number} is off by {off:.1e} mm", layout.name());
            return Err(Failure::wrong_answer(what));
        }
    }
    Ok(())
}
