//! A picture of where energy was deposited.

use command_host::figure::{Axis, ColourBar, Figure, Layer, Panel, Scale};
use command_host::{Code, Failure, Picture};
use transport::{Deposits, Grid};

use super::output::edges;

/// Bins of r and of z, at most: more cannot be seen.
const MOST_BINS: [usize; 2] = [480, 720];
/// Decades of the scale, at most: less energy has the last colour.
const DECADES: f64 = 4.0;
/// Bins of an SVG or a PDF, at most: more make a file that viewers cannot open.
const MOST_VECTOR: usize = 50_000;

/// Refuses a grid that cannot be drawn. `name` is the file's.
pub(super) fn check(picture: &Picture, name: &str, grid: &Grid) -> Result<(), Failure> {
    let ([r, z], [most_r, most_z]) = (grid.bins, MOST_BINS);
    let what = if r > most_r || z > most_z {
        format!("{r} x {z} bins, and a picture has room for {most_r} of r and {most_z} of z; give fewer --bins")
    } else if picture.format().is_vector() && r * z > MOST_VECTOR {
        format!("{r} x {z} bins, and an SVG or PDF has {MOST_VECTOR} at most; use .png, or fewer --bins")
    } else {
        return Ok(());
    };
    Err(Failure::new(Code::Usage, format_args!("--plot {name}: {what}")))
}

/// Draws the energy of each bin of r and z on a logarithmic scale of colours.
pub(super) fn figure(deposits: &Deposits, title: String) -> Figure {
    let energies = deposits.energies();
    let some = || energies.iter().copied().filter(|&energy| energy > 0.0);
    let most = some().fold(0.0, f64::max);
    let least = some().fold(most, f64::min);
    let [low, high] = if most > 0.0 { scale(least, most) } else { [0.1, 1.0] };
    let grid = deposits.grid();
    let [r_bins, z_bins] = grid.bins;
    let (r, z) = (edges(grid.r, r_bins), edges(grid.z, z_bins));
    let filled = energies.iter().enumerate().filter(|&(_, &energy)| energy > 0.0);
    let cells = filled.map(|(bin, &energy)| {
        let (i, j) = (bin / z_bins, bin % z_bins);
        let corners = vec![(z[j], r[i]), (z[j + 1], r[i]), (z[j + 1], r[i + 1]), (z[j], r[i + 1])];
        (corners, Scale::Sequential.at((energy / low).ln() / (high / low).ln()))
    });
    let (x, y) = (Axis::new("z [mm]", grid.z[0], grid.z[1]), Axis::new("r [mm]", grid.r[0], grid.r[1]));
    let mut panel = Panel::new("deposits", x, y);
    panel.layers.push(Layer::Cells(cells.collect()));
    let size = |[low, high]: [f64; 2], bins: usize| ((high - low) / bins as f64 * 100.0).round() / 100.0;
    let what = format!("energy / {} mm × {} mm [MeV]", size(grid.z, z_bins), size(grid.r, r_bins));
    panel.colour_bar = Some(ColourBar { axis: Axis::new(what, low, high).log(), scale: Scale::Sequential });
    Figure { panel_size: (860.0, 520.0), ..Figure::new(title, panel) }
}

/// Returns whole decades around the values.
fn scale(least: f64, most: f64) -> [f64; 2] {
    let high = most.log10().ceil();
    let low = least.log10().floor().clamp(high - DECADES, high - 1.0);
    [low, high].map(|exponent| 10_f64.powf(exponent))
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
