//! Problems with coefficients and boundary conditions, and an independent quadrature on irregular
//! meshes.

use std::f64::consts::PI;
use std::sync::Arc;

use helmholtz::generate::{irregular, unit_square};
use helmholtz::io::NamedEdges;
use helmholtz::{
    Action, AdapterChoice, Arithmetic, Boundary, Condition, CpuEngine, Engine, Error, Extrusion, Mesh, NodeMatrix,
    Operator, Problem, SolveOptions, Solver, System, Triangles, Values, forcing,
};
use kernel_host::testing::{on_fast_adapters, shared_device};

fn expression(text: &str) -> Values {
    Values::Expression(text.parse().expect(text))
}

fn condition(part: &str, text: &str) -> Condition {
    Condition { part: part.to_owned(), values: expression(text) }
}

fn cube(n: usize) -> Arc<Mesh> {
    let flat = irregular(n, 0.15, 3).expect("triangles");
    Arc::new(Mesh::new(flat, Extrusion { levels: n + 1, height: 1.0 / n as f64 }).expect("a mesh"))
}

/// Gauss-Legendre on [0, 1] with four points, from the roots of the polynomial in closed form.
fn gauss() -> [(f64, f64); 4] {
    let root = |sign: f64| (3.0 / 7.0 + sign * 2.0 / 7.0 * (6.0_f64 / 5.0).sqrt()).sqrt();
    let weight = |sign: f64| (18.0 - sign * 30.0_f64.sqrt()) / 36.0;
    let point = |side: f64, sign: f64| ((1.0 + side * root(sign)) / 2.0, weight(sign) / 2.0);
    [point(-1.0, 1.0), point(-1.0, -1.0), point(1.0, -1.0), point(1.0, 1.0)]
}

/// The dense matrix of `diffusion` grad u . grad v + `reaction` u v: functions by areas, 64 points
/// a prism.
fn dense(mesh: &Mesh, diffusion: &[f64], reaction: &[f64]) -> Vec<Vec<f64>> {
    let mut matrix = vec![vec![0.0; mesh.nodes()]; mesh.nodes()];
    let cross = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let height = mesh.height();
    for corners in mesh.triangles() {
        let at = corners.map(|vertex| mesh.vertices()[vertex as usize]);
        let twice = cross(at[0], at[1], at[2]);
        for layer in 0..mesh.levels() - 1 {
            let nodes: Vec<usize> = (0..6).map(|k| mesh.node(corners[k % 3] as usize, layer + k / 3)).collect();
            for (s, ws) in gauss() {
                for (t, wt) in gauss() {
                    for (up, wu) in gauss() {
                        // A square with one side shrunk to the first corner.
                        let point: [f64; 2] = std::array::from_fn(|axis| {
                            at[0][axis]
                                + s * ((1.0 - t) * (at[1][axis] - at[0][axis]) + t * (at[2][axis] - at[0][axis]))
                        });
                        let weight = ws * wt * wu * s * twice.abs() * height;
                        let functions: Vec<[f64; 4]> = (0..6)
                            .map(|k| {
                                let [b, c] = [at[(k + 1) % 3], at[(k + 2) % 3]];
                                let plane = cross(point, b, c) / twice;
                                let [dx, dy] = [(b[1] - c[1]) / twice, (c[0] - b[0]) / twice];
                                let (z, dz) = if k < 3 { (1.0 - up, -1.0 / height) } else { (up, 1.0 / height) };
                                [plane * z, dx * z, dy * z, plane * dz]
                            })
                            .collect();
                        let value = |field: &[f64]| -> f64 { (0..6).map(|k| field[nodes[k]] * functions[k][0]).sum() };
                        let (a, c) = (value(diffusion), value(reaction));
                        for j in 0..6 {
                            for k in 0..6 {
                                let [f, g] = [functions[j], functions[k]];
                                let slopes = f[1] * g[1] + f[2] * g[2] + f[3] * g[3];
                                matrix[nodes[j]][nodes[k]] += weight * (a * slopes + c * f[0] * g[0]);
                            }
                        }
                    }
                }
            }
        }
    }
    matrix
}

fn irregular_meshes() -> Vec<Mesh> {
    let mut sheared = irregular(3, 0.2, 9).expect("triangles");
    sheared.vertices.iter_mut().for_each(|[x, y]| (*x, *y) = (3.0 * *x - *y, 0.2 * *y + *x));
    sheared.triangles.iter_mut().step_by(2).for_each(|corners| corners.swap(0, 1));
    let needle = Triangles {
        vertices: vec![[0.0, 0.0], [1.0, 0.0], [0.5, 0.01], [0.5, 2.0]],
        triangles: vec![[0, 1, 2], [0, 2, 3], [1, 3, 2]],
    };
    [(sheared, 4, 0.7), (needle, 3, 0.01), (irregular(4, 0.2, 2).expect("triangles"), 3, 2.0)]
        .map(|(flat, levels, height)| Mesh::new(flat, Extrusion { levels, height }).expect("a mesh"))
        .to_vec()
}

#[test]
fn matrices_are_those_of_an_independent_quadrature() {
    for mesh in irregular_meshes() {
        let field =
            |seed: f64| -> Vec<f64> { (0..mesh.nodes()).map(|i| 1.5 + (seed + i as f64 * 1.7).sin()).collect() };
        let (ones, zeros) = (vec![1.0; mesh.nodes()], vec![0.0; mesh.nodes()]);
        let cases = [(field(0.3), field(2.0)), (ones.clone(), zeros.clone()), (zeros, ones)];
        for (case, (diffusion, reaction)) in cases.into_iter().enumerate() {
            let wanted = dense(&mesh, &diffusion, &reaction);
            let most = wanted.iter().flatten().fold(0.0_f64, |most, entry| most.max(entry.abs()));
            let csr = NodeMatrix::assemble(mesh.clone(), &diffusion, &reaction).expect("a matrix").to_csr();
            let mut found = vec![vec![0.0; mesh.nodes()]; mesh.nodes()];
            for row in 0..mesh.nodes() {
                let range = csr.offsets[row] as usize..csr.offsets[row + 1] as usize;
                assert!(csr.columns[range.clone()].is_sorted_by(|a, b| a < b), "row {row}");
                range.for_each(|at| found[row][csr.columns[at] as usize] = csr.values[at]);
            }
            for (row, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
                for (column, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                    let off = (found - wanted).abs() / most;
                    assert!(off < 1e-13, "case {case}, {row}, {column}: {found:e}, not {wanted:e}");
                }
            }
            // The engine without a matrix has the same stiffness and mass.
            let Some(action) = [None, Some(Action::Stiffness), Some(Action::Mass)][case] else { continue };
            let engine = CpuEngine::<f64>::new(mesh.clone());
            let (u, mut product) = (field(5.0), engine.zero());
            engine.act(action, &u, &mut product).expect("a product");
            for (found, row) in product.iter().zip(&wanted) {
                let wanted: f64 = row.iter().zip(&u).map(|(entry, u)| entry * u).sum();
                assert!((found - wanted).abs() < 1e-12 * most, "{action:?}: {found:e}, not {wanted:e}");
            }
        }
    }
}

/// u = cos(pi x) sin(z) + y, a = 1 + x, c = 2: f = -div(a grad u) + c u.
fn manufactured() -> (Problem, impl Fn(&Mesh) -> Vec<f64>) {
    let u = "cos(pi*x)*sin(z)+y";
    let problem = Problem {
        diffusion: expression("1+x"),
        reaction: Values::Constant(2.0),
        source: expression("pi*sin(pi*x)*sin(z) + (1+x)*(pi^2+1)*cos(pi*x)*sin(z) + 2*(cos(pi*x)*sin(z)+y)"),
        dirichlet: vec![condition("bottom", u), condition("left", u)],
        // a du/dn.
        neumann: vec![
            condition("top", "(1+x)*cos(pi*x)*cos(z)"),
            condition("front", "-(1+x)"),
            condition("back", "1+x"),
            condition("right", "0"),
        ],
    };
    let exact = |mesh: &Mesh| {
        let at = |node: usize| {
            let [x, y] = mesh.vertices()[node / mesh.levels()];
            (PI * x).cos() * mesh.z(node % mesh.levels()).sin() + y
        };
        (0..mesh.nodes()).map(at).collect()
    };
    (problem, exact)
}

fn solved(n: usize) -> (f64, usize) {
    let (problem, exact) = manufactured();
    let mesh = cube(n);
    let boundary = Boundary::new(&mesh, NamedEdges::new()).expect("a boundary");
    let system = problem.assemble(&mesh, &boundary).expect("assembled");
    let solver = Solver::new(&Engine::Cpu, Arithmetic::Auto).expect("the CPU");
    let solution = solver.solve_system(&system, SolveOptions::default()).expect("solved");
    assert!(solution.converged && solution.true_residual <= 1e-8, "{:e}", solution.true_residual);
    let exact = exact(&mesh);
    let square: f64 = solution.field.iter().zip(&exact).map(|(u, exact)| (u - exact).powi(2)).sum();
    ((square / exact.len() as f64).sqrt(), system.fixed)
}

#[test]
fn mixed_boundaries_and_coefficients_converge_with_the_square_of_the_step() {
    let [(coarse, fixed), (fine, _)] = [6, 12].map(solved);
    // 49 nodes at the bottom, and 7 x 6 more on the left.
    assert_eq!(fixed, 49 + 42);
    let order = (coarse / fine).log2();
    assert!(order > 1.8 && order < 2.3 && fine < 5e-3, "{coarse:e}, {fine:e}: {order}");
}

#[test]
fn functions_of_the_elements_are_found_exactly() {
    let mesh = cube(4);
    let boundary = Boundary::new(&mesh, NamedEdges::new()).expect("a boundary");
    let linear = "1+2*x-3*y+z";
    let fixed = Problem { source: expression(linear), dirichlet: vec![condition("all", linear)], ..Problem::default() };
    // By fluxes alone, of which two meet at each edge.
    let flows = [("left", "-2"), ("right", "2"), ("front", "3"), ("back", "-3"), ("bottom", "-1"), ("top", "1")];
    let neumann = flows.map(|(part, flux)| condition(part, flux)).to_vec();
    let free = Problem { source: expression(linear), neumann, ..Problem::default() };
    for problem in [fixed, free] {
        let system = problem.assemble(&mesh, &boundary).expect("assembled");
        for arithmetic in [Arithmetic::F64, Arithmetic::Mixed] {
            let solver = Solver::new(&Engine::Cpu, arithmetic).expect("the CPU");
            let solution =
                solver.solve_system(&system, SolveOptions { tolerance: 1e-12, iterations: 500 }).expect("solved");
            assert!(solution.converged, "{arithmetic:?}: {:e}", solution.true_residual);
            let exact = expression(linear).at_nodes(&mesh).expect("values");
            let off = solution.field.iter().zip(&exact).map(|(u, exact)| (u - exact).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10, "{arithmetic:?}: {off:e}");
        }
    }
}

#[test]
fn adapters_solve_to_the_accuracy_of_f64() {
    let (problem, _) = manufactured();
    let mesh = cube(6);
    let boundary = Boundary::new(&mesh, NamedEdges::new()).expect("a boundary");
    let system = problem.assemble(&mesh, &boundary).expect("assembled");
    let options = SolveOptions { tolerance: 1e-11, ..SolveOptions::default() };
    let wanted = Solver::new(&Engine::Cpu, Arithmetic::F64).expect("the CPU").solve_system(&system, options);
    let wanted = wanted.expect("solved").field;
    for adapter in on_fast_adapters() {
        let engine = Engine::Gpu(AdapterChoice::Open(shared_device(&adapter)));
        let solver = Solver::new(&engine, Arithmetic::Mixed).expect("a solver");
        let found = solver.solve_system(&system, options).expect("solved");
        assert!(found.converged && found.refinements > 1, "{}: {:e}", adapter.name, found.true_residual);
        let off = found.field.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{}: {off:e}", adapter.name);
    }
}

/// The matrix of a system as dense rows.
fn dense_rows(matrix: &NodeMatrix<f64>) -> Vec<Vec<f64>> {
    let csr = matrix.to_csr();
    let row = |row: usize| {
        let mut dense = vec![0.0; csr.offsets.len() - 1];
        (csr.offsets[row] as usize..csr.offsets[row + 1] as usize)
            .for_each(|at| dense[csr.columns[at] as usize] = csr.values[at]);
        dense
    };
    (0..csr.offsets.len() - 1).map(row).collect()
}

/// Gaussian elimination with column pivots.
fn eliminated(mut rows: Vec<Vec<f64>>, rhs: &[f64]) -> Vec<f64> {
    let count = rhs.len();
    rows.iter_mut().zip(rhs).for_each(|(row, &b)| row.push(b));
    for column in 0..count {
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b))).expect("a row");
        rows.swap(column, pivot);
        let (done, rest) = rows.split_at_mut(column + 1);
        for row in rest {
            let factor = row[column] / done[column][column];
            row.iter_mut().zip(&done[column]).skip(column).for_each(|(entry, pivot)| *entry -= factor * pivot);
        }
    }
    let mut found = vec![0.0; count];
    for row in (0..count).rev() {
        let known: f64 = (row + 1..count).map(|column| rows[row][column] * found[column]).sum();
        found[row] = (rows[row][count] - known) / rows[row][row];
    }
    found
}

/// The norm of b - A u relative to that of b, by dense rows.
fn residual_of(rows: &[Vec<f64>], rhs: &[f64], u: &[f64]) -> f64 {
    let rest = rows.iter().zip(rhs).map(|(row, b)| b - row.iter().zip(u).map(|(entry, u)| entry * u).sum::<f64>());
    (rest.map(|rest| rest * rest).sum::<f64>() / rhs.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

/// Indefinite problems: c between eigenvalues, of both signs, with fixed nodes, and so negative on
/// a coarse mesh that diagonal entries are negative.
fn indefinite_systems() -> Vec<System> {
    let mesh = cube(4);
    let boundary = Boundary::new(&mesh, NamedEdges::new()).expect("a boundary");
    let source = expression("exp(x)*cos(3*y)+z");
    let fixed = vec![condition("bottom", "1+x"), condition("left", "1")];
    let cases = [("-15", vec![]), ("if(x<0.5,-60,8)", fixed.clone()), ("-900", fixed)];
    let assemble = |(reaction, dirichlet)| {
        let problem =
            Problem { reaction: expression(reaction), source: source.clone(), dirichlet, ..Problem::default() };
        problem.assemble(&mesh, &boundary).expect("assembled")
    };
    cases.map(assemble).into()
}

/// The CPU and fast adapters, each in mixed precision and in f64 where it has f64.
fn solvers() -> Vec<Solver> {
    let gpu = |adapter| Engine::Gpu(AdapterChoice::Open(shared_device(&adapter)));
    let engines = std::iter::once(Engine::Cpu).chain(on_fast_adapters().into_iter().map(gpu));
    let both = |engine: Engine| [Arithmetic::Mixed, Arithmetic::Auto].map(|arithmetic| (engine.clone(), arithmetic));
    let made = |(engine, arithmetic): (Engine, Arithmetic)| Solver::new(&engine, arithmetic).expect("a solver");
    engines.flat_map(both).map(made).collect()
}

#[test]
fn indefinite_problems_have_the_solution_of_a_direct_method() {
    let options = SolveOptions { tolerance: 1e-11, iterations: 2000 };
    let solvers = solvers();
    for (case, system) in indefinite_systems().iter().enumerate() {
        let rows = dense_rows(&system.matrix);
        let wanted = eliminated(rows.clone(), &system.rhs);
        let most = wanted.iter().fold(0.0_f64, |most, u| most.max(u.abs()));
        for solver in &solvers {
            let found = solver.solve_system(system, options).expect("a solution");
            let what = format!("{}, case {case}: {:e}", solver.description(), found.true_residual);
            assert!(found.converged, "{what} after {}", found.iterations);
            let rest = residual_of(&rows, &system.rhs, &found.field);
            assert!(rest <= 1.1e-11 && (rest - found.true_residual).abs() < 1e-13, "{what}, not {rest:e}");
            let off = found.field.iter().zip(&wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-8 * most, "{what}: off by {off:e} of {most}");
        }
    }
}

/// A unit cube of n x n x n regular cells.
fn regular(n: usize) -> Arc<Mesh> {
    let flat = unit_square(n).expect("triangles");
    Arc::new(Mesh::new(flat, Extrusion { levels: n + 1, height: 1.0 / n as f64 }).expect("a mesh"))
}

/// -div grad u + c u = f with natural boundaries.
fn natural(mesh: &Arc<Mesh>, c: f64, source: Values) -> System {
    let boundary = Boundary::new(mesh, NamedEdges::new()).expect("a boundary");
    let problem = Problem { reaction: Values::Constant(c), source, ..Problem::default() };
    problem.assemble(mesh, &boundary).expect("assembled")
}

/// u = cos(2 pi x) cos(2 pi y) cos(2 pi z), with -c between eigenvalues.
#[test]
fn helmholtz_problems_converge_with_the_square_of_the_step() {
    let solver = Solver::new(&Engine::Cpu, Arithmetic::F64).expect("the CPU");
    for c in [1.0, -1.0, -30.0, -200.0] {
        let error = |n: usize| {
            let mesh = regular(n);
            let exact: Vec<f64> = forcing::exact_solution(&mesh);
            let source = exact.iter().map(|u| (12.0 * PI * PI + c) * u).collect();
            let system = natural(&mesh, c, Values::Field(source));
            assert_eq!(system.matrix.is_definite(), c > 0.0);
            let solution = solver.solve_system(&system, SolveOptions::default()).expect("solved");
            assert!(solution.converged && solution.iterations < 200, "c {c}, n {n}: {} ", solution.iterations);
            let square: f64 = solution.field.iter().zip(&exact).map(|(u, exact)| (u - exact).powi(2)).sum();
            (square / exact.len() as f64).sqrt()
        };
        let [coarse, fine] = [8, 16].map(error);
        let order = (coarse / fine).log2();
        assert!(order > 1.9 && order < 2.2 && fine < 0.04, "c {c}: {coarse:e}, {fine:e}: {order}");
    }
}

/// cos(pi z) at the nodes is an eigenvector of the discrete problem, with a known eigenvalue.
#[test]
fn problems_at_an_eigenvalue_are_not_called_solved() {
    let n = 6;
    let mesh = regular(n);
    let (cosine, square) = ((PI / n as f64).cos(), (n * n) as f64);
    let eigenvalue = 6.0 * square * (1.0 - cosine) / (2.0 + cosine);
    let source = expression("cos(pi*z)");
    for solver in solvers() {
        let solve = |c, source: &Values| {
            let solution = solver.solve_system(&natural(&mesh, c, source.clone()), SolveOptions::default());
            solution.expect("a solution")
        };
        let at = solve(-eigenvalue, &source);
        assert!(!at.converged && at.true_residual > 0.1, "{}: {:e}", solver.description(), at.true_residual);
        // The iteration ends by itself.
        assert!(at.iterations > 0 && at.iterations < 100, "{}: {}", solver.description(), at.iterations);
        assert!(at.field.iter().all(|u| u.is_finite()));
        // Next to it, u = cos(pi z) / (eigenvalue + c).
        let near = solve(-eigenvalue + 0.5, &source);
        assert!(near.converged, "{}: {:e}", solver.description(), near.true_residual);
        let wanted = source.at_nodes(&mesh).expect("values");
        let off = near.field.iter().zip(&wanted).map(|(u, wanted)| (u - 2.0 * wanted).abs()).fold(0.0, f64::max);
        assert!(off < 1e-5, "{}: {off:e}", solver.description());
        // This source has no part along the eigenvector, so there is a solution.
        let other = solve(-eigenvalue, &expression("cos(2*pi*z)"));
        assert!(other.converged, "{}: {:e}", solver.description(), other.true_residual);
    }
}

#[test]
fn what_f32_cannot_reach_is_not_called_solved() {
    let mesh = cube(10);
    let source = vec![1.0; mesh.nodes()];
    let source: Vec<f64> = source.iter().enumerate().map(|(i, one)| one + (i as f64).sin()).collect();
    let options = SolveOptions { tolerance: 1e-9, iterations: 1000 };
    let solve = |arithmetic| {
        Solver::new(&Engine::Cpu, arithmetic).expect("the CPU").solve_source(&mesh, &source, options).expect("a field")
    };
    let single = solve(Arithmetic::F32);
    assert!(!single.converged && single.true_residual > 1e-9, "{:e}", single.true_residual);
    assert!(single.true_residual < 1e-3, "{:e}", single.true_residual);
    assert!(solve(Arithmetic::Mixed).converged && solve(Arithmetic::F64).converged);
}

#[test]
fn invalid_problems_are_refused() {
    let mesh = cube(2);
    let boundary = Boundary::new(&mesh, NamedEdges::new()).expect("a boundary");
    let told = |problem: Problem| problem.assemble(&mesh, &boundary).expect_err("invalid").to_string();
    let value = |problem| told(problem);
    assert!(
        value(Problem { diffusion: expression("x"), ..Problem::default() }).starts_with("the diffusion is 0 at node")
    );
    assert!(value(Problem { reaction: expression("-1/0"), ..Problem::default() }).starts_with("the reaction is -inf"));
    assert!(value(Problem { source: expression("1/x"), ..Problem::default() }).contains("right-hand side is inf"));
    let unknown = Problem { dirichlet: vec![condition("inlet", "0")], ..Problem::default() };
    let parts = "no boundary part `inlet`; its parts are bottom, top, sides, all, back, front, left, right";
    assert!(told(unknown).contains(parts));
    let singular = Problem { reaction: Values::Constant(0.0), ..Problem::default() };
    assert!(matches!(singular.assemble(&mesh, &boundary), Err(Error::Singular)));
    let short = Problem { source: Values::Field(vec![0.0; 3]), ..Problem::default() };
    assert!(matches!(short.assemble(&mesh, &boundary), Err(Error::FieldLength { found: 3, wanted: 27 })));
    let nan = Problem { dirichlet: vec![condition("top", "sqrt(-1-x)")], ..Problem::default() };
    assert!(told(nan).starts_with("u on `top` is NaN"));
    let inner = NamedEdges::from([("inner".to_owned(), vec![[0, 0]])]);
    assert!(Boundary::new(&mesh, inner).is_err());
}
