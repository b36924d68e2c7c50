//! Selects a field by its path, and plans how its values are read.

use std::fmt;
use std::sync::Arc;

use crate::array::{Array, Numbers};
use crate::column::Kind;
use crate::error::{Error, Result};
use crate::schema::{Field, Role, Schema};

/// Deepest nesting of types.
const DEPTH: usize = 64;

/// The values of a field, or of a member of records: see [`NTuple::select`](crate::NTuple::select).
#[derive(Clone, Debug)]
pub struct Selection {
    pub(crate) root: Node,
}

/// How the values of a field are read. Lists of columns have an item for each representation.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Numbers {
        name: String,
        columns: Vec<usize>,
        scope: Scope,
        empty: Numbers,
    },
    /// The sizes of a collection.
    Cardinality {
        columns: Vec<usize>,
        scope: Scope,
    },
    Text {
        columns: Vec<[usize; 2]>,
        scope: Scope,
        items: Scope,
    },
    List {
        columns: Vec<usize>,
        scope: Scope,
        item: Box<Node>,
    },
    Fixed {
        size: u64,
        item: Box<Node>,
    },
    Record {
        members: Vec<(String, Node)>,
    },
    Variant {
        columns: Vec<usize>,
        scope: Scope,
        alternatives: Vec<Node>,
    },
}

/// The values that have one element each in a column. Their number in a cluster follows.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    Entries,
    Times(u64, Arc<Scope>),
    /// The items of the collection with these columns.
    Items(Arc<[usize]>, Arc<Scope>),
    Alternative,
}

impl fmt::Display for Node {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers { name, .. } => write!(to, "`{name}`"),
            _ => to.write_str("of the RNTuple"),
        }
    }
}

impl Node {
    /// Returns an array without values.
    pub(crate) fn empty(&self) -> Array {
        match self {
            Self::Numbers { empty, .. } => Array::Numbers(empty.clone()),
            Self::Cardinality { .. } => Array::Numbers(Numbers::U64(Vec::new())),
            Self::Text { .. } => Array::Text { offsets: vec![0], bytes: Vec::new() },
            Self::List { item, .. } => Array::List { offsets: vec![0], items: Box::new(item.empty()) },
            Self::Fixed { size, item } => Array::Fixed { length: 0, size: *size, items: Box::new(item.empty()) },
            Self::Record { members } => {
                let fields = members.iter().map(|(name, node)| (name.clone(), node.empty())).collect();
                Array::Record { length: 0, fields }
            }
            Self::Variant { alternatives, .. } => {
                let alternatives = alternatives.iter().map(Node::empty).collect();
                Array::Variant { tags: Vec::new(), indices: Vec::new(), alternatives }
            }
        }
    }
}

impl Schema {
    /// Returns the members of a record, also of one in collections.
    pub(crate) fn members(&self, mut field: usize) -> Vec<usize> {
        // Each step goes to a field of a larger index.
        loop {
            let Field { role, children, .. } = &self.fields[field];
            match (role, children.as_slice()) {
                (Role::Record, children) => return children.to_vec(),
                (Role::Collection | Role::Leaf, &[item]) => field = item,
                // An untyped collection of several subfields is a collection of records.
                (Role::Collection, children) => return children.to_vec(),
                _ => return Vec::new(),
            }
        }
    }

    /// Returns the fields of a path, from the top.
    pub(crate) fn chain(&self, path: &str) -> Result<Vec<usize>> {
        let mut chain: Vec<usize> = Vec::new();
        for name in path.split('.') {
            let candidates = match chain.last() {
                None => (0..self.fields.len()).filter(|&field| self.fields[field].parent.is_none()).collect(),
                Some(&field) => self.members(field),
            };
            let found = candidates.into_iter().find(|&field| self.fields[field].name == name);
            chain.push(found.ok_or_else(|| Error::NotFound(format!("the RNTuple has no field `{path}`")))?);
        }
        Ok(chain)
    }
}

impl Selection {
    pub(crate) fn new(schema: &Schema, path: &str) -> Result<Self> {
        let chain = schema.chain(path)?;
        let planner = Planner { schema, path, chain: &chain[1..] };
        Ok(Self { root: planner.plan(chain[0], Scope::Entries, 0, 0)? })
    }

    /// Returns the number of lists around a value: 0 for a value of each entry, 1 for a list.
    pub fn lists(&self) -> usize {
        let (mut node, mut lists) = (&self.root, 0);
        while let Node::List { item, .. } | Node::Fixed { item, .. } = node {
            (node, lists) = (item, lists + 1);
        }
        lists
    }

    /// Selects the sizes of the collections, or no values.
    pub(crate) fn sizes(&self) -> Self {
        let no_members = || Box::new(Node::Record { members: Vec::new() });
        let root = match &self.root {
            Node::List { columns, scope, .. } => Node::Cardinality { columns: columns.clone(), scope: scope.clone() },
            Node::Fixed { size, .. } => Node::Fixed { size: *size, item: no_members() },
            _ => *no_members(),
        };
        Self { root }
    }

    /// Returns an array without values. Its type tells which values are read.
    pub fn empty(&self) -> Array {
        self.root.empty()
    }
}

struct Planner<'a> {
    schema: &'a Schema,
    path: &'a str,
    /// Members that are selected, from the outermost record on.
    chain: &'a [usize],
}

impl Planner<'_> {
    fn unsupported(&self, problem: impl fmt::Display) -> Error {
        Error::Unsupported(format!("field `{}` {problem}, which is not read", self.path))
    }

    /// Plans a field. `taken` members of the chain are behind.
    fn plan(&self, field: usize, scope: Scope, taken: usize, depth: usize) -> Result<Node> {
        if depth > DEPTH {
            return Err(self.unsupported(format!("has types nested more than {DEPTH} times")));
        }
        let Field { repetition, .. } = self.schema.fields[field];
        let Some(size) = repetition else { return self.plan_value(field, scope, taken, depth) };
        let scope = Scope::Times(size, Arc::new(scope));
        Ok(Node::Fixed { size, item: Box::new(self.plan_value(field, scope, taken, depth)?) })
    }

    /// Plans a field, apart from its repetition.
    fn plan_value(&self, field: usize, scope: Scope, taken: usize, depth: usize) -> Result<Node> {
        let Field { name, type_name, role, children, columns, .. } = &self.schema.fields[field];
        let damaged = || Error::damaged(format!("field `{name}` has other columns than its type"));
        let first = |columns: &Vec<usize>| columns.first().copied().ok_or_else(damaged);
        match (role, children.as_slice()) {
            (Role::Leaf, &[item]) if columns.is_empty() => self.plan(item, scope, taken, depth + 1),
            (Role::Leaf, []) => self.plan_leaf(field, scope),
            (Role::Collection, children) if !children.is_empty() => {
                let columns: Vec<usize> = columns.iter().map(first).collect::<Result<_>>()?;
                if columns.is_empty() {
                    return Err(damaged());
                }
                self.check_kinds(&columns, |kind| kind == Kind::Index)?;
                let items = Scope::Items(columns.as_slice().into(), Arc::new(scope.clone()));
                let item = match children {
                    [item] => self.plan(*item, items, taken, depth + 1)?,
                    several => self.plan_record(several, &items, taken, depth)?,
                };
                Ok(Node::List { columns, scope, item: Box::new(item) })
            }
            (Role::Record, members) => self.plan_record(members, &scope, taken, depth),
            (Role::Variant, alternatives) => {
                let columns: Vec<usize> = columns.iter().map(first).collect::<Result<_>>()?;
                if columns.is_empty() {
                    return Err(damaged());
                }
                self.check_kinds(&columns, |kind| kind == Kind::Switch)?;
                let plan = |&field: &usize| self.plan(field, Scope::Alternative, self.chain.len(), depth + 1);
                let alternatives = alternatives.iter().map(plan).collect::<Result<_>>()?;
                Ok(Node::Variant { columns, scope, alternatives })
            }
            (Role::Streamer, _) => {
                Err(self.unsupported(format!("of type `{type_name}` is serialized by ROOT's streamers")))
            }
            (Role::Unknown, _) => Err(self.unsupported("has a structure of a later version of the format")),
            _ => Err(damaged()),
        }
    }

    /// Plans the members of a record, or the selected one alone.
    fn plan_record(&self, members: &[usize], scope: &Scope, taken: usize, depth: usize) -> Result<Node> {
        if let Some(&member) = self.chain.get(taken) {
            return self.plan(member, scope.clone(), taken + 1, depth + 1);
        }
        let plan = |&member: &usize| {
            Ok((self.schema.fields[member].name.clone(), self.plan(member, scope.clone(), taken, depth + 1)?))
        };
        Ok(Node::Record { members: members.iter().map(plan).collect::<Result<_>>()? })
    }

    fn plan_leaf(&self, field: usize, scope: Scope) -> Result<Node> {
        let Field { name, type_name, columns, .. } = &self.schema.fields[field];
        let damaged =
            || Error::damaged(format!("field `{name}` of type `{type_name}` has other columns than its type"));
        if type_name == "std::string" {
            let pair = |columns: &Vec<usize>| <[usize; 2]>::try_from(columns.as_slice()).map_err(|_| damaged());
            let columns: Vec<[usize; 2]> = columns.iter().map(pair).collect::<Result<_>>()?;
            let (ends, chars): (Vec<usize>, Vec<usize>) = columns.iter().map(|&[ends, chars]| (ends, chars)).unzip();
            if columns.is_empty() {
                return Err(damaged());
            }
            self.check_kinds(&ends, |kind| kind == Kind::Index)?;
            self.check_kinds(&chars, |kind| kind == Kind::U8)?;
            let items = Scope::Items(ends.into(), Arc::new(scope.clone()));
            return Ok(Node::Text { columns, scope, items });
        }
        let one = |columns: &Vec<usize>| match columns.as_slice() {
            [column] => Ok(*column),
            _ => Err(damaged()),
        };
        let columns: Vec<usize> = columns.iter().map(one).collect::<Result<_>>()?;
        let kind = match columns.first().map(|&column| self.schema.columns[column].kind) {
            None => return Err(damaged()),
            Some(Ok(kind)) => kind,
            Some(Err(code)) => return Err(self.unsupported(format!("has a column of type {code:#04x}"))),
        };
        if type_name.starts_with("ROOT::RNTupleCardinality<") {
            self.check_kinds(&columns, |kind| kind == Kind::Index)?;
            return Ok(Node::Cardinality { columns, scope });
        }
        self.check_kinds(&columns, |kind| !matches!(kind, Kind::Index | Kind::Switch))?;
        let empty = type_of_name(type_name).or_else(|| type_of_column(kind)).ok_or_else(damaged)?;
        Ok(Node::Numbers { name: name.clone(), columns, scope, empty })
    }

    fn check_kinds(&self, columns: &[usize], is_right: impl Fn(Kind) -> bool) -> Result<()> {
        for &column in columns {
            match self.schema.columns[column].kind {
                Ok(kind) if is_right(kind) => {}
                Ok(_) => return Err(Error::damaged(format!("field `{}` has columns of another type", self.path))),
                Err(code) => return Err(self.unsupported(format!("has a column of type {code:#04x}"))),
            }
        }
        Ok(())
    }
}

/// Returns an empty vector of a C++ type.
fn type_of_name(name: &str) -> Option<Numbers> {
    Some(match name {
        // The field of a bitset is its items' field, too.
        "bool" => Numbers::Bool(Vec::new()),
        name if name.starts_with("std::bitset<") => Numbers::Bool(Vec::new()),
        "std::int8_t" => Numbers::I8(Vec::new()),
        "char" | "std::byte" | "std::uint8_t" => Numbers::U8(Vec::new()),
        "std::int16_t" => Numbers::I16(Vec::new()),
        "std::uint16_t" => Numbers::U16(Vec::new()),
        "std::int32_t" => Numbers::I32(Vec::new()),
        "std::uint32_t" => Numbers::U32(Vec::new()),
        "std::int64_t" => Numbers::I64(Vec::new()),
        "std::uint64_t" => Numbers::U64(Vec::new()),
        "float" => Numbers::F32(Vec::new()),
        "double" => Numbers::F64(Vec::new()),
        _ => return None,
    })
}

/// Returns an empty vector of a column's type.
fn type_of_column(kind: Kind) -> Option<Numbers> {
    Some(match kind {
        Kind::Bit => Numbers::Bool(Vec::new()),
        Kind::I8 => Numbers::I8(Vec::new()),
        Kind::U8 => Numbers::U8(Vec::new()),
        Kind::I16 => Numbers::I16(Vec::new()),
        Kind::U16 => Numbers::U16(Vec::new()),
        Kind::I32 => Numbers::I32(Vec::new()),
        Kind::U32 => Numbers::U32(Vec::new()),
        Kind::I64 => Numbers::I64(Vec::new()),
        Kind::U64 => Numbers::U64(Vec::new()),
        Kind::F16 | Kind::F32 | Kind::Truncated | Kind::Quantized => Numbers::F32(Vec::new()),
        Kind::F64 => Numbers::F64(Vec::new()),
        Kind::Index | Kind::Switch => return None,
    })
}
