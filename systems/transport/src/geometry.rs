//! The "SimpleEcal": tubes around the axis, cut into sectors and layers, in an otherwise empty box. Lengths in mm.
//!
//! All surfaces extend through the whole world. Two cylinders divide it into bore, tubes and outside, planes across the
//! axis into layers, and half planes from the axis into sectors. Every cell has few bounds. A bound between two empty
//! cells only ends a step. A track stores its cell, because its position is ambiguous at a surface.

use crate::error::{Error, Result};
use crate::number::{Number, Vector};

/// A cell of the geometry: ring, layer and sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell(pub(crate) u32);

impl Cell {
    /// The outside of the world.
    pub const OUTSIDE: Self = Self(0xf_ffff);

    const fn new(ring: u32, layer: u32, sector: u32) -> Self {
        Self(ring | layer << 2 | sector << 10)
    }

    pub(crate) const fn ring(self) -> u32 {
        self.0 & 3
    }

    pub(crate) const fn layer(self) -> u32 {
        self.0 >> 2 & 0xff
    }

    pub(crate) const fn sector(self) -> u32 {
        self.0 >> 10 & 0xff
    }
}

/// Inside of the tubes, the tubes, and around them.
pub(crate) const BORE: u32 = 0;
pub(crate) const TUBE: u32 = 1;
pub(crate) const AROUND: u32 = 2;

/// The dimensions of the tubes and of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// The inner and outer radius of the tubes \[mm\].
    pub radii: [f64; 2],
    /// Half of the length of the tubes \[mm\].
    pub half_length: f64,
    /// The number of layers along the axis.
    pub layers: u32,
    /// The number of sectors around the axis.
    pub sectors: u32,
    /// Half of the size of the world in x, y and z \[mm\].
    pub world: [f64; 3],
}

impl Default for Geometry {
    /// Returns the geometry of the prototype: 4 x 3 tubes from 10 mm to 5 m, 6 m long, in a box of
    /// 18 m x 18 m x 32 m.
    fn default() -> Self {
        Self { radii: [10.0, 5000.0], half_length: 3000.0, layers: 3, sectors: 4, world: [9000.0, 9000.0, 16_000.0] }
    }
}

impl Geometry {
    /// The largest number of sectors and of layers.
    pub const MOST: u32 = 63;

    /// Checks the dimensions.
    ///
    /// # Errors
    /// [`Error::Options`] if they are invalid.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Options { what: format!("geometry: {what}") });
        let &Self { radii: [inner, outer], half_length, layers, sectors, world: [x, y, z] } = self;
        // Within so much, f32 places a particle to 2 um.
        let is_length = |length: f64| (1.0..=20_000.0).contains(&length);
        if !(is_length(inner) && is_length(outer) && inner + 1.0 <= outer) {
            return wrong(format!(
                "tubes from {inner} to {outer} mm: 1 mm to 20 m from the axis, and 1 mm at least, are wanted"
            ));
        }
        if !(is_length(half_length) && [x, y, z].into_iter().all(is_length)) {
            return wrong("lengths are from 1 mm to 20 m".to_owned());
        }
        if outer + 1.0 > x.min(y) || half_length + 1.0 > z {
            return wrong(format!("a world of {x} x {y} x {z} mm to either side does not hold the tubes"));
        }
        if !(1..=Self::MOST).contains(&layers) || !(1..=Self::MOST).contains(&sectors) {
            return wrong(format!("{sectors} sectors and {layers} layers: 1 to {} of each", Self::MOST));
        }
        Ok(())
    }

    /// Of a layer's lower bound \[mm\]; its upper one is the next one's.
    pub(crate) fn edge(&self, layer: u32) -> f64 {
        if layer == 0 {
            -self.world[2]
        } else if layer > self.layers + 1 {
            self.world[2]
        } else {
            self.half_length * (2.0 * f64::from(layer - 1) / f64::from(self.layers) - 1.0)
        }
    }

    /// Cosine and sine of a sector's first half plane.
    pub(crate) fn half_plane(&self, sector: u32) -> [f64; 2] {
        let quarters = 4 * (sector % self.sectors);
        if quarters.is_multiple_of(self.sectors) {
            // Exactly.
            return [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][(quarters / self.sectors) as usize];
        }
        let (sin, cos) = (std::f64::consts::TAU * f64::from(sector) / f64::from(self.sectors)).sin_cos();
        [cos, sin]
    }

    /// Returns whether a cell contains matter.
    #[must_use]
    pub fn is_material(&self, cell: Cell) -> bool {
        cell != Cell::OUTSIDE && cell.ring() == TUBE && (1..=self.layers).contains(&cell.layer())
    }

    /// Returns the cell at a position \[mm\]: [`Cell::OUTSIDE`] outside of the world and for a
    /// position that is not finite.
    #[must_use]
    pub fn locate(&self, place: [f64; 3]) -> Cell {
        let [x, y, z] = place;
        if !(x.abs() < self.world[0] && y.abs() < self.world[1] && z.abs() < self.world[2]) {
            return Cell::OUTSIDE;
        }
        let r = x.hypot(y);
        let ring = if r < self.radii[0] {
            BORE
        } else if r < self.radii[1] {
            TUBE
        } else {
            AROUND
        };
        let layer = (1..=self.layers + 1).take_while(|&layer| z >= self.edge(layer)).count() as u32;
        // The sector between whose half planes it is.
        let is_past = |sector: u32| {
            let [cos, sin] = self.half_plane(sector);
            cos * y - sin * x
        };
        let inside = |sector: u32| is_past(sector) >= 0.0 && is_past(sector + 1) < 0.0;
        let sector = if self.sectors == 1 { 0 } else { (0..self.sectors).find(|&sector| inside(sector)).unwrap_or(0) };
        Cell::new(ring, layer, sector)
    }
}

/// The same in the computation's numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds<T> {
    pub(crate) radii: [T; 2],
    pub(crate) world: [T; 3],
    /// Layers of the tubes, and sectors.
    pub(crate) layers: u32,
    pub(crate) sectors: u32,
    /// Of all layers, those beyond the tubes among them; one more at the end.
    pub(crate) edges: Vec<T>,
    /// Cosine and sine of each sector's first half plane, and again of the first.
    pub(crate) half_planes: Vec<[T; 2]>,
}

/// Where a straight line leaves a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exit<T> {
    /// From here \[mm\]; none is below 0.
    pub(crate) distance: T,
    /// What is beyond.
    pub(crate) to: Cell,
}

impl<T: Number> Exit<T> {
    fn nearer(&mut self, distance: T, to: Cell) {
        // By a rounding beyond a surface is at it.
        let distance = distance.most(T::of(0.0));
        if distance < self.distance {
            *self = Self { distance, to };
        }
    }
}

impl<T: Number> Bounds<T> {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self {
            radii: geometry.radii.map(T::of),
            world: geometry.world.map(T::of),
            layers: geometry.layers,
            sectors: geometry.sectors,
            edges: (0..=geometry.layers + 2).map(|layer| T::of(geometry.edge(layer))).collect(),
            half_planes: (0..=geometry.sectors).map(|sector| geometry.half_plane(sector).map(T::of)).collect(),
        }
    }

    pub(crate) fn is_material(&self, cell: Cell) -> bool {
        cell.ring() == TUBE && cell.layer() >= 1 && cell.layer() <= self.layers
    }

    /// Where a straight line leaves a cell in which it begins.
    pub(crate) fn exit(&self, cell: Cell, place: Vector<T>, direction: Vector<T>) -> Exit<T> {
        let zero = T::of(0.0);
        let [x, y, z] = place;
        let [u, v, w] = direction;
        let (ring, layer, sector) = (cell.ring(), cell.layer(), cell.sector());
        let mut exit = Exit { distance: T::of(1e30), to: Cell::OUTSIDE };
        // Across the axis.
        if w > zero {
            let to = if layer == self.layers + 1 { Cell::OUTSIDE } else { Cell::new(ring, layer + 1, sector) };
            exit.nearer((self.edges[layer as usize + 1] - z) / w, to);
        } else if w < zero {
            let to = if layer == 0 { Cell::OUTSIDE } else { Cell::new(ring, layer - 1, sector) };
            exit.nearer((self.edges[layer as usize] - z) / w, to);
        }
        // Around it: d is the distance from a half plane's plane, into the sector that it begins.
        if self.sectors > 1 {
            let past = |half_plane: usize| {
                let [cos, sin] = self.half_planes[half_plane];
                (cos * y - sin * x, cos * v - sin * u)
            };
            let (d, towards) = past(sector as usize);
            if towards < zero {
                let to = if sector == 0 { self.sectors - 1 } else { sector - 1 };
                exit.nearer(-(d / towards), Cell::new(ring, layer, to));
            }
            let (d, towards) = past(sector as usize + 1);
            if towards > zero {
                let to = if sector + 1 == self.sectors { 0 } else { sector + 1 };
                exit.nearer(-(d / towards), Cell::new(ring, layer, to));
            }
        }
        // Away from it: |place + t direction|^2 = R^2 is a t^2 + 2 b t + c = 0.
        let (a, b, r) = (u * u + v * v, x * u + y * v, (x * x + y * y).root());
        if ring != AROUND {
            let radius = self.radii[ring as usize];
            let c = (r - radius) * (r + radius);
            let discriminant = b * b - a * c;
            if a > zero && discriminant >= zero {
                let root = discriminant.root();
                let distance = if b > zero { -(c / (b + root)) } else { (root - b) / a };
                exit.nearer(distance, Cell::new(ring + 1, layer, sector));
            }
        }
        if ring != BORE {
            let radius = self.radii[ring as usize - 1];
            let c = (r - radius) * (r + radius);
            let discriminant = b * b - a * c;
            if b < zero && discriminant >= zero {
                exit.nearer(c / (discriminant.root() - b), Cell::new(ring - 1, layer, sector));
            }
        }
        if ring == AROUND {
            for (at, along, side) in [(x, u, self.world[0]), (y, v, self.world[1])] {
                if along > zero {
                    exit.nearer((side - at) / along, Cell::OUTSIDE);
                } else if along < zero {
                    exit.nearer((side + at) / -along, Cell::OUTSIDE);
                }
            }
        }
        exit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(place: [f64; 3]) -> (u32, u32, u32) {
        let cell = Geometry::default().locate(place);
        (cell.ring(), cell.layer(), cell.sector())
    }

    #[test]
    fn places_have_cells() {
        assert_eq!(rings([1.0, 1.0, 0.0]), (BORE, 2, 0));
        assert_eq!(rings([-1400.0, 3.0, -2999.0]), (TUBE, 1, 1));
        assert_eq!(rings([-1400.0, -3.0, 3001.0]), (TUBE, 4, 2));
        assert_eq!(rings([5001.0, -3.0, -3001.0]), (AROUND, 0, 3));
        let geometry = Geometry::default();
        for place in [[9000.1, 0.0, 0.0], [0.0, 0.0, -16_000.0], [f64::NAN, 0.0, 0.0], [0.0, f64::INFINITY, 0.0]] {
            assert_eq!(geometry.locate(place), Cell::OUTSIDE);
        }
        assert!(geometry.is_material(geometry.locate([0.0, 1300.0, 999.0])));
        for place in [[0.0, 9.0, 0.0], [0.0, 1300.0, 3000.1], [5000.1, 0.0, 0.0], [1e5, 0.0, 0.0]] {
            assert!(!geometry.is_material(geometry.locate(place)));
        }
    }

    /// Lines through the world: each cell ends where the next one begins, and is the one of what lies between.
    fn cross<T: Number>(geometry: &Geometry, within: f64, rng: &mut fastrand::Rng) {
        let bounds = Bounds::<T>::new(geometry);
        let mut between = |low: f64, high: f64| low + rng.f64() * (high - low);
        for _ in 0..400 {
            let [x, y, z] = geometry.world;
            let scale = if between(0.0, 1.0) < 0.3 { 0.002 } else { 0.99 };
            let mut place = [between(-x, x) * scale, between(-y, y) * scale, between(-z, z)];
            let mut direction = [between(-1.0, 1.0), between(-1.0, 1.0), between(-1.0, 1.0)];
            let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            direction = direction.map(|d| d / length);
            let mut cell = geometry.locate(place);
            let mut cells = 0;
            while cell != Cell::OUTSIDE {
                let exit = bounds.exit(cell, place.map(T::of), direction.map(T::of));
                let distance: f64 = exit.distance.into();
                let middle = std::array::from_fn(|i| place[i] + 0.5 * distance * direction[i]);
                if distance > within {
                    assert_eq!(geometry.locate(middle), cell, "{}: {place:?} {direction:?}", T::PRECISION);
                }
                place = std::array::from_fn(|i| place[i] + distance * direction[i]);
                cell = exit.to;
                cells += 1;
                assert!(cells < 100, "{}: goes nowhere", T::PRECISION);
            }
            // It is at a side.
            let off = (0..3).map(|i| place[i].abs() - geometry.world[i]).fold(f64::NEG_INFINITY, f64::max);
            assert!(off.abs() < within, "{}: {off} mm from the side", T::PRECISION);
        }
    }

    #[test]
    fn lines_cross_the_world_cell_by_cell() {
        let mut rng = fastrand::Rng::with_seed(5);
        let odd = Geometry { layers: 7, sectors: 5, ..Geometry::default() };
        let one = Geometry { layers: 1, sectors: 1, radii: [300.0, 600.0], ..Geometry::default() };
        for geometry in [Geometry::default(), odd, one] {
            geometry.check().expect("it can be");
            cross::<f64>(&geometry, 1e-6, &mut rng);
            cross::<f32>(&geometry, 0.02, &mut rng);
        }
    }

    #[test]
    fn geometries_that_cannot_be_are_told() {
        let told = |geometry: Geometry| geometry.check().expect_err("nonsense").to_string();
        let usual = Geometry::default();
        assert!(told(Geometry { radii: [10.0, 10.5], ..usual }).contains("tubes from 10 to 10.5 mm"));
        assert!(told(Geometry { radii: [f64::NAN, 10.5], ..usual }).contains("tubes from NaN"));
        assert!(told(Geometry { world: [4000.0, 9000.0, 16_000.0], ..usual }).contains("does not hold"));
        assert!(told(Geometry { layers: 0, ..usual }).contains("0 layers"));
        assert!(told(Geometry { sectors: 64, ..usual }).contains("64 sectors"));
    }
}
