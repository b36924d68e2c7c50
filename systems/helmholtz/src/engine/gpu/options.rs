//! Options of a GPU. The command offers them under the names of their variants.

use kernel_host::Checks;

/// How prisms contribute to nodes on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Strategy {
    /// One thread a node, which gathers its sum. No two threads write the same node, and the bits
    /// are reproducible.
    #[default]
    Gather,
    /// One thread a prism, for prisms that share no node: one colour of triangles after the other,
    /// and every other layer.
    Coloured,
    /// One thread a prism, which adds to its six nodes with atomics in any order: the report's.
    Scatter,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Gather, Self::Coloured, Self::Scatter];
}

/// The atomics of [`Strategy::Scatter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Atomics {
    /// Native atomics if the device has them, otherwise compare and retry.
    #[default]
    Auto,
    /// Native f32 atomics: SHADER_FLOAT32_ATOMIC.
    Native,
    /// Compare and retry. In f64 the device needs SHADER_INT64_ATOMIC_ALL_OPS.
    CompareExchange,
}

/// The sums that a thread keeps of a prism's matrix for lumped volumes, except with
/// [`Strategy::Gather`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Accumulators {
    /// Six row sums. The columns are summed first, so gradients cancel before they are multiplied.
    #[default]
    Factored,
    /// Six row sums of all 36 entries.
    #[cfg_attr(feature = "command", value(name = "6"))]
    Six,
    /// Twelve: the row sums of even and of odd columns, as in the report's last version.
    #[cfg_attr(feature = "command", value(name = "12"))]
    Twelve,
    /// Thirty-six: the whole matrix, whose entries are added to the nodes one by one.
    #[cfg_attr(feature = "command", value(name = "36"))]
    ThirtySix,
    /// Thirty-six, whose rows are summed first: six additions to nodes.
    #[cfg_attr(feature = "command", value(name = "36-6"))]
    ThirtySixRows,
}

impl Accumulators {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Factored, Self::Six, Self::Twelve, Self::ThirtySix, Self::ThirtySixRows];
}

/// The loops over a prism's matrix for lumped volumes, except with [`Accumulators::Factored`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Loops {
    /// Points, columns, rows: the order of the report's Listing 1.
    #[default]
    #[cfg_attr(feature = "command", value(name = "ip-k-j"))]
    ColumnsOutside,
    /// Points, rows, columns: the interchanged order.
    #[cfg_attr(feature = "command", value(name = "ip-j-k"))]
    RowsOutside,
}

/// The order in which threads take prisms, except with [`Strategy::Gather`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Order {
    /// The layers of a triangle first: nodes of a column are contiguous.
    #[default]
    Columns,
    /// The triangles of a layer first.
    Layers,
}

/// Where the quadrature tables are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum TablesIn {
    /// Constants of the shader, which its compiler knows: the constant memory of the report.
    #[default]
    Constants,
    /// A storage buffer.
    Storage,
    /// A uniform buffer.
    Uniform,
    /// Variables of each thread: the tables inside the functions of the report's generated code.
    Private,
}

impl TablesIn {
    /// All places.
    pub const ALL: [Self; 4] = [Self::Constants, Self::Storage, Self::Uniform, Self::Private];

    /// Returns whether the kernel has a binding for the tables.
    pub(crate) fn is_buffer(self) -> bool {
        matches!(self, Self::Storage | Self::Uniform)
    }
}

/// The threads that compute the forcing, except with [`Strategy::Gather`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum ForcingBy {
    /// A thread a node.
    #[default]
    Nodes,
    /// A thread a prism, for its six nodes: every prism around a node computes the same value, as
    /// in the report's generated code. A mesh with an unused vertex keeps a thread a node.
    Prisms,
}

/// The kernels of stiffness and lumped volumes in an assembly, except with [`Strategy::Gather`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Kernels {
    /// A kernel for each.
    #[default]
    Separate,
    /// One kernel for both, so that a thread reads its prism once.
    Joined,
}

/// Options of the GPU engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuSettings {
    pub(crate) strategy: Strategy,
    pub(crate) atomics: Atomics,
    pub(crate) tables: TablesIn,
    pub(crate) accumulators: Accumulators,
    pub(crate) loops: Loops,
    pub(crate) order: Order,
    pub(crate) forcing: ForcingBy,
    pub(crate) kernels: Kernels,
    pub(crate) workgroup_size: Option<u32>,
    pub(crate) checks: Checks,
    pub(crate) most_field_bytes: u64,
}
