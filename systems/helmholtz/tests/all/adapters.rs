//! Every adapter, strategy and option against the CPU engine in f64: whatever the mesh, its
//! numbering and its size.

use helmholtz::generate::{irregular, unit_square};
use helmholtz::{
    Accumulators, Action, AdapterChoice, Assembled, Assembler, AssemblerBuilder, Atomics, CpuEngine, Engine, Error,
    Extrusion, ForcingBy, Kernels, Loops, Mesh, Number, Order, Precision, Solution, SolveOptions, Strategy, TablesIn,
    forcing,
};
use kernel_host::AdapterSummary;
use kernel_host::testing::{on_adapters, on_fast_adapters, shared_device};

fn on(adapter: &AdapterSummary) -> AssemblerBuilder {
    Assembler::builder().engine(Engine::Gpu(AdapterChoice::Open(shared_device(adapter))))
}

fn mesh(n: usize, is_irregular: bool, levels: usize) -> Mesh {
    let flat = if is_irregular { irregular(n, 0.15, 5) } else { unit_square(n) };
    Mesh::new(flat.expect("triangles"), Extrusion { levels, height: 0.1 }).expect("a mesh")
}

fn by_cpu(mesh: &Mesh) -> Assembled<f64> {
    let cpu = Assembler::builder().engine(Engine::Cpu).build::<f64>(mesh.clone()).expect("the CPU engine");
    cpu.assemble().expect("assembled")
}

fn fields<T>(assembled: &Assembled<T>) -> [(&'static str, &[T]); 4] {
    let Assembled { forcing, mass, stiffness, lumped } = assembled;
    [("forcing", forcing), ("mass", mass), ("stiffness", stiffness), ("lumped", lumped)]
}

/// The largest difference, in units of the largest number.
fn apart<T: Number>(found: &[T], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let most = wanted.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
    let difference = found.iter().zip(wanted).map(|(&found, wanted)| (found.into() - wanted).abs()).fold(0.0, f64::max);
    assert!(found.iter().all(|&number| number.into().is_finite()));
    difference / most
}

/// f32 within 5e-6 of the largest number, f64 within 1e-10.
fn tolerance<T: Number>() -> f64 {
    if T::PRECISION == Precision::F32 { 5e-6 } else { 1e-10 }
}

/// With more than six sums, prisms add all rows of their matrices for volumes one by one. Gradients
/// then cancel up to rounding errors of the stiffness, which are a larger part of the volume on a
/// finer mesh.
fn of_rows<T: Number>(mesh: &Mesh) -> f64 {
    let cpu = CpuEngine::<f64>::new(mesh.clone());
    let [mut stiffness, mut lumped] = [cpu.zero(), cpu.zero()];
    cpu.diagonal(Action::Stiffness, &mut stiffness).expect("the diagonal");
    cpu.lumped(&mut lumped).expect("volumes");
    let most = |field: &[f64]| field.iter().fold(0.0, |most: f64, &number| most.max(number));
    let unit = if T::PRECISION == Precision::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    4.0 * unit * most(&stiffness) / most(&lumped)
}

#[track_caller]
fn hold<T: Number>(what: &str, found: &Assembled<T>, wanted: &Assembled<f64>, of_rows: f64) {
    for ((stage, found), (_, wanted)) in fields(found).into_iter().zip(fields(wanted)) {
        let off = apart(found, wanted);
        let within = tolerance::<T>() + if stage == "lumped" { of_rows } else { 0.0 };
        assert!(off <= within, "{what}, {stage}: {off:e}, not within {within:e}");
    }
}

/// As built; none for f64 where the adapter has none.
fn built<T: Number>(builder: AssemblerBuilder, mesh: &Mesh) -> Option<Assembler<T>> {
    match builder.build(mesh.clone()) {
        Ok(assembler) => Some(assembler),
        Err(Error::NoF64 { adapter }) => {
            eprintln!("SKIPPED on {adapter}: it has no f64");
            None
        }
        Err(Error::NoAtomics { adapter, bits: 64 }) => {
            eprintln!("SKIPPED on {adapter}: it has no atomics of 64 bits");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn strategies<T: Number>(adapter: &AdapterSummary) {
    // A column that fills a workgroup several times, one that has two nodes, and the report's.
    for (n, is_irregular, levels) in [(1, false, 101), (3, true, 2), (2, false, 300), (7, true, 33)] {
        let mesh = mesh(n, is_irregular, levels);
        let wanted = by_cpu(&mesh);
        for strategy in Strategy::ALL {
            let Some(assembler) = built::<T>(on(adapter).strategy(strategy), &mesh) else { continue };
            let what = format!("{}, {strategy:?}, n {n}, {levels} levels", adapter.name);
            hold(&what, &assembler.assemble().expect("assembled"), &wanted, 0.0);
            for action in Action::ALL {
                let field: Vec<T> = (0..mesh.nodes()).map(|i| T::from_f64((i as f64 * 0.7).sin())).collect();
                let wide: Vec<f64> = field.iter().map(|&number| number.into()).collect();
                let cpu = Assembler::builder().engine(Engine::Cpu).build::<f64>(mesh.clone()).expect("the CPU engine");
                let off = apart(
                    &assembler.act(action, &field).expect("a product"),
                    &cpu.act(action, &wide).expect("a product"),
                );
                assert!(off <= tolerance::<T>(), "{what}, {action:?}: {off:e}");
            }
        }
    }
}

#[test]
fn strategies_agree() {
    for adapter in on_adapters() {
        strategies::<f32>(&adapter);
        strategies::<f64>(&adapter);
    }
}

/// Each option once by itself, and all; software adapters take seconds to compile each.
#[test]
fn options_change_nothing() {
    check_options(&[
        (Strategy::Coloured, "interchanged"),
        (Strategy::Coloured, "layers"),
        (Strategy::Scatter, "plain"),
        (Strategy::Scatter, "twelve"),
        (Strategy::Scatter, "all"),
        (Strategy::Coloured, "generated"),
        (Strategy::Scatter, "generated"),
    ]);
}

#[test]
#[ignore = "long form of `options_change_nothing`: scripts/test full"]
fn options_change_nothing_in_either_strategy() {
    let names = [
        "plain",
        "stored",
        "layers",
        "interchanged",
        "twelve",
        "all",
        "generated",
        "rows",
        "private",
        "prisms",
        "joined",
    ];
    let both = [Strategy::Coloured, Strategy::Scatter];
    check_options(&both.map(|strategy| names.map(|name| (strategy, name))).concat());
}

fn check_options(wanted_options: &[(Strategy, &str)]) {
    let mesh = mesh(4, true, 20);
    let wanted = by_cpu(&mesh);
    let plain = |builder: AssemblerBuilder| builder.atomics(Atomics::CompareExchange);
    let stored = |builder: AssemblerBuilder| builder.tables(TablesIn::Storage);
    let layers = |builder: AssemblerBuilder| builder.order(Order::Layers);
    let twelve = |builder: AssemblerBuilder| builder.accumulators(Accumulators::Twelve);
    let interchanged = |builder: AssemblerBuilder| {
        builder.tables(TablesIn::Uniform).accumulators(Accumulators::Six).loops(Loops::RowsOutside)
    };
    let all = |builder: AssemblerBuilder| stored(layers(plain(builder))).accumulators(Accumulators::ThirtySix);
    let rows = |builder: AssemblerBuilder| builder.accumulators(Accumulators::ThirtySixRows);
    let private = |builder: AssemblerBuilder| builder.tables(TablesIn::Private);
    let prisms = |builder: AssemblerBuilder| builder.forcing_by(ForcingBy::Prisms);
    let joined = |builder: AssemblerBuilder| builder.kernels(Kernels::Joined);
    let generated = |builder: AssemblerBuilder| joined(prisms(private(rows(builder))));
    let options: [(&str, &dyn Fn(AssemblerBuilder) -> AssemblerBuilder); 11] = [
        ("plain", &plain),
        ("stored", &stored),
        ("layers", &layers),
        ("interchanged", &interchanged),
        ("twelve", &twelve),
        ("all", &all),
        ("rows", &rows),
        ("private", &private),
        ("prisms", &prisms),
        ("joined", &joined),
        ("generated", &generated),
    ];
    let factored = ["plain", "stored", "layers", "private", "prisms", "joined"];
    for adapter in on_adapters() {
        for &(strategy, wanted_name) in wanted_options {
            for (name, option) in options.iter().filter(|(name, _)| *name == wanted_name) {
                let assembler = option(on(&adapter).strategy(strategy)).build::<f32>(mesh.clone()).expect("built");
                let found = assembler.assemble().expect("assembled");
                let what = format!("{}, {strategy:?}, {name}", adapter.name);
                let within = if factored.contains(name) { 0.0 } else { of_rows::<f32>(&mesh) };
                hold(&what, &found, &wanted, within);
            }
        }
        match on(&adapter).strategy(Strategy::Scatter).atomics(Atomics::Native).build::<f32>(mesh.clone()) {
            Ok(native) => {
                let found = native.assemble().expect("assembled");
                hold(&format!("{}, native", adapter.name), &found, &wanted, 0.0);
            }
            Err(Error::NoAtomics { bits: 32, .. }) => eprintln!("SKIPPED on {}: it has no float atomics", adapter.name),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Gathered and by colours, bits are the same each time; gathered, checked and trusted as well.
/// (llvmpipe rounds what prisms sum otherwise where there are checks.)
#[test]
fn bits_do_not_depend_on_checks() {
    let mesh = mesh(6, true, 50);
    for adapter in on_adapters() {
        for strategy in [Strategy::Gather, Strategy::Coloured] {
            let made = |builder: AssemblerBuilder| {
                let assembler = builder.strategy(strategy).build::<f32>(mesh.clone()).expect("built");
                let first = assembler.assemble().expect("assembled");
                assert!(first == assembler.assemble().expect("assembled"), "{}, {strategy:?}", adapter.name);
                first
            };
            let [checked, trusted] = [true, false].map(|checked| made(on(&adapter).checked(checked)));
            assert!(strategy != Strategy::Gather || checked == trusted, "{}", adapter.name);
            let wide = |field: &[f32]| field.iter().map(|&number| number.into()).collect::<Vec<f64>>();
            for ((stage, checked), (_, trusted)) in fields(&checked).into_iter().zip(fields(&trusted)) {
                let off = apart(checked, &wide(trusted));
                assert!(off < 1e-4, "{}, {strategy:?}, {stage}: {off:e}", adapter.name);
            }
        }
        for size in [4, 64, 128] {
            let sized = on(&adapter).workgroup_size(size).build::<f32>(mesh.clone()).expect("built");
            hold(
                &format!("{}, {size} threads", adapter.name),
                &sized.assemble().expect("assembled"),
                &by_cpu(&mesh),
                0.0,
            );
        }
        for size in [0, 2, 100, 1 << 20] {
            let refused = on(&adapter).workgroup_size(size).build::<f32>(mesh.clone());
            assert!(matches!(refused, Err(Error::WorkgroupSize { .. })), "{size}");
        }
    }
}

/// Fields that do not fit at once are assembled in parts, a range of levels each: the same bits.
#[test]
fn what_does_not_fit_is_assembled_in_parts() {
    let mesh = mesh(7, true, 37);
    let level = 64 * 4;
    for adapter in on_fast_adapters() {
        for strategy in [Strategy::Gather, Strategy::Coloured] {
            // Joined kernels need a field of twice the length. Software adapters compile private
            // tables fastest.
            let (kernels, fields) =
                if strategy == Strategy::Gather { (Kernels::Separate, 1) } else { (Kernels::Joined, 2) };
            let builder = || on(&adapter).strategy(strategy).kernels(kernels).tables(TablesIn::Private);
            let whole = builder().build::<f32>(mesh.clone()).expect("built");
            let wanted = whole.assemble().expect("assembled");
            for levels in [5, 20, 36] {
                let parts = builder().most_field_bytes(fields * levels * level).build::<f32>(mesh.clone());
                let parts = parts.expect("built");
                let found = parts.assemble().expect("assembled");
                let what = format!("{}, {strategy:?}, {levels} levels at once", adapter.name);
                hold(&what, &found, &by_cpu(&mesh), 0.0);
                if strategy == Strategy::Gather {
                    assert!(found == wanted, "{}, {levels} levels at once", adapter.name);
                }
                let acted =
                    |assembler: &Assembler<f32>| assembler.act(Action::Helmholtz, &wanted.forcing).expect("acted");
                assert!(apart(&acted(&parts), &acted(&whole).iter().map(|&x| x.into()).collect::<Vec<_>>()) < 1e-6);
                let refused = parts.solve(&wanted.mass, SolveOptions::default()).expect_err("not at once").to_string();
                assert!(refused.contains("at once"), "{refused}");
            }
        }
        let refused = on(&adapter).most_field_bytes(4 * level).build::<f32>(mesh.clone()).err().expect("too few");
        assert!(matches!(refused, Error::TooLarge { .. }), "{refused}");
    }
}

#[test]
fn solutions_are_those_of_the_cpu() {
    let n = 8;
    let flat = irregular(n, 0.1, 2).expect("triangles");
    let mesh = Mesh::new(flat, Extrusion { levels: n + 1, height: 1.0 / n as f64 }).expect("a mesh");
    let cpu = Assembler::builder().engine(Engine::Cpu).build::<f64>(mesh.clone()).expect("the CPU engine");
    let rhs = cpu.act(Action::Mass, &cpu.forcing().expect("forcing")).expect("rhs");
    let options = SolveOptions { tolerance: 1e-5, ..SolveOptions::default() };
    let wanted = cpu.solve(&rhs, options).expect("solved");
    let exact: Vec<f64> = forcing::exact_solution(&mesh);
    assert!(wanted.converged && apart(&wanted.field, &exact) < 0.3);
    for adapter in on_adapters() {
        solutions::<f32>(&adapter, &mesh, &rhs, options, &wanted, 2e-5);
        solutions::<f64>(&adapter, &mesh, &rhs, options, &wanted, 1e-7);
    }
}

fn solutions<T: Number>(
    adapter: &AdapterSummary,
    mesh: &Mesh,
    rhs: &[f64],
    options: SolveOptions,
    wanted: &Solution<f64>,
    within: f64,
) {
    let Some(assembler) = built::<T>(on(adapter), mesh) else { return };
    let rhs: Vec<T> = rhs.iter().map(|&number| T::from_f64(number)).collect();
    let found = assembler.solve(&rhs, options).expect("solved");
    assert!(found.converged && found.residuals.len() == found.iterations + 1, "{}", adapter.name);
    assert!(found.residuals[0] == 1.0 && found.residuals[found.iterations] <= options.tolerance);
    assert!(found.true_residual <= options.tolerance, "{}", found.true_residual);
    let off = apart(&found.field, &wanted.field);
    assert!(off < within, "{}, {}: {off:e}", adapter.name, T::PRECISION);
    // The same directions one after the other, and not others that lead there as well.
    let what = format!("{}, {}: {:?}, not {:?}", adapter.name, T::PRECISION, found.residuals, wanted.residuals);
    assert!(found.iterations.abs_diff(wanted.iterations) <= 1, "{what}");
    let alike = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e3 * within * b;
    assert!(found.residuals.iter().zip(&wanted.residuals).all(alike), "{what}");
    // As far as it may go, and no further.
    let few = assembler.solve(&rhs, SolveOptions { iterations: 5, ..options }).expect("a solution");
    assert!(!few.converged && few.iterations == 5 && few.residuals.len() == 6 && few.true_residual > 1e-4);
    let none = assembler.solve(&rhs, SolveOptions { iterations: 0, ..options }).expect("a solution");
    assert!(!none.converged && none.iterations == 0 && none.field.iter().all(|&u| u == T::default()));
    assert!((none.true_residual - 1.0).abs() < 1e-6, "{}", none.true_residual);
    let zero = assembler.solve(&vec![T::default(); rhs.len()], options).expect("solved");
    assert!(zero.converged && zero.field.iter().all(|&u| u == T::default()));
    assert!(matches!(assembler.solve(&rhs[1..], options), Err(Error::FieldLength { .. })));
    let mut bad = rhs;
    bad[7] = T::from_f64(f64::NAN);
    assert!(matches!(assembler.solve(&bad, options), Err(Error::FieldNotFinite { node: 7 })));
}
