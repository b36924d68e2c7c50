//! What can go wrong.

use command_host::{Code, Failure};

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong. Triangles and vertices are numbered from 0 here, whatever a file's numbers begin with; where a file is at
/// fault, the message has its line.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be opened, read or written.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// A line of a file that holds something else than it should.
    #[error("{path}:{line}: {what}")]
    Line {
        /// The file.
        path: String,
        /// From 1.
        line: u64,
        /// What is wrong, and what to do.
        what: String,
    },
    /// No triangles.
    #[error("a mesh of {vertices} vertices and no triangles: there is nothing to assemble")]
    EmptyMesh {
        /// How many there are.
        vertices: usize,
    },
    /// A triangle with a vertex that is not there.
    #[error("triangle {triangle} has vertex {vertex}, and there are {vertices} (numbered from 0)")]
    Dangling {
        /// Its number.
        triangle: usize,
        /// That it has.
        vertex: u32,
        /// How many there are.
        vertices: usize,
    },
    /// A triangle without an area to speak of.
    #[error(
        "triangle {triangle} is degenerate: its vertices {}, {} and {} lie in a line (area {area:e}); remove it, or mesh anew",
        vertices[0], vertices[1], vertices[2]
    )]
    Degenerate {
        /// Its number.
        triangle: usize,
        /// Its vertices.
        vertices: [u32; 3],
        /// In the unit of the coordinates, squared.
        area: f64,
    },
    /// A triangle so large or so small that f64 cannot compute with it.
    #[error(
        "triangle {triangle} has an edge of {edge:e}: edges are computed with from 1e-90 to 1e90; use another unit"
    )]
    Size {
        /// Its number.
        triangle: usize,
        /// Its longest, in the unit of the coordinates.
        edge: f64,
    },
    /// A coordinate that is infinite or no number.
    #[error("vertex {vertex} is at ({}, {}): coordinates are finite numbers", at[0], at[1])]
    NotFinite {
        /// Its number.
        vertex: usize,
        /// Where it is said to be.
        at: [f64; 2],
    },
    /// Fewer levels than a layer has.
    #[error("{levels} levels: a layer of prisms lies between two, so 2 or more are needed")]
    Levels {
        /// That were asked for.
        levels: usize,
    },
    /// A height that no layer has.
    #[error("layers of height {height:e}: a height is a number from 1e-90 to 1e90")]
    Height {
        /// That was asked for.
        height: f64,
    },
    /// More of something than can be numbered.
    #[error("{what}")]
    TooLarge {
        /// What there is too much of, and how much there may be.
        what: String,
    },
    /// A mesh that cannot be generated.
    #[error("generating a mesh: {what}")]
    Generator {
        /// What is wrong.
        what: String,
    },
    /// A field of another mesh.
    #[error("a field of {found} numbers, and the mesh has {wanted} nodes")]
    FieldLength {
        /// Of the field.
        found: usize,
        /// Of the mesh.
        wanted: usize,
    },
    /// A field with a number that is infinite or none.
    #[error("the right-hand side is not finite at node {node}: nothing can be solved with it")]
    FieldNotFinite {
        /// The first such.
        node: usize,
    },
    /// A GPU without 64-bit numbers.
    #[error("{adapter} has no 64-bit numbers (SHADER_F64): use f32, or the CPU engine")]
    NoF64 {
        /// Its name.
        adapter: String,
    },
    /// Scatter needs atomics that are not there.
    #[error(
        "{adapter} cannot add numbers of {bits} bits so: gather, scatter by colours, or by compare and retry in f32"
    )]
    NoAtomics {
        /// Its name, or who cannot.
        adapter: String,
        /// Of the numbers.
        bits: u32,
    },
    /// A number of threads that a workgroup cannot have.
    #[error("{size} threads a workgroup: a power of two from 4 to {most} is needed")]
    WorkgroupSize {
        /// That was asked for.
        size: u32,
        /// That the device can have.
        most: u32,
    },
    /// The GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}

/// The command's exit codes.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::WorkgroupSize { .. } => Code::Usage,
            Error::Gpu(_) | Error::NoF64 { .. } | Error::NoAtomics { .. } => Code::Gpu,
            _ => Code::Data,
        };
        Self::new(code, error)
    }
}
