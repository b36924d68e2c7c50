//! A picture of where energy stayed.

use command_host::plotters::coord::Shift;
use command_host::plotters::prelude::*;
use command_host::{Code, Drawing, Failure, Picture, colour};
use transport::{Deposits, Grid};

use super::output::edges;

/// Of the map \[pixels\], about: each bin has the same whole number of them.
const WIDTH: usize = 720;
const HEIGHT: usize = 480;
const MARGIN: u32 = 20;
const TITLES: u32 = 75;
const LABELS: u32 = 65;
const LABELS_BELOW: u32 = 50;
/// The scale of colours, with its numbers.
const BAR: u32 = 25;
const BAR_LABELS: u32 = 90;

/// As bright to the eye at each step as they are far along, told apart by colour-blind people too
/// (viridis, S. van der Walt and N. Smith).
const COLOURS: [[u8; 3]; 10] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 73, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [110, 206, 88],
    [181, 222, 43],
    [253, 231, 37],
];

/// Decades of the scale at most: what is less than the rest of them has the last colour.
const DECADES: f64 = 4.0;

/// An SVG of more bins is of no use to those who look at it.
const MOST_IN_SVG: usize = 50_000;

/// That a picture of so many bins can be drawn.
pub(super) fn check(picture: &Picture, grid: &Grid) -> Result<(), Failure> {
    let [r, z] = grid.bins;
    let what = if r > HEIGHT || z > WIDTH {
        format!("{r} x {z} bins, and a picture has room for {HEIGHT} of r and {WIDTH} of z: fewer --bins are wanted")
    } else if !picture.is_png() && r * z > MOST_IN_SVG {
        format!("{r} x {z} bins, and an SVG is drawn of {MOST_IN_SVG} at most: use .png, or fewer --bins")
    } else {
        return Ok(());
    };
    Err(Failure::new(Code::Usage, format_args!("--plot {}: {what}", picture.path().display())))
}

/// What is drawn.
pub(super) struct HeatMap<'a> {
    grid: &'a Grid,
    /// MeV of each bin.
    energies: Vec<f64>,
    /// Of the scale \[MeV\].
    range: [f64; 2],
    titles: [String; 2],
}

impl<'a> HeatMap<'a> {
    pub(super) fn of(deposits: &'a Deposits, titles: [String; 2]) -> Self {
        let energies = deposits.energies();
        let some = || energies.iter().copied().filter(|&energy| energy > 0.0);
        let most = some().fold(0.0, f64::max);
        let least = some().fold(most, f64::min);
        let range = if most > 0.0 { scale(least, most) } else { [0.1, 1.0] };
        Self { grid: deposits.grid(), energies, range, titles }
    }

    /// Of the map itself \[pixels\].
    fn map_size(&self) -> (u32, u32) {
        let [r, z] = self.grid.bins;
        let whole = |pixels: usize, bins: usize| (bins * (pixels / bins).max(1)) as u32;
        (whole(WIDTH, z), whole(HEIGHT, r))
    }

    fn colour(&self, energy: f64) -> RGBColor {
        let [low, high] = self.range;
        colour(&COLOURS, (energy / low).ln() / (high / low).ln())
    }
}

/// Whole decades around what there is.
fn scale(least: f64, most: f64) -> [f64; 2] {
    let high = most.log10().ceil();
    let low = least.log10().floor().clamp(high - DECADES, high - 1.0);
    [low, high].map(|exponent| 10_f64.powf(exponent))
}

impl Drawing for HeatMap<'_> {
    fn size(&self) -> (u32, u32) {
        let (width, height) = self.map_size();
        (width + 3 * MARGIN + LABELS + BAR + BAR_LABELS, height + 2 * MARGIN + TITLES + LABELS_BELOW)
    }

    fn draw<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
    ) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
        let (width, height) = self.map_size();
        let left = (MARGIN + LABELS) as i32;
        area.draw(&Text::new(self.titles[0].as_str(), (left, MARGIN as i32), ("sans-serif", 20)))?;
        let quiet = ("sans-serif", 15).into_font().color(&RGBColor(90, 90, 90));
        area.draw(&Text::new(self.titles[1].as_str(), (left, MARGIN as i32 + 32), quiet))?;
        let below = area.margin(MARGIN + TITLES, MARGIN, MARGIN, MARGIN);
        let (map, bar) = below.split_horizontally(LABELS + width);
        let &Grid { r: [r_low, r_high], z: [z_low, z_high], bins: [r_bins, z_bins] } = self.grid;
        let mut chart = ChartBuilder::on(&map)
            .x_label_area_size(LABELS_BELOW)
            .y_label_area_size(LABELS)
            .build_cartesian_2d(z_low..z_high, r_low..r_high)?;
        let (r, z) = (edges(self.grid.r, r_bins), edges(self.grid.z, z_bins));
        let filled = self.energies.iter().enumerate().filter(|&(_, &energy)| energy > 0.0);
        chart.draw_series(filled.map(|(bin, &energy)| {
            let (i, j) = (bin / z_bins, bin % z_bins);
            Rectangle::new([(z[j], r[i]), (z[j + 1], r[i + 1])], self.colour(energy).filled())
        }))?;
        // Over what pixels stand out.
        chart.draw_series([Rectangle::new([(z_low, r_low), (z_high, r_high)], BLACK)])?;
        let mm = |length: &f64| format!("{length}");
        let mut axes = chart.configure_mesh();
        axes.disable_mesh().x_desc("z [mm]").y_desc("r [mm]").x_labels(7).y_labels(7);
        axes.x_label_formatter(&mm).y_label_formatter(&mm).label_style(("sans-serif", 15)).draw()?;
        // As high as the map.
        let bar = bar.margin(0, LABELS_BELOW, MARGIN, 0);
        let [low, high] = self.range.map(f64::log10);
        let mut chart =
            ChartBuilder::on(&bar).right_y_label_area_size(BAR_LABELS).build_cartesian_2d(0.0..1.0, low..high)?;
        let step = (high - low) / f64::from(height);
        chart.draw_series((0..height).map(|row| {
            let from = low + f64::from(row) * step;
            let colour = colour(&COLOURS, (f64::from(row) + 0.5) / f64::from(height));
            Rectangle::new([(0.0, from), (1.0, from + step)], colour.filled())
        }))?;
        chart.draw_series([Rectangle::new([(0.0, low), (1.0, high)], BLACK)])?;
        let decade = |exponent: &f64| format!(" {}", 10_f64.powf(*exponent));
        let size = |[low, high]: [f64; 2], bins: usize| ((high - low) / bins as f64 * 100.0).round() / 100.0;
        let what = format!("MeV in a bin of {} mm x {} mm", size(self.grid.z, z_bins), size(self.grid.r, r_bins));
        let mut axes = chart.configure_mesh();
        axes.disable_mesh().disable_x_axis().y_labels((high - low).round() as usize + 1).y_desc(what);
        axes.y_label_formatter(&decade).label_style(("sans-serif", 15)).draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_of_whole_decades() {
        let close = |found: [f64; 2], wanted: [f64; 2]| (0..2).all(|i| (found[i] / wanted[i] - 1.0).abs() < 1e-12);
        assert!(close(scale(0.2, 350.0), [0.1, 1000.0]));
        assert!(close(scale(5.0, 5.0), [1.0, 10.0]));
        assert!(close(scale(1e-7, 1e3), [0.1, 1e3]));
    }
}
