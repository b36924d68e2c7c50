//! Triangles as the pair of text files that the mesh generator Triangle writes.
//!
//! | file | first line | each further line |
//! |---|---|---|
//! | `.node` | vertices, 2, attributes, 0 or 1 boundary markers | number, x, y, attributes, boundary marker |
//! | `.ele` | triangles, 3, attributes | number, three vertices, attributes |
//!
//! Numbers begin with 0 or with 1 in both files, and increase by one. A `#` starts a comment. Empty
//! lines, attributes and boundary markers are ignored.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use super::file_error;
use crate::error::{Error, Result};
use crate::mesh::Triangles;

/// Of a line: a file without any ends is not read into memory.
const LONGEST_LINE: u64 = 1 << 16;

/// Returns the paths of the `.node` and the `.ele` file. `path` is either of them, or their common
/// stem.
#[must_use]
pub fn paths(path: &Path) -> [PathBuf; 2] {
    let is_one = path.extension().is_some_and(|extension| extension == "node" || extension == "ele");
    // Not `with_extension`, which would make `square.node` of Triangle's `square.1`.
    let stem = if is_one { path.with_extension("") } else { path.to_owned() };
    ["node", "ele"].map(|extension| {
        let mut name = stem.clone().into_os_string();
        name.push(".");
        name.push(extension);
        name.into()
    })
}

/// Reads triangles. `path` is the `.node` or the `.ele` file, or their common stem.
///
/// # Errors
/// [`Error::File`] if a file cannot be read, [`Error::Line`] if a line is invalid.
pub fn read(path: &Path) -> Result<Triangles> {
    let [nodes, elements] = paths(path);
    let open = |path: &Path| match File::open(path) {
        Ok(file) => Ok(BufReader::new(file)),
        Err(error) => Err(file_error(path, error)),
    };
    let (vertices, first) = Lines::new(open(&nodes)?, &nodes).vertices()?;
    let triangles = Lines::new(open(&elements)?, &elements).triangles(vertices.len(), first)?;
    Ok(Triangles { vertices, triangles })
}

/// Writes a `.node` and an `.ele` file. Numbers begin with 1, and coordinates are exact: [`read`]
/// returns the same bits.
///
/// The writes are small, so both writers should be buffered.
///
/// # Errors
/// Any error of either writer.
pub fn write(mut nodes: impl Write, mut elements: impl Write, flat: &Triangles) -> io::Result<()> {
    writeln!(nodes, "{} 2 0 0", flat.vertices.len())?;
    for (number, [x, y]) in (1_u64..).zip(&flat.vertices) {
        writeln!(nodes, "{number} {x:?} {y:?}")?;
    }
    writeln!(elements, "{} 3 0", flat.triangles.len())?;
    for (number, vertices) in (1_u64..).zip(&flat.triangles) {
        let [a, b, c] = vertices.map(|vertex| u64::from(vertex) + 1);
        writeln!(elements, "{number} {a} {b} {c}")?;
    }
    Ok(())
}

/// The lines of a file that hold something.
struct Lines<'a, R> {
    from: R,
    path: &'a Path,
    /// Of the line last read, from 1.
    number: u64,
    bytes: Vec<u8>,
    /// That line, without its comment.
    text: String,
}

impl<'a, R: BufRead> Lines<'a, R> {
    fn new(from: R, path: &'a Path) -> Self {
        Self { from, path, number: 0, bytes: Vec::new(), text: String::new() }
    }

    fn error<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::Line { path: self.path.display().to_string(), line: self.number, what: what.into() })
    }

    /// Goes to the next line that holds something; whether there is one.
    fn advance(&mut self) -> Result<bool> {
        loop {
            self.bytes.clear();
            let read = (&mut self.from).take(LONGEST_LINE).read_until(b'\n', &mut self.bytes);
            let read = read.map_err(|error| file_error(self.path, error))?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read as u64 == LONGEST_LINE && self.bytes.last() != Some(&b'\n') {
                return self.error(format!("a line of {LONGEST_LINE} bytes and more: this is no file of numbers"));
            }
            let end = self.bytes.iter().position(|&byte| byte == b'#').unwrap_or(self.bytes.len());
            let data = self.bytes[..end].trim_ascii();
            if data.is_empty() {
                continue;
            }
            let Ok(text) = std::str::from_utf8(data) else {
                return self.error("this is no text: the file should hold numbers");
            };
            self.text.clear();
            self.text.push_str(text);
            return Ok(true);
        }
    }

    fn whole(&self, text: &str, what: &str) -> Result<u64> {
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.error(format!("{what} should be a whole number, and is `{}`", shown(text))),
        }
    }

    /// The whole numbers of the first line.
    fn header(&mut self, wanted: &str) -> Result<Vec<u64>> {
        if !self.advance()? {
            return self.error(format!("the file is empty: its first line should be `{wanted}`"));
        }
        let numbers: Option<Vec<u64>> = self.text.split_ascii_whitespace().map(|text| text.parse().ok()).collect();
        match numbers {
            Some(numbers) => Ok(numbers),
            None => self.error(format!("the first line should be `{wanted}`, and is `{}`", shown(&self.text))),
        }
    }

    /// Goes to the line of thing `i`, and holds it against the header. `first` is the number of the
    /// first, where that is known, and set where it is not.
    fn row(&mut self, i: u64, count: u64, first: &mut Option<u64>, columns: u64, kind: &str) -> Result<()> {
        if !self.advance()? {
            return self.error(format!("the file ends after {i} of the {count} {kind} that its first line promises"));
        }
        let number =
            self.whole(self.text.split_ascii_whitespace().next().unwrap_or_default(), "the number of the line")?;
        match *first {
            None if number > 1 => {
                return self.error(format!("{kind} are numbered from 0 or 1, and the first here is {number}"));
            }
            None => *first = Some(number),
            Some(first) if i == 0 && number != first => {
                return self.error(format!("{kind} are numbered from {number}, and vertices from {first}"));
            }
            Some(first) if number != first + i => {
                return self.error(format!("{kind} go up by one, and after {} comes {number}", first + i - 1));
            }
            Some(_) => {}
        }
        let found = self.text.split_ascii_whitespace().count() as u64;
        if found != columns {
            return self.error(format!("{found} columns, and the first line of the file promises {columns}"));
        }
        Ok(())
    }

    fn end(&mut self, count: u64, kind: &str) -> Result<()> {
        if self.advance()? {
            return self.error(format!("more follows the {count} {kind} that the first line of the file promises"));
        }
        Ok(())
    }

    /// Of a `.node` file, and the number of the first.
    fn vertices(mut self) -> Result<(Vec<[f64; 2]>, u64)> {
        let header = self.header("vertices 2 attributes markers")?;
        let (count, attributes, markers) = match header[..] {
            [0, ..] => {
                return self
                    .error("no vertices: if they are in the .poly file, run triangle so that it writes them here");
            }
            [count, 2] => (count, 0, 0),
            [count, 2, attributes] => (count, attributes, 0),
            [count, 2, attributes, markers] => (count, attributes, markers),
            [_, dimensions, ..] if dimensions != 2 => {
                return self.error(format!("vertices of {dimensions} coordinates: a mesh is extruded from 2"));
            }
            _ => return self.error("the first line should be `vertices 2 attributes markers`"),
        };
        if count > u64::from(u32::MAX) {
            return self.error(format!("{count} vertices: a mesh has {} at most", u32::MAX));
        }
        let columns = attributes.saturating_add(markers).saturating_add(3);
        let mut first = None;
        // Grows with what is really there.
        let mut vertices = Vec::new();
        for i in 0..count {
            self.row(i, count, &mut first, columns, "vertices")?;
            let mut at = [0.0_f64; 2];
            for (axis, (at, text)) in at.iter_mut().zip(self.text.split_ascii_whitespace().skip(1)).enumerate() {
                *at = text.parse().unwrap_or(f64::NAN);
                if !at.is_finite() {
                    let name = ["x", "y"][axis];
                    return self.error(format!("{name} should be a finite number, and is `{}`", shown(text)));
                }
            }
            vertices.push(at);
        }
        self.end(count, "vertices")?;
        Ok((vertices, first.unwrap_or(1)))
    }

    /// Of a `.ele` file.
    fn triangles(mut self, vertices: usize, first: u64) -> Result<Vec<[u32; 3]>> {
        let header = self.header("triangles 3 attributes")?;
        let (count, attributes) = match header[..] {
            [count, 3] => (count, 0),
            [count, 3, attributes] => (count, attributes),
            [_, 6, ..] => {
                return self.error("triangles of 6 vertices: elements are linear here, so run triangle without -o2");
            }
            _ => return self.error("the first line should be `triangles 3 attributes`"),
        };
        let columns = attributes.saturating_add(4);
        let last = first + vertices as u64 - 1;
        let mut triangles = Vec::new();
        for i in 0..count {
            self.row(i, count, &mut Some(first), columns, "triangles")?;
            let mut own = [0; 3];
            for (own, text) in own.iter_mut().zip(self.text.split_ascii_whitespace().skip(1)) {
                let vertex = self.whole(text, "a vertex")?;
                if vertex < first || vertex > last {
                    return self.error(format!("there is no vertex {vertex}: the .node file has {first} to {last}"));
                }
                *own = (vertex - first) as u32;
            }
            triangles.push(own);
        }
        self.end(count, "triangles")?;
        Ok(triangles)
    }
}

/// So much of a text as a message has room for.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn from(nodes: &[u8], elements: &[u8]) -> Result<Triangles> {
        let (vertices, first) = Lines::new(nodes, Path::new("a.node")).vertices()?;
        let triangles = Lines::new(elements, Path::new("a.ele")).triangles(vertices.len(), first)?;
        Ok(Triangles { vertices, triangles })
    }

    const NODES: &str =
        "# made by hand\n\n4 2 1 1\n1 0 0 9.5 1\n 2  1e0 0 9.5 1 # a corner\r\n3 1 1 9.5 1\n\n4 0 1 9.5 0";
    const ELEMENTS: &str = "2 3 1\n1 1 2 3 7\n2 1 3 4 7\n# the end\n";

    #[test]
    fn both_first_numbers_are_read() {
        let wanted = Triangles {
            vertices: vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
            triangles: vec![[0, 1, 2], [0, 2, 3]],
        };
        assert_eq!(from(NODES.as_bytes(), ELEMENTS.as_bytes()).expect("triangles"), wanted);
        let nodes = b"4 2\n0 0 0\n1 1 0\n2 1 1\n3 0 1\n";
        assert_eq!(from(nodes, b"2 3\n0 0 1 2\n1 0 2 3").expect("triangles"), wanted);
        // Not UTF-8, where nobody looks.
        assert_eq!(from(nodes, b"2 3 # \xff\xfe\n0 0 1 2\n1 0 2 3").expect("triangles"), wanted);
    }

    #[test]
    fn errors_name_file_and_line() {
        let nodes = |from: &str, to: &str| (NODES.replacen(from, to, 1), ELEMENTS.to_owned());
        let elements = |from: &str, to: &str| (NODES.to_owned(), ELEMENTS.replacen(from, to, 1));
        for ((nodes, elements), wanted) in [
            (nodes(NODES, ""), "a.node:0: the file is empty: its first line should be `vertices 2 attributes markers`"),
            (nodes(NODES, "# nothing\n"), "a.node:1: the file is empty"),
            (
                nodes("4 2 1 1", "four 2"),
                "a.node:3: the first line should be `vertices 2 attributes markers`, and is `four 2`",
            ),
            (nodes("4 2 1 1", "4"), "a.node:3: the first line should be"),
            (nodes("4 2 1 1", "-4 2 1 1"), "a.node:3: the first line should be"),
            (nodes("4 2 1 1", "4 3 1 1"), "a.node:3: vertices of 3 coordinates"),
            (nodes("4 2 1 1", "0 2 1 1"), "a.node:3: no vertices: if they are in the .poly file"),
            (nodes("4 2 1 1", "4294967296 2 1 1"), "a.node:3: 4294967296 vertices: a mesh has 4294967295 at most"),
            (nodes("4 2 1 1", "4000000000 2 1 1"), "a.node:8: the file ends after 4 of the 4000000000 vertices"),
            (nodes("4 2 1 1", "3 2 1 1"), "a.node:8: more follows the 3 vertices"),
            (nodes("4 2 1 1", "4 2 0 1"), "a.node:4: 5 columns, and the first line of the file promises 4"),
            (nodes("4 2 1 1", "4 2 18446744073709551615 9"), "a.node:4: 5 columns"),
            (nodes("1 0 0", "2 0 0"), "a.node:4: vertices are numbered from 0 or 1, and the first here is 2"),
            (nodes("3 1 1", "5 1 1"), "a.node:6: vertices go up by one, and after 2 comes 5"),
            (nodes("3 1 1", "3 1 one"), "a.node:6: y should be a finite number, and is `one`"),
            (nodes("3 1 1", "3 inf 1"), "a.node:6: x should be a finite number, and is `inf`"),
            (nodes("3 1 1", "x 1 1"), "a.node:6: the number of the line should be a whole number, and is `x`"),
            (nodes("3 1", "3\u{feff}1"), "a.node:6: the number of the line should be"),
            (elements("2 3 1", "2 6 1"), "a.ele:1: triangles of 6 vertices: elements are linear here"),
            (elements("2 3 1", "2 4 1"), "a.ele:1: the first line should be `triangles 3 attributes`"),
            (
                elements("2 3 1", "18446744073709551615 3 1"),
                "a.ele:4: the file ends after 2 of the 18446744073709551615 triangles",
            ),
            (elements("2 3 1", "1 3 1"), "a.ele:3: more follows the 1 triangles"),
            (elements("1 1 2 3", "0 1 2 3"), "a.ele:2: triangles are numbered from 0, and vertices from 1"),
            (elements("1 3 4", "1 3 5"), "a.ele:3: there is no vertex 5: the .node file has 1 to 4"),
            (elements("1 3 4", "1 3 0"), "a.ele:3: there is no vertex 0"),
            (elements("1 3 4", "1 3 -4"), "a.ele:3: a vertex should be a whole number, and is `-4`"),
            (elements("2 1 3 4 7", "2 1 3"), "a.ele:3: 3 columns, and the first line of the file promises 5"),
        ] {
            let text = from(nodes.as_bytes(), elements.as_bytes()).expect_err(wanted).to_string();
            assert!(text.starts_with(wanted), "{text}\n  not\n{wanted}");
        }
        let text = from(b"1 2\n1 \xff 0", b"").expect_err("no text").to_string();
        assert_eq!(text, "a.node:2: this is no text: the file should hold numbers");
        let text = from(&[b'7'; 1 << 20], b"").expect_err("no lines").to_string();
        assert!(text.starts_with("a.node:1: a line of 65536 bytes"), "{text}");
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let flat = crate::generate::irregular(7, 0.2, 3).expect("triangles");
        let [nodes, elements] = paths(&folder.path().join("square.1")).map(|path| File::create(path).expect("a file"));
        write(nodes, elements, &flat).expect("written");
        for name in ["square.1", "square.1.node", "square.1.ele"] {
            assert_eq!(read(&folder.path().join(name)).expect("read"), flat);
        }
        let text = read(&folder.path().join("square")).expect_err("no such file").to_string();
        assert!(text.contains("square.node: ") && text.contains("No such file"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn hostile_bytes_never_panic(
            nodes in proptest::collection::vec(prop_oneof![Just(b' '), Just(b'\n'), Just(b'#'), b'0'..=b'4', any::<u8>()], 0..80),
            elements in "[0-4 \n#.e-]{0,80}",
            place in 0_usize..80,
            byte in any::<u8>(),
        ) {
            let _ = from(&nodes, elements.as_bytes());
            let _ = from(NODES.as_bytes(), elements.as_bytes());
            // Almost valid files.
            let mut changed = [NODES.as_bytes().to_vec(), ELEMENTS.as_bytes().to_vec()];
            for bytes in &mut changed {
                let place = place % bytes.len();
                bytes[place] = byte;
            }
            let flat = from(&changed[0], ELEMENTS.as_bytes()).or_else(|_| from(NODES.as_bytes(), &changed[1]));
            if let Ok(flat) = flat {
                let _ = crate::mesh::Mesh::new(flat, crate::mesh::Extrusion::default());
            }
        }
    }
}
