//! What of a GPU can be asked for.

use kernel_host::Checks;

use crate::shaders::TablesIn;

/// How nodes get what prisms have for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// A thread a node, which gathers it: no two threads write the same, and the bits are the same each time.
    #[default]
    Gather,
    /// A thread a prism, of prisms that share no node: one colour of triangles after the other, and every other layer.
    Coloured,
    /// A thread a prism, which adds to its six nodes by atomics, in whatever order: the report's way.
    Scatter,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gather, Self::Coloured, Self::Scatter];
}

/// How [`Strategy::Scatter`] adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomics {
    /// The device's own if it has them, else by compare and retry.
    #[default]
    Auto,
    /// The device's own, of f32: SHADER_FLOAT32_ATOMIC.
    Native,
    /// By compare and retry; of f64 where the device has SHADER_INT64_ATOMIC_ALL_OPS.
    CompareExchange,
}

/// Sums that a thread keeps of a prism's matrix for lumped volumes, except with [`Strategy::Gather`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulators {
    /// Those of its rows, columns being summed first: gradients cancel before they are multiplied.
    #[default]
    Six,
    /// Those of even and of odd columns of its rows.
    Twelve,
    /// The whole matrix.
    ThirtySix,
}

/// Which prisms neighbouring threads take, except with [`Strategy::Gather`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Layers of a triangle: nodes of a column lie side by side.
    #[default]
    Columns,
    /// Triangles of a layer.
    Layers,
}

/// What of the GPU is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    pub(crate) strategy: Strategy,
    pub(crate) atomics: Atomics,
    pub(crate) tables: TablesIn,
    pub(crate) accumulators: Accumulators,
    pub(crate) order: Order,
    pub(crate) workgroup_size: Option<u32>,
    pub(crate) checks: Checks,
    pub(crate) most_field_bytes: u64,
}
