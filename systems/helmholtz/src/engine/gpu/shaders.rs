//! The WGSL, put together.

use std::fmt::Write;

use kernel_host::{KernelSource, Precision};

use super::options::{Accumulators, Kernels, TablesIn};
use crate::mesh::Number;
use crate::quadrature::{NODES, POINTS, Tables};

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("systems/helmholtz/shaders/", $name), include_str!(concat!("../../../shaders/", $name))))+
    };
}

/// How a thread adds to a node that others add to as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulate {
    Plain,
    CompareExchange,
    CompareExchange64,
    Native,
}

/// The bits of a number type, and the kernel's name.
fn begun<T: Number>(kernel: &str) -> KernelSource {
    let source = KernelSource::new(kernel);
    let source = match T::PRECISION {
        Precision::F32 => piece!(source, "real/f32.wgsl"),
        Precision::F64 => piece!(source, "real/f64.wgsl"),
    };
    piece!(source, "types.wgsl")
}

/// By prisms if they are to add in some way, otherwise by nodes.
pub(crate) fn forcing<T: Number>(prisms: Option<Accumulate>) -> KernelSource {
    let source = begun::<T>("forcing");
    match prisms {
        None => piece!(source, "columns.wgsl", "forcing/nodes.wgsl"),
        Some(accumulate) => piece!(with(source, accumulate), "prisms.wgsl", "forcing/prisms.wgsl"),
    }
}

fn with(source: KernelSource, accumulate: Accumulate) -> KernelSource {
    match accumulate {
        Accumulate::Plain => piece!(source, "accumulate/plain.wgsl"),
        Accumulate::CompareExchange => piece!(source, "accumulate/compare_exchange.wgsl"),
        Accumulate::CompareExchange64 => piece!(source, "accumulate/compare_exchange_64.wgsl"),
        Accumulate::Native => piece!(source, "accumulate/native.wgsl"),
    }
}

pub(crate) fn gather<T: Number>() -> KernelSource {
    piece!(begun::<T>("gather"), "columns.wgsl", "gather.wgsl")
}

/// The iteration of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    ConjugateGradients,
    Minres,
}

/// The form in which the solver gets the inverse of the preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Diagonal {
    /// A number per vertex.
    Columns,
    /// A number per node.
    Nodes,
}

pub(crate) fn solver<T: Number>(method: Method, diagonal: Diagonal) -> KernelSource {
    let source = piece!(begun::<T>("solver"), "sums_of_fields.wgsl");
    let source = match diagonal {
        Diagonal::Columns => piece!(source, "diagonal/columns.wgsl"),
        Diagonal::Nodes => piece!(source, "diagonal/nodes.wgsl"),
    };
    match method {
        Method::ConjugateGradients => piece!(source, "conjugate_gradients.wgsl"),
        Method::Minres => piece!(source, "minres.wgsl"),
    }
}

/// The product with a stored matrix.
pub(crate) fn matrix<T: Number>() -> KernelSource {
    piece!(begun::<T>("matrix"), "matrix.wgsl")
}

pub(crate) fn scatter<T: Number>(
    accumulate: Accumulate,
    tables: TablesIn,
    sums: Accumulators,
    kernels: Kernels,
) -> KernelSource {
    let source = with(begun::<T>("scatter").piece("tables", &tables_text::<T>(tables)), accumulate);
    let source = piece!(source, "prisms.wgsl", "scatter.wgsl");
    let source = match kernels {
        Kernels::Separate => source,
        Kernels::Joined => piece!(source, "stiffness_and_lumped.wgsl"),
    };
    let source = match sums {
        Accumulators::Factored => return piece!(source, "lumped/factored.wgsl"),
        Accumulators::Six => piece!(source, "sums/six.wgsl"),
        Accumulators::Twelve => piece!(source, "sums/twelve.wgsl"),
        Accumulators::ThirtySix => piece!(source, "sums/thirty_six.wgsl"),
        Accumulators::ThirtySixRows => piece!(source, "sums/thirty_six_rows.wgsl"),
    };
    piece!(source, "lumped/entries.wgsl")
}

/// Weights, values by point and node, derivatives by point, axis and node. Derivatives of a point
/// sum to zero exactly, one after the other.
pub(crate) fn tables<T: Number>() -> Vec<T> {
    // A uniform array has elements of four numbers; their count is a multiple of that.
    const { assert!((POINTS + 4 * POINTS * NODES).is_multiple_of(4)) };
    let Tables { weights, values, derivatives } = Tables::new();
    // Of two parts of 1 the smaller one is what the larger one, once rounded, leaves, which is
    // exact.
    let rounded = |part: f64| {
        let one = T::from_f64(1.0);
        let of = |part: f64| if part < 0.5 && part > 0.0 { one - T::from_f64(1.0 - part) } else { T::from_f64(part) };
        if part < 0.0 { -of(-part) } else { of(part) }
    };
    let first = weights.into_iter().chain(values.into_iter().flatten()).map(T::from_f64);
    first.chain(derivatives.into_iter().flatten().flatten().map(rounded)).collect()
}

/// Written from what the reference engine has, so that nobody keeps the two alike.
fn tables_text<T: Number>(place: TablesIn) -> String {
    let all = tables::<T>();
    let (weights, rest) = all.split_at(POINTS);
    let (values, derivatives) = rest.split_at(POINTS * NODES);
    let suffix = if T::PRECISION == Precision::F64 { "lf" } else { "" };
    let tables = [
        ("WEIGHTS", weights, 0, "weight(point: u32)", "point"),
        ("VALUES", values, POINTS, "value(point: u32, j: u32)", "6u * point + j"),
        (
            "DERIVATIVES",
            derivatives,
            POINTS + POINTS * NODES,
            "derivative(point: u32, axis: u32, j: u32)",
            "18u * point + 6u * axis + j",
        ),
    ];
    let mut text = match place {
        TablesIn::Constants | TablesIn::Private => String::new(),
        TablesIn::Storage => format!(
            "@group(0) @binding(7) var<storage, read> tables: array<real, {}>;\n\
             fn table(i: u32) -> real {{ return tables[i]; }}\n",
            all.len()
        ),
        TablesIn::Uniform => format!(
            "@group(0) @binding(7) var<uniform> tables: array<vec4<real>, {}>;\n\
             fn table(i: u32) -> real {{ return tables[i / 4u][i % 4u]; }}\n",
            all.len() / 4
        ),
    };
    for (name, numbers, first, function, index) in tables {
        let written: Vec<String> = numbers.iter().map(|number| format!("{number:?}{suffix}")).collect();
        let array = format!("array<real, {}>({})", written.len(), written.join(", "));
        // Nothing fails that writes to a string.
        let _ = match place {
            TablesIn::Constants | TablesIn::Private => {
                let kind = if place == TablesIn::Private { "var<private>" } else { "const" };
                writeln!(text, "{kind} {name} = {array};\nfn {function} -> real {{ return {name}[{index}]; }}")
            }
            TablesIn::Storage | TablesIn::Uniform => {
                writeln!(text, "fn {function} -> real {{ return table({first}u + {index}); }}")
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::super::Params;
    use super::*;

    /// All number types, ways to add, places of tables and numbers of sums parse, validate and are
    /// written out.
    #[test]
    fn every_variant_is_written_out() {
        let written = |source: &KernelSource, constants: &[(&str, f64)], capabilities, everywhere: bool| {
            let written = translations(source, &[], constants, capabilities, everywhere)
                .unwrap_or_else(|error| panic!("{constants:?}: {error}\n{}", source.text()));
            assert!(!written.spirv.is_empty());
            assert_eq!(written.msl.is_some() && written.hlsl.is_some(), everywhere);
        };
        fn others<T: Number>() -> [KernelSource; 6] {
            let gradients = |diagonal| solver::<T>(Method::ConjugateGradients, diagonal);
            let [columns, nodes] = [Diagonal::Columns, Diagonal::Nodes].map(gradients);
            [
                forcing::<T>(None),
                gather::<T>(),
                matrix::<T>(),
                columns,
                nodes,
                solver::<T>(Method::Minres, Diagonal::Nodes),
            ]
        }
        others::<f32>().iter().for_each(|source| written(source, &[], Capabilities::empty(), true));
        others::<f64>().iter().for_each(|source| written(source, &[], Capabilities::FLOAT64, false));
        let atomics = Capabilities::SHADER_INT64
            | Capabilities::SHADER_INT64_ATOMIC_MIN_MAX
            | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS;
        let f64_atomics = Capabilities::FLOAT64 | atomics;
        for tables in TablesIn::ALL {
            for sums in Accumulators::ALL {
                for accumulate in [Accumulate::Plain, Accumulate::CompareExchange] {
                    let source = scatter::<f32>(accumulate, tables, sums, Kernels::Joined);
                    written(&source, &[], Capabilities::empty(), true);
                }
            }
            // How prisms add does not depend on the sums that they add.
            let scatter32 = |accumulate| scatter::<f32>(accumulate, tables, Accumulators::Twelve, Kernels::Separate);
            let scatter64 = |accumulate| scatter::<f64>(accumulate, tables, Accumulators::Twelve, Kernels::Separate);
            let interchanged = [("INTERCHANGED", 1.0)];
            let native = Capabilities::SHADER_FLOAT32_ATOMIC;
            written(&scatter32(Accumulate::Native), &interchanged, native, false);
            written(&scatter64(Accumulate::Plain), &[], Capabilities::FLOAT64, false);
            written(&scatter64(Accumulate::CompareExchange64), &[], f64_atomics, false);
        }
        for accumulate in [Accumulate::Plain, Accumulate::CompareExchange] {
            written(&forcing::<f32>(Some(accumulate)), &[], Capabilities::empty(), true);
        }
        written(&forcing::<f64>(Some(Accumulate::CompareExchange64)), &[], f64_atomics, false);
    }

    #[test]
    fn derivatives_sum_to_nothing() {
        fn hold<T: Number>() {
            for derivatives in tables::<T>()[POINTS + POINTS * NODES..].chunks(NODES) {
                let mut sum = T::default();
                derivatives.iter().for_each(|&derivative| sum += derivative);
                assert!(sum == T::default(), "{derivatives:?}");
            }
        }
        hold::<f32>();
        hold::<f64>();
    }

    #[test]
    fn the_host_lays_parameters_out_alike() {
        let layout = struct_layout(&gather::<f32>(), "Params").expect("the struct");
        assert_eq!(layout.size as usize, size_of::<Params>());
        assert_eq!(layout.fields.iter().map(|&(_, at)| at).collect::<Vec<_>>(), [0, 4, 8, 12, 16, 20, 24, 28, 32]);
    }
}
