//! Options that choose how a GPU assembles.

use clap::{Args, ValueEnum};
use helmholtz::{Accumulators, AssemblerBuilder, Atomics, ForcingBy, Kernels, Loops, Order, Strategy, TablesIn};

/// How a GPU assembles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) strategy: Strategy,
    pub(super) atomics: Atomics,
    pub(super) tables: TablesIn,
    pub(super) accumulators: Accumulators,
    pub(super) loops: Loops,
    pub(super) order: Order,
    pub(super) forcing: ForcingBy,
    pub(super) kernels: Kernels,
    pub(super) workgroup_size: Option<u32>,
}

impl Variant {
    pub(super) fn of(self, builder: AssemblerBuilder) -> AssemblerBuilder {
        let builder = builder
            .strategy(self.strategy)
            .atomics(self.atomics)
            .tables(self.tables)
            .accumulators(self.accumulators)
            .loops(self.loops)
            .order(self.order)
            .forcing_by(self.forcing)
            .kernels(self.kernels);
        match self.workgroup_size {
            Some(threads) => builder.workgroup_size(threads),
            None => builder,
        }
    }

    /// Replaces options by what the engine makes of them.
    pub(super) fn resolve(&mut self, has_atomics: bool, has_unused_vertices: bool) {
        if has_unused_vertices {
            self.forcing = ForcingBy::Nodes;
        }
        if self.atomics == Atomics::Auto {
            self.atomics = if has_atomics { Atomics::Native } else { Atomics::CompareExchange };
        }
    }

    /// Returns the options in addition to the strategy.
    pub(super) fn details(self) -> String {
        let mut words = Vec::new();
        if self.strategy == Strategy::Scatter {
            words.push(format!("{} atomics", typed(self.atomics)));
        }
        if self.strategy != Strategy::Gather {
            words.push(format!("tables in {}", typed(self.tables)));
            words.push(format!("{} sums", typed(self.accumulators)));
            if self.accumulators != Accumulators::Factored {
                words.push(typed(self.loops));
            }
            words.push(format!("by {}", typed(self.order)));
            if self.forcing != ForcingBy::default() {
                words.push(format!("forcing by {}", typed(self.forcing)));
            }
            if self.kernels != Kernels::default() {
                words.push(format!("{} kernels", typed(self.kernels)));
            }
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
    strategy: Strategy,
    /// Of --strategy scatter: how threads add
    #[arg(long, value_enum, default_value = "auto", value_name = "KIND", help_heading = "GPU")]
    atomics: Atomics,
    /// Of coloured and scatter: where the tables of quadrature are
    #[arg(long, value_enum, default_value = "constants", value_name = "PLACE", help_heading = "GPU")]
    tables: TablesIn,
    /// Of coloured and scatter: sums that a thread keeps of a prism's matrix
    #[arg(long, value_enum, default_value = "factored", value_name = "N", help_heading = "GPU")]
    accumulators: Accumulators,
    /// Of --accumulators other than factored: the loops over points, rows j and columns k
    #[arg(long, value_enum, default_value = "ip-k-j", value_name = "LOOPS", help_heading = "GPU")]
    loops: Loops,
    /// Of coloured and scatter: work of neighbouring threads
    #[arg(long, value_enum, default_value = "columns", value_name = "ORDER", help_heading = "GPU")]
    order: Order,
    /// Of coloured and scatter: threads that compute the forcing
    #[arg(long, value_enum, default_value = "nodes", value_name = "THREADS", help_heading = "GPU")]
    forcing: ForcingBy,
    /// Of coloured and scatter: kernels of stiffness and lumped volumes
    #[arg(long, value_enum, default_value = "separate", value_name = "KERNELS", help_heading = "GPU")]
    kernels: Kernels,
    /// Threads of a workgroup
    #[arg(long, value_name = "N", help_heading = "GPU")]
    workgroup_size: Option<u32>,
}

impl GpuOptions {
    pub(super) fn variant(&self) -> Variant {
        let &Self { strategy, atomics, tables, accumulators, loops, order, forcing, kernels, workgroup_size } = self;
        Variant { strategy, atomics, tables, accumulators, loops, order, forcing, kernels, workgroup_size }
    }
}

/// All that are to be compared.
#[derive(Args)]
pub(super) struct GpuLists {
    /// How threads share nodes; all if not given
    #[arg(long, value_enum, value_delimiter = ',', value_name = "STRATEGY,...", help_heading = "GPU")]
    strategy: Vec<Strategy>,
    /// Of scatter: how threads add
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_delimiter = ',',
        value_name = "KIND,...",
        help_heading = "GPU"
    )]
    atomics: Vec<Atomics>,
    /// Of coloured and scatter: where the tables of quadrature are
    #[arg(
        long,
        value_enum,
        default_value = "constants",
        value_delimiter = ',',
        value_name = "PLACE,...",
        help_heading = "GPU"
    )]
    tables: Vec<TablesIn>,
    /// Of coloured and scatter: sums that a thread keeps of a prism's matrix
    #[arg(
        long,
        value_enum,
        default_value = "factored",
        value_delimiter = ',',
        value_name = "N,...",
        help_heading = "GPU"
    )]
    accumulators: Vec<Accumulators>,
    /// Of --accumulators other than factored: the loops over points, rows j and columns k
    #[arg(
        long,
        value_enum,
        default_value = "ip-k-j",
        value_delimiter = ',',
        value_name = "LOOPS,...",
        help_heading = "GPU"
    )]
    loops: Vec<Loops>,
    /// Of coloured and scatter: work of neighbouring threads
    #[arg(
        long,
        value_enum,
        default_value = "columns",
        value_delimiter = ',',
        value_name = "ORDER,...",
        help_heading = "GPU"
    )]
    order: Vec<Order>,
    /// Of coloured and scatter: threads that compute the forcing
    #[arg(
        long,
        value_enum,
        default_value = "nodes",
        value_delimiter = ',',
        value_name = "THREADS,...",
        help_heading = "GPU"
    )]
    forcing: Vec<ForcingBy>,
    /// Of coloured and scatter: kernels of stiffness and lumped volumes
    #[arg(
        long,
        value_enum,
        default_value = "separate",
        value_delimiter = ',',
        value_name = "KERNELS,...",
        help_heading = "GPU"
    )]
    kernels: Vec<Kernels>,
    /// Threads of a workgroup
    #[arg(long, value_delimiter = ',', value_name = "N,...", help_heading = "GPU")]
    workgroup_size: Vec<u32>,
}

impl GpuLists {
    /// Returns whether the user named the strategies.
    pub(super) fn names_strategies(&self) -> bool {
        !self.strategy.is_empty()
    }

    /// Returns every variant once. Options that a strategy does not use are not varied.
    pub(super) fn variants(&self) -> Vec<Variant> {
        let strategies = if self.strategy.is_empty() { Strategy::value_variants() } else { &self.strategy };
        let sizes: Vec<Option<u32>> = match &self.workgroup_size[..] {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        let all = vec![Variant::default()];
        let all = with_each(&all, strategies, |variant, strategy| variant.strategy = strategy);
        let all = with_each(&all, &self.atomics, |variant, atomics| {
            if variant.strategy == Strategy::Scatter {
                variant.atomics = atomics;
            }
        });
        let all = of_prisms(&all, &self.tables, |variant, tables| variant.tables = tables);
        let all = of_prisms(&all, &self.accumulators, |variant, accumulators| variant.accumulators = accumulators);
        let all = with_each(&all, &self.loops, |variant, loops| {
            if variant.accumulators != Accumulators::Factored {
                variant.loops = loops;
            }
        });
        let all = of_prisms(&all, &self.order, |variant, order| variant.order = order);
        let all = of_prisms(&all, &self.forcing, |variant, forcing| variant.forcing = forcing);
        let all = of_prisms(&all, &self.kernels, |variant, kernels| variant.kernels = kernels);
        with_each(&all, &sizes, |variant, size| variant.workgroup_size = size)
    }
}

/// As [`with_each`], for an option of the strategies whose threads take prisms.
fn of_prisms<T: Copy>(all: &[Variant], values: &[T], set: impl Fn(&mut Variant, T)) -> Vec<Variant> {
    with_each(all, values, |variant, value| {
        if variant.strategy != Strategy::Gather {
            set(variant, value);
        }
    })
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
