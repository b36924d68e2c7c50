//! Options that say what is assembled, and how.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use command_host::{Engines, Failure, check_distinct};
use helmholtz::{
    Accumulators, Assembler, AssemblerBuilder, Atomics, Extrusion, Mesh, Order, Result, Strategy, TablesIn, Triangles,
    generate, io,
};
use serde::Serialize;

#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    asked: command_host::EngineOptions<Self>,
}

impl Engines for EngineOptions {
    const WHAT: &str = "What assembles";
    const REFERENCE: Option<&str> = Some("One core, f64, prism by prism, as the formulas are written");
}

impl EngineOptions {
    pub(super) fn engine(&self) -> helmholtz::Engine {
        self.asked.engine()
    }

    pub(super) fn builder(&self) -> AssemblerBuilder {
        Assembler::builder().engine(self.engine())
    }
}

/// Triangles.
#[derive(Args)]
pub(super) struct FlatOptions {
    /// Triangles that the program Triangle wrote: FILE.node and FILE.ele
    #[arg(long, value_name = "FILE", help_heading = "Mesh", conflicts_with_all = ["squares", "jitter", "grade"])]
    mesh: Option<PathBuf>,
    /// Unit square of N x N cells, two triangles each; 32 if not given, 389 in a bench
    #[arg(long, value_name = "N", help_heading = "Mesh")]
    squares: Option<usize>,
    /// Move its vertices at random by up to this part of a cell, 0.2 at most
    #[arg(long, value_name = "PART", help_heading = "Mesh", conflicts_with = "grade")]
    jitter: Option<f64>,
    /// Shrink its cells towards a corner: lines at (i / N)^P, P from 1 to 4
    #[arg(long, value_name = "P", help_heading = "Mesh")]
    grade: Option<f64>,
    /// Number vertices and triangles at random
    #[arg(long, help_heading = "Mesh")]
    shuffle: bool,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Mesh")]
    seed: u64,
}

impl FlatOptions {
    /// Checks that no output is a file of the mesh, nor another output.
    pub(super) fn check_outputs<'a>(
        &self,
        outputs: impl IntoIterator<Item = &'a Path>,
    ) -> std::result::Result<(), Failure> {
        let files = self.mesh.as_deref().map(io::paths);
        let outputs: Vec<&Path> = outputs.into_iter().collect();
        check_distinct(files.iter().flatten().map(PathBuf::as_path), outputs)
    }

    /// With so many squares if neither a number nor a file is given.
    pub(super) fn triangles(&self, squares: usize) -> Result<Triangles> {
        let n = self.squares.unwrap_or(squares);
        let flat = match (&self.mesh, self.jitter, self.grade) {
            (Some(path), ..) => io::read(path)?,
            (None, Some(fraction), _) => generate::jittered(n, fraction, self.seed)?,
            (None, None, Some(power)) => generate::graded(n, power)?,
            (None, None, None) => generate::unit_square(n)?,
        };
        Ok(if self.shuffle { generate::shuffled(&flat, self.seed.wrapping_add(1)).0 } else { flat })
    }
}

/// The report's columns.
#[derive(Args)]
pub(super) struct MeshOptions {
    #[command(flatten)]
    pub(super) flat: FlatOptions,
    /// Levels of nodes, one more than layers
    #[arg(long, default_value_t = Extrusion::default().levels, value_name = "N", help_heading = "Mesh")]
    levels: usize,
    /// Height of a layer
    #[arg(long, default_value_t = Extrusion::default().height, value_name = "H", help_heading = "Mesh")]
    height: f64,
}

impl MeshOptions {
    pub(super) fn mesh(&self, squares: usize) -> Result<Mesh> {
        Mesh::new(self.flat.triangles(squares)?, Extrusion { levels: self.levels, height: self.height })
    }
}

/// What reports say of a mesh.
#[derive(Clone, Serialize)]
pub(super) struct MeshReport {
    vertices: usize,
    triangles: usize,
    levels: usize,
    height: f64,
    pub(super) prisms: usize,
    pub(super) nodes: usize,
    pub(super) volume: f64,
    unused_vertices: usize,
}

impl MeshReport {
    pub(super) fn of(mesh: &Mesh) -> Self {
        Self {
            vertices: mesh.vertices().len(),
            triangles: mesh.triangles().len(),
            levels: mesh.levels(),
            height: mesh.height(),
            prisms: mesh.prisms(),
            nodes: mesh.nodes(),
            volume: mesh.volume(),
            unused_vertices: mesh.unused_vertices(),
        }
    }

    /// Of a side, where it is a square of them.
    pub(super) fn squares(&self) -> f64 {
        (self.triangles as f64 / 2.0).sqrt()
    }

    pub(super) fn text(&self) -> String {
        let Self { vertices, triangles, levels, height, prisms, nodes, unused_vertices, .. } = self;
        let unused = match unused_vertices {
            0 => String::new(),
            unused => format!("; {unused} vertices belong to no triangle, and fields are zero there"),
        };
        format!(
            "{vertices} vertices, {triangles} triangles, {levels} levels {height} apart: {prisms} prisms, {nodes} nodes{unused}"
        )
    }
}

pub(super) const F64_HELP: &str = "64 bits: on the CPU, and on GPUs that have them";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StrategyName {
    /// A thread a node, which gathers from the prisms around it: no atomics, the same bits every time
    Gather,
    /// A thread a prism, colour by colour, so that no two threads share a node
    Coloured,
    /// A thread a prism, which adds to its nodes by atomics: the report's
    Scatter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AtomicsName {
    /// Native if the adapter has them
    Auto,
    /// Float atomics of the adapter
    Native,
    /// Compare and retry
    CompareExchange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TablesName {
    /// Constants of the shader
    Constants,
    /// A buffer
    Storage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AccumulatorsName {
    /// One a row
    #[value(name = "6")]
    Six,
    /// Two a row: even and odd columns
    #[value(name = "12")]
    Twelve,
    /// One an entry
    #[value(name = "36")]
    ThirtySix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OrderName {
    /// Layers of a triangle
    Columns,
    /// Triangles of a layer
    Layers,
}

/// How a GPU assembles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) strategy: StrategyName,
    pub(super) atomics: AtomicsName,
    pub(super) tables: TablesName,
    pub(super) accumulators: AccumulatorsName,
    pub(super) order: OrderName,
    pub(super) workgroup_size: Option<u32>,
}

impl Variant {
    pub(super) fn of(self, builder: AssemblerBuilder) -> AssemblerBuilder {
        let builder = builder
            .strategy(match self.strategy {
                StrategyName::Gather => Strategy::Gather,
                StrategyName::Coloured => Strategy::Coloured,
                StrategyName::Scatter => Strategy::Scatter,
            })
            .atomics(match self.atomics {
                AtomicsName::Auto => Atomics::Auto,
                AtomicsName::Native => Atomics::Native,
                AtomicsName::CompareExchange => Atomics::CompareExchange,
            })
            .tables(match self.tables {
                TablesName::Constants => TablesIn::Constants,
                TablesName::Storage => TablesIn::Storage,
            })
            .accumulators(match self.accumulators {
                AccumulatorsName::Six => Accumulators::Six,
                AccumulatorsName::Twelve => Accumulators::Twelve,
                AccumulatorsName::ThirtySix => Accumulators::ThirtySix,
            })
            .order(match self.order {
                OrderName::Columns => Order::Columns,
                OrderName::Layers => Order::Layers,
            });
        match self.workgroup_size {
            Some(threads) => builder.workgroup_size(threads),
            None => builder,
        }
    }

    /// Says what `auto` comes to.
    pub(super) fn resolve(&mut self, has_atomics: bool) {
        if self.atomics == AtomicsName::Auto {
            self.atomics = if has_atomics { AtomicsName::Native } else { AtomicsName::CompareExchange };
        }
    }

    /// What it is beside its strategy, as options have it.
    pub(super) fn details(self) -> String {
        let mut words = Vec::new();
        if self.strategy == StrategyName::Scatter {
            words.push(format!("{} atomics", typed(self.atomics)));
        }
        if self.strategy != StrategyName::Gather {
            words.push(format!("tables in {}", typed(self.tables)));
            words.push(format!("{} sums", typed(self.accumulators)));
            words.push(format!("by {}", typed(self.order)));
        }
        words.extend(self.workgroup_size.map(|threads| format!("{threads} threads")));
        words.join(", ")
    }
}

/// The name of an option's value, as it is typed.
pub(super) fn typed(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// One way.
#[derive(Args)]
pub(super) struct GpuOptions {
    /// How threads share nodes
    #[arg(long, value_enum, default_value = "gather", value_name = "STRATEGY", help_heading = "GPU")]
    strategy: StrategyName,
    /// Of --strategy scatter: how threads add
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND", help_heading = "GPU")]
    atomics: AtomicsName,
    /// Of coloured and scatter: where the tables of quadrature are
    #[arg(long, value_enum, default_value = "constants", value_name = "PLACE", help_heading = "GPU")]
    tables: TablesName,
    /// Of coloured and scatter: sums that a thread keeps of a prism's matrix
    #[arg(long, value_enum, default_value = "6", value_name = "N", help_heading = "GPU")]
    accumulators: AccumulatorsName,
    /// Of coloured and scatter: what neighbouring threads take
    #[arg(long, value_enum, default_value = "columns", value_name = "ORDER", help_heading = "GPU")]
    order: OrderName,
    /// Threads of a workgroup
    #[arg(long, value_name = "N", help_heading = "GPU")]
    workgroup_size: Option<u32>,
}

impl GpuOptions {
    pub(super) fn variant(&self) -> Variant {
        let &Self { strategy, atomics, tables, accumulators, order, workgroup_size } = self;
        Variant { strategy, atomics, tables, accumulators, order, workgroup_size }
    }
}

/// All that are to be compared.
#[derive(Args)]
pub(super) struct GpuLists {
    /// How threads share nodes; all if not given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STRATEGY,...", help_heading = "GPU")]
    strategy: Vec<StrategyName>,
    /// Of scatter: how threads add
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_delimiter = ',',
        value_name = "KIND,...",
        help_heading = "GPU"
    )]
    atomics: Vec<AtomicsName>,
    /// Of coloured and scatter: where the tables of quadrature are
    #[arg(
        long,
        value_enum,
        default_value = "constants",
        value_delimiter = ',',
        value_name = "PLACE,...",
        help_heading = "GPU"
    )]
    tables: Vec<TablesName>,
    /// Of coloured and scatter: sums that a thread keeps of a prism's matrix
    #[arg(long, value_enum, default_value = "6", value_delimiter = ',', value_name = "N,...", help_heading = "GPU")]
    accumulators: Vec<AccumulatorsName>,
    /// Of coloured and scatter: what neighbouring threads take
    #[arg(
        long,
        value_enum,
        default_value = "columns",
        value_delimiter = ',',
        value_name = "ORDER,...",
        help_heading = "GPU"
    )]
    order: Vec<OrderName>,
    /// Threads of a workgroup
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "GPU")]
    workgroup_size: Vec<u32>,
}

impl GpuLists {
    /// Whether the user asked for these strategies, and not for what there is.
    pub(super) fn names_strategies(&self) -> bool {
        !self.strategy.is_empty()
    }

    /// Every way, once: what a strategy does not know is not varied.
    pub(super) fn variants(&self) -> Vec<Variant> {
        let strategies = if self.strategy.is_empty() { StrategyName::value_variants() } else { &self.strategy };
        let sizes: Vec<Option<u32>> = match &self.workgroup_size[..] {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        let all = vec![Variant {
            strategy: StrategyName::Gather,
            atomics: AtomicsName::Auto,
            tables: TablesName::Constants,
            accumulators: AccumulatorsName::Six,
            order: OrderName::Columns,
            workgroup_size: None,
        }];
        let all = with_each(&all, strategies, |variant, strategy| variant.strategy = strategy);
        let all = with_each(&all, &self.atomics, |variant, atomics| {
            if variant.strategy == StrategyName::Scatter {
                variant.atomics = atomics;
            }
        });
        let all = with_each(&all, &self.tables, |variant, tables| {
            if variant.strategy != StrategyName::Gather {
                variant.tables = tables;
            }
        });
        let all = with_each(&all, &self.accumulators, |variant, accumulators| {
            if variant.strategy != StrategyName::Gather {
                variant.accumulators = accumulators;
            }
        });
        let all = with_each(&all, &self.order, |variant, order| {
            if variant.strategy != StrategyName::Gather {
                variant.order = order;
            }
        });
        with_each(&all, &sizes, |variant, size| variant.workgroup_size = size)
    }
}

/// All with each of the values, and none twice.
fn with_each<T: Copy>(all: &[Variant], values: &[T], set: impl Fn(&mut Variant, T)) -> Vec<Variant> {
    let mut more = Vec::new();
    for &variant in all {
        for &value in values {
            let mut variant = variant;
            set(&mut variant, value);
            if !more.contains(&variant) {
                more.push(variant);
            }
        }
    }
    more
}
