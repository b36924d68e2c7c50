//! Geometry of the reference engine: lines against all surfaces of a cell.

use super::V;
use crate::geometry::{Cell, Geometry, Shape, Volume};

/// A surface around the axis.
#[derive(Clone, Copy, PartialEq)]
enum AxialSurface {
    Circle(f64),
    Rectangle(f64, f64),
}

impl AxialSurface {
    /// Where it crosses the x axis.
    fn on_x(self) -> f64 {
        match self {
            Self::Circle(r) | Self::Rectangle(r, _) => r,
        }
    }

    fn least(self) -> f64 {
        match self {
            Self::Circle(r) => r,
            Self::Rectangle(x, y) => x.min(y),
        }
    }

    /// Distances along a line at which it is on the surface: the first and the last.
    fn crossings(self, [x, y, _]: V, [u, v, _]: V) -> Option<[f64; 2]> {
        match self {
            Self::Circle(radius) => {
                let (a, b, c) = (u * u + v * v, x * u + y * v, x * x + y * y - radius * radius);
                let discriminant = b * b - a * c;
                // The root that is no difference of large numbers, and the other one by Vieta.
                let q = -(b + discriminant.sqrt().copysign(b));
                let [one, other] = [q / a, c / q];
                (a > 0.0 && discriminant >= 0.0).then(|| [one.min(other), one.max(other)])
            }
            Self::Rectangle(half_x, half_y) => {
                let (mut first, mut last) = (f64::NEG_INFINITY, f64::INFINITY);
                for (half, at, along) in [(half_x, x, u), (half_y, y, v)] {
                    let sides = [(-half - at) / along, (half - at) / along];
                    if along != 0.0 {
                        first = first.max(sides[0].min(sides[1]));
                        last = last.min(sides[0].max(sides[1]));
                    } else if at.abs() >= half {
                        return None;
                    }
                }
                (first < last).then_some([first, last])
            }
        }
    }
}

/// The surfaces of a geometry.
pub(super) struct Places {
    around: Vec<AxialSurface>,
    planes: Vec<f64>,
    sectors: u32,
    volumes: Vec<Volume>,
}

impl Places {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let [x, y, z] = geometry.world;
        let (mut around, mut planes) = (vec![AxialSurface::Rectangle(x, y)], vec![-z, z]);
        for volume in &geometry.volumes {
            match volume.shape {
                Shape::Tube { inner, outer } => {
                    around.extend([inner, outer].into_iter().filter(|&r| r > 0.0).map(AxialSurface::Circle));
                }
                Shape::Box { half: [x, y] } => around.push(AxialSurface::Rectangle(x, y)),
            }
            planes.extend(volume.z);
        }
        around.sort_by(|a, b| a.least().total_cmp(&b.least()));
        around.dedup();
        planes.sort_by(f64::total_cmp);
        planes.dedup();
        Self { around, planes, sectors: geometry.sectors, volumes: geometry.volumes.clone() }
    }

    /// The material of a cell, from 1; 0 is vacuum. It is that of the last volume that contains the
    /// cell's middle.
    pub(super) fn material(&self, cell: Cell) -> u32 {
        if cell == Cell::OUTSIDE {
            return 0;
        }
        let (ring, layer) = (cell.ring() as usize, cell.layer() as usize);
        let inner = if ring == 0 { 0.0 } else { self.around[ring - 1].on_x() };
        let (x, z) = (0.5 * (inner + self.around[ring].on_x()), 0.5 * (self.planes[layer] + self.planes[layer + 1]));
        let contains = |volume: &&Volume| {
            let is_around = match volume.shape {
                Shape::Tube { inner, outer } => (inner..outer).contains(&x),
                Shape::Box { half } => x < half[0],
            };
            is_around && (volume.z[0]..volume.z[1]).contains(&z)
        };
        self.volumes.iter().rev().find(contains).and_then(|volume| volume.material).map_or(0, |m| m as u32 + 1)
    }

    /// The distance at which a line leaves its cell, and the next cell.
    pub(super) fn exit(&self, cell: Cell, place: V, direction: V) -> (f64, Cell) {
        let (ring, layer, sector) = (cell.ring(), cell.layer(), cell.sector());
        let mut nearest = (f64::INFINITY, Cell::OUTSIDE);
        let mut see = |distance: f64, to: Option<Cell>| {
            if distance.max(0.0) < nearest.0 {
                nearest = (distance.max(0.0), to.unwrap_or(Cell::OUTSIDE));
            }
        };
        let [w, z] = [direction[2], place[2]];
        let up = u32::from(w > 0.0);
        let next = (layer + up).checked_sub(1 - up).filter(|&next| (next as usize) < self.planes.len() - 1);
        let next = next.map(|layer| Cell::new(ring, layer, sector));
        if w != 0.0 {
            see((self.planes[(layer + up) as usize] - z) / w, next);
        }
        for (step, side) in [(self.sectors - 1, -1.0), (1, 1.0)] {
            let edge = if side < 0.0 { sector } else { sector + 1 };
            let (s, c) = (std::f64::consts::TAU * f64::from(edge) / f64::from(self.sectors)).sin_cos();
            let past = |v: V| side * (c * v[1] - s * v[0]);
            if self.sectors > 1 && past(direction) > 0.0 {
                let to = Cell::new(ring, layer, (sector + step) % self.sectors);
                see(-past(place) / past(direction), Some(to));
            }
        }
        let outer = (ring as usize + 1 < self.around.len()).then(|| Cell::new(ring + 1, layer, sector));
        if let Some([_, last]) = self.around[ring as usize].crossings(place, direction) {
            see(last, outer);
        }
        let inner = ring.checked_sub(1).map(|ring| (self.around[ring as usize], Cell::new(ring, layer, sector)));
        if let Some((surface, to)) = inner
            && let Some([first, last]) = surface.crossings(place, direction)
            // A line that leaves the inner surface here crossed it long ago.
            && first > -0.05
            && last - first > 0.05
        {
            see(first, Some(to));
        }
        nearest
    }
}
