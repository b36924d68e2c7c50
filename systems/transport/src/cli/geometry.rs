//! Geometries from TOML files.

use std::collections::BTreeMap;
use std::path::Path;

use command_host::{Code, Failure};
use serde::Deserialize;
use transport::{Geometry, Material, Shape, Volume};

/// The largest file \[bytes\].
const MOST_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    world: World,
    #[serde(default, rename = "material")]
    materials: Vec<Mixture>,
    #[serde(default, rename = "volume")]
    volumes: Vec<Part>,
    #[serde(default, rename = "stack")]
    stacks: Vec<Stack>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct World {
    half_size_mm: [f64; 3],
    #[serde(default = "one")]
    sectors: u32,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mixture {
    name: String,
    density_g_cm3: f64,
    /// By mass.
    fractions: BTreeMap<String, f64>,
    radiation_length_mm: Option<f64>,
    mean_excitation_ev: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    material: String,
    radius_mm: Option<[f64; 2]>,
    half_size_mm: Option<[f64; 2]>,
    z_mm: [f64; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stack {
    radius_mm: Option<[f64; 2]>,
    half_size_mm: Option<[f64; 2]>,
    from_z_mm: f64,
    #[serde(default = "one")]
    repeat: u32,
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    material: String,
    thickness_mm: f64,
}

/// The name of no material.
const VACUUM: &str = "vacuum";

/// Reads a geometry. Returns a label for each of its volumes, too: the number of the volume, or
/// those of its stack and layer.
pub(super) fn read(path: &Path) -> Result<(Geometry, Vec<String>), Failure> {
    let wrong = |what: String| Failure::new(Code::Data, format_args!("{}: {what}", path.display()));
    let text = table_file::read_text(path, MOST_BYTES).map_err(|error| wrong(error.to_string()))?;
    parse(&text).map_err(wrong)
}

/// Gives each volume a material of its own, whose name begins with the label of the volume. Scores
/// by material are then by volume.
pub(super) fn split_by_volume(mut geometry: Geometry, labels: &[String]) -> Geometry {
    let mut materials = Vec::new();
    for (volume, label) in geometry.volumes.iter_mut().zip(labels) {
        if let Some(number) = &mut volume.material {
            let material = &geometry.materials[*number];
            *number = materials.len();
            materials.push(material.clone().with_name(format!("{label}_{}", material.name())));
        }
    }
    Geometry { materials, ..geometry }
}

fn parse(text: &str) -> Result<(Geometry, Vec<String>), String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let materials = file.materials.iter().map(mixture).collect::<Result<Vec<_>, _>>()?;
    for (index, material) in materials.iter().enumerate() {
        if material.name() == VACUUM || materials[..index].iter().any(|other| other.name() == material.name()) {
            return Err(format!("material `{}`: the name is taken", material.name()));
        }
    }
    let number = |name: &str| match materials.iter().position(|material| material.name() == name) {
        None if name != VACUUM => Err(format!("there is no material `{name}`")),
        found => Ok(found),
    };
    let mut volumes = Vec::new();
    let mut labels: Vec<_> = (1..=file.volumes.len()).map(|number| format!("volume{number}")).collect();
    for Part { material, radius_mm, half_size_mm, z_mm } in &file.volumes {
        volumes.push(Volume { shape: shape(*radius_mm, *half_size_mm)?, z: *z_mm, material: number(material)? });
    }
    for (stack, Stack { radius_mm, half_size_mm, from_z_mm, repeat, layers }) in (1..).zip(&file.stacks) {
        let shape = shape(*radius_mm, *half_size_mm)?;
        if layers.is_empty() || layers.len().saturating_mul(*repeat as usize) > Geometry::MOST_LAYERS {
            let most = Geometry::MOST_LAYERS;
            return Err(format!("a stack of {} layers, repeated {repeat} times: 1 to {most} are wanted", layers.len()));
        }
        let mut z = *from_z_mm;
        for (layer, Layer { material, thickness_mm }) in (1..).zip((0..*repeat).flat_map(|_| layers)) {
            // Neighbouring layers share their bound, whatever sums round to.
            let end = (1e6 * (z + thickness_mm)).round() / 1e6;
            volumes.push(Volume { shape, z: [z, end], material: number(material)? });
            labels.push(format!("stack{stack}_layer{layer}"));
            z = end;
        }
    }
    let World { half_size_mm, sectors } = file.world;
    let geometry = Geometry { world: half_size_mm, sectors, materials, volumes };
    geometry.check().map_err(|error| error.to_string())?;
    Ok((geometry, labels))
}

fn mixture(mixture: &Mixture) -> Result<Material, String> {
    let Mixture { name, density_g_cm3, fractions, radiation_length_mm, mean_excitation_ev } = mixture;
    let fractions: Vec<_> = fractions.iter().map(|(symbol, &fraction)| (symbol.as_str(), fraction)).collect();
    let mut material = Material::mixture(name, *density_g_cm3, &fractions).map_err(|error| error.to_string())?;
    if let &Some(length) = radiation_length_mm {
        material = material.with_radiation_length(length);
    }
    if let &Some(energy) = mean_excitation_ev {
        material = material.with_mean_excitation(energy);
    }
    Ok(material)
}

fn shape(radius: Option<[f64; 2]>, half_size: Option<[f64; 2]>) -> Result<Shape, String> {
    match (radius, half_size) {
        (Some([inner, outer]), None) => Ok(Shape::Tube { inner, outer }),
        (None, Some(half)) => Ok(Shape::Box { half }),
        _ => Err("a volume or stack has either `radius_mm` (a tube) or `half_size_mm` (a box)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALORIMETER: &str = r#"
[world]
half_size_mm = [200, 200, 400]

[[material]]
name = "lead"
density_g_cm3 = 11.35
fractions = { Pb = 1 }

[[material]]
name = "polystyrene"
density_g_cm3 = 1.06
fractions = { C = 0.9226, H = 0.0774 }
mean_excitation_ev = 68.7

[[volume]]
material = "lead"
radius_mm = [150, 180]
z_mm = [-100, 350]

[[stack]]
half_size_mm = [100, 100]
from_z_mm = 0
repeat = 30
layers = [{ material = "lead", thickness_mm = 5 }, { material = "polystyrene", thickness_mm = 4.1 }]
"#;

    #[test]
    fn stacks_are_layers() {
        let (geometry, labels) = parse(CALORIMETER).expect("a geometry");
        assert_eq!((geometry.volumes.len(), labels.len(), geometry.materials.len()), (61, 61, 2));
        assert_eq!(geometry.volumes[60].z, [268.9, 273.0]);
        let split = split_by_volume(geometry, &labels);
        let names = [0, 1, 60].map(|volume| split.materials[volume].name());
        assert_eq!(names, ["volume1_lead", "stack1_layer1_lead", "stack1_layer60_polystyrene"]);
        assert!((0..61).all(|volume| split.volumes[volume].material == Some(volume)));
    }

    #[test]
    fn invalid_files_are_errors() {
        for (old, new, message) in [
            ("[world]", "[word]", "unknown field `word`"),
            ("= \"lead\"\nradius", "= \"led\"\nradius", "no material `led`"),
            ("radius_mm = [150, 180]", "", "either `radius_mm`"),
            ("Pb = 1", "Pb = 0.3", "add up to 0.3"),
            ("repeat = 30", "repeat = 4000000000", "repeated 4000000000 times"),
            ("thickness_mm = 4.1", "thickness_mm = nan", "z from"),
            ("[150, 180]", "[120, 180]", "cross"),
            ("\"polystyrene\"\ndensity", "\"vacuum\"\ndensity", "the name is taken"),
        ] {
            let error = parse(&CALORIMETER.replacen(old, new, 1)).expect_err("invalid");
            assert!(error.contains(message), "{message}: {error}");
        }
    }
}
