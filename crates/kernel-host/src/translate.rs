//! Kernels in the languages of every backend, for tests.

use naga::Module;
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::error::Error;
use crate::reflect::{entry_point_names, resolve};
use crate::source::{KernelSource, chain};

/// A kernel in the languages that drivers take.
#[derive(Clone, Debug)]
pub struct Translations {
    /// SPIR-V 1.3, for Vulkan.
    pub spirv: Vec<u32>,
    /// Metal 2.4, if asked for.
    pub msl: Option<String>,
    /// HLSL of shader model 6.6, if asked for.
    pub hlsl: Option<String>,
}

/// Writes a kernel out as naga would for Vulkan and, if `with_msl_hlsl`, for Metal and DirectX 12,
/// so that a test can hold that every variant can be. No entry points means all of them. Metal has
/// no `f64`: leave the two out there.
///
/// # Errors
/// [`Error::Shader`], or [`Error::Pipeline`] with the language whose writer refused.
pub fn translations(
    source: &KernelSource,
    entry_points: &[&str],
    constants: &[(&str, f64)],
    capabilities: Capabilities,
    with_msl_hlsl: bool,
) -> Result<Translations, Error> {
    let mut parsed = source.parse(capabilities)?;
    let names = entry_point_names(source, &parsed, entry_points)?;
    // Other entry points may use overrides without a value here.
    parsed.module.entry_points.retain(|entry| names.contains(&entry.name));
    parsed.info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&parsed.module)
        .map_err(|error| source.pipeline_error(chain(error.as_inner())))?;
    let (module, info) = resolve(source, &parsed.module, &parsed.info, None, constants)?;

    let options = naga::back::spv::Options { lang_version: (1, 3), ..Default::default() };
    let spirv = naga::back::spv::write_vec(&module, &info, &options, None)
        .map_err(|error| source.pipeline_error(format!("SPIR-V: {}", chain(&error))))?;
    let (mut msl, mut hlsl) = (None, None);
    if with_msl_hlsl {
        // naga's Metal writer panics on f64 instead of refusing it.
        if uses_f64(&module) {
            return Err(source.pipeline_error("MSL: Metal has no f64"));
        }
        let options = naga::back::msl::Options { lang_version: (2, 4), ..Default::default() };
        let (text, written) = naga::back::msl::write_string(&module, &info, &options, &Default::default())
            .map_err(|error| source.pipeline_error(format!("MSL: {}", chain(&error))))?;
        for result in written.entry_point_names {
            result.map_err(|error| source.pipeline_error(format!("MSL: {}", chain(&error))))?;
        }
        msl = Some(text);

        let options =
            naga::back::hlsl::Options { shader_model: naga::back::hlsl::ShaderModel::V6_6, ..Default::default() };
        let (pipeline_options, mut text) = (Default::default(), String::new());
        let written = naga::back::hlsl::Writer::new(&mut text, &options, &pipeline_options)
            .write(&module, &info, None)
            .map_err(|error| source.pipeline_error(format!("HLSL: {}", chain(&error))))?;
        for result in written.entry_point_names {
            result.map_err(|error| source.pipeline_error(format!("HLSL: {}", chain(&error))))?;
        }
        hlsl = Some(text);
    }
    Ok(Translations { spirv, msl, hlsl })
}

fn uses_f64(module: &Module) -> bool {
    module.types.iter().any(|(_, ty)| {
        let scalar = ty.inner.scalar();
        scalar.is_some_and(|scalar| scalar.kind == naga::ScalarKind::Float && scalar.width == 8)
    })
}
