//! Errors of the crate.

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Checks that the host has so many bytes of free memory, as far as the system reports it.
///
/// # Errors
/// [`Error::TooLarge`] with `what` needs the memory.
pub fn check_memory(bytes: u128, what: &str) -> Result<()> {
    match kernel_host::available_memory() {
        Some(free) if bytes > free.into() => {
            let [needed, free] = [bytes as f64, free as f64].map(|bytes| bytes / (1_u64 << 30) as f64);
            let what = format!("{what} need {needed:.1} GiB of memory, and {free:.1} GiB are free: use a smaller mesh");
            Err(Error::TooLarge { what })
        }
        _ => Ok(()),
    }
}

/// An error of this crate. Triangles and vertices are numbered from 0 here, whatever the numbering
/// of a file. If a file is invalid, the message names its line.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read.
    #[error("{path}: {what}")]
    File {
        /// The path.
        path: String,
        /// The fault.
        what: String,
    },
    /// An invalid line of a file.
    #[error("{path}:{line}: {what}")]
    Line {
        /// The path.
        path: String,
        /// The line, from 1.
        line: u64,
        /// The fault and its remedy.
        what: String,
    },
    /// A mesh without triangles.
    #[error("a mesh of {vertices} vertices and no triangles: there is nothing to assemble")]
    EmptyMesh {
        /// The number of vertices.
        vertices: usize,
    },
    /// A triangle with a vertex that does not exist.
    #[error("triangle {triangle} has vertex {vertex}, and there are {vertices} (numbered from 0)")]
    Dangling {
        /// The triangle.
        triangle: usize,
        /// The vertex.
        vertex: u32,
        /// The number of vertices.
        vertices: usize,
    },
    /// A degenerate triangle: its area is zero within rounding.
    #[error(
        "triangle {triangle} is degenerate: its vertices {}, {} and {} lie in a line (area {area:e}); remove it, or mesh anew",
        vertices[0], vertices[1], vertices[2]
    )]
    Degenerate {
        /// The triangle.
        triangle: usize,
        /// The vertices.
        vertices: [u32; 3],
        /// The area, in the squared unit of the coordinates.
        area: f64,
    },
    /// A triangle whose size is outside of the range of f64 arithmetic.
    #[error(
        "triangle {triangle} has an edge of {edge:e}: edges are computed with from 1e-90 to 1e90; use another unit"
    )]
    Size {
        /// The triangle.
        triangle: usize,
        /// The longest edge, in the unit of the coordinates.
        edge: f64,
    },
    /// A coordinate that is not finite.
    #[error("vertex {vertex} is at ({}, {}): coordinates are finite numbers", at[0], at[1])]
    NotFinite {
        /// The vertex.
        vertex: usize,
        /// The coordinates.
        at: [f64; 2],
    },
    /// Fewer than two levels.
    #[error("{levels} levels: a layer of prisms lies between two, so 2 or more are needed")]
    Levels {
        /// The requested number of levels.
        levels: usize,
    },
    /// An invalid height of a layer.
    #[error("layers of height {height:e}: a height is a number from 1e-90 to 1e90")]
    Height {
        /// The requested value.
        height: f64,
    },
    /// A count that exceeds a limit.
    #[error("{what}")]
    TooLarge {
        /// The count and the limit.
        what: String,
    },
    /// Invalid parameters of a mesh generator.
    #[error("generating a mesh: {what}")]
    Generator {
        /// The fault.
        what: String,
    },
    /// A field whose length does not match the mesh.
    #[error("a field of {found} numbers, and the mesh has {wanted} nodes")]
    FieldLength {
        /// The length of the field.
        found: usize,
        /// The number of nodes.
        wanted: usize,
    },
    /// A right-hand side that is not finite.
    #[error("the right-hand side is not finite at node {node}: nothing can be solved with it")]
    FieldNotFinite {
        /// The first node that is not finite.
        node: usize,
    },
    /// An invalid expression.
    #[error("`{text}`, column {column}: {what}")]
    Expression {
        /// The beginning of the expression.
        text: String,
        /// The column of the fault, from 1.
        column: usize,
        /// The fault.
        what: String,
    },
    /// A value that is not finite or out of range at a node.
    #[error("{name} is {value} at node {node} ({}, {}, {}): {wanted}", at[0], at[1], at[2])]
    Value {
        /// The coefficient, the right-hand side or the condition.
        name: String,
        /// The value.
        value: f64,
        /// The node.
        node: usize,
        /// The coordinates of the node.
        at: [f64; 3],
        /// The valid values.
        wanted: &'static str,
    },
    /// A part of the boundary that does not exist.
    #[error("the mesh has no boundary part `{part}`; its parts are {known}")]
    Part {
        /// The requested part.
        part: String,
        /// The parts of the mesh.
        known: String,
    },
    /// A problem whose solution is not unique.
    #[error(
        "without a reaction and without a Dirichlet boundary the solution is unique only up to a constant: give one of them"
    )]
    Singular,
    /// A GPU without f64.
    #[error("{adapter} has no 64-bit numbers (SHADER_F64): use f32, or the CPU engine")]
    NoF64 {
        /// The adapter's name.
        adapter: String,
    },
    /// A scatter without the atomics that it needs.
    #[error(
        "{adapter} cannot add numbers of {bits} bits so: gather, scatter by colours, or by compare and retry in f32"
    )]
    NoAtomics {
        /// The adapter or the engine.
        adapter: String,
        /// The size of a number in bits.
        bits: u32,
    },
    /// A workgroup size that the device cannot have.
    #[error("{size} threads a workgroup: a power of two from 4 to {most} is needed")]
    WorkgroupSize {
        /// The requested value.
        size: u32,
        /// The largest size.
        most: u32,
    },
    /// An error of the GPU.
    #[error(transparent)]
    Gpu(#[from] kernel_host::Error),
}
