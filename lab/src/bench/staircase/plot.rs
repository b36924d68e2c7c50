//! Draws the staircase: three bars a step, on a logarithmic axis of time.

use command_host::figure::{Axis, Colour, Entry, Figure, Key, Layer, Panel};

use super::report::SampleStairs;

const KINDS: [&str; 3] = ["find_z", "sum_histos", "with copies"];
/// The thesis's speed-ups over one core of this machine.
const THESIS: &str = "the thesis's speed-ups";
const ROW: f64 = 34.0;

/// The bars of a step: a name, and microseconds per RoI.
struct StepBars {
    name: String,
    times: [Option<f64>; 3],
    /// Time that the thesis's speed-up over one core gives on this machine \[us\].
    thesis: Option<(f64, f64)>,
}

fn bars(stairs: &SampleStairs) -> Vec<StepBars> {
    let serial = stairs.serial_us_per_roi;
    let mut all: Vec<StepBars> = stairs
        .steps
        .iter()
        .chain(&stairs.variations)
        .map(|step| StepBars {
            name: step.step.to_owned(),
            times: [step.find_z_us_per_roi, step.sum_histos_us_per_roi, Some(step.with_copies_us_per_roi)],
            thesis: match (stairs.name.as_str(), step.step) {
                ("highlum", "two-stage-sums") => Some((serial / 12.0, serial / 9.0)),
                ("highlum", "two-in-flight") => Some((serial / 35.0, serial / 15.0)),
                _ => None,
            },
        })
        .collect();
    let library = stairs.library.iter().map(|flight| StepBars {
        name: format!("library, {}", flight.design),
        times: [None, None, Some(flight.us_per_roi)],
        thesis: None,
    });
    all.extend(library);
    all
}

/// Returns one panel for each sample and adapter.
pub(super) fn figure(samples: &[SampleStairs]) -> Figure {
    let all: Vec<Vec<StepBars>> = samples.iter().map(bars).collect();
    let rows = all.iter().map(Vec::len).max().unwrap_or(1);
    let mut legend: Vec<Entry> =
        (0..3).map(|kind| Entry::new(Key::Area(Colour::numbered(kind)), KINDS[kind])).collect();
    if all.iter().flatten().any(|bar| bar.thesis.is_some()) {
        legend.push(Entry::new(Key::Area(Colour::GREY), THESIS));
    }
    let title = |stairs: &SampleStairs| format!("{} on {}, {}", stairs.name, stairs.adapter, stairs.condition());
    let titles: Vec<String> = samples.iter().map(title).collect();
    let panel = |(number, bars): (usize, &Vec<StepBars>)| {
        let mut panel = panel(bars);
        if titles.len() > 1 {
            panel.x.title = format!("{}: {}", titles[number], panel.x.title);
        }
        panel
    };
    Figure {
        title: if titles.len() == 1 { titles[0].clone() } else { String::new() },
        panels: all.iter().enumerate().map(panel).collect(),
        columns: 1,
        panel_size: (900.0, 90.0 + ROW * rows as f64),
        legend,
        is_full: true,
    }
}

fn panel(bars: &[StepBars]) -> Panel {
    let times = bars.iter().flat_map(|bar| bar.times.iter().flatten().copied());
    let thesis = bars.iter().filter_map(|bar| bar.thesis).flat_map(|(low, high)| [low, high]);
    let all: Vec<f64> = times.chain(thesis).filter(|time| *time > 0.0).collect();
    let low = all.iter().copied().fold(f64::MAX, f64::min).clamp(1e-6, 1e12) / 1.5;
    let high = all.iter().copied().fold(low, f64::max) * 1.5;
    let mut y = Axis::new("", bars.len().max(1) as f64, 0.0);
    y.categories = bars.iter().map(|bar| bar.name.clone()).collect();
    let mut panel = Panel::new("steps", Axis::new("time of an RoI [µs]", low, high).log(), y);
    let mut layer = |rectangles: Vec<[(f64, f64); 2]>, colour| panel.layers.push(Layer::Bars(rectangles, colour));
    let bands = bars.iter().enumerate().filter_map(|(row, bar)| {
        let (from, to) = bar.thesis?;
        Some([(from, row as f64 + 0.04), (to, row as f64 + 0.96)])
    });
    layer(bands.collect(), Colour::GREY);
    for kind in 0..KINDS.len() {
        let rectangle = |(row, bar): (usize, &StepBars)| {
            let top = row as f64 + 0.14 + 0.24 * kind as f64;
            bar.times[kind].map(|time| [(low, top), (time, top + 0.22)])
        };
        layer(bars.iter().enumerate().filter_map(rectangle).collect(), Colour::numbered(kind));
    }
    panel
}
