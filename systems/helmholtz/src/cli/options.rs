//! Options that choose the mesh and the engine.

use std::path::{Path, PathBuf};

use clap::Args;
use command_host::{Engines, Failure, check_distinct};
use helmholtz::{Assembler, AssemblerBuilder, Extrusion, Mesh, Result, Triangles, generate, io};
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
    /// Triangles in a file: Gmsh's .msh (MSH 4.1, or 2.2 as text), or .node and .ele of the program
    /// Triangle
    #[arg(long, value_name = "FILE", help_heading = "Mesh", conflicts_with_all = ["squares", "jitter", "grade"])]
    mesh: Option<PathBuf>,
    /// Unit square of N x N cells, two triangles each; 32 if not given, 389 in a bench
    #[arg(long, value_name = "N", help_heading = "Mesh")]
    squares: Option<usize>,
    /// Move its vertices at random by up to this part of a cell, 0.2 at most
    #[arg(long, value_name = "PART", help_heading = "Mesh", conflicts_with = "grade", allow_negative_numbers = true)]
    jitter: Option<f64>,
    /// Shrink its cells towards a corner: lines at (i / N)^P, P from 1 to 4
    #[arg(long, value_name = "P", help_heading = "Mesh", allow_negative_numbers = true)]
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
        let outputs: Vec<&Path> = outputs.into_iter().collect();
        check_distinct(self.files().iter().map(PathBuf::as_path), outputs)
    }

    /// The files that are read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        match &self.mesh {
            None => Vec::new(),
            Some(path) if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("msh")) => {
                vec![path.clone()]
            }
            // A file of Gmsh's may have any name.
            Some(path) => io::paths(path).into_iter().chain([path.clone()]).collect(),
        }
    }

    /// Returns the triangles, with this many squares if neither a number nor a file is given, and
    /// named edges.
    pub(super) fn mesh(&self, squares: usize) -> Result<(Triangles, io::NamedEdges)> {
        let n = self.squares.unwrap_or(squares);
        let (flat, named) = match (&self.mesh, self.jitter, self.grade) {
            (Some(path), ..) => io::read_mesh(path)?,
            (None, Some(fraction), _) => (generate::jittered(n, fraction, self.seed)?, io::NamedEdges::new()),
            (None, None, Some(power)) => (generate::graded(n, power)?, io::NamedEdges::new()),
            (None, None, None) => (generate::unit_square(n)?, io::NamedEdges::new()),
        };
        if !self.shuffle {
            return Ok((flat, named));
        }
        let (flat, numbers) = generate::shuffled(&flat, self.seed.wrapping_add(1));
        let renumbered = |edge: [u32; 2]| edge.map(|vertex| numbers.get(vertex as usize).copied().unwrap_or(vertex));
        let named = named.into_iter().map(|(name, edges)| (name, edges.into_iter().map(renumbered).collect()));
        Ok((flat, named.collect()))
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
    #[arg(long, default_value_t = Extrusion::default().height, value_name = "H", help_heading = "Mesh", allow_negative_numbers = true)]
    height: f64,
}

impl MeshOptions {
    pub(super) fn mesh(&self, squares: usize) -> Result<Mesh> {
        Mesh::new(self.flat.mesh(squares)?.0, Extrusion { levels: self.levels, height: self.height })
    }
}

/// Description of a mesh in reports.
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
