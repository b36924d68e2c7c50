//! Triangles and named edges from Gmsh's formats: MSH 4.1 as text or binary, and MSH 2.2 as text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use super::{MOST_BYTES, NamedEdges, file_error, refuse_other_format};
use crate::error::{Error, Result};
use crate::mesh::Triangles;

/// Gmsh's element types of first order, with their number of nodes.
const POINT: i64 = 15;
const LINE: i64 = 1;
const TRIANGLE: i64 = 2;

/// Most bytes of a physical name. Each element repeats the name in memory.
const LONGEST_NAME: usize = 1024;
/// Most physical groups of a curve. Each edge is listed for each group.
const MOST_GROUPS: usize = 64;

/// Reads the triangles of a mesh in the plane, and the edges of its physical curves by their names.
/// A physical curve without a name is called by its number.
///
/// # Errors
/// [`Error::File`] if the file cannot be read or is not a plane mesh of triangles of first order in
/// MSH 4.1, or in MSH 2.2 as text. Faults of a text file are [`Error::Line`].
pub fn read_gmsh(path: &Path) -> Result<(Triangles, NamedEdges)> {
    let bytes = table_file::read_whole(path, MOST_BYTES).map_err(|error| file_error(path, error))?;
    // Text before the first section is no fault, unless it is that of another format.
    if !bytes.trim_ascii_start().starts_with(b"$") || bytes.trim_ascii_start().starts_with(b"$NOD") {
        refuse_other_format(path, &bytes)?;
    }
    Reader { path, bytes: &bytes, at: 0, is_binary: false, version: Version::Msh41 }.mesh()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Msh41,
    Msh22,
}

/// Counts, identifiers (`int`, 4 bytes in a binary file) and coordinates, one after the other.
struct Reader<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
    is_binary: bool,
    version: Version,
}

/// Content of the sections.
#[derive(Default)]
struct Content {
    /// Names by dimension and physical tag.
    names: HashMap<(i64, i64), String>,
    /// Physical tags of curves.
    curves: HashMap<i64, Vec<i64>>,
    /// Places of nodes by their tags.
    places: HashMap<u64, u32>,
    vertices: Vec<[f64; 2]>,
    triangles: Vec<[u32; 3]>,
    named: NamedEdges,
    /// z of the first node.
    height: Option<f64>,
}

impl Reader<'_> {
    fn error<T>(&self, what: impl Into<String>) -> Result<T> {
        let path = self.path.display().to_string();
        if self.is_binary {
            return Err(Error::File { path, what: format!("byte {}: {}", self.at, what.into()) });
        }
        let before = &self.bytes[..self.at.min(self.bytes.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Err(Error::Line { path, line, what: what.into() })
    }

    fn mesh(mut self) -> Result<(Triangles, NamedEdges)> {
        let mut content = Content::default();
        let mut seen = HashSet::new();
        while let Some(section) = self.section() {
            let is_read = ["PhysicalNames", "Entities", "Nodes", "Elements"].contains(&section.as_str());
            if is_read && !seen.contains("MeshFormat") {
                return self.error(format!("${section} comes before $MeshFormat, which tells how to read it"));
            }
            match (section.as_str(), self.version) {
                ("MeshFormat", _) => self.format()?,
                ("PhysicalNames", _) => self.names(&mut content)?,
                ("Entities", Version::Msh41) => self.entities(&mut content)?,
                ("Nodes", Version::Msh41) => self.nodes(&mut content)?,
                ("Nodes", Version::Msh22) => self.list_of_nodes(&mut content)?,
                ("Elements", Version::Msh41) => self.elements(&mut content)?,
                ("Elements", Version::Msh22) => self.list_of_elements(&mut content)?,
                // $Comments and sections that a plane mesh does not need.
                _ => {}
            }
            self.end(&section)?;
            seen.insert(section);
        }
        for wanted in ["MeshFormat", "Nodes", "Elements"] {
            if !seen.contains(wanted) {
                return self.error(format!("the file has no section ${wanted}"));
            }
        }
        if content.triangles.is_empty() {
            return self.error("the file has no triangles: mesh the surface in 2 dimensions (gmsh -2)");
        }
        let Content { vertices, triangles, named, .. } = content;
        Ok((Triangles { vertices, triangles }, named))
    }

    /// The name of the next section; None at the end of the file.
    fn section(&mut self) -> Option<String> {
        let start = self.at + self.bytes[self.at..].iter().position(|&byte| byte == b'$')?;
        self.at = start + 1;
        let line = self.line();
        Some(String::from_utf8_lossy(line).trim().to_owned())
    }

    /// The rest of the line.
    fn line(&mut self) -> &[u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.at += (length + 1).min(rest.len());
        &rest[..length]
    }

    /// Goes to the end of a section, over what was not read.
    fn end(&mut self, section: &str) -> Result<()> {
        let mark = format!("$End{section}");
        match self.bytes[self.at..].windows(mark.len()).position(|window| window == mark.as_bytes()) {
            Some(place) => {
                self.at += place + mark.len();
                Ok(())
            }
            None => self.error(format!("the file ends before {mark}")),
        }
    }

    fn format(&mut self) -> Result<()> {
        let line = String::from_utf8_lossy(self.line()).into_owned();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[version, kind, size] = &words[..] else {
            return self.error("$MeshFormat should hold a version, a file type and a size");
        };
        let remedy = format!("save it anew: gmsh {} -save -format msh41 -o new.msh", self.path.display());
        self.version = match version {
            "4.1" => Version::Msh41,
            "2.2" => Version::Msh22,
            _ => return self.error(format!("MSH {version}, and this program reads 4.1 and 2.2: {remedy}")),
        };
        match (kind, size) {
            ("0", _) => Ok(()),
            ("1", _) if self.version == Version::Msh22 => {
                self.error(format!("binary MSH 2.2, and this program reads 2.2 as text only: {remedy}"))
            }
            ("1", "8") => {
                self.is_binary = true;
                let one = self.int()?;
                if one == 1 { Ok(()) } else { self.error(format!("a binary file of the other byte order: {remedy}")) }
            }
            _ => self.error(format!(
                "file type {} with sizes of {} bytes, and this program reads 0, or 1 with 8: {remedy}",
                kind.escape_default(),
                size.escape_default()
            )),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(&bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => self.error("the file ends within a section"),
        }
    }

    fn word(&mut self) -> Result<&str> {
        let rest = &self.bytes[self.at..];
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        let length = rest[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len() - start);
        if length == 0 || length > 64 {
            return self.error("a number is expected here");
        }
        self.at += start + length;
        match std::str::from_utf8(&self.bytes[self.at - length..self.at]) {
            Ok(word) => Ok(word),
            Err(_) => self.error("this is not text: a number is expected here"),
        }
    }

    fn parsed<T: std::str::FromStr>(&mut self, kind: &str) -> Result<T> {
        let word = self.word()?.to_owned();
        match word.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.error(format!("{kind} is expected here, not `{}`", word.escape_default())),
        }
    }

    /// An `int`.
    fn int(&mut self) -> Result<i64> {
        if self.is_binary { Ok(i32::from_le_bytes(self.take()?).into()) } else { self.parsed("a whole number") }
    }

    /// A `size_t`.
    fn size(&mut self) -> Result<u64> {
        if self.is_binary { Ok(u64::from_le_bytes(self.take()?)) } else { self.parsed("a count or a tag") }
    }

    fn real(&mut self) -> Result<f64> {
        let number = if self.is_binary { f64::from_le_bytes(self.take()?) } else { self.parsed("a number")? };
        if number.is_finite() { Ok(number) } else { self.error("a finite number is expected here") }
    }

    /// Always text.
    fn names(&mut self, content: &mut Content) -> Result<()> {
        let count: u64 = self.parsed("a count")?;
        self.line();
        for _ in 0..count {
            let line = String::from_utf8_lossy(self.line()).into_owned();
            let mut rest = line.trim();
            let mut number = || {
                let (word, after) = rest.split_once(char::is_whitespace)?;
                rest = after.trim_start();
                word.parse::<i64>().ok()
            };
            let (Some(dimension), Some(tag)) = (number(), number()) else {
                return self.error("a physical name should be a dimension, a number and a name in quotes");
            };
            let name = rest.trim_matches('"').to_owned();
            if name.len() > LONGEST_NAME {
                let length = name.len();
                return self.error(format!("a physical name of {length} bytes, and {LONGEST_NAME} at most are read"));
            }
            content.names.insert((dimension, tag), name);
        }
        Ok(())
    }

    fn entities(&mut self, content: &mut Content) -> Result<()> {
        let counts = [self.size()?, self.size()?, self.size()?, self.size()?];
        for (dimension, count) in (0..).zip(counts) {
            for _ in 0..count {
                let tag = self.int()?;
                for _ in 0..if dimension == 0 { 3 } else { 6 } {
                    self.real()?;
                }
                let mut physical = Vec::new();
                for _ in 0..self.size()? {
                    physical.push(self.int()?.abs());
                }
                if dimension > 0 {
                    for _ in 0..self.size()? {
                        self.int()?;
                    }
                }
                if dimension == 1 {
                    physical.sort_unstable();
                    physical.dedup();
                    let groups = physical.len();
                    if groups > MOST_GROUPS {
                        return self
                            .error(format!("a curve of {groups} physical groups, and {MOST_GROUPS} at most are read"));
                    }
                    content.curves.insert(tag, physical);
                }
            }
        }
        Ok(())
    }

    fn nodes(&mut self, content: &mut Content) -> Result<()> {
        let [blocks, ..] = [self.size()?, self.size()?, self.size()?, self.size()?];
        for _ in 0..blocks {
            let [dimension, _, is_parametric] = [self.int()?, self.int()?, self.int()?];
            let count = self.size()?;
            let first = content.vertices.len() as u64;
            for place in 0..count {
                self.node_tag(content, first + place)?;
            }
            for _ in 0..count {
                self.node_place(content)?;
                for _ in 0..if is_parametric == 0 { 0 } else { dimension } {
                    self.real()?;
                }
            }
        }
        Ok(())
    }

    /// The nodes of MSH 2.2: their number, and a tag and a place each.
    fn list_of_nodes(&mut self, content: &mut Content) -> Result<()> {
        for _ in 0..self.size()? {
            self.node_tag(content, content.vertices.len() as u64)?;
            self.node_place(content)?;
        }
        self.end_of_list("nodes", "$EndNodes")
    }

    fn node_tag(&mut self, content: &mut Content, place: u64) -> Result<()> {
        let tag = self.size()?;
        let Ok(place) = u32::try_from(place) else {
            return self.error("more vertices than are numbered in 32 bits");
        };
        if content.places.insert(tag, place).is_some() {
            return self.error(format!("node {tag} is there twice"));
        }
        Ok(())
    }

    fn node_place(&mut self, content: &mut Content) -> Result<()> {
        let [x, y, z] = [self.real()?, self.real()?, self.real()?];
        let wanted = *content.height.get_or_insert(z);
        if (z - wanted).abs() > 1e-9 * (x.abs() + y.abs() + wanted.abs() + 1.0) {
            return self.error(format!(
                "a node at z = {z}, and others at {wanted}: a mesh is extruded from a plane, z = constant"
            ));
        }
        content.vertices.push([x, y]);
        Ok(())
    }

    fn end_of_list(&mut self, kind: &str, mark: &str) -> Result<()> {
        let before = self.at;
        if self.word()? != mark {
            return self.error(format!("more {kind} than the section promises"));
        }
        self.at = before;
        Ok(())
    }

    fn elements(&mut self, content: &mut Content) -> Result<()> {
        let [blocks, ..] = [self.size()?, self.size()?, self.size()?, self.size()?];
        for _ in 0..blocks {
            let [_, entity, kind] = [self.int()?, self.int()?, self.int()?];
            let count = self.size()?;
            let names = content.edge_names(entity);
            for _ in 0..count {
                self.size()?;
                self.element(content, kind, &names)?;
            }
        }
        Ok(())
    }

    /// The elements of MSH 2.2: their number, and a tag, a type, tags and nodes each. The first of
    /// the tags is the physical one. An element of several physical groups is listed for each.
    fn list_of_elements(&mut self, content: &mut Content) -> Result<()> {
        for _ in 0..self.size()? {
            self.size()?;
            let kind = self.int()?;
            let mut tags = 0..self.size()?;
            let physical = if tags.next().is_some() { self.int()?.abs() } else { 0 };
            for _ in tags {
                self.int()?;
            }
            let is_named = kind == LINE && physical != 0;
            let names = if is_named { vec![content.name_of_curve(physical)] } else { Vec::new() };
            self.element(content, kind, &names)?;
        }
        let mut seen = HashSet::new();
        content.triangles.retain(|corners| {
            let mut corners = *corners;
            corners.sort_unstable();
            seen.insert(corners)
        });
        self.end_of_list("elements", "$EndElements")
    }

    /// The nodes of an element. `names` are those of its physical curves.
    fn element(&mut self, content: &mut Content, kind: i64, names: &[String]) -> Result<()> {
        match kind {
            POINT => {
                self.size()?;
            }
            LINE => {
                let edge = [self.node(content)?, self.node(content)?];
                for name in names {
                    content.named.entry(name.clone()).or_default().push(edge);
                }
            }
            TRIANGLE => {
                let corners = [self.node(content)?, self.node(content)?, self.node(content)?];
                content.triangles.push(corners);
            }
            3 => return self.error("quadrangles: mesh with triangles (no Recombine)"),
            8 | 9 => return self.error("elements of second order: mesh with -order 1"),
            4..=7 => return self.error("elements in 3 dimensions: mesh the surface only (gmsh -2)"),
            _ => {
                return self.error(format!("elements of Gmsh's type {kind}: triangles of first order are read"));
            }
        }
        Ok(())
    }

    fn node(&mut self, content: &Content) -> Result<u32> {
        let tag = self.size()?;
        match content.places.get(&tag) {
            Some(&place) => Ok(place),
            None => self.error(format!("there is no node {tag}")),
        }
    }
}

impl Content {
    /// The names of a curve's edges.
    fn edge_names(&self, curve: i64) -> Vec<String> {
        let tags = self.curves.get(&curve).map(Vec::as_slice).unwrap_or_default();
        let names: BTreeMap<String, ()> = tags.iter().map(|&tag| (self.name_of_curve(tag), ())).collect();
        names.into_keys().collect()
    }

    /// The name of a physical curve.
    fn name_of_curve(&self, physical: i64) -> String {
        let name = self.names.get(&(1, physical)).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| physical.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n1 7 \"west wall\"\n2 9 \"land\"\n$EndPhysicalNames\n\
        $Entities\n1 2 1 0\n1 0 0 0 0\n5 0 0 0 0 1 0 1 7 2 1 -2\n6 0 0 0 1 0 0 1 8 2 1 2\n1 0 0 0 1 1 0 1 9 2 5 6\n$EndEntities\n\
        $Nodes\n2 4 1 12\n0 1 0 1\n12\n0 0 0\n2 1 0 3\n1\n2\n3\n1 0 0\n0 1 0\n1 1 0\n$EndNodes\n\
        $Elements\n4 5 1 5\n0 1 15 1\n1 12\n1 5 1 1\n2 12 2\n1 6 1 1\n3 12 1\n2 1 2 2\n4 12 1 3\n5 2 12 3\n$EndElements\n";

    fn read(text: &[u8]) -> Result<(Triangles, NamedEdges)> {
        Reader { path: Path::new("a.msh"), bytes: text, at: 0, is_binary: false, version: Version::Msh41 }.mesh()
    }

    #[test]
    fn triangles_and_physical_curves_are_read() {
        let (flat, named) = read(SQUARE.as_bytes()).expect("a mesh");
        assert_eq!(flat.vertices, [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        assert_eq!(flat.triangles, [[0, 1, 3], [2, 0, 3]]);
        assert_eq!(named.keys().collect::<Vec<_>>(), ["8", "west wall"]);
        assert_eq!((&named["west wall"], &named["8"]), (&vec![[0, 2]], &vec![[0, 1]]));
    }

    #[test]
    fn faults_name_their_line() {
        for (from, to, told) in [
            ("4.1 0 8", "4 0 8", "a.msh:3: MSH 4, and this program reads 4.1 and 2.2: save it anew: gmsh a.msh -save"),
            ("4.1 0 8", "2.2 1 8", "a.msh:3: binary MSH 2.2, and this program reads 2.2 as text only: save it anew"),
            ("4.1 0 8", "4.1 1 4", "a.msh:3: file type 1 with sizes of 4 bytes"),
            ("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n", "", "a.msh:2: $PhysicalNames comes before $MeshFormat"),
            ("1 1 0\n$End", "1 1 0.5\n$End", "a node at z = 0.5"),
            ("1 1 0\n$End", "1 nan 0\n$End", "a finite number"),
            ("4 12 1 3", "4 12 1 99", "there is no node 99"),
            ("2 1 2 2\n", "2 1 9 2\n", "second order"),
            ("$EndElements", "", "before $EndElements"),
            ("2 1 2 2\n", "2 1 3 0\n2 1 15 0\n", "a.msh"),
            ("2 4 1 12", "2 4 x 12", "a count or a tag is expected here, not `x`"),
        ] {
            let error = read(SQUARE.replacen(from, to, 1).as_bytes()).expect_err(to).to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
        // Any beginning of the file is an error, and never a panic.
        for length in 0..SQUARE.len() - 2 {
            assert!(read(&SQUARE.as_bytes()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn comments_and_unknown_sections_are_skipped() {
        let wanted = read(SQUARE.as_bytes()).expect("a mesh");
        let (comments, unknown) =
            ("$Comments\nof 5 $ a line\n$Nodes\n$EndComments\n", "$Parametrizations\n1 2\n$EndParametrizations\n");
        for before in ["$MeshFormat", "$PhysicalNames", "$Entities", "$Nodes", "$Elements"] {
            let text = SQUARE.replacen(before, &format!("{comments}{unknown}{before}"), 1);
            assert_eq!(read(text.as_bytes()).expect(before), wanted, "{before}");
            assert_eq!(read(text.replace('\n', "\r\n").as_bytes()).expect(before), wanted, "{before}");
        }
        assert_eq!(read(format!("{SQUARE}{unknown}{comments}").as_bytes()).expect("a mesh"), wanted);
    }

    const OLD_SQUARE: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n1  7 \"west wall\"\n2 9 \"land\"\n$EndPhysicalNames\n\
        $Nodes\n4\n12 0 0 0\n1 1 0 0\n2 0 1 0\n3 1 1 0\n$EndNodes\n\
        $Elements\n6\n1 15 2 0 1 12\n2 1 2 7 5 12 2\n3 1 3 -8 6 1 12 1\n4 2 2 9 1 12 1 3\n5 2 2 9 1 2 12 3\n\
        6 2 4 4 1 1 1 12 3 1\n$EndElements\n$NodeData\n1\n$EndNodeData\n";

    #[test]
    fn files_of_the_older_version_are_read() {
        // The last triangle is listed a second time, as one of another physical surface.
        assert_eq!(read(OLD_SQUARE.as_bytes()).expect("a mesh"), read(SQUARE.as_bytes()).expect("a mesh"));
        for (from, to, told) in [
            ("$Nodes\n4\n", "$Nodes\n3\n", "more nodes than the section promises"),
            ("$Nodes\n4\n", "$Nodes\n5\n", "a count or a tag is expected here, not `$EndNodes`"),
            ("$Elements\n6\n", "$Elements\n5\n", "more elements than the section promises"),
            ("12 1 3\n5", "12 1 99\n5", "there is no node 99"),
            ("2 0 1 0", "2 0 1 0.5", "a node at z = 0.5"),
            ("2 0 1 0", "1 0 1 0", "node 1 is there twice"),
            ("4 2 2 9 1 12 1 3", "4 9 2 9 1 12 1 3", "elements of second order"),
        ] {
            let error = read(OLD_SQUARE.replacen(from, to, 1).as_bytes()).expect_err(to).to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
        let end = OLD_SQUARE.find("\n$NodeData").expect("a section");
        assert!((0..end).all(|length| read(&OLD_SQUARE.as_bytes()[..length]).is_err()));
    }

    /// Each file took minutes.
    #[test]
    fn time_is_linear_in_the_file() {
        let refused = |text: &str| {
            let begun = std::time::Instant::now();
            let error = read(text.as_bytes()).expect_err("refused").to_string();
            assert!(begun.elapsed().as_secs() < 10, "{error}");
            error
        };
        let groups: String = (1..=20_000).map(|tag| format!("{tag} ")).collect();
        let blocks = "1 5 1 0\n".repeat(40_000);
        let error = refused(&format!(
            "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 1 0 0\n5 0 0 0 0 1 0 20000 {groups}0\n$EndEntities\n\
             $Elements\n40000 0 0 0\n{blocks}$EndElements\n"
        ));
        assert!(error.contains("a curve of 20000 physical groups"), "{error}");
        let (name, elements) = ("a".repeat(400_000), "1 1 2 7 7 1 2\n".repeat(40_000));
        let error = refused(&format!(
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n1 7 \"{name}\"\n$EndPhysicalNames\n\
             $Elements\n40000\n{elements}$EndElements\n"
        ));
        assert!(error.contains("a physical name of 400000 bytes"), "{error}");
        let unknown: String = (0..60_000).map(|i| format!("$A{i}\n$EndA{i}\n")).collect();
        let names = "$PhysicalNames\n0\n$EndPhysicalNames\n".repeat(60_000);
        let error = refused(&format!("{unknown}$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{names}"));
        assert!(error.contains("no section $Nodes"), "{error}");
    }

    #[test]
    fn binary_files_are_read() {
        let mut bytes = b"$MeshFormat\n4.1 1 8\n".to_vec();
        let int = |bytes: &mut Vec<u8>, numbers: &[i32]| {
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        };
        let size = |bytes: &mut Vec<u8>, numbers: &[u64]| {
            numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        };
        int(&mut bytes, &[1]);
        bytes.extend(b"\n$EndMeshFormat\n$Nodes\n");
        size(&mut bytes, &[1, 3, 1, 3]);
        int(&mut bytes, &[2, 1, 0]);
        size(&mut bytes, &[3, 1, 2, 3]);
        for number in [0.0, 0.0, 2.0, 1.0, 0.0, 2.0, 0.0, 1.0, 2.0_f64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"\n$EndNodes\n$Elements\n");
        size(&mut bytes, &[1, 1, 1, 1]);
        int(&mut bytes, &[2, 1, 2]);
        size(&mut bytes, &[1, 1, 1, 2, 3]);
        bytes.extend(b"\n$EndElements\n");
        let (flat, named) = read(&bytes).expect("a mesh");
        assert_eq!((flat.vertices.len(), &flat.triangles[..], named.len()), (3, &[[0, 1, 2]][..], 0));
        assert!((0..bytes.len() - 1).all(|length| read(&bytes[..length]).is_err()));
    }
}
