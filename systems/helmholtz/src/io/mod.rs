//! Mesh files: the pair of text files of the program Triangle, and Gmsh's format MSH 4.1; VTU files
//! for ParaView.

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

/// Reads triangles and named edges: Gmsh's MSH 4.1 if the name ends in `.msh`, otherwise the files
/// of the program Triangle, which name no edges.
///
/// # Errors
/// As [`read`] and [`read_gmsh`].
pub fn read_mesh(path: &Path) -> Result<(Triangles, NamedEdges)> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("msh")) {
        read_gmsh(path)
    } else {
        Ok((read(path)?, NamedEdges::new()))
    }
}

fn file_error(path: &Path, error: io::Error) -> Error {
    Error::File { path: path.display().to_string(), what: error.to_string() }
}
