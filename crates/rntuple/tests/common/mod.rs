//! Values as JSON, and random RNTuples of nested types.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::collections::HashMap;
use std::io::Cursor;

use fastrand::Rng;
use rntuple::testing::{Cluster, Column, Dataset, Field, role};
use rntuple::{Array, NTuple, Numbers, RootFile};
use serde_json::{Map, Value, json};

/// Opens the RNTuple of this path.
pub(crate) fn open<'a>(bytes: &'a [u8], path: &str) -> NTuple<Cursor<&'a [u8]>> {
    let file = RootFile::new(Cursor::new(bytes)).expect("a file");
    file.into_ntuple(path).expect("an RNTuple")
}

/// Returns a value as uproot writes it in JSON.
pub(crate) fn value(array: &Array, at: usize) -> Value {
    let range = |offsets: &[u64]| offsets[at] as usize..offsets[at + 1] as usize;
    match array {
        Array::Numbers(Numbers::F32(values)) => json!(f64::from(values[at])),
        Array::Numbers(Numbers::F64(values)) => json!(values[at]),
        Array::Numbers(Numbers::Bool(values)) => json!(values[at]),
        Array::Numbers(numbers) => json!(numbers.to_integers().expect("whole")[at] as i64),
        Array::Text { offsets, bytes } => json!(String::from_utf8_lossy(&bytes[range(offsets)])),
        Array::List { offsets, items } => range(offsets).map(|item| value(items, item)).collect(),
        Array::Fixed { size, items, .. } => {
            let size = *size as usize;
            (at * size..(at + 1) * size).map(|item| value(items, item)).collect()
        }
        // uproot writes a tuple as a list.
        Array::Record { fields, .. } if fields.first().is_some_and(|(name, _)| name == "_0") => {
            fields.iter().map(|(_, array)| value(array, at)).collect()
        }
        Array::Record { fields, .. } => {
            let members = fields.iter().map(|(name, array)| (name.clone(), value(array, at)));
            Value::Object(members.collect())
        }
        Array::Variant { tags, indices, alternatives } => match tags[at] {
            0 => Value::Null,
            tag => value(&alternatives[tag as usize - 1], indices[at] as usize),
        },
        other => panic!("{other:?}"),
    }
}

/// Reads a field in pieces of random length.
pub(crate) fn read_in_pieces(ntuple: &mut NTuple<Cursor<&[u8]>>, path: &str, random: &mut Rng) -> Vec<Value> {
    let selection = ntuple.select(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut values, mut begin) = (Vec::new(), 0);
    while begin < ntuple.entries() {
        let end = ntuple.entries().min(begin + random.u64(1..=ntuple.entries() / 3 + 1));
        let array = ntuple.read(&selection, begin..end).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(array.len(), end - begin, "{path}");
        values.extend((0..(end - begin) as usize).map(|at| value(&array, at)));
        begin = end;
    }
    values
}

/// A type, with the columns that hold its values.
pub(crate) enum Type {
    Integer { column: usize, most: i64 },
    Float { column: usize },
    Bits { column: usize, size: usize },
    Text { ends: usize, chars: usize },
    List { ends: usize, most: usize, item: Box<Type> },
    Array { size: usize, item: Box<Type> },
    Record(Vec<(String, Type)>),
    Variant { column: usize, alternatives: Vec<Type> },
}

/// A random RNTuple: fields are added one by one.
pub(crate) struct Model {
    pub(crate) dataset: Dataset,
    /// The top fields.
    pub(crate) fields: Vec<(String, Type)>,
}

type Parent = Option<usize>;

impl Model {
    pub(crate) fn integer(&mut self, parent: Parent, name: &str) -> Type {
        self.dataset.leaf(parent, name, "std::int32_t", 0x13, 32);
        Type::Integer { column: self.dataset.columns.len() - 1, most: i32::MAX.into() }
    }

    pub(crate) fn float(&mut self, parent: Parent, name: &str) -> Type {
        self.dataset.leaf(parent, name, "float", 0x18, 32);
        Type::Float { column: self.dataset.columns.len() - 1 }
    }

    pub(crate) fn text(&mut self, parent: Parent, name: &str) -> Type {
        let field = self.dataset.field(parent, name, "std::string", role::LEAF);
        let ends = self.dataset.column(field, 0x1b, 64);
        Type::Text { ends, chars: self.dataset.column(field, 0x02, 8) }
    }

    pub(crate) fn bits(&mut self, parent: Parent, name: &str, size: usize) -> Type {
        let field = self.dataset.field(parent, name, &format!("std::bitset<{size}>"), role::LEAF);
        self.dataset.fields[field].repetition = Some(size as u64);
        Type::Bits { column: self.dataset.column(field, 0x00, 1), size }
    }

    pub(crate) fn list(
        &mut self,
        parent: Parent,
        name: &str,
        most: usize,
        item: impl FnOnce(&mut Self, Parent) -> Type,
    ) -> Type {
        let field = self.dataset.field(parent, name, "std::vector<?>", role::COLLECTION);
        let ends = self.dataset.column(field, 0x1a, 32);
        Type::List { ends, most, item: Box::new(item(self, Some(field))) }
    }

    pub(crate) fn array(
        &mut self,
        parent: Parent,
        name: &str,
        size: usize,
        item: impl FnOnce(&mut Self, Parent) -> Type,
    ) -> Type {
        let field = self.dataset.field(parent, name, "std::array<?>", role::LEAF);
        self.dataset.fields[field].repetition = Some(size as u64);
        Type::Array { size, item: Box::new(item(self, Some(field))) }
    }

    /// An enum or an atomic is a leaf with a subfield.
    pub(crate) fn wrapped(&mut self, parent: Parent, name: &str) -> Type {
        let field = self.dataset.field(parent, name, "Enum", role::LEAF);
        self.integer(Some(field), "_0")
    }

    pub(crate) fn record(&mut self, parent: Parent, name: &str) -> Type {
        let field = Some(self.dataset.field(parent, name, "Record", role::RECORD));
        self.members(field)
    }

    pub(crate) fn members(&mut self, field: Parent) -> Type {
        let x = self.float(field, "x");
        let ids = self.list(field, "ids", 3, |model, parent| model.integer(parent, "_0"));
        let label = self.text(field, "label");
        Type::Record(vec![("x".into(), x), ("ids".into(), ids), ("label".into(), label)])
    }

    pub(crate) fn variant(&mut self, parent: Parent, name: &str) -> Type {
        let field = self.dataset.field(parent, name, "std::variant<?>", role::VARIANT);
        let column = self.dataset.column(field, 0x10, 96);
        let number = self.float(Some(field), "_0");
        let text = self.text(Some(field), "_1");
        let list = self.list(Some(field), "_2", 2, |model, parent| model.integer(parent, "_0"));
        Type::Variant { column, alternatives: vec![number, text, list] }
    }

    pub(crate) fn add(&mut self, name: &str, add: impl FnOnce(&mut Self, Parent, &str) -> Type) {
        let added = add(self, None, name);
        self.fields.push((name.into(), added));
    }

    /// Adds a projected field with these columns.
    pub(crate) fn project(&mut self, parent: Parent, name: &str, type_name: &str, role: u16, column: usize) -> usize {
        let source = Some(self.dataset.columns[column].field as u32);
        let (name, type_name) = (name.into(), type_name.into());
        self.dataset.fields.push(Field { name, type_name, role, parent, source, ..Field::default() });
        let field = self.dataset.fields.len() - 1;
        self.dataset.aliases.push([column, field]);
        field
    }

    /// Returns an RNTuple with fields of all types.
    pub(crate) fn nested(path: &str) -> Self {
        let mut model = Self { dataset: Dataset::new(path), fields: Vec::new() };
        model.add("number", Self::integer);
        model.add("float", Self::float);
        model.add("text", Self::text);
        model.add("bits", |model, parent, name| model.bits(parent, name, 13));
        model.add("enum", Self::wrapped);
        model.add("record", Self::record);
        model.add("variant", Self::variant);
        model.add("optional", |model, parent, name| {
            model.list(parent, name, 1, |model, parent| model.float(parent, "_0"))
        });
        model.add("lists", |model, parent, name| {
            model.list(parent, name, 3, |model, parent| {
                model.list(parent, "_0", 3, |model, parent| model.float(parent, "_0"))
            })
        });
        model
            .add("hits", |model, parent, name| model.list(parent, name, 4, |model, parent| model.record(parent, "_0")));
        model.add("untyped", |model, parent, name| model.list(parent, name, 2, Self::members));
        model.add("matrix", |model, parent, name| {
            model.array(parent, name, 2, |model, parent| {
                model.array(parent, "_0", 3, |model, parent| model.integer(parent, "_0"))
            })
        });
        model.add("array", |model, parent, name| {
            model.array(parent, name, 3, |model, parent| {
                model.list(parent, "_0", 2, |model, parent| model.variant(parent, "_0"))
            })
        });
        model.add("masks", |model, parent, name| {
            model.list(parent, name, 3, |model, parent| model.bits(parent, "_0", 5))
        });
        model
    }

    /// Adds a group with clusters of random entries, and returns these entries.
    pub(crate) fn fill(&mut self, random: &mut Rng, entries: &[u64]) -> Vec<Map<String, Value>> {
        let (mut group, mut rows) = (Vec::new(), Vec::new());
        for &entries in entries {
            let mut values = Values { columns: vec![Vec::new(); self.dataset.columns.len()], counts: HashMap::new() };
            for _ in 0..entries {
                let row = self.fields.iter().map(|(name, of)| (name.clone(), values.add(of, random)));
                rows.push(row.collect());
            }
            group.push(Cluster { entries, columns: values.columns.into_iter().map(Some).collect() });
        }
        self.dataset.groups.push(group);
        rows
    }
}

/// The elements of a cluster.
struct Values {
    columns: Vec<Vec<u128>>,
    /// Values of each collection's column, or of each alternative of a variant.
    counts: HashMap<(usize, usize), u128>,
}

impl Values {
    /// Adds a random value.
    fn add(&mut self, of: &Type, random: &mut Rng) -> Value {
        match of {
            Type::Integer { column, most } => {
                let number = random.i64(-most - 1..=*most);
                self.columns[*column].push(number as u64 as u128);
                json!(number)
            }
            Type::Float { column } => {
                let number = random.f32() * 100.0 - 50.0;
                self.columns[*column].push(number.to_bits().into());
                json!(f64::from(number))
            }
            Type::Bits { column, size } => {
                let bits: Vec<bool> = (0..*size).map(|_| random.bool()).collect();
                self.columns[*column].extend(bits.iter().map(|&bit| u128::from(bit)));
                json!(bits)
            }
            Type::Text { ends, chars } => {
                let text: String = (0..random.usize(..9)).map(|_| random.alphanumeric()).collect();
                self.columns[*chars].extend(text.bytes().map(u128::from));
                let end = self.columns[*chars].len() as u128;
                self.columns[*ends].push(end);
                json!(text)
            }
            Type::List { ends, most, item } => {
                let items = random.usize(..=*most);
                let count = self.counts.entry((*ends, 0)).or_default();
                *count += items as u128;
                self.columns[*ends].push(*count);
                (0..items).map(|_| self.add(item, random)).collect()
            }
            Type::Array { size, item } => (0..*size).map(|_| self.add(item, random)).collect(),
            Type::Record(members) => {
                let members = members.iter().map(|(name, of)| (name.clone(), self.add(of, random)));
                Value::Object(members.collect())
            }
            Type::Variant { column, alternatives } => {
                let tag = random.usize(..=alternatives.len());
                let count = self.counts.entry((*column, tag)).or_default();
                self.columns[*column].push(*count | (tag as u128) << 64);
                *count += 1;
                if tag == 0 { Value::Null } else { self.add(&alternatives[tag - 1], random) }
            }
        }
    }
}

/// Returns a column with these properties.
pub(crate) fn column(field: usize, code: u16, bits: u16, representation: u16) -> Column {
    Column { code, bits, field, representation, ..Column::default() }
}
