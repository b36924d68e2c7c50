//! Options that choose how a GPU assembles.

use clap::{Args, ValueEnum};
use helmholtz::{Accumulators, AssemblerBuilder, Atomics, Loops, Order, Strategy, TablesIn};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StrategyName {
    /// A thread a node, which gathers from the prisms around it: no atomics, the same bits every
    /// time
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
    /// A storage buffer
    Storage,
    /// A uniform buffer
    Uniform,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AccumulatorsName {
    /// One a row, of columns that are summed first
    Factored,
    /// One a row, of all 36 entries
    #[value(name = "6")]
    Six,
    /// Two a row: even and odd columns, the report's last version
    #[value(name = "12")]
    Twelve,
    /// One an entry
    #[value(name = "36")]
    ThirtySix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LoopsName {
    /// Points, columns, rows: the report's Listing 1
    #[value(name = "ip-k-j")]
    IpKJ,
    /// Points, rows, columns: interchanged
    #[value(name = "ip-j-k")]
    IpJK,
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
    pub(super) loops: LoopsName,
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
                TablesName::Uniform => TablesIn::Uniform,
            })
            .accumulators(match self.accumulators {
                AccumulatorsName::Factored => Accumulators::Factored,
                AccumulatorsName::Six => Accumulators::Six,
                AccumulatorsName::Twelve => Accumulators::Twelve,
                AccumulatorsName::ThirtySix => Accumulators::ThirtySix,
            })
            .loops(match self.loops {
                LoopsName::IpKJ => Loops::ColumnsOutside,
                LoopsName::IpJK => Loops::RowsOutside,
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

    /// Returns the options in addition to the strategy.
    pub(super) fn details(self) -> String {
        let mut words = Vec::new();
        if self.strategy == StrategyName::Scatter {
            words.push(format!("{} atomics", typed(self.atomics)));
        }
        if self.strategy != StrategyName::Gather {
            words.push(format!("tables in {}", typed(self.tables)));
            words.push(format!("{} sums", typed(self.accumulators)));
            if self.accumulators != AccumulatorsName::Factored {
                words.push(typed(self.loops));
            }
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
    #[arg(long, value_enum, default_value = "factored", value_name = "N", help_heading = "GPU")]
    accumulators: AccumulatorsName,
    /// Of --accumulators 6, 12 and 36: the loops over points, rows j and columns k
    #[arg(long, value_enum, default_value = "ip-k-j", value_name = "LOOPS", help_heading = "GPU")]
    loops: LoopsName,
    /// Of coloured and scatter: work of neighbouring threads
    #[arg(long, value_enum, default_value = "columns", value_name = "ORDER", help_heading = "GPU")]
    order: OrderName,
    /// Threads of a workgroup
    #[arg(long, value_name = "N", help_heading = "GPU")]
    workgroup_size: Option<u32>,
}

impl GpuOptions {
    pub(super) fn variant(&self) -> Variant {
        let &Self { strategy, atomics, tables, accumulators, loops, order, workgroup_size } = self;
        Variant { strategy, atomics, tables, accumulators, loops, order, workgroup_size }
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
    #[arg(
        long,
        value_enum,
        default_value = "factored",
        value_delimiter = ',',
        value_name = "N,...",
        help_heading = "GPU"
    )]
    accumulators: Vec<AccumulatorsName>,
    /// Of --accumulators 6, 12 and 36: the loops over points, rows j and columns k
    #[arg(
        long,
        value_enum,
        default_value = "ip-k-j",
        value_delimiter = ',',
        value_name = "LOOPS,...",
        help_heading = "GPU"
    )]
    loops: Vec<LoopsName>,
    /// Of coloured and scatter: work of neighbouring threads
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
    /// Returns whether the user named the strategies.
    pub(super) fn names_strategies(&self) -> bool {
        !self.strategy.is_empty()
    }

    /// Returns every variant once. Options that a strategy does not use are not varied.
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
            accumulators: AccumulatorsName::Factored,
            loops: LoopsName::IpKJ,
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
        let all = with_each(&all, &self.loops, |variant, loops| {
            if variant.accumulators != AccumulatorsName::Factored {
                variant.loops = loops;
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
