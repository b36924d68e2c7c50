//! Reflection of a kernel by naga, without an adapter: bindings, workgroup memory, struct layouts.

use std::borrow::Cow;
use std::num::NonZeroU64;

use naga::valid::{Capabilities, ModuleInfo};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};

use crate::error::Error;
use crate::source::{KernelSource, Parsed, chain};

/// A buffer variable of `@group(0)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) number: u32,
    pub(crate) kind: wgpu::BufferBindingType,
    pub(crate) min_size: Option<NonZeroU64>,
}

/// An entry point with its overrides resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryPoint {
    pub(crate) name: String,
    pub(crate) workgroup_memory: u64,
    pub(crate) workgroup_size: [u32; 3],
}

/// The buffer variables that the module declares, in the order of their numbers.
pub(crate) fn bindings(source: &KernelSource, parsed: &Parsed) -> Result<Vec<Binding>, Error> {
    let module = &parsed.module;
    let mut bindings = Vec::new();
    for (_, variable) in module.global_variables.iter() {
        let Some(place) = variable.binding else {
            continue;
        };
        let name = variable.name.clone().unwrap_or_default();
        if place.group != 0 {
            return Err(
                source.binding_error(format!("`{name}` is in group {}; every binding belongs to group 0", place.group))
            );
        }
        let inner = &module.types[variable.ty].inner;
        let kind = match variable.space {
            AddressSpace::Uniform => Some(wgpu::BufferBindingType::Uniform),
            AddressSpace::Storage { access } => {
                Some(wgpu::BufferBindingType::Storage { read_only: !access.contains(StorageAccess::STORE) })
            }
            _ => None,
        };
        let kind = match kind {
            Some(kind) if !matches!(inner, naga::TypeInner::BindingArray { .. }) => kind,
            _ => {
                return Err(source.binding_error(format!("`{name}` is not a storage or uniform buffer")));
            }
        };
        bindings.push(Binding {
            name,
            number: place.binding,
            kind,
            min_size: inner.try_size(module.to_ctx()).and_then(|size| NonZeroU64::new(size.into())),
        });
    }
    bindings.sort_by_key(|binding| binding.number);
    for pair in bindings.windows(2) {
        if pair[0].number == pair[1].number {
            return Err(source.binding_error(format!(
                "`{}` and `{}` are both binding {}",
                pair[0].name, pair[1].name, pair[0].number
            )));
        }
    }
    Ok(bindings)
}

/// Returns the compute entry points of these names, or all for an empty list.
pub(crate) fn entry_point_names(source: &KernelSource, parsed: &Parsed, wanted: &[&str]) -> Result<Vec<String>, Error> {
    let offered: Vec<&str> = parsed
        .module
        .entry_points
        .iter()
        .filter(|entry| entry.stage == ShaderStage::Compute)
        .map(|entry| entry.name.as_str())
        .collect();
    if wanted.is_empty() {
        return Ok(offered.into_iter().map(str::to_owned).collect());
    }
    for name in wanted {
        if !offered.contains(name) {
            return Err(source.pipeline_error(format!(
                "there is no compute entry point `{name}`; there are: {}",
                offered.join(", ")
            )));
        }
    }
    Ok(wanted.iter().map(|&name| name.to_owned()).collect())
}

type Resolved<'a> = (Cow<'a, Module>, Cow<'a, ModuleInfo>);

pub(crate) fn resolve<'a>(
    source: &KernelSource,
    module: &'a Module,
    info: &'a ModuleInfo,
    entry_point: Option<&str>,
    constants: &[(&str, f64)],
) -> Result<Resolved<'a>, Error> {
    let constants = constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let entry_point = entry_point.map(|name| (ShaderStage::Compute, name));
    naga::back::pipeline_constants::process_overrides(module, info, entry_point, &constants)
        .map_err(|error| source.pipeline_error(chain(&error)))
}

/// Resolves the overrides for one entry point and measures it.
pub(crate) fn entry_point(
    source: &KernelSource,
    parsed: &Parsed,
    name: &str,
    constants: &[(&str, f64)],
) -> Result<EntryPoint, Error> {
    entry_point_names(source, parsed, &[name])?;
    let (module, info) = resolve(source, &parsed.module, &parsed.info, Some(name), constants)?;
    let (number, entry) = module
        .entry_points
        .iter()
        .enumerate()
        .find(|(_, entry)| entry.stage == ShaderStage::Compute && entry.name == name)
        .ok_or_else(|| source.pipeline_error(format!("naga lost the entry point `{name}`")))?;
    let usage = info.get_entry_point(number);
    let mut workgroup_memory = 0_u64;
    for (handle, variable) in module.global_variables.iter() {
        if variable.space != AddressSpace::WorkGroup || usage[handle].is_empty() {
            continue;
        }
        let size = module.types[variable.ty].inner.try_size(module.to_ctx()).ok_or_else(|| {
            source.pipeline_error(format!(
                "the workgroup variable `{}` is too large",
                variable.name.as_deref().unwrap_or_default()
            ))
        })?;
        // WebGPU counts every variable rounded up to 16 bytes, and so does a browser that refuses.
        workgroup_memory += u64::from(size).next_multiple_of(16);
    }
    Ok(EntryPoint { name: name.to_owned(), workgroup_memory, workgroup_size: entry.workgroup_size })
}

/// Bytes of workgroup memory that an entry point needs with these override constants, as WebGPU
/// counts them: the sum of the workgroup variables that it reaches, each rounded up to 16 bytes.
/// Needs no adapter, so tile sizes can be planned.
///
/// # Errors
/// [`Error::Shader`], or [`Error::Pipeline`] for an unknown entry point or constant.
pub fn workgroup_memory(
    source: &KernelSource,
    entry_point_name: &str,
    constants: &[(&str, f64)],
    capabilities: Capabilities,
) -> Result<u64, Error> {
    let parsed = source.parse(capabilities)?;
    Ok(entry_point(source, &parsed, entry_point_name, constants)?.workgroup_memory)
}

/// How naga lays out a WGSL struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// Bytes of the whole struct; of a struct that ends in a runtime-sized array, with one element.
    pub size: u32,
    /// Name and byte offset of every field, in order.
    pub fields: Vec<(String, u32)>,
}

/// The layout of a struct of the kernel, to hold the host's type against.
///
/// # Errors
/// [`Error::Shader`], or [`Error::Binding`] if there is no such struct.
pub fn struct_layout(source: &KernelSource, struct_name: &str) -> Result<StructLayout, Error> {
    let parsed = source.parse(Capabilities::all())?;
    let found = parsed.module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(struct_name));
    match found.map(|(_, ty)| &ty.inner) {
        Some(naga::TypeInner::Struct { members, span }) => Ok(StructLayout {
            size: *span,
            fields: members.iter().map(|member| (member.name.clone().unwrap_or_default(), member.offset)).collect(),
        }),
        _ => Err(source.binding_error(format!("there is no struct `{struct_name}`"))),
    }
}

#[cfg(test)]
#[path = "reflect_tests.rs"]
mod tests;
