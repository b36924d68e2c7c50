//! Output files: fields as NumPy arrays or VTU, matrices as Matrix Market or NumPy arrays.

use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use array_file::ArrayWriter;
use command_host::{Code, Failure, write_file};
use helmholtz::{Csr, Mesh, Number};
use npyz::{AutoSerialize, WriterBuilder};

/// The program's name in temporary files.
const PROGRAM: &str = "helmholtz";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Npz,
    Npy,
    Vtu,
    MatrixMarket,
}

/// An output file whose ending names its format.
#[derive(Clone, Debug)]
pub(super) struct Output {
    path: PathBuf,
    format: Format,
}

impl Output {
    /// A file for fields. Refuses other endings before anything is computed.
    pub(super) fn of_fields(path: &Path) -> Result<Self, Failure> {
        let endings = [("npz", Format::Npz), ("npy", Format::Npy), ("vtu", Format::Vtu)];
        let what = "fields are written as .npz (arrays by name, with the mesh), .npy (one array) or .vtu (ParaView)";
        Self::of(path, &endings, what)
    }

    /// A file for a matrix.
    pub(super) fn of_matrix(path: &Path) -> Result<Self, Failure> {
        let endings = [("mtx", Format::MatrixMarket), ("npz", Format::Npz)];
        Self::of(path, &endings, "matrices are written as .mtx (Matrix Market) or .npz (scipy.sparse.load_npz)")
    }

    fn of(path: &Path, endings: &[(&str, Format)], what: &str) -> Result<Self, Failure> {
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
        match endings.iter().find(|(known, _)| ending.as_deref() == Some(known)) {
            Some(&(_, format)) => Ok(Self { path: path.to_owned(), format }),
            None => Err(Failure::new(Code::Usage, format_args!("{}: {what}", path.display()))),
        }
    }

    /// Writes fields. `.npy` is an array of fields x vertices x levels, or of vertices x levels if
    /// there is one field. `.npz` has one array of vertices x levels per field, and the mesh:
    /// `vertices` (x and y), `triangles`, and `z` of the levels.
    pub(super) fn write<T: Number + AutoSerialize>(&self, mesh: &Mesh, fields: &[(&str, &[T])]) -> Result<(), Failure> {
        write_file(&self.path, PROGRAM, |out| match self.format {
            Format::Npz => archive(out, mesh, fields),
            Format::Vtu => {
                let wide: Vec<Vec<f64>> =
                    fields.iter().map(|(_, field)| field.iter().map(|&number| number.into()).collect()).collect();
                let fields: Vec<(&str, &[f64])> =
                    fields.iter().zip(&wide).map(|(&(name, _), field)| (name, &field[..])).collect();
                helmholtz::io::write_vtu(out, mesh, &fields)
            }
            Format::Npy | Format::MatrixMarket => stacked(out, mesh, fields),
        })
    }

    /// Writes a matrix: the lower triangle of Matrix Market's symmetric form, or all entries as
    /// `scipy.sparse.load_npz` reads.
    pub(super) fn write_matrix(&self, matrix: &Csr) -> Result<(), Failure> {
        write_file(&self.path, PROGRAM, |out| match self.format {
            Format::MatrixMarket => matrix_market(out, matrix),
            _ => sparse_arrays(out, matrix),
        })
    }
}

fn stacked<T: Number + AutoSerialize>(out: impl Write, mesh: &Mesh, fields: &[(&str, &[T])]) -> io::Result<()> {
    let shape = [fields.len(), mesh.vertices().len(), mesh.levels()].map(|length| length as u64);
    let shape = if fields.len() == 1 { &shape[1..] } else { &shape };
    let mut array = npyz::WriteOptions::new().default_dtype().shape(shape).writer(out).begin_nd()?;
    fields.iter().try_for_each(|(_, field)| array.extend(field.iter().copied()))?;
    array.finish()
}

fn archive<T: Number + AutoSerialize>(out: impl Write + Seek, mesh: &Mesh, fields: &[(&str, &[T])]) -> io::Result<()> {
    let mut file = ArrayWriter::new(out);
    let (vertices, levels) = (mesh.vertices().len() as u64, mesh.levels() as u64);
    for (name, field) in fields {
        file.array(name, &[vertices, levels], field.iter().copied())?;
    }
    file.array("vertices", &[vertices, 2], mesh.vertices().as_flattened().iter().copied())?;
    let triangles = mesh.triangles();
    file.array("triangles", &[triangles.len() as u64, 3], triangles.as_flattened().iter().copied())?;
    file.column("z", (0..mesh.levels()).map(|level| mesh.z(level)).collect::<Vec<f64>>())?;
    file.finish()
}

fn matrix_market(mut out: impl Write, matrix: &Csr) -> io::Result<()> {
    let rows = matrix.offsets.len() - 1;
    let entries = || {
        (0..rows).flat_map(|row| {
            let range = matrix.offsets[row] as usize..matrix.offsets[row + 1] as usize;
            range.map(move |at| (row, at)).filter(|&(row, at)| matrix.columns[at] as usize <= row)
        })
    };
    writeln!(out, "%%MatrixMarket matrix coordinate real symmetric")?;
    writeln!(out, "{rows} {rows} {}", entries().count())?;
    for (row, at) in entries() {
        writeln!(out, "{} {} {:?}", row + 1, matrix.columns[at] + 1, matrix.values[at])?;
    }
    Ok(())
}

fn sparse_arrays(out: impl Write + Seek, matrix: &Csr) -> io::Result<()> {
    let mut file = ArrayWriter::new(out);
    let rows = (matrix.offsets.len() - 1) as i64;
    // Signed, as SciPy's are.
    let signed = |numbers: &[u64]| numbers.iter().map(|&number| number as i64).collect::<Vec<_>>();
    file.column("indices", signed(&matrix.columns))?;
    file.column("indptr", signed(&matrix.offsets))?;
    file.text("format", "csr")?;
    file.column("shape", [rows, rows])?;
    file.column("data", matrix.values.iter().copied())?;
    file.finish()
}
