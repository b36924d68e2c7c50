//! The boundary of a mesh and its parts.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};
use crate::io::NamedEdges;
use crate::mesh::Mesh;

/// The boundary of a mesh, in named parts.
///
/// `bottom` and `top` are the triangles at the first and at the last level. `sides` are all edges
/// with one triangle, in every layer. `all` is everything. Named edges of a mesh file are further
/// parts. If no edges are named and the sides form a rectangle along the axes, its sides are `left`
/// and `right` (least and greatest x), `front` and `back` (least and greatest y).
#[derive(Clone, Debug)]
pub struct Boundary {
    sides: Vec<[u32; 2]>,
    named: NamedEdges,
}

/// The faces of a part of the boundary.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faces<'a> {
    pub(crate) edges: &'a [[u32; 2]],
    pub(crate) bottom: bool,
    pub(crate) top: bool,
}

/// Names that a mesh file may not use for its edges.
const RESERVED: [&str; 4] = ["bottom", "top", "sides", "all"];

impl Boundary {
    /// Finds the boundary. `named` are edges of a mesh file.
    ///
    /// # Errors
    /// [`Error::Part`] if a named edge is not on the boundary, or if a name is one of `bottom`,
    /// `top`, `sides`, `all`.
    pub fn new(mesh: &Mesh, named: NamedEdges) -> Result<Self> {
        let mut triangles: HashMap<[u32; 2], u32> = HashMap::new();
        for &[a, b, c] in mesh.triangles() {
            for edge in [[a, b], [b, c], [c, a]] {
                *triangles.entry(ascending(edge)).or_default() += 1;
            }
        }
        let mut sides: Vec<[u32; 2]> =
            triangles.iter().filter(|&(_, &count)| count == 1).map(|(&edge, _)| edge).collect();
        sides.sort_unstable();
        let part = |part: &str, known: &str| Error::Part { part: part.to_owned(), known: known.to_owned() };
        for (name, edges) in &named {
            if RESERVED.contains(&name.as_str()) {
                return Err(part(name, "names other than bottom, top, sides and all: rename the physical group"));
            }
            let is_side = |edge: &[u32; 2]| sides.binary_search(&ascending(*edge)).is_ok();
            if !edges.iter().all(is_side) {
                return Err(part(name, "groups of edges with one triangle: this group has an inner edge"));
            }
        }
        let named = if named.is_empty() { rectangle(mesh, &sides) } else { named };
        Ok(Self { sides, named })
    }

    /// Returns the names of the parts.
    #[must_use]
    pub fn parts(&self) -> Vec<&str> {
        RESERVED.into_iter().chain(self.named.keys().map(String::as_str)).collect()
    }

    pub(crate) fn faces(&self, part: &str) -> Result<Faces<'_>> {
        let none = Faces::default();
        Ok(match part {
            "bottom" => Faces { bottom: true, ..none },
            "top" => Faces { top: true, ..none },
            "sides" => Faces { edges: &self.sides, ..none },
            "all" => Faces { edges: &self.sides, bottom: true, top: true },
            _ => match self.named.get(part) {
                Some(edges) => Faces { edges, ..none },
                None => return Err(Error::Part { part: part.to_owned(), known: self.parts().join(", ") }),
            },
        })
    }
}

fn ascending([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

/// The four sides of a rectangle along the axes; nothing for another outline.
fn rectangle(mesh: &Mesh, sides: &[[u32; 2]]) -> NamedEdges {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    let at = |vertex: u32| mesh.vertices()[vertex as usize];
    for &vertex in sides.as_flattened() {
        for axis in 0..2 {
            low[axis] = low[axis].min(at(vertex)[axis]);
            high[axis] = high[axis].max(at(vertex)[axis]);
        }
    }
    let lines = [("left", 0, low[0]), ("right", 0, high[0]), ("front", 1, low[1]), ("back", 1, high[1])];
    let mut named = BTreeMap::new();
    for edge in sides {
        let on = |&(_, axis, line): &(&str, usize, f64)| edge.iter().all(|&vertex| at(vertex)[axis] == line);
        let Some((name, ..)) = lines.iter().find(|line| on(line)) else { return NamedEdges::new() };
        named.entry((*name).to_owned()).or_insert_with(Vec::new).push(*edge);
    }
    named
}
