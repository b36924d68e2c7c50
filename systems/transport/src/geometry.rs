//! Geometries: tubes and boxes around the z axis, in a box. Lengths in mm.
//!
//! A [`Geometry`] lists volumes. A [`Mesh`] divides the world by their surfaces: nested shells
//! (cylinders and boxes) around the axis give rings, planes across the axis give layers, and half
//! planes from the axis give sectors. All surfaces extend through the whole world, so every cell
//! has few bounds. A bound between two equal cells only ends a step. A track stores its cell,
//! because its position is ambiguous at a surface.

use crate::error::{Error, Result};
use crate::material::Material;
use crate::number::{Number, Vector};

/// A cell of the geometry: ring, layer and sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cell(pub(crate) u32);

/// Bits of a cell: four of the ring, eight of the layer, eight of the sector.
pub(crate) const LAYER_AT: u32 = 4;
pub(crate) const SECTOR_AT: u32 = 12;

impl Cell {
    /// The outside of the world.
    pub const OUTSIDE: Self = Self(0xf_ffff);

    pub(crate) const fn new(ring: u32, layer: u32, sector: u32) -> Self {
        Self(ring | layer << LAYER_AT | sector << SECTOR_AT)
    }

    pub(crate) const fn ring(self) -> u32 {
        self.0 & 15
    }

    pub(crate) const fn layer(self) -> u32 {
        self.0 >> LAYER_AT & 0xff
    }

    pub(crate) const fn sector(self) -> u32 {
        self.0 >> SECTOR_AT & 0xff
    }
}

/// The cross section of a volume around the z axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A tube, or a solid cylinder if the inner radius is 0.
    Tube {
        /// The inner radius \[mm\].
        inner: f64,
        /// The outer radius \[mm\].
        outer: f64,
    },
    /// A box.
    Box {
        /// Half of the size in x and y \[mm\].
        half: [f64; 2],
    },
}

/// A volume of one material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// The cross section.
    pub shape: Shape,
    /// The range of z \[mm\].
    pub z: [f64; 2],
    /// The material, an index into [`Geometry::materials`]; `None` is vacuum.
    pub material: Option<usize>,
}

/// Volumes in a world of vacuum. Where volumes overlap, the later one counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Half of the size of the world in x, y and z \[mm\].
    pub world: [f64; 3],
    /// The number of sectors around the axis. Their bounds end steps.
    pub sectors: u32,
    /// The materials.
    pub materials: Vec<Material>,
    /// The volumes.
    pub volumes: Vec<Volume>,
}

impl Default for Geometry {
    /// Returns the geometry of the prototype: tubes of lead tungstate from 10 mm to 5 m in 4
    /// sectors and 3 layers, 6 m long, in a box of 18 m x 18 m x 32 m.
    fn default() -> Self {
        Self::tubes([10.0, 5000.0], 3000.0, 3, 4)
    }
}

/// A surface around the z axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shell {
    Cylinder(f64),
    Box([f64; 2]),
}

/// The least distance of two surfaces \[mm\]: paths end within 0.01 mm of one.
const LEAST_GAP: f64 = 0.1;
/// Coordinates at most \[mm\]: f32 resolves 2 um there.
const MOST_LENGTH: f64 = 20_000.0;

impl Shell {
    fn inradius(self) -> f64 {
        match self {
            Self::Cylinder(radius) => radius,
            Self::Box([x, y]) => x.min(y),
        }
    }

    /// Returns how much room is between this shell and one around it; negative if they cross.
    fn gap(self, around: Self) -> f64 {
        match (self, around) {
            (Self::Cylinder(inner), outer) => outer.inradius() - inner,
            (Self::Box([x, y]), Self::Cylinder(radius)) => radius - x.hypot(y),
            (Self::Box(inner), Self::Box(outer)) => (outer[0] - inner[0]).min(outer[1] - inner[1]),
        }
    }

    fn contains(self, x: f64, y: f64) -> bool {
        match self {
            Self::Cylinder(radius) => x.hypot(y) < radius,
            Self::Box(half) => x.abs() < half[0] && y.abs() < half[1],
        }
    }
}

impl Geometry {
    /// The largest number of sectors.
    pub const MOST_SECTORS: u32 = 63;
    /// The largest number of layers, those beyond the volumes included.
    pub const MOST_LAYERS: usize = 255;
    /// The largest number of nested cylinders and boxes, the world included.
    pub const MOST_SHELLS: usize = 15;

    /// Returns tubes of lead tungstate in the prototype's world: radii \[mm\], half of the length
    /// \[mm\], and the numbers of layers and sectors.
    #[must_use]
    pub fn tubes(radii: [f64; 2], half_length: f64, layers: u32, sectors: u32) -> Self {
        let edge = |layer: u32| half_length * (2.0 * f64::from(layer) / f64::from(layers) - 1.0);
        let shape = Shape::Tube { inner: radii[0], outer: radii[1] };
        let volume = |layer| Volume { shape, z: [edge(layer), edge(layer + 1)], material: Some(0) };
        Self {
            world: [9000.0, 9000.0, 16_000.0],
            sectors,
            materials: vec![Material::lead_tungstate()],
            volumes: (0..layers).map(volume).collect(),
        }
    }

    /// Checks the geometry.
    ///
    /// # Errors
    /// [`Error::Options`] if it is invalid: lengths out of range, surfaces that cross or nearly
    /// touch, a material that does not exist, or too many surfaces.
    pub fn check(&self) -> Result<()> {
        Mesh::new(self).map(drop)
    }

    /// Returns the cell at a position \[mm\]: [`Cell::OUTSIDE`] outside of the world and for a
    /// position that is not finite.
    ///
    /// # Errors
    /// As [`Geometry::check`].
    pub fn locate(&self, place: [f64; 3]) -> Result<Cell> {
        Ok(Mesh::new(self)?.locate(place))
    }
}

fn wrong<T>(what: String) -> Result<T> {
    Err(Error::Options { what: format!("geometry: {what}") })
}

/// The world as cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mesh {
    /// From the axis outwards; the last one is the world.
    pub(crate) shells: Vec<Shell>,
    /// Edges of the layers in increasing order, with those of the world at both ends.
    pub(crate) edges: Vec<f64>,
    pub(crate) sectors: u32,
    /// The material of each ring and layer, all layers of a ring together: 0 is vacuum, then from
    /// 1.
    pub(crate) regions: Vec<u32>,
}

impl Mesh {
    pub(crate) fn new(geometry: &Geometry) -> Result<Self> {
        let Geometry { world, sectors, materials, volumes } = geometry;
        let is_length = |length: f64| (0.0..=MOST_LENGTH).contains(&length);
        if !world.iter().all(|&half| is_length(half) && half >= 1.0) {
            return wrong(format!("a world of half sizes {world:?} mm: 1 mm to 20 m are wanted"));
        }
        if !(1..=Geometry::MOST_SECTORS).contains(sectors) {
            return wrong(format!("{sectors} sectors: 1 to {} are wanted", Geometry::MOST_SECTORS));
        }
        for material in materials {
            material.check()?;
        }
        let mut shells = vec![Shell::Box([world[0], world[1]])];
        let mut edges = vec![-world[2], world[2]];
        for (number, volume) in volumes.iter().enumerate() {
            check_volume(number, volume, materials.len())?;
            shells.extend(surfaces(volume.shape));
            edges.extend(volume.z);
        }
        shells.sort_by(|a, b| a.inradius().total_cmp(&b.inradius()));
        shells.dedup();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        if shells.len() > Geometry::MOST_SHELLS || edges.len() > Geometry::MOST_LAYERS + 1 {
            let (shells, layers) = (shells.len(), edges.len() - 1);
            let most = (Geometry::MOST_SHELLS, Geometry::MOST_LAYERS);
            return wrong(format!("{shells} shells and {layers} layers: there may be {} and {}", most.0, most.1));
        }
        for pair in shells.windows(2) {
            if pair[0].gap(pair[1]) < LEAST_GAP {
                return wrong(format!("{:?} and {:?} cross or are less than {LEAST_GAP} mm apart", pair[0], pair[1]));
            }
        }
        if shells.last() != Some(&Shell::Box([world[0], world[1]])) || edges[0] != -world[2] {
            return wrong(format!("a world of half sizes {world:?} mm does not contain the volumes"));
        }
        if let Some(pair) = edges.windows(2).find(|pair| pair[1] - pair[0] < LEAST_GAP) {
            return wrong(format!("a layer from z = {} to {} mm: {LEAST_GAP} mm are the least", pair[0], pair[1]));
        }
        let mut mesh = Self { regions: vec![0; shells.len() * (edges.len() - 1)], shells, edges, sectors: *sectors };
        for volume in volumes {
            mesh.fill(volume);
        }
        Ok(mesh)
    }

    fn fill(&mut self, volume: &Volume) {
        let ring_of = |shell: Shell| self.shells.iter().position(|&other| other == shell).unwrap_or(0);
        let rings = match volume.shape {
            Shape::Tube { inner, outer } => {
                let first = if inner > 0.0 { ring_of(Shell::Cylinder(inner)) + 1 } else { 0 };
                first..ring_of(Shell::Cylinder(outer)) + 1
            }
            Shape::Box { half } => 0..ring_of(Shell::Box(half)) + 1,
        };
        let layer_of = |z: f64| self.edges.iter().position(|&edge| edge == z).unwrap_or(0);
        let (first, end, layers) = (layer_of(volume.z[0]), layer_of(volume.z[1]), self.layers());
        for ring in rings {
            self.regions[ring * layers + first..ring * layers + end]
                .fill(volume.material.map_or(0, |material| material as u32 + 1));
        }
    }

    pub(crate) fn layers(&self) -> usize {
        self.edges.len() - 1
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

    pub(crate) fn locate(&self, place: [f64; 3]) -> Cell {
        let [x, y, z] = place;
        let (low, high) = (self.edges[0], self.edges[self.layers()]);
        let Some(ring) = self.shells.iter().position(|shell| shell.contains(x, y)) else { return Cell::OUTSIDE };
        if !(z > low && z < high) {
            return Cell::OUTSIDE;
        }
        let layer = self.edges[1..].iter().take_while(|&&edge| z >= edge).count() as u32;
        let is_past = |sector: u32| {
            let [cos, sin] = self.half_plane(sector);
            cos * y - sin * x
        };
        let inside = |sector: u32| is_past(sector) >= 0.0 && is_past(sector + 1) < 0.0;
        let sector = if self.sectors == 1 { 0 } else { (0..self.sectors).find(|&sector| inside(sector)).unwrap_or(0) };
        Cell::new(ring as u32, layer, sector)
    }

    #[cfg(test)]
    fn material(&self, cell: Cell) -> u32 {
        Bounds::<f64>::new(self).material(cell)
    }
}

fn check_volume(number: usize, volume: &Volume, materials: usize) -> Result<()> {
    let of = format!("volume {number}");
    let [low, high] = volume.z;
    let is_valid = |length: f64| (0.0..=MOST_LENGTH).contains(&length);
    if !(low.abs() <= MOST_LENGTH && high.abs() <= MOST_LENGTH && low < high) {
        return wrong(format!("{of}: z from {low} to {high} mm: a rising range within 20 m is wanted"));
    }
    match volume.shape {
        Shape::Tube { inner, outer } if !(is_valid(inner) && is_valid(outer) && inner < outer) => {
            return wrong(format!("{of}: radii from {inner} to {outer} mm: a rising range from 0 to 20 m is wanted"));
        }
        Shape::Box { half } if !half.iter().all(|&half| is_valid(half) && half >= LEAST_GAP) => {
            return wrong(format!("{of}: half sizes of {half:?} mm: {LEAST_GAP} mm to 20 m are wanted"));
        }
        _ => {}
    }
    match volume.material {
        Some(material) if material >= materials => wrong(format!("{of}: there is no material {material}")),
        _ => Ok(()),
    }
}

fn surfaces(shape: Shape) -> Vec<Shell> {
    match shape {
        Shape::Tube { inner, outer } if inner > 0.0 => vec![Shell::Cylinder(inner), Shell::Cylinder(outer)],
        Shape::Tube { outer, .. } => vec![Shell::Cylinder(outer)],
        Shape::Box { half } => vec![Shell::Box(half)],
    }
}

/// A shell in the computation's numbers: the radius, or half of the size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surface<T> {
    pub(crate) half: [T; 2],
    pub(crate) is_box: bool,
}

/// A [`Mesh`] in the computation's numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bounds<T> {
    pub(crate) shells: Vec<Surface<T>>,
    pub(crate) edges: Vec<T>,
    pub(crate) sectors: u32,
    /// Cosine and sine of each sector's first half plane, and again of the first.
    pub(crate) half_planes: Vec<[T; 2]>,
    pub(crate) regions: Vec<u32>,
}

/// Where a straight line leaves a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Exit<T> {
    /// From here \[mm\]; never below 0.
    pub(crate) distance: T,
    /// The next cell.
    pub(crate) to: Cell,
}

/// A position may be so far inside of a box that it is about to enter \[mm\].
pub(crate) const ENTRY_TOLERANCE: f64 = 0.05;

impl<T: Number> Exit<T> {
    fn nearer(&mut self, distance: T, to: Cell) {
        // Rounding may place a track slightly beyond a surface.
        let distance = distance.most(T::of(0.0));
        if distance < self.distance {
            *self = Self { distance, to };
        }
    }
}

impl<T: Number> Bounds<T> {
    pub(crate) fn new(mesh: &Mesh) -> Self {
        let shell = |shell: &Shell| match *shell {
            Shell::Cylinder(radius) => Surface { half: [T::of(radius); 2], is_box: false },
            Shell::Box(half) => Surface { half: half.map(T::of), is_box: true },
        };
        Self {
            shells: mesh.shells.iter().map(shell).collect(),
            edges: mesh.edges.iter().map(|&edge| T::of(edge)).collect(),
            sectors: mesh.sectors,
            half_planes: (0..=mesh.sectors).map(|sector| mesh.half_plane(sector).map(T::of)).collect(),
            regions: mesh.regions.clone(),
        }
    }

    fn layers(&self) -> u32 {
        self.edges.len() as u32 - 1
    }

    /// The number of the region of a cell: of its ring and layer.
    pub(crate) fn region(&self, cell: Cell) -> u32 {
        cell.ring() * self.layers() + cell.layer()
    }

    /// The material of a cell: 0 is vacuum.
    pub(crate) fn material(&self, cell: Cell) -> u32 {
        if cell == Cell::OUTSIDE { 0 } else { self.regions[self.region(cell) as usize] }
    }

    /// Where a straight line leaves a cell in which it begins.
    pub(crate) fn exit(&self, cell: Cell, place: Vector<T>, direction: Vector<T>) -> Exit<T> {
        let zero = T::of(0.0);
        let ([x, y, z], [u, v, w]) = (place, direction);
        let (ring, layer, sector) = (cell.ring(), cell.layer(), cell.sector());
        let mut exit = Exit { distance: T::of(1e30), to: Cell::OUTSIDE };
        if w > zero {
            let to = if layer + 1 == self.layers() { Cell::OUTSIDE } else { Cell::new(ring, layer + 1, sector) };
            exit.nearer((self.edges[layer as usize + 1] - z) / w, to);
        } else if w < zero {
            let to = if layer == 0 { Cell::OUTSIDE } else { Cell::new(ring, layer - 1, sector) };
            exit.nearer((self.edges[layer as usize] - z) / w, to);
        }
        if self.sectors > 1 {
            // The distance from a half plane's plane, and its rate of change.
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
        let is_last = ring as usize + 1 == self.shells.len();
        let to = if is_last { Cell::OUTSIDE } else { Cell::new(ring + 1, layer, sector) };
        outwards(&mut exit, self.shells[ring as usize], [x, y], [u, v], to);
        if ring > 0 {
            inwards(&mut exit, self.shells[ring as usize - 1], [x, y], [u, v], Cell::new(ring - 1, layer, sector));
        }
        exit
    }
}

/// Where a line inside of a shell leaves it.
fn outwards<T: Number>(exit: &mut Exit<T>, shell: Surface<T>, at: [T; 2], along: [T; 2], to: Cell) {
    let zero = T::of(0.0);
    if shell.is_box {
        for axis in 0..2 {
            if along[axis] > zero {
                exit.nearer((shell.half[axis] - at[axis]) / along[axis], to);
            } else if along[axis] < zero {
                exit.nearer((shell.half[axis] + at[axis]) / -along[axis], to);
            }
        }
        return;
    }
    // |at + t along|^2 = R^2 is a t^2 + 2 b t + c = 0.
    let (a, b, c) = quadratic(shell, at, along);
    let discriminant = b * b - a * c;
    if a > zero && discriminant >= zero {
        let root = discriminant.root();
        exit.nearer(if b > zero { -(c / (b + root)) } else { (root - b) / a }, to);
    }
}

/// Where a line outside of a shell enters it.
fn inwards<T: Number>(exit: &mut Exit<T>, shell: Surface<T>, at: [T; 2], along: [T; 2], to: Cell) {
    let zero = T::of(0.0);
    if !shell.is_box {
        let (a, b, c) = quadratic(shell, at, along);
        let discriminant = b * b - a * c;
        if b < zero && discriminant >= zero {
            exit.nearer(c / (discriminant.root() - b), to);
        }
        return;
    }
    let (mut enters, mut leaves, mut speed) = (T::of(-1e30), T::of(1e30), zero);
    for axis in 0..2 {
        let (half, at, along) = (shell.half[axis], at[axis], along[axis]);
        let (rate, side) = if along < zero { (-along, -at) } else { (along, at) };
        if rate > zero {
            let entry = (-half - side) / rate;
            if entry > enters {
                (enters, speed) = (entry, rate);
            }
            leaves = leaves.least((half - side) / rate);
        } else if side.magnitude() >= half {
            return;
        }
    }
    let tolerance = T::of(ENTRY_TOLERANCE);
    // A line that has just left through a face entered it long ago. One that cuts a corner stays
    // outside.
    if enters * speed > -tolerance && leaves - enters > tolerance {
        exit.nearer(enters, to);
    }
}

fn quadratic<T: Number>(shell: Surface<T>, [x, y]: [T; 2], [u, v]: [T; 2]) -> (T, T, T) {
    let r = (x * x + y * y).root();
    let radius = shell.half[0];
    (u * u + v * v, x * u + y * v, (r - radius) * (r + radius))
}

#[cfg(test)]
#[path = "geometry_tests.rs"]
mod tests;
