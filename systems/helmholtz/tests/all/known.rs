//! Known values of unit squares, and engines against each other.

use helmholtz::generate::{graded, irregular, jittered, shuffled, unit_square};
use helmholtz::{
    Action, CpuEngine, Error, Extrusion, Mesh, Number, Reference, SolveOptions, Triangles, forcing, solve,
};

/// From a program of its own, in f64 with all digits of pi; agreed with the report's program to
/// 5e-13. Numbers as they were printed.
struct Known {
    n: usize,
    most: f64,
    norm: f64,
    first: &'static [f64],
    most_lumped: f64,
}

const KNOWN: [Known; 4] = [
    Known {
        n: 1,
        most: 8.921731,
        norm: 4.955935065348e1,
        first: &[-3.30360493, 8.92173136, 1.33725971, -1.33725971, -3.50099138],
        most_lumped: 3.333333e-2,
    },
    Known {
        n: 32,
        most: 1.103840e-3,
        norm: 4.399295875047e-2,
        first: &[-5.59390183e-5, -9.72465628e-5, -4.59893391e-5, 4.59893391e-5, 1.20401653e-4],
        most_lumped: 9.765625e-5,
    },
    Known {
        n: 124,
        most: 6.848807e-5,
        norm: 5.317995912620e-3,
        first: &[-3.66002890e-6, -8.05627982e-6, -3.47711613e-6, 3.47711613e-6, 9.10320821e-6],
        most_lumped: 6.503642e-6,
    },
    Known { n: 389, most: 6.923907e-6, norm: 9.544370545916e-4, first: &[], most_lumped: 6.608468e-7 },
];

fn extruded(flat: Triangles, levels: usize, height: f64) -> Mesh {
    Mesh::new(flat, Extrusion { levels, height }).expect("a mesh")
}

/// All four stages: forcing, `rhs_1`, `rhs`, `lhs`.
struct Stages {
    forcing: Vec<f64>,
    mass: Vec<f64>,
    rhs: Vec<f64>,
    lumped: Vec<f64>,
}

fn by_cpu<T: Number>(mesh: &Mesh) -> Stages {
    let engine = CpuEngine::<T>::new(mesh.clone());
    let [mut forcing, mut mass, mut rhs, mut lumped] = std::array::from_fn(|_| engine.zero());
    engine.forcing(&mut forcing).expect("forcing");
    engine.act(Action::Mass, &forcing, &mut mass).expect("mass");
    engine.act(Action::Stiffness, &mass, &mut rhs).expect("stiffness");
    engine.lumped(&mut lumped).expect("lumped");
    let wide = |field: Vec<T>| field.into_iter().map(Into::into).collect();
    Stages { forcing: wide(forcing), mass: wide(mass), rhs: wide(rhs), lumped: wide(lumped) }
}

fn by_reference(mesh: &Mesh) -> Stages {
    let reference = Reference::new(mesh.clone());
    let forcing = reference.forcing();
    let mass = reference.mass(&forcing).expect("mass");
    let rhs = reference.residual(&mass, &reference.copy(&mass)).expect("stiffness");
    Stages { forcing, mass, rhs, lumped: reference.lumped() }
}

fn norm(field: &[f64]) -> f64 {
    let squares: Vec<f64> = field.iter().map(|number| number * number).collect();
    sum(&squares).sqrt()
}

/// Of sums, so that rounding does not count.
fn sum(field: &[f64]) -> f64 {
    field.chunks(4096).map(|part| part.iter().sum::<f64>()).sum()
}

fn most(field: &[f64]) -> f64 {
    field.iter().fold(0.0, |most, number| number.abs().max(most))
}

/// Norm of the difference over the norm.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference) / norm(b)
}

#[track_caller]
fn close(found: f64, wanted: f64, relative: f64, what: &str) {
    let off = (found - wanted).abs() / wanted.abs();
    assert!(off <= relative, "{what}: {found:e}, not {wanted:e} ({off:.1e})");
}

impl Known {
    fn mesh(&self) -> Mesh {
        Mesh::new(unit_square(self.n).expect("triangles"), Extrusion::default()).expect("a mesh")
    }

    fn hold(&self, stages: &Stages, precise: bool) {
        // The last digit that was printed; or, in f32, 5e-6 of the largest.
        let (digits, absolute): ([f64; 3], f64) =
            if precise { ([5e-7, 1e-10, 5e-9], 0.0) } else { ([5e-6; 3], 5e-6 * self.most) };
        let n = self.n;
        close(most(&stages.rhs), self.most, digits[0], &format!("n = {n}: largest"));
        close(norm(&stages.rhs), self.norm, digits[1], &format!("n = {n}: norm"));
        for (level, &wanted) in self.first.iter().enumerate() {
            let found = stages.rhs[level];
            let off = (found - wanted).abs();
            assert!(off <= absolute.max(digits[2] * wanted.abs()), "n = {n}, level {level}: {found:e}, not {wanted:e}");
        }
        close(most(&stages.lumped), self.most_lumped, 2e-7, &format!("n = {n}: largest volume"));
        let tolerance = if precise { 1e-10 } else { 1e-6 };
        close(sum(&stages.lumped), 10.0, tolerance, &format!("n = {n}: volume"));
        let sum = sum(&stages.rhs) / stages.rhs.iter().map(|number| number.abs()).sum::<f64>();
        assert!(sum.abs() <= tolerance, "n = {n}: the right-hand side sums to {sum:e} of its size");
    }
}

#[test]
fn reference_finds_the_known_values() {
    for known in &KNOWN[..3] {
        known_by_both(known);
    }
}

#[test]
#[ignore = "long form of `reference_finds_the_known_values`: scripts/test full"]
fn reference_finds_the_known_values_of_the_large_mesh() {
    known_by_both(&KNOWN[3]);
}

fn known_by_both(known: &Known) {
    let mesh = known.mesh();
    let reference = by_reference(&mesh);
    known.hold(&reference, true);
    hold_apart(&by_cpu::<f64>(&mesh), &reference, 1e-10, &format!("n = {}", known.n));
}

#[test]
fn cpu_finds_the_known_values() {
    for known in &KNOWN {
        let mesh = known.mesh();
        let precise = by_cpu::<f64>(&mesh);
        known.hold(&precise, true);
        let single = by_cpu::<f32>(&mesh);
        known.hold(&single, false);
        hold_single(&single, &precise, &format!("n = {}", known.n));
    }
}

fn hold_apart(found: &Stages, wanted: &Stages, relative: f64, name: &str) {
    for (found, wanted, stage) in [
        (&found.forcing, &wanted.forcing, "forcing"),
        (&found.mass, &wanted.mass, "mass"),
        (&found.rhs, &wanted.rhs, "stiffness"),
        (&found.lumped, &wanted.lumped, "lumped"),
    ] {
        assert!(apart(found, wanted) <= relative, "{name}, {stage}: {:e} apart", apart(found, wanted));
    }
}

fn hold_single(found: &Stages, wanted: &Stages, name: &str) {
    for (found, wanted, stage) in [
        (&found.forcing, &wanted.forcing, "forcing"),
        (&found.mass, &wanted.mass, "mass"),
        (&found.rhs, &wanted.rhs, "stiffness"),
        (&found.lumped, &wanted.lumped, "lumped"),
    ] {
        let off = found.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / most(wanted);
        assert!(off <= 5e-6, "{name}, {stage}: {off:e} of the largest");
    }
}

/// Meshes of all kinds, small.
fn meshes() -> Vec<(&'static str, Mesh)> {
    let mut turned = irregular(6, 0.2, 4).expect("triangles");
    turned.triangles.iter_mut().step_by(2).for_each(|vertices| vertices.swap(0, 2));
    let mut unused = irregular(5, 0.1, 8).expect("triangles");
    unused.vertices.insert(0, [3.0, 4.0]);
    unused.triangles.iter_mut().flatten().for_each(|vertex| *vertex += 1);
    let mut far = jittered(4, 0.2, 2).expect("triangles");
    far.vertices.iter_mut().for_each(|[x, y]| (*x, *y) = (3.0 * *x - 5.0, 0.25 * *y + *x));
    let fan = Triangles {
        vertices: std::iter::once([0.1, 0.2])
            .chain(
                (0..40)
                    .map(|i| f64::from(i) / 40.0)
                    .map(|turn| [forcing::cos_turns(turn), forcing::cos_turns(turn - 0.25)]),
            )
            .collect(),
        triangles: (0..40).map(|i| [0, 1 + i, 1 + (i + 1) % 40]).collect(),
    };
    vec![
        ("irregular", extruded(irregular(8, 0.2, 1).expect("triangles"), 11, 0.1)),
        ("one layer", extruded(irregular(8, 0.2, 2).expect("triangles"), 2, 0.3)),
        ("graded", extruded(graded(8, 3.0).expect("triangles"), 9, 0.05)),
        ("directions mixed", extruded(turned, 8, 0.125)),
        ("a vertex unused", extruded(unused, 7, 0.2)),
        ("sheared, far", extruded(far, 18, 2.0)),
        ("a fan", extruded(fan, 33, 0.01)),
        ("tall", extruded(unit_square(1).expect("triangles"), 3000, 0.05)),
    ]
}

fn random(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| rng.f64() - 0.5).collect()
}

#[test]
fn engines_agree_on_every_mesh() {
    for (name, mesh) in meshes() {
        let reference = Reference::new(mesh.clone());
        hold_apart(&by_cpu::<f64>(&mesh), &by_reference(&mesh), 1e-10, name);
        hold_single(&by_cpu::<f32>(&mesh), &by_reference(&mesh), name);
        let (precise, single) = (CpuEngine::<f64>::new(mesh.clone()), CpuEngine::<f32>::new(mesh.clone()));
        let field = random(mesh.nodes(), 7);
        let narrow: Vec<f32> = field.iter().map(|&number| number as f32).collect();
        for action in Action::ALL {
            let wanted = match action {
                Action::Mass => reference.mass(&field),
                Action::Stiffness => reference.stiffness(&field),
                Action::Helmholtz => reference.helmholtz(&field),
            };
            let wanted = wanted.expect("the reference");
            let (mut found, mut found_single) = (precise.zero(), single.zero());
            precise.act(action, &field, &mut found).expect("the CPU");
            single.act(action, &narrow, &mut found_single).expect("the CPU");
            assert!(apart(&found, &wanted) <= 1e-10, "{name}, {action:?}: {:e}", apart(&found, &wanted));
            let found: Vec<f64> = found_single.into_iter().map(f64::from).collect();
            assert!(apart(&found, &wanted) <= 1e-6, "{name}, {action:?}, f32: {:e}", apart(&found, &wanted));
        }
    }
}

/// Entries of the diagonal, each from the field that is 1 there and 0 elsewhere.
#[test]
fn diagonals_are_what_the_actions_do() {
    let mesh = extruded(irregular(2, 0.2, 3).expect("triangles"), 4, 0.3);
    let engine = CpuEngine::<f64>::new(mesh);
    for action in Action::ALL {
        let (mut diagonal, mut out) = (engine.zero(), engine.zero());
        engine.diagonal(action, &mut diagonal).expect("a diagonal");
        for node in 0..diagonal.len() {
            let mut field = engine.zero();
            field[node] = 1.0;
            engine.act(action, &field, &mut out).expect("a product");
            close(out[node], diagonal[node], 1e-12, &format!("{action:?}, node {node}"));
        }
    }
}

#[test]
fn constants_have_no_slope() {
    for (name, mesh) in meshes() {
        let engine = CpuEngine::<f32>::new(mesh);
        let mut out = engine.zero();
        engine.act(Action::Stiffness, &vec![0.7; engine.zero().len()], &mut out).expect("a product");
        assert!(out.iter().all(|&number| number == 0.0), "{name}");
    }
}

#[test]
fn numbering_does_not_matter() {
    let flat = jittered(20, 0.2, 5).expect("triangles");
    let (other, numbers) = shuffled(&flat, 6);
    let (mesh, other) = (extruded(flat, 21, 0.05), extruded(other, 21, 0.05));
    let (wanted, found) = (by_cpu::<f64>(&mesh), by_cpu::<f64>(&other));
    let back = |field: &[f64]| -> Vec<f64> {
        numbers.iter().flat_map(|&number| field[number as usize * 21..][..21].to_vec()).collect()
    };
    let [forcing, mass, rhs, lumped] =
        [&found.forcing, &found.mass, &found.rhs, &found.lumped].map(|field| back(field));
    hold_apart(&Stages { forcing, mass, rhs, lumped }, &wanted, 1e-13, "numbered anew");
    hold_apart(&found, &by_reference(&other), 1e-10, "numbered anew");
}

#[test]
fn threads_do_not_matter() {
    let mesh = extruded(irregular(40, 0.2, 1).expect("triangles"), 30, 0.1);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| by_cpu::<f32>(&mesh).rhs)
    };
    let one = on(1);
    assert!(one == on(2) && one == on(5));
}

/// Of the solution on a box of side 1: the root of the mean square of its error.
fn error_of(flat: Triangles, layers: usize) -> f64 {
    let mesh = extruded(flat, layers + 1, 1.0 / layers as f64);
    let engine = CpuEngine::<f64>::new(mesh.clone());
    let [mut field, mut rhs, mut volumes] = std::array::from_fn(|_| engine.zero());
    engine.forcing(&mut field).expect("forcing");
    engine.act(Action::Mass, &field, &mut rhs).expect("mass");
    engine.lumped(&mut volumes).expect("volumes");
    let options = SolveOptions { tolerance: 1e-10, iterations: 1000 };
    let solution = solve(&engine, &rhs, options).expect("solved");
    assert!(solution.converged && solution.true_residual <= 1e-10, "{:e}", solution.true_residual);
    assert_eq!(solution.residuals.len(), solution.iterations + 1);
    let exact: Vec<f64> = forcing::exact_solution(&mesh);
    let square = |i: usize| (solution.field[i] - exact[i]).powi(2) * volumes[i];
    (0..exact.len()).map(square).sum::<f64>().sqrt()
}

#[test]
fn solutions_converge_with_the_square_of_the_step() {
    let regular: Vec<f64> = [8, 16, 32].map(|n| error_of(unit_square(n).expect("triangles"), n)).to_vec();
    let irregular: Vec<f64> = [8, 16, 32].map(|n| error_of(irregular(n, 0.15, 1).expect("triangles"), n)).to_vec();
    for errors in [regular, irregular] {
        let rates: Vec<f64> = errors.windows(2).map(|pair| (pair[0] / pair[1]).log2()).collect();
        assert!(rates.iter().all(|&rate| rate > 1.9 && rate < 2.2), "{errors:?}: {rates:?}");
    }
}

#[test]
fn single_precision_solves() {
    let mesh = extruded(irregular(16, 0.2, 1).expect("triangles"), 17, 1.0 / 16.0);
    fn solved<T: Number>(mesh: &Mesh, tolerance: f64) -> Vec<f64> {
        let engine = CpuEngine::<T>::new(mesh.clone());
        let (mut field, mut rhs) = (engine.zero(), engine.zero());
        engine.forcing(&mut field).expect("forcing");
        engine.act(Action::Mass, &field, &mut rhs).expect("mass");
        let solution = solve(&engine, &rhs, SolveOptions { tolerance, iterations: 500 }).expect("solved");
        assert!(solution.converged && solution.iterations < 200, "{} iterations", solution.iterations);
        solution.field.into_iter().map(Into::into).collect()
    }
    let (single, precise) = (solved::<f32>(&mesh, 1e-5), solved::<f64>(&mesh, 1e-12));
    assert!(apart(&single, &precise) < 5e-5, "{:e}", apart(&single, &precise));
}

#[test]
fn fields_of_other_meshes_are_refused() {
    let mesh = extruded(unit_square(2).expect("triangles"), 3, 0.5);
    let engine = CpuEngine::<f64>::new(mesh.clone());
    let reference = Reference::new(mesh);
    let (right, wrong) = (engine.zero(), vec![0.0; 26]);
    let mut out = engine.zero();
    let mut short = wrong.clone();
    for error in [
        engine.act(Action::Mass, &wrong, &mut out).expect_err("26"),
        engine.act(Action::Mass, &right, &mut short).expect_err("26"),
        engine.forcing(&mut short).expect_err("26"),
        engine.lumped(&mut short).expect_err("26"),
        engine.diagonal(Action::Mass, &mut short).expect_err("26"),
        reference.mass(&wrong).expect_err("26"),
        reference.residual(&right, &wrong).expect_err("26"),
        reference.helmholtz(&wrong).expect_err("26"),
        solve(&engine, &wrong, SolveOptions::default()).expect_err("26"),
    ] {
        assert!(matches!(error, Error::FieldLength { found: 26, wanted: 27 }), "{error}");
    }
}
