//! Options of the world, the physics and the engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use command_host::{Code, Engines, Failure};
use transport::{
    Accuracy, AnyField, Cuts, Geometry, Grid, Kernels, Map, Scattering, Simulation, SimulationBuilder, SortBy,
};

use super::geometry;

#[derive(Args)]
pub(super) struct EngineOptions {
    #[command(flatten)]
    asked: command_host::EngineOptions<Self>,
}

impl Engines for EngineOptions {
    const WHAT: &str = "What computes";
    const CPU: &str = "All cores, f32";
    const REFERENCE: Option<&str> = Some("One core, f64, track by track");
}

impl EngineOptions {
    pub(super) fn engine(&self) -> transport::Engine {
        self.asked.engine()
    }

    pub(super) fn builder(&self) -> SimulationBuilder {
        Simulation::builder().engine(self.engine())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum KernelsName {
    /// Step lengths; count and sort; interactions
    Split,
    /// A whole step in one kernel
    Monolithic,
}

impl From<KernelsName> for Kernels {
    fn from(name: KernelsName) -> Self {
        match name {
            KernelsName::Split => Self::Split,
            KernelsName::Monolithic => Self::Monolithic,
        }
    }
}

/// Sort key of split kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SortName {
    /// Tracks with the same process side by side
    Process,
    /// Tracks in the same ring and layer side by side
    Volume,
}

impl From<SortName> for SortBy {
    fn from(name: SortName) -> Self {
        match name {
            SortName::Process => Self::Process,
            SortName::Volume => Self::Volume,
        }
    }
}

/// Columns of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScoreName {
    /// A column for each material
    Material,
    /// A column for each volume and each layer of a stack
    Volume,
}

/// Returns the name of an option's value on the command line.
pub(super) fn typed(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// A value of `--field`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldName {
    Parametrised,
    Map,
    /// Along z \[T\].
    Uniform(f64),
    File(PathBuf),
}

fn field_name(text: &str) -> Result<FieldName, String> {
    let wanted = "parametrised, map, uniform=TESLA or a FILE.npy is wanted";
    match (text, text.strip_prefix("uniform=")) {
        ("parametrised", _) => Ok(FieldName::Parametrised),
        ("map", _) => Ok(FieldName::Map),
        (_, Some(tesla)) => match tesla.parse() {
            Ok(tesla) => Ok(FieldName::Uniform(tesla)),
            Err(_) => Err(format!("`{tesla}` is no number of tesla: {wanted}")),
        },
        (file, None) if file.ends_with(".npy") => Ok(FieldName::File(file.into())),
        _ => Err(wanted.to_owned()),
    }
}

#[derive(Args)]
pub(super) struct FieldOptions {
    /// Magnetic field: parametrised (the CMS solenoid's), map (the same, in an r-z grid of 10 mm),
    /// uniform=TESLA along z, or FILE.npy, a map of points of r x points of z x 2, Bz and Br in T
    #[arg(long, default_value = "parametrised", value_name = "FIELD", value_parser = field_name, help_heading = "World")]
    field: FieldName,
    /// Distance of the points of --field FILE.npy, mm [default: 10]
    #[arg(long, value_name = "MM", help_heading = "World")]
    map_step: Option<f64>,
}

impl FieldOptions {
    pub(super) fn field(&self) -> Result<AnyField, Failure> {
        if self.map_step.is_some() && !matches!(self.field, FieldName::File(_)) {
            return Err(Failure::new(
                Code::Usage,
                "--map-step is of --field FILE.npy: other fields have no points to be given",
            ));
        }
        Ok(match &self.field {
            FieldName::Parametrised => AnyField::Parametrised,
            FieldName::Map => AnyField::Map(Arc::new(Map::parametrised()?)),
            &FieldName::Uniform(tesla) => AnyField::Uniform([0.0, 0.0, tesla]),
            FieldName::File(path) => AnyField::Map(Arc::new(Map::read(path, self.map_step.unwrap_or(10.0))?)),
        })
    }

    /// The file of the field map.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.field {
            FieldName::File(path) => Some(path),
            _ => None,
        }
    }

    /// A description.
    pub(super) fn text(&self) -> String {
        match &self.field {
            FieldName::Parametrised => "parametrised field".to_owned(),
            FieldName::Map => "map of the parametrised field".to_owned(),
            FieldName::Uniform(tesla) => format!("uniform field of {tesla} T"),
            FieldName::File(path) => format!("map {}", path.file_name().unwrap_or_default().to_string_lossy()),
        }
    }
}

#[derive(Args)]
pub(super) struct GeometryOptions {
    /// Geometry from a TOML file: materials, volumes and stacks of layers; the prototype's lead
    /// tungstate if not given
    #[arg(long, value_name = "FILE.toml", help_heading = "World")]
    geometry: Option<PathBuf>,
}

impl GeometryOptions {
    pub(super) fn file(&self) -> Option<&Path> {
        self.geometry.as_deref()
    }

    /// The geometry, whose materials are those to be scored.
    pub(super) fn geometry(&self, score_by: ScoreName) -> Result<Geometry, Failure> {
        let (geometry, labels) = match self.file() {
            Some(path) => geometry::read(path)?,
            None => {
                let geometry = Geometry::default();
                let labels = (1..=geometry.volumes.len()).map(|number| format!("volume{number}")).collect();
                (geometry, labels)
            }
        };
        Ok(match score_by {
            ScoreName::Material => geometry,
            ScoreName::Volume => geometry::split_by_volume(geometry, &labels),
        })
    }

    /// A description.
    pub(super) fn text(&self) -> String {
        self.file().map_or_else(
            || "the prototype's lead tungstate".to_owned(),
            |path| format!("geometry {}", path.file_name().unwrap_or_default().to_string_lossy()),
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScatteringName {
    /// No multiple scattering, as in the published steps
    None,
    /// One Gaussian angle a step, of Highland's width
    Highland,
}

/// The accuracy of paths.
#[derive(Args)]
pub(super) struct AccuracyOptions {
    /// Largest distance between the middle of an integration step and its chord, mm
    #[arg(long, default_value_t = Accuracy::default().sagitta, value_name = "MM", help_heading = "Accuracy")]
    sagitta: f64,
    /// Largest error of an integration step, mm
    #[arg(long, default_value_t = Accuracy::default().step_error, value_name = "MM", help_heading = "Accuracy")]
    step_error: f64,
    /// Shortest integration step, mm
    #[arg(long, default_value_t = Accuracy::default().least_step, value_name = "MM", help_heading = "Accuracy")]
    least_step: f64,
    /// Bounds of the relative error of an integration step
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, help_heading = "Accuracy")]
    relative_error: Option<[f64; 2]>,
    /// Integration steps in a step, at most
    #[arg(long, default_value_t = Accuracy::default().steps, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Accuracy")]
    integration_steps: u32,
}

impl AccuracyOptions {
    pub(super) fn accuracy(&self) -> Accuracy {
        let &Self { sagitta, step_error, least_step, relative_error, integration_steps } = self;
        let relative = relative_error.unwrap_or(Accuracy::default().relative);
        Accuracy { least_step, step_error, relative, sagitta, steps: integration_steps }
    }
}

/// The energy thresholds and the scattering.
#[derive(Args)]
pub(super) struct PhysicsOptions {
    /// Multiple scattering of electrons and positrons
    #[arg(long, value_enum, default_value = "none", value_name = "HOW", help_heading = "World")]
    scattering: ScatteringName,
    /// Electrons that are knocked out with more energy become tracks, MeV
    #[arg(long, default_value_t = Cuts::default().electron, value_name = "MEV", help_heading = "World")]
    electron_cut: f64,
    /// Photons that are radiated with more energy become tracks; photons with less are absorbed,
    /// MeV
    #[arg(long, default_value_t = Cuts::default().photon, value_name = "MEV", help_heading = "World")]
    photon_cut: f64,
    /// Electrons and positrons with less energy stop, MeV
    #[arg(long, default_value_t = Cuts::default().stop, value_name = "MEV", help_heading = "World")]
    stop: f64,
}

impl PhysicsOptions {
    pub(super) fn scattering(&self) -> Scattering {
        match self.scattering {
            ScatteringName::None => Scattering::None,
            ScatteringName::Highland => Scattering::Highland,
        }
    }

    pub(super) fn cuts(&self) -> Cuts {
        Cuts { electron: self.electron_cut, photon: self.photon_cut, stop: self.stop }
    }
}

/// `LOW:HIGH`.
fn range(text: &str) -> Result<[f64; 2], String> {
    let numbers =
        text.split_once(':').and_then(|(low, high)| Some([low.trim().parse().ok()?, high.trim().parse().ok()?]));
    match numbers {
        Some([low, high]) if low < high => Ok([low, high]),
        _ => Err("two numbers that rise are wanted, as 1200:1800".to_owned()),
    }
}

/// `RxZ`.
fn bins(text: &str) -> Result<[usize; 2], String> {
    let numbers = text.split_once('x').and_then(|(r, z)| Some([r.trim().parse().ok()?, z.trim().parse().ok()?]));
    match numbers {
        Some(bins) if bins.iter().all(|&bins| bins > 0) => Ok(bins),
        _ => Err("two numbers above 0 are wanted, as 120x120".to_owned()),
    }
}

/// The bins of deposits.
#[derive(Args)]
pub(super) struct GridOptions {
    /// Range of r, the distance from the axis, mm [default: 1200:1800]
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, allow_hyphen_values = true, help_heading = "Histogram")]
    r: Option<[f64; 2]>,
    /// Range of z, along the axis, mm [default: -3000:3000]
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, allow_hyphen_values = true, help_heading = "Histogram")]
    z: Option<[f64; 2]>,
    /// Bins of r and z [default: 120x120]
    #[arg(long, value_name = "RxZ", value_parser = bins, help_heading = "Histogram")]
    bins: Option<[usize; 2]>,
}

impl GridOptions {
    pub(super) fn grid(&self) -> Grid {
        let usual = Grid::default();
        Grid { r: self.r.unwrap_or(usual.r), z: self.z.unwrap_or(usual.z), bins: self.bins.unwrap_or(usual.bins) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names() {
        assert_eq!(field_name("map"), Ok(FieldName::Map));
        assert_eq!(field_name("uniform=-3.8"), Ok(FieldName::Uniform(-3.8)));
        assert_eq!(field_name("here/b.npy"), Ok(FieldName::File("here/b.npy".into())));
        assert!(field_name("uniform=much").is_err_and(|told| told.contains("`much`")));
        assert!(field_name("dipole").is_err_and(|told| told.contains("FILE.npy")));
    }

    #[test]
    fn ranges_rise_and_bins_are_counted() {
        assert_eq!(range("-3000: 10.5"), Ok([-3000.0, 10.5]));
        assert_eq!(bins("12x34"), Ok([12, 34]));
        for wrong in ["1200", "5:1", "1:NaN", ":"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
        for wrong in ["12", "0x3", "3x-1", "x"] {
            assert!(bins(wrong).is_err(), "{wrong}");
        }
    }
}
