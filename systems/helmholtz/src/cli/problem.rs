//! Options that describe a problem of the user's.

use std::path::{Path, PathBuf};

use clap::Args;
use command_host::{Code, Failure};
use helmholtz::{Condition, Mesh, Problem, Values, io};

/// A number, an expression in x, y and z, or @FILE.
#[derive(Clone, Debug)]
pub(super) enum ValueSource {
    Values(Values),
    /// A field of a file, by name.
    Field(PathBuf, Option<String>),
}

fn source(text: &str) -> Result<ValueSource, String> {
    let Some(file) = text.strip_prefix('@') else {
        let expression = text.parse().map_err(|error: helmholtz::Error| error.to_string())?;
        return Ok(ValueSource::Values(Values::Expression(expression)));
    };
    // The name follows the ending, because names of files may hold colons.
    for ending in [".npz", ".npy", ".vtu"] {
        if file.ends_with(ending) {
            return Ok(ValueSource::Field(file.into(), None));
        }
        if let Some((path, name)) = file.rsplit_once(&format!("{ending}:")) {
            return Ok(ValueSource::Field(format!("{path}{ending}").into(), Some(name.to_owned())));
        }
    }
    Err("fields are read from @FILE.npz:NAME, @FILE.npy or @FILE.vtu:NAME".to_owned())
}

fn condition(text: &str) -> Result<(String, ValueSource), String> {
    match text.split_once('=') {
        Some((part, value)) if !part.is_empty() => Ok((part.to_owned(), source(value)?)),
        _ => Err("a condition is PART=VALUE, for example bottom=0".to_owned()),
    }
}

/// The problem -div(a grad u) + c u = f.
#[derive(Args)]
#[command(next_help_heading = "Problem")]
pub(super) struct ProblemOptions {
    /// Right-hand side f: an expression in x, y, z, or @FILE.npz:NAME, @FILE.npy, @FILE.vtu:NAME
    /// with a number per node; 0 if not given
    #[arg(long, value_name = "F", value_parser = source, allow_hyphen_values = true)]
    rhs: Option<ValueSource>,
    /// Diffusion a, as --rhs, above 0 everywhere; 1 if not given
    #[arg(long, value_name = "A", value_parser = source, allow_hyphen_values = true)]
    diffusion: Option<ValueSource>,
    /// Reaction c, as --rhs, of either sign: -K^2 for the Helmholtz equation of wave number K; 1 if
    /// not given
    #[arg(long, value_name = "C", value_parser = source, allow_hyphen_values = true)]
    reaction: Option<ValueSource>,
    /// u on a part of the boundary: bottom, top, sides, all, left, right, front, back of a
    /// rectangle, or a physical curve of a Gmsh mesh; may be repeated, and the last one holds where
    /// parts meet
    #[arg(long, value_name = "PART=U", value_parser = condition)]
    dirichlet: Vec<(String, ValueSource)>,
    /// Flux a du/dn into the mesh on a part of the boundary; may be repeated. It is 0 where nothing
    /// is given
    #[arg(long, value_name = "PART=G", value_parser = condition)]
    neumann: Vec<(String, ValueSource)>,
    /// Known solution, as --rhs, that u is compared with
    #[arg(long, value_name = "U", value_parser = source, allow_hyphen_values = true)]
    exact: Option<ValueSource>,
}

impl ProblemOptions {
    /// Whether there is a problem of the user's; otherwise the report's problem is solved.
    pub(super) fn is_given(&self) -> bool {
        self.rhs.is_some()
            || self.diffusion.is_some()
            || self.reaction.is_some()
            || self.exact.is_some()
            || !self.dirichlet.is_empty()
            || !self.neumann.is_empty()
    }

    /// The files that are read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let conditions = self.dirichlet.iter().chain(&self.neumann).map(|(_, source)| source);
        let all = [&self.rhs, &self.diffusion, &self.reaction, &self.exact].into_iter().flatten().chain(conditions);
        let file = |source: &ValueSource| match source {
            ValueSource::Field(path, _) => Some(path.clone()),
            ValueSource::Values(_) => None,
        };
        all.filter_map(file).collect()
    }

    /// Reads the files of the problem.
    pub(super) fn problem(&self, mesh: &Mesh) -> Result<Problem, Failure> {
        let or = |source: &Option<ValueSource>, number: f64| match source {
            Some(source) => source.values(mesh),
            None => Ok(Values::Constant(number)),
        };
        let conditions = |all: &[(String, ValueSource)]| -> Result<Vec<Condition>, Failure> {
            let one = |(part, source): &(String, ValueSource)| {
                Ok(Condition { part: part.clone(), values: source.values(mesh)? })
            };
            all.iter().map(one).collect()
        };
        Ok(Problem {
            diffusion: or(&self.diffusion, 1.0)?,
            reaction: or(&self.reaction, 1.0)?,
            source: or(&self.rhs, 0.0)?,
            dirichlet: conditions(&self.dirichlet)?,
            neumann: conditions(&self.neumann)?,
        })
    }

    /// The known solution at the nodes.
    pub(super) fn exact(&self, mesh: &Mesh) -> Result<Option<Vec<f64>>, Failure> {
        match &self.exact {
            None => Ok(None),
            Some(source) => Ok(Some(source.values(mesh)?.at_nodes(mesh)?)),
        }
    }
}

impl ValueSource {
    fn values(&self, mesh: &Mesh) -> Result<Values, Failure> {
        match self {
            Self::Values(values) => Ok(values.clone()),
            Self::Field(path, name) => Ok(Values::Field(read(path, name.as_deref(), mesh)?)),
        }
    }
}

/// Reads a number per node, or a number per vertex for all levels.
fn read(path: &Path, name: Option<&str>, mesh: &Mesh) -> Result<Vec<f64>, Failure> {
    let told = |what: String| Failure::new(Code::Data, format_args!("{}: {what}", path.display()));
    let wanted = || format!("give the name of a field: @{}:NAME", path.display());
    let (shape, field): (Vec<u64>, Vec<f64>) = match path.extension().and_then(|ending| ending.to_str()) {
        Some("npz") => {
            let name = name.ok_or_else(|| told(wanted()))?;
            array_file::ArrayFile::open(path)?.array(name)?
        }
        Some("npy") => array_file::read_npy(path)?,
        _ => {
            let field = io::read_vtu(path, name.ok_or_else(|| told(wanted()))?)?;
            (vec![field.len() as u64], field)
        }
    };
    let (vertices, levels) = (mesh.vertices().len(), mesh.levels());
    let squeezed: Vec<u64> = shape.iter().copied().filter(|&length| length != 1).collect();
    match squeezed[..] {
        [length] if length == vertices as u64 && levels > 1 => {
            Ok(field.iter().flat_map(|&value| std::iter::repeat_n(value, levels)).collect())
        }
        [length] if length == mesh.nodes() as u64 => Ok(field),
        [rows, columns] if rows == vertices as u64 && columns == levels as u64 => Ok(field),
        [found] => Err(told(format!(
            "{found} numbers, and the mesh has {vertices} vertices on {levels} levels: one per node or per vertex is needed"
        ))),
        _ => Err(told(format!(
            "an array of shape {shape:?}, and [{vertices}, {levels}] (vertices x levels) or [{vertices}] is wanted"
        ))),
    }
}
