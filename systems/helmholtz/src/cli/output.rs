//! Fields as files of NumPy's.

use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use command_host::{Code, Failure, write_file};
use helmholtz::{Mesh, Number};
use npyz::{AutoSerialize, WriterBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A file that fields are to be written to.
#[derive(Clone, Debug)]
pub(super) struct Output {
    path: PathBuf,
    with_mesh: bool,
}

impl Output {
    /// Of `--output`: refuses another ending before anything is computed.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let with_mesh = match path.extension().and_then(|ending| ending.to_str()) {
            Some("npz") => true,
            Some("npy") => false,
            _ => {
                let what = "fields are written as .npz (arrays by name, with the mesh) or .npy (one array)";
                return Err(Failure::new(Code::Usage, format_args!("--output {}: {what}", path.display())));
            }
        };
        Ok(Self { path: path.to_owned(), with_mesh })
    }

    /// As `.npy` an array of fields x vertices x levels, of vertices x levels if there is one field. As `.npz` one of vertices x levels
    /// for each field, and the mesh: `vertices` (x and y), `triangles`, and `z` of the levels.
    pub(super) fn write<T: Number + AutoSerialize>(&self, mesh: &Mesh, fields: &[(&str, &[T])]) -> Result<(), Failure> {
        write_file(&self.path, "helmholtz", |out| {
            if self.with_mesh { archive(out, mesh, fields) } else { stacked(out, mesh, fields) }
        })
    }
}

fn array<T: AutoSerialize + Copy>(out: impl Write, shape: &[usize], numbers: &[&[T]]) -> io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
    let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    numbers.iter().try_for_each(|numbers| array.extend(numbers.iter().copied()))?;
    array.finish()
}

fn stacked<T: Number + AutoSerialize>(out: impl Write + Seek, mesh: &Mesh, fields: &[(&str, &[T])]) -> io::Result<()> {
    let shape = [fields.len(), mesh.vertices().len(), mesh.levels()];
    let shape = if fields.len() == 1 { &shape[1..] } else { &shape };
    array(out, shape, &fields.iter().map(|&(_, field)| field).collect::<Vec<_>>())
}

fn archive<T: Number + AutoSerialize>(out: impl Write + Seek, mesh: &Mesh, fields: &[(&str, &[T])]) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let begin = |zip: &mut ZipWriter<_>, name: &str| zip.start_file(format!("{name}.npy"), options);
    let (vertices, levels) = (mesh.vertices().len(), mesh.levels());
    for (name, field) in fields {
        begin(&mut zip, name)?;
        array(&mut zip, &[vertices, levels], &[field])?;
    }
    begin(&mut zip, "vertices")?;
    array(&mut zip, &[vertices, 2], &[mesh.vertices().as_flattened()])?;
    begin(&mut zip, "triangles")?;
    array(&mut zip, &[mesh.triangles().len(), 3], &[mesh.triangles().as_flattened()])?;
    begin(&mut zip, "z")?;
    let z: Vec<f64> = (0..levels).map(|level| mesh.z(level)).collect();
    array(&mut zip, &[levels], &[&z])?;
    zip.finish()?;
    Ok(())
}
