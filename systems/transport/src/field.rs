//! Magnetic fields. Lengths in mm, fields in T.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use npyz::WriterBuilder;

use crate::error::{Error, Result};
use crate::number::{Number, Vector};

/// A magnetic field.
pub trait Field<T: Number> {
    /// Returns the field at a position \[T\].
    fn at(&self, place: Vector<T>) -> Vector<T>;
}

/// A uniform field \[T\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform<T>(pub Vector<T>);

impl<T: Number> Field<T> for Uniform<T> {
    fn at(&self, _: Vector<T>) -> Vector<T> {
        self.0
    }
}

/// The parametrised field of the CMS solenoid from the prototype's backport. It describes the
/// tracker, and is smooth everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parametrised;

/// Its parameters: field \[T\], lengths and positions \[m\].
const P: [f64; 9] = [4.24326, 15.0201, 3.81492, 0.0178712, 0.000656527, 2.45818, 0.00778695, 2.12500, 1.77436];

impl Parametrised {
    /// Returns Bz and Br \[T\] at a distance from the axis and a position along it \[mm\].
    #[must_use]
    pub fn components<T: Number>(r: T, z: T) -> [T; 2] {
        let p = |n: usize| T::of(P[n]);
        let [one, two, half] = [1.0, 2.0, 0.5].map(T::of);
        let (r, z) = (r * T::of(1e-3), z * T::of(1e-3) - p(3));
        let squared = two * p(0) / p(1);
        let big = squared * squared;
        let h = half * p(2) * (one + big).root();
        let l = one / big.root();
        let a = two * l / p(1);
        let [f_u, f_v] = [l - z * a, l + z * a].map(derivatives);
        let rho = half * r * a;
        let square = rho * rho;
        let end = |z: T| {
            let distance = (z - p(7)) / p(8);
            (-(distance * distance)).exp()
        };
        let from_bend = (z.magnitude() - p(5)) * (z.magnitude() - p(5));
        let br = h * rho * (f_u[1] - f_v[1] - half * (f_u[3] - f_v[3]) * square) + p(4) * r * z * from_bend;
        let bz = h * (f_u[0] + f_v[0] - (f_u[2] + f_v[2]) * square) - p(6) * (end(z) + end(-z));
        [bz, br]
    }
}

/// Returns u / sqrt(1 + u^2) and its derivatives, as in the parametrisation.
fn derivatives<T: Number>(u: T) -> [T; 4] {
    let [one, three, four] = [1.0, 3.0, 4.0].map(T::of);
    let inverse = one / (one + u * u);
    let f0 = u * inverse.root();
    let f1 = inverse * inverse.root();
    let f2 = -(three * u * f1 * inverse);
    // f2 (1 / u - 4 u) / (1 + u^2), which is finite where u is 0.
    let f3 = -(three * f1 * inverse * inverse) * (one - four * u * u);
    [f0, f1, f2, f3]
}

impl<T: Number> Field<T> for Parametrised {
    fn at(&self, place: Vector<T>) -> Vector<T> {
        let r = (place[0] * place[0] + place[1] * place[1]).root();
        around(place, r, Self::components(r, place[2]))
    }
}

/// From components along the axis and away from it.
fn around<T: Number>([x, y, _]: Vector<T>, r: T, [bz, br]: [T; 2]) -> Vector<T> {
    let zero = T::of(0.0);
    if r > zero { [br * (x / r), br * (y / r), bz] } else { [zero, zero, bz] }
}

/// A field map: Bz and Br on a grid in r and z, with bilinear interpolation.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Points away from the axis, from 0 on, and along it, around 0.
    points: [usize; 2],
    /// The distance between points \[mm\].
    step: f64,
    /// Bz and Br \[T\] at point `iz + ir * points[1]`.
    values: Vec<[f32; 2]>,
}

/// Grids have at least two points each way, and no more than can be numbered in 32 bits.
fn check(points: [usize; 2], step: f64) -> Result<usize> {
    let wrong = |what: String| Err(Error::Map { what });
    let [r, z] = points;
    if r < 2 || z < 2 {
        return wrong(format!("{r} x {z} points: two each way are needed to interpolate"));
    }
    if !(step.is_finite() && step > 0.0) {
        return wrong(format!("points {step} mm apart: a distance above 0 is needed"));
    }
    match r.checked_mul(z).filter(|&count| count <= u32::MAX as usize) {
        Some(count) => Ok(count),
        None => wrong(format!("{r} x {z} points are more than can be numbered in 32 bits")),
    }
}

impl Map {
    /// The grid of the prototype: 901 x 3201 points, 10 mm apart. It covers 9 m from the axis, and
    /// 16 m along it on either side.
    pub const PROTOTYPE: ([usize; 2], f64) = ([901, 3201], 10.0);

    /// Makes a map of Bz and Br \[T\] on a grid of points in r and z, `step` \[mm\] apart. The
    /// values of all z of the first r come first.
    ///
    /// # Errors
    /// [`Error::Map`] for fewer than two points in r or z, a wrong number of values, or a step or a
    /// value that is not finite.
    pub fn new(points: [usize; 2], step: f64, values: Vec<[f32; 2]>) -> Result<Self> {
        let count = check(points, step)?;
        if values.len() != count {
            let what = format!("{} values for {} x {} points", values.len(), points[0], points[1]);
            return Err(Error::Map { what });
        }
        if let Some(at) = values.iter().position(|value| value.iter().any(|number| !number.is_finite())) {
            let (ir, iz) = (at / points[1], at % points[1]);
            return Err(Error::Map { what: format!("the field at point {ir}, {iz} is no finite number") });
        }
        Ok(Self { points, step, values })
    }

    /// Makes the map of a field with axial symmetry from its components at (r, z).
    ///
    /// # Errors
    /// As [`Map::new`].
    pub fn of(points: [usize; 2], step: f64, components: impl Fn(f64, f64) -> [f64; 2]) -> Result<Self> {
        let count = check(points, step)?;
        let value = |at: usize| {
            let (ir, iz) = (at / points[1], at % points[1]);
            components(ir as f64 * step, along(points, step, iz)).map(|number| number as f32)
        };
        Self::new(points, step, (0..count).map(value).collect())
    }

    /// Makes the map of [`Parametrised`] on the grid of the prototype.
    ///
    /// # Errors
    /// As [`Map::new`].
    pub fn parametrised() -> Result<Self> {
        let (points, step) = Self::PROTOTYPE;
        Self::of(points, step, Parametrised::components::<f64>)
    }

    /// Returns the numbers of points in r and in z.
    #[must_use]
    pub fn points(&self) -> [usize; 2] {
        self.points
    }

    /// Returns the distance between points \[mm\].
    #[must_use]
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Returns Bz and Br \[T\] of each point.
    #[must_use]
    pub fn values(&self) -> &[[f32; 2]] {
        &self.values
    }

    /// Returns Bz and Br \[T\] at a distance from the axis and a position along it \[mm\]. Both are
    /// 0 outside of the grid.
    #[must_use]
    pub fn components<T: Number>(&self, r: T, z: T) -> [T; 2] {
        let step = T::of(self.step);
        let [in_r, in_z] = self.points.map(|points| T::of((points - 1) as f64));
        let (r, z) = (r / step, z / step + in_z / T::of(2.0));
        let zero = T::of(0.0);
        // NaN counts as outside.
        if !(r >= zero && r <= in_r && z >= zero && z <= in_z) {
            return [zero, zero];
        }
        // At the last point, the cell before it.
        let cell = |at: T, last: usize| at.down().least(T::of((last - 2) as f64));
        let (ir, iz) = (cell(r, self.points[0]), cell(z, self.points[1]));
        let (dr, dz) = (r - ir, z - iz);
        let first = Into::<f64>::into(ir) as usize * self.points[1] + Into::<f64>::into(iz) as usize;
        let value = |at: usize, n: usize| T::of(f64::from(self.values[at][n]));
        [0, 1].map(|n| {
            let between = |at: usize| value(at, n) + dz * (value(at + 1, n) - value(at, n));
            let (inner, outer) = (between(first), between(first + self.points[1]));
            inner + dr * (outer - inner)
        })
    }

    /// Reads a map from a `.npy` file: an array of shape (points in r, points in z, 2) with Bz and
    /// Br \[T\], of any type that [`array_file::read_npy`] reads. Points are `step` \[mm\] apart.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, has another shape or a number that is too large
    /// for f32; [`Error::Map`].
    pub fn read(path: &Path, step: f64) -> Result<Self> {
        let (shape, numbers) = array_file::read_npy::<f32>(path)?;
        let &[r, z, 2] = &shape[..] else {
            let what = format!("the array has shape {shape:?}, and [points of r, points of z, 2] is wanted");
            return Err(Error::File { path: path.display().to_string(), what });
        };
        let points = [r, z].map(|points| usize::try_from(points).unwrap_or(usize::MAX));
        let (values, _) = numbers.as_chunks();
        Self::new(points, step, values.to_vec())
    }

    /// Writes the map in the format that [`Map::read`] and `numpy.load` read.
    ///
    /// The writes are small, so `out` should be buffered.
    ///
    /// # Errors
    /// Any error of `out`.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let shape = [self.points[0] as u64, self.points[1] as u64, 2];
        let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
        array.extend(self.values.iter().flatten().copied())?;
        array.finish()
    }
}

/// A field of any kind, as the engines take it.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyField {
    /// A uniform field \[T\].
    Uniform(Vector<f64>),
    /// The parametrised field; see [`Parametrised`].
    Parametrised,
    /// A field map.
    Map(Arc<Map>),
}

impl AnyField {
    /// Checks the field.
    ///
    /// # Errors
    /// [`Error::Options`] for a uniform field above 100 T or not finite.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Uniform(value) if !value.iter().all(|tesla| tesla.abs() <= 100.0) => {
                Err(Error::Options { what: format!("a field of {value:?} T: 100 T at most are wanted") })
            }
            _ => Ok(()),
        }
    }
}

impl<T: Number> Field<T> for AnyField {
    fn at(&self, place: Vector<T>) -> Vector<T> {
        match self {
            Self::Uniform(value) => value.map(T::of),
            Self::Parametrised => Parametrised.at(place),
            Self::Map(map) => map.at(place),
        }
    }
}

fn along(points: [usize; 2], step: f64, iz: usize) -> f64 {
    (iz as f64 - (points[1] - 1) as f64 / 2.0) * step
}

impl<T: Number> Field<T> for Map {
    fn at(&self, place: Vector<T>) -> Vector<T> {
        let r = (place[0] * place[0] + place[1] * place[1]).root();
        around(place, r, self.components(r, place[2]))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_parametrisation_has_no_sources() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let place = [rng.f64() * 2000.0 - 1000.0, rng.f64() * 2000.0 - 1000.0, rng.f64() * 5000.0 - 2500.0];
            let d = 0.5;
            let divergence: f64 = (0..3)
                .map(|axis| {
                    let beside = |by: f64| {
                        let mut place = place;
                        place[axis] += by;
                        Field::<f64>::at(&Parametrised, place)[axis]
                    };
                    (beside(d) - beside(-d)) / (2.0 * d)
                })
                .sum();
            // Its series ends; at the ends of the tracker Bz alone changes by 1e-4.
            assert!(divergence.abs() < 3e-6, "{place:?}: {divergence} T/mm");
        }
        // Where u is 0.
        let [bz, br] = Parametrised::components(300.0, 7000.0);
        assert!(f64::is_finite(bz) && f64::is_finite(br));
    }

    #[test]
    fn maps_are_linear_between_points_and_nothing_outside() {
        let map = Map::of([5, 7], 10.0, |r, z| [1.0 + r + 3.0 * z, 2.0 * r - z]).expect("a map");
        let found = |r: f64, z: f64| map.components(r, z);
        for (r, z) in [(0.0, 0.0), (13.0, -17.5), (40.0, 30.0), (0.0, -30.0), (39.9, 29.9)] {
            let [bz, br] = found(r, z);
            assert!((bz - (1.0 + r + 3.0 * z)).abs() < 1e-4 && (br - (2.0 * r - z)).abs() < 1e-4, "{r} {z}: {bz} {br}");
        }
        for (r, z) in [(40.1, 0.0), (0.0, 30.1), (0.0, -30.1), (f64::NAN, 0.0), (1.0, f64::INFINITY)] {
            assert_eq!(found(r, z), [0.0, 0.0]);
        }
    }

    #[test]
    fn maps_are_written_and_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("map.npy");
        let map = Map::of([3, 4], 10.0, |r, z| [r, z]).expect("a map");
        map.write(File::create(&path).expect("a file")).expect("written");
        assert_eq!(Map::read(&path, 10.0).expect("read"), map);
        let text = |path: &Path, step: f64| Map::read(path, step).expect_err("nonsense").to_string();
        assert!(text(&path, 0.0).contains("distance above 0"));
        assert!(text(&folder.path().join("none.npy"), 10.0).contains("none.npy"));
        let whole = std::fs::read(&path).expect("the file");
        // numpy's usual type is f64.
        let numbers = map.values().iter().flatten().map(|&number| f64::from(number));
        let mut doubles = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(&[3, 4, 2]);
        let mut array = options.writer(&mut doubles).begin_nd().expect("a header");
        array.extend(numbers).expect("written");
        array.finish().expect("written");
        std::fs::write(&path, doubles).expect("written");
        assert_eq!(Map::read(&path, 10.0).expect("read"), map);
        std::fs::write(&path, &whole[..whole.len() - 5]).expect("written");
        assert!(text(&path, 10.0).contains("map.npy"), "{}", text(&path, 10.0));
        std::fs::write(&path, b"no array").expect("written");
        assert!(text(&path, 10.0).contains("map.npy"));
        for nonsense in [
            Map::new([1, 4], 10.0, vec![[0.0; 2]; 4]),
            Map::new([2, 2], 10.0, vec![[0.0; 2]; 3]),
            Map::new([2, 2], f64::NAN, vec![[0.0; 2]; 4]),
            Map::new([2, 2], 10.0, vec![[f32::NAN; 2]; 4]),
            Map::new([usize::MAX, 2], 10.0, Vec::new()),
        ] {
            assert!(matches!(nonsense, Err(Error::Map { .. })));
        }
    }
}
