//! Triangles of the unit square: regular, irregular, graded.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result, check_memory};
use crate::mesh::Triangles;

/// The largest jitter, in cells. Triangles keep a positive area up to 0.207.
pub const MOST_JITTER: f64 = 0.2;

/// The largest grading power. Cells at the far sides become longer and thinner with it.
pub const MOST_POWER: f64 = 4.0;

/// Makes n x n cells, each cut from its lower left to its upper right. The vertices are numbered
/// row by row: `row * (n + 1) + column`.
///
/// # Errors
/// [`Error::Generator`] if `n` is 0; [`Error::TooLarge`].
pub fn unit_square(n: usize) -> Result<Triangles> {
    grid(n, |i| i as f64 / n as f64)
}

/// Makes a unit square whose cells shrink towards the origin. The grid lines are at (i / n)^power,
/// with a `power` from 1 to [`MOST_POWER`].
///
/// # Errors
/// [`Error::Generator`] if `n` is 0 or the power is out of range; [`Error::TooLarge`].
pub fn graded(n: usize, power: f64) -> Result<Triangles> {
    if !(1.0..=MOST_POWER).contains(&power) {
        return Err(Error::Generator {
            what: format!("cells are graded by a power from 1 to {MOST_POWER}, not {power}"),
        });
    }
    grid(n, |i| (i as f64 / n as f64).powf(power))
}

/// Makes a unit square and moves each inner vertex at random, in x and in y, by up to `fraction` of
/// a cell; at most [`MOST_JITTER`]. Vertices on the sides stay.
///
/// # Errors
/// [`Error::Generator`] if `n` is 0 or the fraction is out of range; [`Error::TooLarge`].
pub fn jittered(n: usize, fraction: f64, seed: u64) -> Result<Triangles> {
    if !(0.0..=MOST_JITTER).contains(&fraction) {
        let what = format!("vertices are moved by 0 to {MOST_JITTER} of a cell, not {fraction}");
        return Err(Error::Generator { what });
    }
    let mut flat = unit_square(n)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let most = fraction / n as f64;
    for row in 1..n {
        for at in &mut flat.vertices[row * (n + 1) + 1..row * (n + 1) + n] {
            at.iter_mut().for_each(|coordinate| *coordinate += most * rng.random_range(-1.0..=1.0));
        }
    }
    Ok(flat)
}

/// Returns the same triangles with vertices renumbered, triangles reordered, and each triangle
/// started at another vertex. Also returns the new number of each vertex.
#[must_use]
pub fn shuffled(flat: &Triangles, seed: u64) -> (Triangles, Vec<u32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut numbers: Vec<u32> = (0..flat.vertices.len() as u32).collect();
    numbers.shuffle(&mut rng);
    let mut vertices = flat.vertices.clone();
    for (&number, at) in numbers.iter().zip(&flat.vertices) {
        vertices[number as usize] = *at;
    }
    // Numbers out of range stay, and the mesh reports them.
    let number = |vertex: u32| numbers.get(vertex as usize).copied().unwrap_or(vertex);
    let mut triangles: Vec<[u32; 3]> = flat.triangles.iter().map(|vertices| vertices.map(number)).collect();
    triangles.shuffle(&mut rng);
    triangles.iter_mut().for_each(|vertices| vertices.rotate_left(rng.random_range(0..3)));
    (Triangles { vertices, triangles }, numbers)
}

/// Makes a [`jittered`] and then [`shuffled`] square: as irregular as the output of a mesh
/// generator, and of the size of [`unit_square`].
///
/// # Errors
/// As [`jittered`].
pub fn irregular(n: usize, fraction: f64, seed: u64) -> Result<Triangles> {
    Ok(shuffled(&jittered(n, fraction, seed)?, seed.wrapping_add(1)).0)
}

fn grid(n: usize, line: impl Fn(usize) -> f64) -> Result<Triangles> {
    if n == 0 {
        return Err(Error::Generator { what: "a square has 1 x 1 cells or more, not 0".to_owned() });
    }
    // As many as a mesh can have.
    const MOST: usize = 20_000;
    if n > MOST {
        return Err(Error::TooLarge { what: format!("{n} x {n} cells: {MOST} x {MOST} at most are generated") });
    }
    // Vertices, triangles, and the corners of a mesh.
    check_memory(80 * (n as u128).pow(2), "so many cells")?;
    let lines: Vec<f64> = (0..=n).map(line).collect();
    let mut flat =
        Triangles { vertices: Vec::with_capacity((n + 1) * (n + 1)), triangles: Vec::with_capacity(2 * n * n) };
    for &y in &lines {
        flat.vertices.extend(lines.iter().map(|&x| [x, y]));
    }
    for row in 0..n {
        for column in 0..n {
            let a = (row * (n + 1) + column) as u32;
            let (b, c) = (a + 1, a + n as u32 + 1);
            flat.triangles.extend([[a, b, c + 1], [a, c + 1, c]]);
        }
    }
    Ok(flat)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{Extrusion, Mesh};

    fn extruded(flat: Triangles) -> Mesh {
        Mesh::new(flat, Extrusion::default()).expect("a mesh")
    }

    #[test]
    fn squares_are_whole() {
        let flat = unit_square(389).expect("triangles");
        assert_eq!((flat.triangles.len(), flat.vertices.len()), (302_642, 152_100));
        let flats = [flat, jittered(50, 0.2, 7).expect("triangles"), graded(50, 4.0).expect("triangles")];
        for flat in flats.into_iter().chain([irregular(50, 0.2, 7).expect("triangles")]) {
            let mesh = extruded(flat);
            assert!((mesh.area() - 1.0).abs() < 1e-12, "{}", mesh.area());
            assert_eq!(mesh.unused_vertices(), 0);
        }
        assert_eq!(unit_square(1).expect("triangles").triangles, [[0, 1, 3], [0, 3, 2]]);
    }

    #[test]
    fn seeds_and_shuffles() {
        let flat = jittered(9, 0.2, 3).expect("triangles");
        assert_eq!(flat, jittered(9, 0.2, 3).expect("triangles"));
        assert_ne!(flat, jittered(9, 0.2, 4).expect("triangles"));
        let (other, numbers) = shuffled(&flat, 5);
        assert_ne!(other, flat);
        // Turned so that the smallest of the old numbers is first.
        let told = |flat: &Triangles, numbers: &[u32]| {
            let mut old = vec![0; numbers.len()];
            (0..).zip(numbers).for_each(|(vertex, &number)| old[number as usize] = vertex);
            let mut triangles: Vec<[u32; 3]> = flat.triangles.clone();
            for vertices in &mut triangles {
                *vertices = vertices.map(|vertex| old[vertex as usize]);
                let first = (0..3).min_by_key(|&i| vertices[i]).unwrap_or(0);
                vertices.rotate_left(first);
            }
            triangles.sort_unstable();
            triangles
        };
        let same: Vec<u32> = (0..100).collect();
        assert_eq!(told(&other, &numbers), told(&flat, &same));
        assert!((0..100).all(|vertex| other.vertices[numbers[vertex] as usize] == flat.vertices[vertex]));
    }

    #[test]
    fn nonsense_is_refused() {
        for n in [0, 20_001, usize::MAX] {
            assert!(unit_square(n).is_err() && graded(n, 2.0).is_err() && irregular(n, 0.1, 1).is_err(), "{n}");
        }
        for number in [-1.0, 5.0, f64::NAN] {
            assert!(graded(4, number).is_err() && jittered(4, number, 1).is_err(), "{number}");
        }
    }
}
