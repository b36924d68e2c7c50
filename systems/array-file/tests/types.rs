//! Tests of all types of numpy's numbers, in both byte orders, by rows and by columns.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use array_file::{ArrayFile, Element, read_npy};

/// A stored type: its name without the byte order, and the bytes of a number, big-endian.
type Stored = (&'static str, fn(f64) -> Vec<u8>);

/// All types that are read.
const TYPES: [Stored; 12] = [
    ("b1", |value| vec![value as u8]),
    ("i1", |value| (value as i8).to_be_bytes().into()),
    ("i2", |value| (value as i16).to_be_bytes().into()),
    ("i4", |value| (value as i32).to_be_bytes().into()),
    ("i8", |value| (value as i64).to_be_bytes().into()),
    ("u1", |value| (value as u8).to_be_bytes().into()),
    ("u2", |value| (value as u16).to_be_bytes().into()),
    ("u4", |value| (value as u32).to_be_bytes().into()),
    ("u8", |value| (value as u64).to_be_bytes().into()),
    ("f2", |value| half(value).to_be_bytes().into()),
    ("f4", |value| (value as f32).to_be_bytes().into()),
    ("f8", |value| value.to_be_bytes().into()),
];

/// The bits of a number of 16 bits that is a fraction of at most ten bits.
fn half(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    match value.abs() {
        0.0 => sign,
        value if value.is_nan() => 0x7e00,
        value => {
            let exponent = value.log2().floor();
            let fraction = ((value / exponent.exp2() - 1.0) * 1024.0) as u16;
            sign | ((exponent as i32 + 15) as u16) << 10 | fraction
        }
    }
}

/// The bytes of an `.npy` file, as `numpy.save` writes them.
fn npy(descr: &str, is_fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    let header = format!("{header:<0$}\n", 117_usize.max(header.len()));
    let length = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), data].concat()
}

/// An array of shape (2, 3) with these numbers, row by row.
fn array((name, encode): Stored, byte_order: char, is_fortran: bool, rows: [[f64; 3]; 2]) -> Vec<u8> {
    let byte_order = if name.ends_with('1') { '|' } else { byte_order };
    let encode = |value: f64| {
        let mut bytes = encode(value);
        if byte_order == '<' {
            bytes.reverse();
        }
        bytes
    };
    let data: Vec<u8> = match is_fortran {
        false => rows.into_iter().flatten().flat_map(encode).collect(),
        true => (0..3).flat_map(|column| [rows[0][column], rows[1][column]]).flat_map(encode).collect(),
    };
    npy(&format!("'{byte_order}{name}'"), is_fortran, "(2, 3)", &data)
}

fn npz(folder: &Path, name: &str, array: &[u8]) -> PathBuf {
    let path = folder.join("a.npz");
    let mut zip = zip::ZipWriter::new(File::create(&path).expect("a file"));
    zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).expect("written");
    zip.write_all(array).expect("written");
    zip.finish().expect("written");
    path
}

/// Reads an array from an archive and from a file of its own.
fn read<T: Element + PartialEq>(array: &[u8]) -> Result<(Vec<u64>, Vec<T>), String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = ArrayFile::open(&npz(folder.path(), "x", array)).expect("an archive");
    let from_archive = file.array::<T>("x").map_err(|error| error.to_string());
    let path = folder.path().join("x.npy");
    std::fs::write(&path, array).expect("written");
    let alone = read_npy::<T>(&path).map_err(|error| error.to_string());
    let shown = |path: &str| format!("{}: ", folder.path().join(path).display());
    match (from_archive, alone) {
        (Ok(one), Ok(other)) if one == other => Ok(one),
        (Err(one), Err(other)) => {
            let one = one.strip_prefix(&shown("a.npz")).and_then(|one| one.strip_prefix("`x`: "));
            assert_eq!(one, other.strip_prefix(&shown("x.npy")));
            Err(one.expect("a reason with the path and the array").to_owned())
        }
        (one, other) => panic!("{one:?} {other:?}"),
    }
}

/// Calls a function with each type that callers ask for, and the type's name.
macro_rules! for_each_wanted {
    ($function:ident) => {
        $function::<u8>("u1", |value| value as u8);
        $function::<u16>("u2", |value| value as u16);
        $function::<u32>("u4", |value| value as u32);
        $function::<u64>("u8", |value| value as u64);
        $function::<i8>("i1", |value| value as i8);
        $function::<i16>("i2", |value| value as i16);
        $function::<i32>("i4", |value| value as i32);
        $function::<i64>("i8", |value| value as i64);
        $function::<f32>("f4", |value| value as f32);
        $function::<f64>("f8", |value| value);
    };
}

/// Checks that numbers of any stored type that fit are read as `T`.
fn check_fitting<T: Element + PartialEq>(wanted: &str, cast: fn(f64) -> T) {
    for stored in TYPES {
        let is_bool = stored.0 == "b1";
        let is_signed = !is_bool && !stored.0.starts_with('u') && !wanted.starts_with('u');
        let is_real = stored.0.starts_with('f') && wanted.starts_with('f');
        let mut rows = if is_bool { [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]] } else { [[0.0, 1.0, 2.0], [100.0, 64.0, 7.0]] };
        if is_signed {
            rows[1][2] = -7.0;
        }
        if is_real {
            rows[0][1] = -0.375;
        }
        for byte_order in ['<', '>'] {
            for is_fortran in [false, true] {
                let found = read::<T>(&array(stored, byte_order, is_fortran, rows));
                let values = rows.into_iter().flatten().map(cast).collect();
                let case = format!("{byte_order}{} as {wanted}, by columns: {is_fortran}", stored.0);
                assert_eq!(found, Ok((vec![2, 3], values)), "{case}");
            }
        }
    }
}

#[test]
fn numbers_of_all_types_are_converted() {
    for_each_wanted!(check_fitting);
}

/// Checks that numbers of any stored type that do not fit are errors with index and number.
fn check_misfits<T: Element + PartialEq>(wanted: &str, _: fn(f64) -> T) {
    let bits: i32 = 8 * wanted[1..].parse::<i32>().expect("a size");
    let is_integer = !wanted.starts_with('f');
    for stored in TYPES {
        let stored_bits: i32 = 8 * stored.0[1..].parse::<i32>().expect("a size");
        let mut misfits: Vec<(f64, &str)> = Vec::new();
        if is_integer && stored.0.starts_with('f') {
            misfits.extend([(1.5, "1.5"), (f64::NAN, "NaN")]);
        }
        if wanted.starts_with('u') && (stored.0.starts_with('i') || stored.0.starts_with('f')) {
            misfits.push((-1.0, "-1"));
        }
        if is_integer && bits == 8 && stored_bits > 8 {
            misfits.push((300.0, "300"));
        }
        if is_integer && stored.0 == "f8" {
            misfits.extend([(1e30, "1e30"), (f64::INFINITY, "inf"), (2.0_f64.powi(53), "9007199254740992.0")]);
        }
        if wanted == "f4" && stored.0 == "f8" {
            misfits.extend([(1e39, "1e39"), (-1e300, "-1e300")]);
        }
        for (value, shown) in misfits {
            for byte_order in ['<', '>'] {
                for is_fortran in [false, true] {
                    let rows = [[0.0, 1.0, 1.0], [1.0, value, value]];
                    let error = read::<T>(&array(stored, byte_order, is_fortran, rows)).expect_err("refused");
                    assert!(error.starts_with(&format!("element [1, 1] is {shown}")), "{error}");
                    assert!(error.contains(", and ") && error.len() < 150, "{error}");
                }
            }
        }
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused_with_index_and_value() {
    for_each_wanted!(check_misfits);
}

#[test]
fn messages_name_the_numbers_that_fit() {
    let one = |stored: usize, value: f64| array(TYPES[stored], '<', false, [[0.0; 3], [0.0, 0.0, value]]);
    assert_eq!(
        read::<u8>(&one(11, 1.5)),
        Err("element [1, 2] is 1.5, and a whole number from 0 to 255 is wanted".into())
    );
    assert_eq!(
        read::<i16>(&one(11, f64::NAN)),
        Err("element [1, 2] is NaN, and a whole number from -32768 to 32767 is wanted".into())
    );
    let error = read::<f32>(&one(11, 1e300)).expect_err("refused");
    assert_eq!(error, "element [1, 2] is 1e300, and a number from -3.4028235e38 to 3.4028235e38 is wanted");
    let error = read::<u64>(&one(11, 1e18)).expect_err("refused");
    assert!(error.contains("exact below 9007199254740992: save them as integers"), "{error}");
}

#[test]
fn floats_are_rounded_and_keep_nan_and_infinity() {
    let rows = [[0.1, f64::NAN, f64::INFINITY], [f64::NEG_INFINITY, 1e-320, 3.402_823_4e38]];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.npy");
    std::fs::write(&path, array(TYPES[11], '>', true, rows)).expect("written");
    let (_, found) = read_npy::<f32>(&path).expect("floats");
    assert_eq!((found[0], found[2], found[3], found[4]), (0.1, f32::INFINITY, f32::NEG_INFINITY, 0.0));
    assert!(found[1].is_nan() && found[5] == f32::MAX);
    let large = i64::MAX.to_le_bytes();
    assert_eq!(read::<f64>(&npy("'<i8'", false, "(1,)", &large)), Ok((vec![1], vec![2.0_f64.powi(63)])));
    assert_eq!(read::<u64>(&npy("'<u8'", false, "()", &u64::MAX.to_le_bytes())), Ok((vec![], vec![u64::MAX])));
}

#[test]
fn orders_of_more_dimensions_and_empty_arrays_are_read() {
    // Element [i, j, k] of shape (2, 3, 4) is 100 i + 10 j + k.
    let of_columns: Vec<u8> = (0..24).map(|at| 100 * (at % 2) + 10 * (at / 2 % 3) + at / 6).collect();
    let by_rows: Vec<i32> = (0..24).map(|at| 100 * (at / 12) + 10 * (at / 4 % 3) + at % 4).collect();
    assert_eq!(read::<i32>(&npy("'|u1'", true, "(2, 3, 4)", &of_columns)), Ok((vec![2, 3, 4], by_rows)));
    assert_eq!(read::<i32>(&npy("'|u1'", true, "(0, 3)", &[])), Ok((vec![0, 3], vec![])));
    let error = read::<u8>(&npy("'|i1'", true, "(2, 1, 2)", &[0, 1, 255, 1])).expect_err("refused");
    assert!(error.starts_with("element [0, 0, 1] is -1, and"), "{error}");
    let error = read::<u8>(&npy("'|i1'", true, "()", &[255])).expect_err("refused");
    assert!(error.starts_with("the number is -1, and"), "{error}");
}

#[test]
fn other_types_are_refused_by_name() {
    for (descr, size, kind) in [
        ("'<c16'", 16, "complex numbers"),
        ("'>c8'", 8, "complex numbers"),
        ("'<U5'", 20, "strings"),
        ("'|S3'", 3, "strings"),
        ("'|O'", 50, "Python objects"),
        ("'<M8[ns]'", 8, "times"),
        ("'<f16'", 16, "long doubles"),
        ("'|V7'", 7, "raw bytes"),
        ("[('x', '<f8'), ('y', '<i4')]", 12, "records"),
    ] {
        let error = read::<f64>(&npy(descr, false, "(1,)", &vec![0; size])).expect_err("refused");
        assert!(error.starts_with(&format!("type {descr}")), "{descr}: {error}");
        assert!(error.contains(&format!("({kind}) is not read: bool, integers of 8 to 64 bits and floats")), "{error}");
    }
}

#[test]
fn arrays_of_another_size_and_other_files_are_refused() {
    for (shape, size) in [("(2, 3)", 23), ("(2, 3)", 25), ("(4294967296, 1073741824)", 24), ("(3,)", 0)] {
        let error = read::<f32>(&npy("'<f4'", false, shape, &vec![0; size])).expect_err("refused");
        assert!(error.starts_with("shape [") && error.contains("of type '<f4' takes"), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.npy");
    for (bytes, what) in [
        (&b""[..], "it is empty"),
        (b"PK\x03\x04", "it is a Zip archive; name the file .npz if it has several arrays"),
        (b"1.0\n2.0\n", "its first bytes are not those of numpy.save"),
    ] {
        std::fs::write(&path, bytes).expect("written");
        let error = read_npy::<f64>(&path).expect_err("refused").to_string();
        assert!(error.ends_with(&format!("x.npy: this is no .npy file: {what}")), "{error}");
    }
    std::fs::write(folder.path().join("y.npz"), npy("'<f4'", false, "(0,)", &[])).expect("written");
    let error = ArrayFile::open(&folder.path().join("y.npz")).map(drop).expect_err("refused").to_string();
    assert!(error.ends_with("this is no .npz file: it is a single array; save it with numpy.savez"), "{error}");
}

#[test]
fn wrong_shapes_name_the_shape_found_and_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = npz(folder.path(), "x", &npy("'|u1'", false, "(2, 3)", &[0; 6]));
    let mut file = ArrayFile::open(&table).expect("an archive");
    let error = file.column::<f32>("x").expect_err("refused").what;
    assert_eq!(error, "`x` has shape [2, 3], and [n] is wanted");
    let row = npz(folder.path(), "x", &npy("'|u1'", false, "(6,)", &[0; 6]));
    let mut file = ArrayFile::open(&row).expect("an archive");
    assert_eq!(file.as_long::<i8>("x", 6), Ok(vec![0; 6]));
    assert_eq!(file.as_long::<i8>("x", 5).expect_err("refused").what, "`x` has shape [6], and [5] is wanted");
}
