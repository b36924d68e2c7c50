//! Mesh files: the pair of text files of the program Triangle, and Gmsh's formats MSH 4.1 and 2.2;
//! VTU files for ParaView.

mod formats;
mod gmsh;
mod triangle;
mod vtu;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::mesh::Triangles;

pub use gmsh::read_gmsh;
pub use triangle::{paths, read, write};
pub use vtu::{read_vtu, write_vtu};

/// Named edges of a mesh: pairs of vertices.
pub type NamedEdges = BTreeMap<String, Vec<[u32; 2]>>;

/// Reads triangles and named edges: as [`read_gmsh`] if the name ends in `.msh` or if the file
/// begins as Gmsh's do, otherwise the files of the program Triangle, which name no edges.
///
/// # Errors
/// As [`read`] and [`read_gmsh`]. Another mesh format is [`Error::File`] with its name.
pub fn read_mesh(path: &Path) -> Result<(Triangles, NamedEdges)> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("msh")) {
        return read_gmsh(path);
    }
    let [nodes, _] = paths(path);
    if path != nodes && !nodes.exists() && path.is_file() {
        let bytes = table_file::read_whole(path, MOST_BYTES).map_err(|error| file_error(path, error))?;
        if bytes.trim_ascii_start().starts_with(b"$") && formats::name_of(path, &bytes).is_none() {
            return read_gmsh(path);
        }
        refuse_other_format(path, &bytes)?;
        let what = format!("this is no mesh that is read, and there is no {}; {MESHES}", nodes.display());
        return Err(Error::File { path: path.display().to_string(), what });
    }
    Ok((read(path)?, NamedEdges::new()))
}

/// Most bytes of a mesh or of a file of fields, which is kept in memory.
const MOST_BYTES: u64 = 4 << 30;

const MESHES: &str = "meshes are read from Gmsh's MSH 4.1 or 2.2, or from .node and .ele files";

/// Refuses a file of a known format that is not read.
fn refuse_other_format(path: &Path, bytes: &[u8]) -> Result<()> {
    let Some(name) = formats::name_of(path, bytes) else { return Ok(()) };
    let what = format!("this is {name}; {MESHES}: {}", formats::remedy(path, name));
    Err(Error::File { path: path.display().to_string(), what })
}

fn file_error(path: &Path, error: io::Error) -> Error {
    Error::File { path: path.display().to_string(), what: error.to_string() }
}
