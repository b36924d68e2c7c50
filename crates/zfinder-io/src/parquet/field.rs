//! Fields of a Parquet schema at the top level: flat columns, lists of numbers, and other fields by
//! name.

use std::sync::Arc;

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
            Self::Numbers => "numbers (float or double)",
            Self::WholeNumbers => "whole numbers",
            Self::Texts => "texts",
        }
    }
}

/// Values of a field, as its annotation defines them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
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
    /// Index of the first leaf column, which is the only one of a flat column or a list of numbers.
    pub(super) leaf: usize,
    /// Definition level of a list's items, null or not; 0 if the field is flat.
    pub(super) item_level: i16,
    /// Definition level of a value that is not null.
    pub(super) value_level: i16,
}

impl Field {
    /// Returns all fields that have columns, in the order of the schema.
    pub(super) fn all(schema: &SchemaDescriptor) -> Vec<Self> {
        let mut last_root = None;
        let field = |leaf: usize| {
            let root = Some(schema.get_column_root_idx(leaf));
            let is_first = std::mem::replace(&mut last_root, root) != root;
            let member = Self::of_member(schema, leaf);
            member.or_else(|| is_first.then(|| Self::new(schema, leaf)))
        };
        (0..schema.num_columns()).filter_map(field).collect()
    }

    /// Returns a member of the structs of a list, named `list.member`, or None for any other leaf.
    fn of_member(schema: &SchemaDescriptor, leaf: usize) -> Option<Self> {
        let root = schema.get_column_root(leaf);
        let (item_level, members) = structs(root)?;
        let column = schema.column(leaf);
        let member = members.iter().find(|member| member.name() == column.name())?;
        Some(Self {
            name: format!("{}.{}", root.name(), column.name()),
            kind: Kind::from_type(member),
            type_name: format!("a list of {}", type_name(member)),
            leaf,
            item_level,
            value_level: column.max_def_level(),
        })
    }

    fn new(schema: &SchemaDescriptor, leaf: usize) -> Self {
        let root = schema.get_column_root(leaf);
        let (kind, type_name, item_level) = match item(root) {
            Some((0, value)) => (Kind::from_type(value), type_name(value), 0),
            Some((level, value)) => (Kind::from_type(value), format!("a list of {}", type_name(value)), level),
            None => (Kind::Other, "a nested group".into(), 0),
        };
        let value_level = schema.column(leaf).max_def_level();
        Self { name: root.name().to_owned(), kind, type_name, leaf, item_level, value_level }
    }

    pub(super) fn is_list(&self) -> bool {
        self.item_level > 0
    }

    pub(super) fn holds(&self, wanted: Wanted) -> bool {
        match self.kind {
            Kind::Number => wanted == Wanted::Numbers,
            Kind::WholeNumber { .. } => wanted == Wanted::WholeNumbers,
            Kind::Text => wanted == Wanted::Texts,
            Kind::Other => false,
        }
    }
}

/// Returns the definition level of an item and the leaf of a flat column (level 0) or of a list, in
/// any of the forms that the format's page on logical types lists. The names of the inner nodes are
/// the writer's choice.
fn item(root: &Type) -> Option<(i16, &Type)> {
    let root_repeats = repetition(root) == Repetition::REPEATED;
    if root.is_primitive() {
        return Some((i16::from(root_repeats), root));
    }
    let [repeated] = root.get_fields() else { return None };
    if root_repeats || !is_annotated_list(root) || repetition(repeated) != Repetition::REPEATED {
        return None;
    }
    let level = 1 + i16::from(repetition(root) == Repetition::OPTIONAL);
    if repeated.is_primitive() {
        return Some((level, repeated));
    }
    let [element] = repeated.get_fields() else { return None };
    (element.is_primitive() && repetition(element) != Repetition::REPEATED).then_some((level, element))
}

/// Returns the definition level of an item and the members of a list of structs of values, in the
/// form of three levels.
fn structs(root: &Type) -> Option<(i16, &[Arc<Type>])> {
    if root.is_primitive() || !is_annotated_list(root) {
        return None;
    }
    let [repeated] = root.get_fields() else { return None };
    if repeated.is_primitive() || repetition(repeated) != Repetition::REPEATED {
        return None;
    }
    let [element] = repeated.get_fields() else { return None };
    let is_value = |member: &Arc<Type>| member.is_primitive() && repetition(member) != Repetition::REPEATED;
    let is_struct = !element.is_primitive() && element.get_fields().iter().all(is_value);
    let level = 1 + i16::from(repetition(root) == Repetition::OPTIONAL);
    is_struct.then(|| (level, element.get_fields()))
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
