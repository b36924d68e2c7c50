//! Draws the z histogram as text.

use crate::inspect::{Inspection, ZHistogram};
use zfinder::RoiResult;
use zfinder::results::RoiSummary;
use zfinder_io::TruthVertex;

/// Columns of the histogram. The scale takes the rest of 80.
const COLUMNS: usize = 71;
const SCALE: usize = 7;
const ROWS: usize = 8;
/// From an eighth of a row to a full row.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Fewest intervals between the numbers of the axis.
const TICKS: f64 = 4.0;

/// Draws the histogram of an RoI in 80 columns, with a line for the vertices of `result`, of any
/// engine, and a line for the true vertices. Like the search for peaks, the height of a column is
/// the largest sum of three bins that begin in it.
pub fn terminal(inspection: &Inspection, result: RoiResult<'_>, truth: &[TruthVertex]) -> String {
    let RoiSummary { id, spacepoints, status, .. } = result.summary();
    let mut text = format!("event {}, RoI {}: {spacepoints} spacepoints, status {status}\n", id.event_id, id.roi_id);
    let histogram = inspection.histogram();
    if histogram.weights.len() < 3 {
        text.push_str("no histogram\n");
        return text;
    }
    let columns = Columns::new(&histogram);
    columns.draw(&mut text);
    columns.mark(&mut text, "found", result.vertices().z_mm().iter().map(|&z_mm| ('▲', z_mm)));
    // The hard scatter is drawn last, so that it wins a shared column.
    let of = |hard: bool| truth.iter().filter(move |vertex| vertex.is_hard_scatter == hard);
    let [pile_up, hard] =
        [(false, '·'), (true, '◆')].map(|(hard, sign)| of(hard).map(move |vertex| (sign, vertex.z_mm)));
    if columns.mark(&mut text, "true", pile_up.chain(hard)) {
        push(&mut text, "", ' ', "(◆ hard scatter, · pile-up)");
    }
    text
}

struct Columns {
    low_mm: f64,
    high_mm: f64,
    heights: Vec<u64>,
}

impl Columns {
    fn new(histogram: &ZHistogram) -> Self {
        let bins = histogram.weights.len();
        let mut heights = vec![0; COLUMNS];
        for (first, window) in histogram.weights.windows(3).enumerate() {
            let column = (first + 1) * COLUMNS / bins;
            heights[column] = window.iter().sum::<u64>().max(heights[column]);
        }
        Self { low_mm: histogram.low_mm, high_mm: histogram.high_mm(), heights }
    }

    fn column(&self, z_mm: f64) -> Option<usize> {
        let share = (z_mm - self.low_mm) / (self.high_mm - self.low_mm);
        (0.0..1.0).contains(&share).then_some((share * COLUMNS as f64) as usize)
    }

    fn draw(&self, text: &mut String) {
        let top = self.heights.iter().copied().max().unwrap_or(0).max(1);
        for row in (0..ROWS).rev() {
            let scale = if row + 1 == ROWS { top.to_string() } else { String::new() };
            let blocks: String = self.heights.iter().map(|&height| block(height, top, row)).collect();
            push(text, &scale, '┤', &blocks);
        }
        let (mut axis, mut numbers) = (vec!['─'; COLUMNS], format!("{:>SCALE$} ", "z [mm]"));
        let step = step(self.high_mm - self.low_mm);
        let first = (self.low_mm / step).ceil();
        for tick in 0..COLUMNS {
            let z = (first + tick as f64) * step;
            let Some(column) = self.column(z) else { break };
            axis[column] = '┬';
            // Rounding removes surplus digits; adding 0 removes -0.
            let number = ((z * 1e6).round() / 1e6 + 0.0).to_string();
            // Centred below the tick, but within the 80 columns.
            let begin = (column + SCALE + 2).saturating_sub(number.len() / 2);
            let begin = begin.min((SCALE + 2 + COLUMNS).saturating_sub(number.len()));
            numbers.push_str(&" ".repeat(begin.saturating_sub(numbers.len())));
            numbers.push_str(&number);
        }
        push(text, "0", '┼', &axis.into_iter().collect::<String>());
        text.push_str(&numbers);
        text.push('\n');
    }

    /// Adds a line of markers, and returns whether any vertex is in range.
    fn mark(&self, text: &mut String, what: &str, marks: impl Iterator<Item = (char, f64)>) -> bool {
        let mut line = vec![' '; COLUMNS];
        for (sign, z_mm) in marks {
            if let Some(column) = self.column(z_mm) {
                line[column] = sign;
            }
        }
        let is_any = line.iter().any(|&sign| sign != ' ');
        if is_any {
            push(text, what, ' ', &line.into_iter().collect::<String>());
        }
        is_any
    }
}

/// Returns a step of 1, 2 or 5 times a power of ten that gives enough numbers on this range.
fn step(range: f64) -> f64 {
    let most = range / TICKS;
    let power = 10f64.powf(most.log10().floor());
    [5.0, 2.0, 1.0].map(|factor| factor * power).into_iter().find(|&step| step <= most).unwrap_or(power)
}

/// Returns the character of a column of this height in a row, counted from below. Heights above 0
/// are visible.
fn block(height: u64, top: u64, row: usize) -> char {
    let eighths = (height as f64 / top as f64 * (8 * ROWS) as f64).round() as usize;
    let eighths = eighths.max(usize::from(height > 0));
    match eighths.saturating_sub(8 * row) {
        0 => ' ',
        eighths => BLOCKS[eighths.min(8) - 1],
    }
}

fn push(text: &mut String, scale: &str, line: char, rest: &str) {
    text.push_str(format!("{scale:>SCALE$} {line}{rest}").trim_end());
    text.push('\n');
}
