//! The text of a kernel, assembled from files of WGSL. Errors point at the place in the file.

use std::fmt::Write as _;

use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use crate::error::Error;

/// Name and text of the WGSL files of a folder `shaders`. A name is a path without its extension.
pub type ShaderFiles = [(&'static str, &'static str)];

/// Includes files of WGSL as [`ShaderFiles`].
///
/// The folder is relative to the source file of the caller.
#[macro_export]
macro_rules! shader_files {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!($folder, $name, ".wgsl")))),+]
    };
}

/// The WGSL of one kernel: a name, and source files in order.
///
/// [`KernelSource::assemble`] follows the imports of the kernel's file.
/// [`KernelSource::piece`] adds generated text. Directives (`enable`, `requires`) must be in the
/// first piece, because WGSL requires them before all else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    kernel: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    name: String,
    text: String,
}

impl Piece {
    /// Lines that the piece takes in the assembled text.
    fn lines(&self) -> usize {
        self.text.lines().count().max(1)
    }
}

/// A kernel as naga has understood and validated it.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The module, with its overrides still open.
    pub module: naga::Module,
    /// The validator's result.
    pub info: ModuleInfo,
}

impl KernelSource {
    /// A kernel without text.
    #[must_use]
    pub fn new(kernel: &str) -> Self {
        Self { kernel: kernel.to_owned(), pieces: Vec::new() }
    }

    /// Assembles a kernel from its file and the files that it imports, directly or not.
    ///
    /// An import is a line of its own in one of three forms:
    /// - `#import shared::types` adds the file `types.wgsl` of the folder `shared`.
    /// - `#import find_z::pairs` names a folder. `choices` gives the file to add, here
    ///   `("find_z::pairs", "find_z::pairs::streamed")`.
    /// - `#import kernel::{params, points}` lists names that the kernel's own file declares.
    ///
    /// Files may import each other, because declarations of WGSL may stand in any order. An import
    /// of an unknown file is an error of [`KernelSource::parse`].
    #[must_use]
    pub fn assemble(kernel: &str, files: &ShaderFiles, choices: &[(&str, &str)]) -> Self {
        let name = kernel.rsplit("::").next().unwrap_or(kernel);
        let mut source = Self::new(name);
        let mut next = vec![kernel];
        while let Some(path) = next.pop() {
            let file = path.replace("::", "/");
            let Some((name, text)) = files.iter().find(|(name, _)| *name == file) else { continue };
            let mut piece = Piece { name: format!("shaders/{name}.wgsl"), text: String::new() };
            if source.pieces.iter().any(|other| other.name == piece.name) {
                continue;
            }
            for line in text.lines() {
                if let Some(import) = import_of(line) {
                    let chosen = choices.iter().find(|(role, _)| *role == import).map_or(import, |(_, file)| file);
                    let is_known = files.iter().any(|(name, _)| *name == chosen.replace("::", "/"));
                    if is_known {
                        next.push(chosen);
                    }
                    // `parse` reports an import that is still one.
                    piece.text.push_str(if is_known || import.starts_with("kernel::") { "//" } else { "" });
                }
                piece.text.push_str(line);
                piece.text.push('\n');
            }
            source.pieces.push(piece);
        }
        source
    }

    /// Adds a source file after those that are there.
    #[must_use]
    pub fn piece(mut self, name: &str, text: &str) -> Self {
        self.pieces.push(Piece { name: name.to_owned(), text: text.to_owned() });
        self
    }

    /// The kernel's name.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The assembled text. Every piece starts on a line of its own.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            text.push_str(&piece.text);
            if !piece.text.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    }

    /// The piece that holds a line (from 1) of the assembled text, and the line in that piece. A
    /// line past the end belongs to the last piece.
    #[must_use]
    pub fn locate(&self, line: usize) -> (&str, usize) {
        let mut rest = line.max(1);
        let mut place = (self.kernel.as_str(), rest);
        for piece in &self.pieces {
            place = (piece.name.as_str(), rest);
            let lines = piece.lines();
            if rest <= lines {
                break;
            }
            rest -= lines;
        }
        place
    }

    /// Parses and validates the assembled text.
    ///
    /// # Errors
    /// [`Error::Shader`], with the place in the piece.
    pub fn parse(&self, capabilities: Capabilities) -> Result<Parsed, Error> {
        let text = self.text();
        let unknown = text.lines().enumerate().find_map(|(line, text)| Some((line, import_of(text)?)));
        if let Some((line, import)) = unknown {
            let (piece, line) = self.locate(line + 1);
            let message = format!("no file of this name, and no choice for it: {import}");
            return Err(self.fault_at((piece, line, 1), message));
        }
        let options = naga::front::wgsl::Options { parse_doc_comments: false, capabilities };
        let module = naga::front::wgsl::Frontend::new_with_options(options).parse(&text).map_err(|error| {
            let mut message = error.message().to_owned();
            for (_, label) in error.labels() {
                // The label of the first span often repeats the message.
                if !label.is_empty() && !message.contains(label) {
                    let _ = write!(message, "; {label}");
                }
            }
            for note in error.notes() {
                let _ = write!(message, "; {note}");
            }
            self.fault(error.location(&text), message)
        })?;
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .map_err(|error| self.fault(error.location(&text), chain(error.as_inner())))?;
        Ok(Parsed { module, info })
    }

    fn fault(&self, location: Option<naga::SourceLocation>, message: String) -> Error {
        let place = location.map(|at| {
            let (piece, line) = self.locate(at.line_number as usize);
            (piece, line, at.line_position as usize)
        });
        self.fault_at(place.unwrap_or((&self.kernel, 0, 0)), message)
    }

    fn fault_at(&self, (piece, line, column): (&str, usize, usize), message: String) -> Error {
        Error::Shader { kernel: self.kernel.clone(), piece: piece.to_owned(), line, column, message }
    }

    pub(crate) fn pipeline_error(&self, message: impl Into<String>) -> Error {
        Error::Pipeline { kernel: self.kernel.clone(), message: message.into() }
    }

    pub(crate) fn binding_error(&self, message: impl Into<String>) -> Error {
        Error::Binding { kernel: self.kernel.clone(), message: message.into() }
    }
}

/// The path that a line imports.
fn import_of(line: &str) -> Option<&str> {
    line.strip_prefix("#import ").map(str::trim)
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let _ = write!(text, ": {cause}");
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(error: Error) -> (String, usize, usize, String) {
        match error {
            Error::Shader { piece, line, column, message, .. } => (piece, line, column, message),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn lines_belong_to_their_pieces() {
        let source = KernelSource::new("kernel").piece("a", "1\n2").piece("b", "").piece("c", "4\n5\n");
        assert_eq!(source.text(), "1\n2\n\n4\n5\n");
        let places: Vec<_> = (0..=7).map(|line| source.locate(line)).collect();
        let expected = [("a", 1), ("a", 1), ("a", 2), ("b", 1), ("c", 1), ("c", 2), ("c", 3), ("c", 4)];
        assert_eq!(places, expected);
        assert_eq!(KernelSource::new("empty").locate(3), ("empty", 3));
    }

    const FILES: &ShaderFiles = &[
        (
            "count/count",
            "#import shared::types\n#import count::step\n@compute @workgroup_size(1)\nfn count() { step(); }",
        ),
        ("count/step/one", "#import kernel::{count}\nfn step() { _ = ONE; }"),
        ("count/step/none", "fn step() {}\n"),
        ("shared/types", "#import count::step\nconst ONE = 1u;\n"),
    ];

    #[test]
    fn a_kernel_has_what_it_imports_once() {
        let chosen = |step| KernelSource::assemble("count::count", FILES, &[("count::step", step)]);
        let names = |source: &KernelSource| source.pieces.iter().map(|piece| piece.name.clone()).collect::<Vec<_>>();
        let one = chosen("count::step::one");
        assert_eq!(one.kernel(), "count");
        assert_eq!(
            names(&one),
            ["shaders/count/count.wgsl", "shaders/count/step/one.wgsl", "shaders/shared/types.wgsl"]
        );
        assert!(one.parse(Capabilities::empty()).is_ok());
        assert_eq!(
            names(&chosen("count::step::none")),
            ["shaders/count/count.wgsl", "shaders/count/step/none.wgsl", "shaders/shared/types.wgsl"]
        );
    }

    #[test]
    fn an_unknown_import_names_the_file_and_its_line() {
        for choices in [&[][..], &[("count::step", "count::step::two")]] {
            let source = KernelSource::assemble("count::count", FILES, choices);
            let (piece, line, _, message) = fault(source.parse(Capabilities::empty()).expect_err("has no step"));
            assert_eq!((piece.as_str(), line), ("shaders/count/count.wgsl", 2));
            assert!(message.ends_with("count::step"), "{message}");
        }
    }

    #[test]
    fn a_parse_error_names_the_piece_and_its_line() {
        let source = KernelSource::new("kernel")
            .piece("first.wgsl", "const one = 1u;\n\n")
            .piece("second.wgsl", "const two = 2u;\nconst three = ;\n");
        let (piece, line, column, message) = fault(source.parse(Capabilities::empty()).expect_err("does not parse"));
        assert_eq!((piece.as_str(), line, column), ("second.wgsl", 2, 15));
        assert!(message.contains("expected expression"), "{message}");
    }

    #[test]
    fn a_validation_error_names_the_piece_and_its_line() {
        let source = KernelSource::new("kernel").piece("first.wgsl", "const one = 1u;").piece(
            "second.wgsl",
            "\nfn f() -> u32 {\n    if one == 1u { return 1u; }\n}\n@compute @workgroup_size(1) fn main() { _ = f(); }",
        );
        let (piece, line, _, message) = fault(source.parse(Capabilities::empty()).expect_err("is not valid"));
        assert_eq!(piece, "second.wgsl");
        assert!(line >= 2, "{line}: {message}");
    }

    #[test]
    fn a_feature_that_is_not_there_is_an_error() {
        let source = KernelSource::new("kernel").piece("a.wgsl", "\nvar<private> x: f64;\n");
        assert!(source.parse(Capabilities::FLOAT64).is_ok());
        let error = source.parse(Capabilities::empty()).expect_err("has no f64");
        // naga gives a scalar type no place in the text.
        assert!(error.to_string().starts_with("kernel kernel: Type [0] "), "{error}");
        assert_eq!(fault(error).1, 0);
    }
}
