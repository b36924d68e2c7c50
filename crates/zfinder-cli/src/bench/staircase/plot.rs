//! The staircase as a picture: three bars a step, on a logarithmic axis of time.

use command_host::Drawing;
use command_host::plotters::coord::Shift;
use command_host::plotters::prelude::*;
use command_host::plotters::style::text_anchor::{HPos, Pos, VPos};

use super::report::SampleStairs;

/// One panel for each sample and adapter.
pub(super) struct Stairs<'a>(pub(super) &'a [SampleStairs]);

/// Pixels.
const WIDTH: u32 = 900;
const HEAD: u32 = 84;
const ROW: u32 = 40;
const FOOT: u32 = 50;
const LABELS: u32 = 190;

const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(230, 159, 0), RGBColor(0, 158, 115), RGBColor(150, 150, 150)];
const KINDS: [&str; 4] = ["find_z", "sum_histos", "with copies", "what the thesis's speed-ups come to"];

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// A step's bars: a name, and microseconds an RoI.
struct Bars {
    name: String,
    times: [Option<f64>; 3],
    /// What the thesis's speed-up over one core comes to on this machine \[us\].
    thesis: Option<(f64, f64)>,
}

fn bars(stairs: &SampleStairs) -> Vec<Bars> {
    let serial = stairs.serial_us_per_roi;
    let mut all: Vec<Bars> = stairs
        .steps
        .iter()
        .map(|step| Bars {
            name: step.step.to_owned(),
            times: [step.find_z_us_per_roi, step.sum_histos_us_per_roi, Some(step.with_copies_us_per_roi)],
            thesis: match (stairs.name.as_str(), step.step) {
                ("highlum", "padded-rows") => Some((serial / 12.0, serial / 9.0)),
                ("highlum", "two-in-flight") => Some((serial / 35.0, serial / 15.0)),
                _ => None,
            },
        })
        .collect();
    let library = stairs.library.iter().map(|flight| Bars {
        name: format!("library, {}", flight.design),
        times: [None, None, Some(flight.us_per_roi)],
        thesis: None,
    });
    all.extend(library);
    all
}

fn height(stairs: &SampleStairs) -> u32 {
    HEAD + ROW * (stairs.steps.len() + stairs.library.len()) as u32 + FOOT
}

impl Drawing for Stairs<'_> {
    fn size(&self) -> (u32, u32) {
        (WIDTH, self.0.iter().map(height).sum::<u32>().max(HEAD))
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>) -> Drawn<DB> {
        let mut rest = area.clone();
        for stairs in self.0 {
            let (panel, below) = rest.split_vertically(height(stairs));
            draw_panel(&panel, stairs)?;
            rest = below;
        }
        Ok(())
    }
}

fn draw_panel<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, stairs: &SampleStairs) -> Drawn<DB> {
    let bars = bars(stairs);
    let font = |size: u32| ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    let title = format!("{} on {}: batches of {} RoIs", stairs.name, stairs.adapter, stairs.rois);
    area.draw(&Text::new(title, (14, 22), font(20)))?;
    let mut x = 14;
    let kinds = if bars.iter().any(|bar| bar.thesis.is_some()) { 4 } else { 3 };
    for (kind, colour) in KINDS.iter().zip(COLOURS).take(kinds) {
        area.draw(&Rectangle::new([(x, 46), (x + 18, 60)], colour.filled()))?;
        area.draw(&Text::new((*kind).to_owned(), (x + 24, 53), font(15)))?;
        x += 24 + 9 * kind.len() as i32 + 24;
    }
    let times = || bars.iter().flat_map(|bar| bar.times.iter().flatten().copied());
    let bands = || bars.iter().filter_map(|bar| bar.thesis).flat_map(|(low, high)| [low, high]);
    let low = times().chain(bands()).fold(f64::MAX, f64::min).clamp(1e-6, 1e12) / 1.5;
    let high = times().chain(bands()).fold(low, f64::max) * 1.5;
    let rows = bars.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin_top(HEAD - 8)
        .margin_right(24)
        .margin_left(LABELS)
        .x_label_area_size(FOOT - 6)
        .build_cartesian_2d((low..high).log_scale(), rows..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.15))
        .x_desc("us an RoI")
        .x_label_formatter(&|value| format!("{value}"))
        .label_style(("sans-serif", 15))
        .draw()?;
    for (row, bar) in bars.iter().enumerate() {
        let top = row as f64;
        if let Some((from, to)) = bar.thesis {
            chart.plotting_area().draw(&Rectangle::new([(from, top + 0.04), (to, top + 0.96)], COLOURS[3].filled()))?;
        }
        let there = bar.times.iter().zip(COLOURS).enumerate();
        for (place, (time, colour)) in there.filter_map(|(place, (time, colour))| Some((place, ((*time)?, colour)))) {
            let y = top + 0.14 + 0.24 * place as f64;
            chart.plotting_area().draw(&Rectangle::new([(low, y), (time, y + 0.22)], colour.filled()))?;
        }
        let y = HEAD as i32 - 8 + (f64::from(ROW) * (top + 0.5)) as i32;
        area.draw(&Text::new(bar.name.clone(), (14, y), font(15)))?;
    }
    Ok(())
}
