//! Fields of a Parquet schema: flat columns, lists, and members of structs.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

/// Values that a reader needs from a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Numbers,
    WholeNumbers,
    Texts,
}

impl Wanted {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::WholeNumbers => "whole numbers",
            Self::Texts => "texts",
        }
    }
}

/// Values of a field, as its annotation defines them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Boolean,
    WholeNumber { bits: u32, signed: bool },
    Text,
    Other,
}

impl Kind {
    fn from_type(leaf: &Type) -> Self {
        let info = leaf.get_basic_info();
        let physical = leaf.get_physical_type();
        if info.logical_type_ref() == Some(&LogicalType::Unknown) {
            return Self::Other;
        }
        let width = match physical {
            Physical::FLOAT | Physical::DOUBLE => return Self::Number,
            Physical::BOOLEAN => return Self::Boolean,
            Physical::INT32 => 32,
            Physical::INT64 => 64,
            Physical::BYTE_ARRAY if is_text(leaf) => return Self::Text,
            _ => return Self::Other,
        };
        let (bits, signed) = match (info.logical_type_ref(), info.converted_type()) {
            (Some(LogicalType::Integer(integer)), _) => (integer.bit_width, integer.is_signed),
            (None, ConvertedType::NONE) => (width, true),
            (None, ConvertedType::INT_8) => (8, true),
            (None, ConvertedType::INT_16) => (16, true),
            (None, ConvertedType::INT_32) => (32, true),
            (None, ConvertedType::INT_64) => (64, true),
            (None, ConvertedType::UINT_8) => (8, false),
            (None, ConvertedType::UINT_16) => (16, false),
            (None, ConvertedType::UINT_32) => (32, false),
            (None, ConvertedType::UINT_64) => (64, false),
            _ => return Self::Other,
        };
        match (width, bits) {
            (32, 8 | 16 | 32) | (64, 64) => Self::WholeNumber { bits: bits as u32, signed },
            _ => Self::Other,
        }
    }
}

/// A field of the schema.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The type in words, for errors.
    pub(super) type_name: String,
    /// Index of the column.
    pub(super) leaf: usize,
    /// Definition level of a list's items, null or not; 0 if the field is flat.
    pub(super) item_level: i16,
    /// Definition level of a value that is not null.
    pub(super) value_level: i16,
}

impl Field {
    /// Returns the fields of all columns, in the order of the schema. A member of a struct, or of
    /// the structs of a list, has the name `struct.member`.
    pub(super) fn all(schema: &SchemaDescriptor) -> Vec<Self> {
        (0..schema.num_columns()).map(|leaf| Self::new(schema, leaf)).collect()
    }

    fn new(schema: &SchemaDescriptor, leaf: usize) -> Self {
        let column = schema.column(leaf);
        let Path { name, item_level, lists } = Path::new(schema, leaf);
        let value = column.self_type();
        let (kind, type_name) = match lists {
            0 => (Kind::from_type(value), type_name(value)),
            1 => (Kind::from_type(value), format!("a list of {}", type_name(value))),
            _ => (Kind::Other, format!("a list of lists of {}", type_name(value))),
        };
        Self { name, kind, type_name, leaf, item_level, value_level: column.max_def_level() }
    }

    pub(super) fn is_list(&self) -> bool {
        self.item_level > 0
    }

    pub(super) fn holds(&self, wanted: Wanted) -> bool {
        match self.kind {
            // The values of floats are checked where they are read.
            Kind::Number | Kind::WholeNumber { .. } => wanted != Wanted::Texts,
            Kind::Boolean => wanted == Wanted::WholeNumbers,
            Kind::Text => wanted == Wanted::Texts,
            Kind::Other => false,
        }
    }
}

/// The way from the root of a schema to a column.
struct Path {
    /// Names of the fields, without the nodes that make a field a list: their names are the
    /// writer's choice. (The format's page on logical types lists the forms.)
    name: String,
    /// Definition level of an item of the first list; 0 without a list.
    item_level: i16,
    lists: usize,
}

impl Path {
    fn new(schema: &SchemaDescriptor, leaf: usize) -> Self {
        let column = schema.column(leaf);
        let (mut names, mut level, mut path) = (Vec::new(), 0, Self { name: String::new(), item_level: 0, lists: 0 });
        let mut parent = schema.root_schema();
        // Nodes below a list that have no name of their own.
        let mut unnamed = 0;
        for part in column.path().parts() {
            let Some(node) = parent.get_fields().iter().find(|node| node.name() == part) else { break };
            level += i16::from(repetition(node) != Repetition::REQUIRED);
            if repetition(node) == Repetition::REPEATED {
                path.lists += 1;
                if path.lists == 1 {
                    path.item_level = level;
                }
            }
            if unnamed == 0 {
                names.push(part.as_str());
            }
            unnamed = match node.is_primitive() {
                true => 0,
                // The repeated node, and its only child: the element.
                false if is_annotated_list(node) => 2,
                false if unnamed == 2 && node.get_fields().len() == 1 => 1,
                false => 0,
            };
            if node.is_primitive() {
                break;
            }
            parent = node;
        }
        Self { name: names.join("."), ..path }
    }
}

/// Returns whether a leaf of bytes holds text.
fn is_text(leaf: &Type) -> bool {
    let info = leaf.get_basic_info();
    match info.logical_type_ref() {
        Some(logical) => *logical == LogicalType::String,
        None => info.converted_type() == ConvertedType::UTF8,
    }
}

/// Either annotation suffices: old writers set the converted type alone.
fn is_annotated_list(group: &Type) -> bool {
    let info = group.get_basic_info();
    info.converted_type() == ConvertedType::LIST || info.logical_type_ref() == Some(&LogicalType::List)
}

fn repetition(node: &Type) -> Repetition {
    let info = node.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

/// Returns the name that Arrow's libraries, and so pyarrow and polars, give to the type of a leaf.
/// Rare types have the names of the format, for example `FIXED_LEN_BYTE_ARRAY (Decimal)`.
fn type_name(leaf: &Type) -> String {
    let physical = leaf.get_physical_type();
    let info = leaf.get_basic_info();
    match (Kind::from_type(leaf), physical, info.logical_type_ref(), info.converted_type()) {
        (Kind::Number, Physical::FLOAT, ..) => "Float32".into(),
        (Kind::Number, ..) => "Float64".into(),
        (Kind::WholeNumber { bits, signed: true }, ..) => format!("Int{bits}"),
        (Kind::WholeNumber { bits, signed: false }, ..) => format!("UInt{bits}"),
        (_, _, Some(LogicalType::String), _) | (_, _, None, ConvertedType::UTF8) => "Utf8".into(),
        (_, Physical::BOOLEAN, None, _) => "Boolean".into(),
        (_, Physical::BYTE_ARRAY, None, ConvertedType::NONE) => "Binary".into(),
        (_, _, None, ConvertedType::NONE) => physical.to_string(),
        (_, _, None, converted) => format!("{physical} ({converted})"),
        (_, _, Some(logical), _) => {
            // The parameters of an annotation follow its name.
            let logical = format!("{logical:?}");
            format!("{physical} ({})", logical.split(['(', ' ']).next().unwrap_or_default())
        }
    }
}
