//! The command, as a user meets it.

use std::io::Read;
use std::process::{Command, Output};

use kernel_host::testing::on_fast_adapters;
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_helmholtz")).args(arguments).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Of a run that is to be done.
fn printed(arguments: &[&str]) -> String {
    let done = run(arguments);
    assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    text(&done.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(&[arguments, &["--json"]].concat())).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn close(found: &Value, wanted: f64, relative: f64) {
    let found = number(found);
    assert!((found - wanted).abs() <= relative * wanted.abs(), "{found}, not {wanted}");
}

#[test]
fn assemble_has_the_reports_numbers() {
    for (engine, precision, relative) in [("cpu", "f64", 1e-10), ("reference", "f64", 1e-10), ("cpu", "f32", 1e-6)] {
        let report = json(&["assemble", "--engine", engine, "--precision", precision, "--squares", "1"]);
        assert_eq!(report["precision"], precision);
        assert_eq!((&report["mesh"]["prisms"], &report["mesh"]["nodes"]), (&200.into(), &404.into()));
        let names: Vec<&Value> =
            report["stages"].as_array().expect("stages").iter().map(|stage| &stage["stage"]).collect();
        assert_eq!(names, ["forcing", "mass", "stiffness", "lumped"]);
        let (rhs, lumped) = (&report["stages"][2], &report["stages"][3]);
        close(&rhs["norm"], 4.955935065348e1, relative);
        close(&rhs["largest"], 8.921731, 1e-6);
        assert!(number(&rhs["sum"]).abs() < 1e-4, "{rhs}");
        let wanted = [-3.30360493, 8.92173136, 1.33725971, -1.33725971, -3.50099138];
        wanted.iter().zip(rhs["first"].as_array().expect("a list")).for_each(|(&wanted, found)| {
            close(found, wanted, 2e-6);
        });
        close(&lumped["largest"], 1.0 / 30.0, 1e-6);
        close(&lumped["sum"], 10.0, relative);
        close(&report["mesh"]["volume"], 10.0, 1e-12);
    }
    let text = printed(&["assemble", "--engine", "cpu", "--precision", "f64", "--squares", "2"]);
    for part in ["9 vertices, 8 triangles, 101 levels 0.1 apart: 800 prisms, 909 nodes", "S (M f)", "volume 10.0000000"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn numbering_and_form_of_the_mesh_are_options() {
    let norm = |more: &[&str]| {
        let common = ["assemble", "--engine", "cpu", "--precision", "f64", "--squares", "6", "--levels", "5"];
        number(&json(&[&common, more].concat())["stages"][2]["norm"])
    };
    let plain = norm(&[]);
    assert!((norm(&["--shuffle"]) / plain - 1.0).abs() < 1e-12);
    for other in [&["--jitter", "0.2"][..], &["--grade", "2"], &["--height", "0.2"]] {
        assert!((norm(other) / plain - 1.0).abs() > 1e-3, "{other:?}");
    }
    assert_ne!(norm(&["--jitter", "0.2", "--seed", "2"]), norm(&["--jitter", "0.2"]));
}

#[test]
fn fields_are_written_for_numpy() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let common = ["--engine", "cpu", "--squares", "2", "--levels", "4"];
    printed(&[&["assemble", "--precision", "f64", "--output", &at("a.npy")], &common[..]].concat());
    let bytes = std::fs::read(at("a.npy")).expect("the file");
    let array = npyz::NpyFile::new(&bytes[..]).expect("an array");
    assert_eq!(array.shape(), [4, 9, 4]);
    let numbers: Vec<f64> = array.into_vec().expect("numbers of 64 bits");
    let volume: f64 = numbers[3 * 36..].iter().sum();
    assert!((volume - 0.3).abs() < 1e-12, "{volume}");

    printed(&[&["solve", "--output", &at("u.npz")], &common[..]].concat());
    let mut file = array_file::ArrayFile::open(at("u.npz").as_ref()).expect("the file");
    for (name, shape) in [("u", &[9_u64, 4][..]), ("vertices", &[9, 2]), ("z", &[4])] {
        assert_eq!(file.array::<f64>(name).expect("an array").0, shape, "{name}");
    }
    assert_eq!(file.array::<u32>("triangles").expect("an array").0, [8, 3]);
}

#[test]
fn solve_finds_the_solution_and_draws_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let (svg, png) = (at("u.svg"), at("u.png"));
    let common = ["solve", "--engine", "cpu", "--squares", "12"];
    let text = printed(&[&common[..], &["--plot", &svg, "--z", "0.5"]].concat());
    assert!(text.contains("288 triangles, 13 levels") && text.contains("against the known solution"), "{text}");
    let picture = std::fs::read_to_string(svg).expect("a picture");
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    // The triangles and the 128 steps of the scale.
    assert_eq!(picture.matches("crispEdges").count(), 288 + 128);
    assert!(picture.contains("z = 0.5, 288 triangles, 12 layers"));

    printed(&[&common[..], &["--plot", &png, "--precision", "f64"]].concat());
    let picture = std::fs::read(png).expect("a picture");
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n") && picture.ends_with(b"IEND\xaeB`\x82"));
    // Signature, header, dots per metre, and the compressed rows: a filter byte, which is 0, and
    // pixels.
    let word = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().expect("four bytes")) as usize;
    let (width, length) = (word(16), word(54));
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&picture[62..62 + length]).read_to_end(&mut rows).expect("pixels");
    assert_eq!(rows.len(), word(20) * (1 + 3 * width));
    let at = |x: usize, y: usize| -> [u8; 3] {
        let pixel = y * (1 + 3 * width) + 1 + 3 * x;
        rows[pixel..pixel + 3].try_into().expect("three colours")
    };
    // A corner of the picture; and of the slice the middle, where u is 1, and the middle of the
    // left side, where it is -1.
    assert_eq!(at(2, 2), [255; 3]);
    assert!(at(353, 326)[0] > at(353, 326)[2] && at(85, 326)[2] > at(85, 326)[0]);
}

#[test]
fn errors_fall_with_the_square_of_the_step() {
    let report =
        json(&["solve", "--engine", "cpu", "--precision", "f64", "--convergence", "6,12,24", "--jitter", "0.1"]);
    let solved = report["solved"].as_array().expect("a list");
    assert_eq!(solved.len(), 3);
    assert!(solved[0]["rms_order"].is_null());
    for solved in &solved[1..] {
        let order = number(&solved["rms_order"]);
        assert!(order > 1.8 && order < 2.2, "{order}");
        assert!(solved["converged"] == true && solved["is_known"] == true, "{solved}");
        assert!(number(&solved["true_residual"]) <= 1e-8, "{solved}");
    }
    let text = printed(&["solve", "--engine", "cpu", "--convergence", "4,8"]);
    assert!(text.contains("order") && text.lines().any(|line| line.trim_start().starts_with("8 ")), "{text}");
}

#[test]
fn only_boxes_have_a_known_solution() {
    let known = |more: &[&str]| {
        json(&[&["solve", "--engine", "cpu", "--squares", "4"], more].concat())["solved"][0]["is_known"] == true
    };
    assert!(known(&[]) && known(&["--levels", "4", "--height", "0.5"]) && known(&["--height", "0.25"]));
    assert!(!known(&["--levels", "4", "--height", "0.1"]));
    let text = printed(&["solve", "--engine", "cpu", "--squares", "4", "--levels", "4", "--height", "0.1"]);
    assert!(!text.contains("known solution"), "{text}");
}

#[test]
fn meshes_are_read_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).expect("a file");
        folder.path().join(name).to_str().expect("a name").to_owned()
    };
    let nodes = "4 2 0 0\n1 0 0\n2 1 0\n3 0 1\n4 1 1\n";
    let mesh = write("square.node", nodes);
    write("square.ele", "2 3 0\n1 1 2 4\n2 1 4 3\n");
    let report = json(&["assemble", "--engine", "cpu", "--precision", "f64", "--mesh", &mesh]);
    close(&report["stages"][2]["norm"], 4.955935065348e1, 1e-10);
    let solved = json(&["solve", "--engine", "cpu", "--mesh", &mesh]);
    assert_eq!(solved["solved"][0]["mesh"]["levels"], 2);

    write("dangling.node", nodes);
    write("flat.node", nodes);
    let dangling = write("dangling.ele", "2 3 0\n1 1 2 4\n2 1 7 3\n");
    let flat = write("flat.ele", "1 3 0\n1 1 1 4\n");
    let alone = write("alone.node", nodes);
    for (mesh, told) in [
        (dangling.as_str(), "dangling.ele:3: there is no vertex 7: the .node file has 1 to 4"),
        (&flat, "triangle 0 is degenerate"),
        (&alone, "alone.ele: "),
        ("/nowhere/there", "/nowhere/there.node: "),
    ] {
        let done = run(&["assemble", "--engine", "cpu", "--mesh", mesh]);
        assert_eq!(done.status.code(), Some(1));
        assert!(said(&done).contains(told), "{told}: {}", said(&done));
    }
}

/// Without the line ends that a narrow terminal makes.
fn said(done: &Output) -> String {
    text(&done.stderr).replace("\n  │ ", " ")
}

const KEYS: [&str; 6] = ["median_ms", "fastest_ms", "slowest_ms", "bytes", "gb_per_s", "stage"];

#[test]
fn bench_times_what_it_has_checked_on_the_cpu() {
    let common = ["bench", "--engine", "cpu", "--squares", "5", "--rounds", "2", "--threads", "2,1"];
    let report = json(&common);
    let measured = report["measured"].as_array().expect("a list");
    let ran: Vec<(&str, u64)> = measured
        .iter()
        .map(|row| (row["precision"].as_str().expect("a name"), row["threads"].as_u64().expect("a number")))
        .collect();
    assert_eq!(ran, [("f32", 1), ("f32", 2), ("f64", 1), ("f64", 2)]);
    for row in measured {
        let stages = row["stages"].as_array().expect("stages");
        assert!(stages.len() == 4 && stages.iter().all(|stage| KEYS.iter().all(|&key| !stage[key].is_null())), "{row}");
        for key in ["total_ms", "nodes_per_s", "gb_per_s", "times_one_thread", "times_reference"] {
            assert!(number(&row[key]) > 0.0, "{key}: {row}");
        }
        assert_eq!(row["errors"].as_array().map(Vec::len), Some(4));
    }
    assert_eq!(report["reference"]["prisms"], 5000);
    assert!(report["read_gb_per_s"].is_null());
    let text = printed(&common);
    assert!(text.contains("x reference") && text.contains("reference, one core, 5000 prisms"), "{text}");
    let text = printed(&["bench", "--engine", "reference", "--squares", "2"]);
    assert!(text.contains("reference, one core, 800 prisms"), "{text}");
}

#[test]
fn bench_has_every_strategy_of_each_adapter() {
    for adapter in on_fast_adapters() {
        let index = adapter.index.to_string();
        let report = json(&[
            "bench",
            "--adapter",
            &index,
            "--squares",
            "3",
            "--levels",
            "4",
            "--rounds",
            "1",
            "--tables",
            "storage",
            "--accumulators",
            "6,12",
            "--forcing",
            "prisms",
            "--kernels",
            "joined",
            "--precision",
            "f32",
        ]);
        let strategies: Vec<&str> =
            report["measured"].as_array().expect("a list").iter().filter_map(|row| row["strategy"].as_str()).collect();
        assert_eq!(strategies, ["gather", "coloured", "coloured", "scatter", "scatter"], "{}", adapter.name);
        for row in report["measured"].as_array().expect("a list") {
            assert!(number(&row["host_to_host_ms"]) > 0.0, "{row}");
            let details = row["details"].as_str().expect("details");
            let is_given = details.ends_with("forcing by prisms, joined kernels");
            assert!(is_given != (row["strategy"] == "gather"), "{details}");
            assert!(row["stages"].as_array().is_some_and(|stages| stages.is_empty() || stages.len() == 4), "{row}");
        }
        let solved = json(&["solve", "--adapter", &index, "--squares", "6", "--precision", "mixed"]);
        assert!(solved["solved"][0]["converged"] == true, "{solved}");
        let told = said(&run(&["assemble", "--adapter", &index, "--workgroup-size", "3"]));
        assert!(told.contains("3 threads a workgroup"), "{told}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    for (command, more, code, told) in [
        ("assemble", &["--squares", "0"][..], 2, "1 x 1 cells or more, not 0"),
        ("assemble", &["--levels", "1"], 2, "1 levels: a layer of prisms lies between two"),
        ("assemble", &["--jitter", "0.7"], 2, "0 to 0.2 of a cell, not 0.7"),
        ("assemble", &["--mesh", "a", "--squares", "3"], 2, "cannot be used with"),
        ("assemble", &["--output", "fields.csv"], 2, "fields are written as .npz"),
        ("assemble", &["--output", "/nowhere/there/x.npy"], 1, "/nowhere/there/x.npy"),
        ("assemble", &["--engine", "abacus"], 2, "abacus"),
        ("assemble", &["--engine", "auto", "--adapter", "no such one"], 3, "no such one"),
        ("solve", &["--plot", "u.gif"], 2, ".png, .svg or .pdf"),
        ("solve", &["--plot", "u.svg", "--squares", "200", "--levels", "3"], 2, "80000 triangles"),
        ("solve", &["--plot", "u.png", "--z", "1.5"], 2, "--z 1.5: the mesh goes from 0 to 1"),
        ("solve", &["--plot", "/nowhere/there/u.png", "--squares", "2"], 1, "/nowhere/there/u.png"),
        ("solve", &["--tolerance", "0"], 2, "above 0 and below 1"),
        ("solve", &["--convergence", "4,8", "--plot", "u.png"], 2, "cannot be used with"),
        ("bench", &["--threads", "0"], 2, "0"),
        ("bench", &["--threads", "4294967295"], 2, "4294967295"),
        ("bench", &["--rounds", "4294967295"], 2, "1..=10000"),
        ("assemble", &["--squares", "100", "--levels", "2000000"], 1, "GiB of memory"),
        ("bench", &["--squares", "100", "--levels", "20000000"], 1, "GiB of memory"),
        ("solve", &["--squares", "100", "--levels", "20000000", "--rhs", "1"], 1, "GiB of memory"),
        ("assemble", &["--height", "-1"], 2, "layers of height -1e0"),
        ("assemble", &["--height", "NaN"], 2, "layers of height NaN"),
        ("assemble", &["--jitter", "-0.1"], 2, "not -0.1"),
        ("solve", &["--z", "NaN", "--plot", "u.png"], 2, "--z NaN"),
        ("solve", &["--rhs", "-x^2+w"], 2, "column 6: `w` is unknown"),
        ("solve", &["--rhs", "@f.csv"], 2, "fields are read from @FILE.npz:NAME"),
        ("solve", &["--rhs", "@/nowhere/f.npy"], 1, "/nowhere/f.npy"),
        ("solve", &["--dirichlet", "bottom"], 2, "a condition is PART=VALUE"),
        ("solve", &["--dirichlet", "inlet=1"], 2, "no boundary part `inlet`; its parts are bottom, top"),
        ("solve", &["--reaction", "0"], 2, "unique only up to a constant"),
        ("solve", &["--diffusion", "-1"], 1, "the diffusion is -1 at node 0"),
        ("solve", &["--reaction", "-1/0"], 1, "the reaction is -inf at node 0"),
        ("solve", &["--matrix", "a.csv", "--rhs", "1"], 2, "matrices are written as .mtx"),
        ("solve", &["--matrix", "a.mtx"], 2, "stores no matrix"),
    ] {
        let mut arguments = vec![command];
        if !more.contains(&"--engine") {
            arguments.extend(["--engine", "cpu"]);
        }
        arguments.extend(more);
        let done = run(&arguments);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {}", said(&done));
        assert!(said(&done).contains(told), "{told}: {}", said(&done));
        assert!(done.stdout.is_empty());
    }
    let done = run(&["solve", "--engine", "cpu", "--squares", "8", "--iterations", "3"]);
    assert_eq!(done.status.code(), Some(6));
    assert!(said(&done).contains("not solved: after 3 iterations"), "{}", said(&done));
    assert!(text(&done.stdout).contains("3 iterations of conjugate gradients in 1 start"), "what there is, is printed");
    let done = run(&["solve", "--engine", "cpu", "--squares", "8", "--precision", "f32", "--tolerance", "1e-12"]);
    assert_eq!(done.status.code(), Some(6));
    assert!(said(&done).contains("use --precision mixed or f64"), "{}", said(&done));
    // c = -1e-13 is next to the eigenvalue 0, and the constant source needs u = -1e13.
    let done = run(&["solve", "--engine", "cpu", "--squares", "4", "--reaction", "-1e-13", "--rhs", "1", "--json"]);
    assert_eq!(done.status.code(), Some(6), "{}", said(&done));
    assert!(said(&done).contains("-c is close to an eigenvalue"), "{}", said(&done));
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let solved = &report["solved"][0];
    assert!(solved["converged"] == false && solved["method"] == "MINRES", "{solved}");
}

/// A square with a physical curve on its left side.
const SQUARE: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n1 7 \"wall\"\n$EndPhysicalNames\n\
    $Entities\n0 1 1 0\n5 0 0 0 0 1 0 1 7 0\n1 0 0 0 1 1 0 0 1 5\n$EndEntities\n\
    $Nodes\n1 4 1 4\n2 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n$EndNodes\n\
    $Elements\n2 3 1 3\n1 5 1 1\n1 1 3\n2 1 2 2\n2 1 2 4\n3 3 1 4\n$EndElements\n";

#[test]
fn problems_of_the_user_are_solved() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    std::fs::write(at("square.msh"), SQUARE).expect("a file");
    let solve = |more: &[&str]| json(&[&["solve", "--engine", "cpu"], more].concat())["solved"][0].clone();
    // u = x by its values, and by fluxes.
    let linear = ["--rhs", "x", "--exact", "x"];
    let fixed = solve(&[&["--squares", "5", "--dirichlet", "all=x"], &linear[..]].concat());
    assert!(number(&fixed["largest_error"]) < 1e-6 && fixed["is_known"] == true, "{fixed}");
    let (mesh, flux) = (at("square.msh"), "wall=-1");
    let gmsh = ["--mesh", &mesh, "--levels", "5", "--rhs", "if(x<0.5,0,1)", "--neumann", flux, "--diffusion", "2"];
    assert!(number(&solve(&gmsh)["least"]) < 0.0);
    // $Comments and the older format make the same mesh.
    let wanted = solve(&gmsh);
    let comments = "$Comments\nby a script\n$EndComments\n";
    std::fs::write(at("comments.msh"), format!("{comments}{SQUARE}")).expect("a file");
    let comments = at("comments.msh");
    let same = solve(&[&["--mesh", &comments], &gmsh[2..]].concat());
    assert_eq!((&same["least"], &same["greatest"]), (&wanted["least"], &wanted["greatest"]));
    // A field goes out and in again, in each format; and so does a matrix.
    let common = ["--squares", "3", "--jitter", "0.2", "--rhs", "y-z", "--dirichlet", "left=-1"];
    let first = solve(&common);
    for (file, field) in [("u.npz", ":u"), ("u.vtu", ":u"), ("u.npy", "")] {
        let path = at(file);
        solve(&[&common[..], &["--output", &path, "--matrix", &at("a.mtx")]].concat());
        let again = format!("@{path}{field}");
        let same = solve(&[&common[..], &["--exact", &again]].concat());
        assert!(number(&same["largest_error"]) == 0.0 && same["least"] == first["least"], "{file}: {same}");
        let over = run(&[&["solve", "--rhs", &again, "--output", &path], &["--engine", "cpu"][..]].concat());
        assert!(over.status.code() == Some(2) && said(&over).contains("one of the inputs"), "{}", said(&over));
    }
    // Arrays of other types give the same solution as an expression.
    let wanted = solve(&["--squares", "3", "--rhs", "if(x<0.5,0,1)", "--dirichlet", "bottom=0"]);
    let is_right = |node: u64| node / 4 % 4 >= 2;
    let by_rows = |form: fn(bool) -> u8| (0..64).map(|node| form(is_right(node))).collect::<Vec<u8>>();
    let by_columns: Vec<u8> = (0..64).flat_map(|place| u16::from(is_right(place % 16 * 4)).to_be_bytes()).collect();
    for (descr, is_fortran, data) in
        [("|b1", "False", by_rows(u8::from)), ("|i1", "False", by_rows(u8::from)), (">i2", "True", by_columns)]
    {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {is_fortran}, 'shape': (16, 4), }}\n");
        let length = (header.len() as u16).to_le_bytes();
        std::fs::write(at("f.npy"), [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), &data].concat())
            .expect("a file");
        let found = solve(&["--squares", "3", "--rhs", &format!("@{}", at("f.npy")), "--dirichlet", "bottom=0"]);
        assert_eq!((&found["least"], &found["greatest"]), (&wanted["least"], &wanted["greatest"]), "{descr}");
    }
    let other = ["solve", "--engine", "cpu", "--squares", "3", "--levels", "5", "--rhs", &format!("@{}", at("f.npy"))];
    let told = said(&run(&other)).replace("\n  │ ", " ");
    assert!(told.contains("an array of shape [16, 4], and [16, 5] (vertices x levels) or [16] is wanted"), "{told}");
    let matrix = std::fs::read_to_string(at("a.mtx")).expect("a matrix");
    assert!(matrix.starts_with("%%MatrixMarket matrix coordinate real symmetric\n64 64 "), "{matrix:.80}");
    let (stiffness, mass) = (at("s.npz"), at("m.npz"));
    let files = ["--stiffness", &stiffness, "--mass", &mass];
    printed(
        &[&["assemble", "--engine", "cpu", "--squares", "2", "--levels", "3", "--height", "0.5"], &files[..]].concat(),
    );
    let total = |path: &str| -> f64 {
        array_file::ArrayFile::open(path.as_ref()).expect("a file").array::<f64>("data").expect("data").1.iter().sum()
    };
    assert!(total(&stiffness).abs() < 1e-12 && (total(&mass) - 1.0).abs() < 1e-12);
}

#[test]
fn the_command_explains_itself() {
    for (arguments, part) in [
        (&["completions", "bash"][..], "complete -F _helmholtz"),
        (&["man"], ".TH helmholtz"),
        (&["solve", "--help"], "--dirichlet <PART=U>"),
    ] {
        assert!(printed(arguments).contains(part), "{arguments:?}");
    }
    let verbose = ["solve", "-v", "--engine", "cpu", "--squares", "2", "--rhs", "1"];
    assert!(said(&run(&verbose)).contains("assembly: "));
    let quiet = run(&[&["-q"], &verbose[..1], &verbose[2..]].concat());
    assert!(quiet.stderr.is_empty() && quiet.status.success());
}
