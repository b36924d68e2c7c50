//! Reads objects of the hard scatter from a Parquet file: a row for each object, or a row with
//! lists for each event.

use std::collections::HashMap;
use std::path::Path;

use zfinder::region::{ObjectKind, SeedObject};

use super::column::Refused;
use super::field::Wanted;
use super::table::Table;
use crate::error::Result;
use crate::objects::{MOST_OBJECTS, WANTED};
use column_names::{lookalike, refusal};

const NUMBERS: [&str; 3] = ["eta", "phi", "et"];
const KIND: &str = "kind";

type Objects = HashMap<u64, Vec<SeedObject>>;
/// The column, if the error is in one, and the reason.
type Refusal<'a> = (Option<&'a str>, Refused);

/// Reads all objects by event, in the order of the file.
///
/// # Errors
/// A file that is not Parquet, columns that are missing or of other types, nulls, more than four
/// million objects, an object that [`SeedObject::new`] refuses, an unknown kind, and a file without
/// any object.
pub(crate) fn read(path: &Path) -> Result<Objects> {
    let mut table = Table::open(path)?;
    let has = |name: &str| table.names().any(|there| there == name);
    let kind = has(KIND).then_some(KIND);
    let event = table.event_with(NUMBERS, WANTED)?;
    if let Some(name) = lookalike(table.names(), KIND).filter(|_| kind.is_none()) {
        return Err(table.error(0, None, refusal(name, KIND)));
    }
    let columns = NUMBERS.map(|name| (name, Wanted::Numbers)).into_iter().chain(kind.map(|name| (name, Wanted::Texts)));
    table.all_lists(columns)?;
    table.check_ids([event.as_str()].into_iter())?;
    table.select(NUMBERS.into_iter().chain(kind).chain([event.as_str()]));
    table.limit_rows(MOST_OBJECTS as usize);
    let (mut objects, mut count) = (Objects::new(), 0);
    while table.next_batch()? > 0 {
        let added = add(&table, &event, kind, &mut objects);
        let added = added.map_err(|(column, (row, message))| table.error(table.row(row), column, message))?;
        count += added as u64;
        if count > MOST_OBJECTS {
            return Err(table.error(0, None, format!("the file has more than {MOST_OBJECTS} objects")));
        }
    }
    if objects.is_empty() {
        return Err(table.error(0, None, "there is no object in it".into()));
    }
    Ok(objects)
}

/// Adds the objects of a batch. Returns their number.
fn add<'a>(
    table: &Table,
    event: &'a str,
    kind: Option<&'static str>,
    objects: &mut Objects,
) -> Result<usize, Refusal<'a>> {
    let of = |name| move |refused| (Some(name), refused);
    let mut events = Vec::new();
    table.column(event).whole_numbers(&mut events).map_err(of(event))?;
    let model = table.column(NUMBERS[0]);
    let mut numbers = [const { Vec::new() }; 3];
    for (name, to) in NUMBERS.into_iter().zip(&mut numbers) {
        let column = table.column(name);
        column.check_lengths(model).and_then(|()| column.numbers(to)).map_err(of(name))?;
    }
    let words = kind.map(|name| {
        let column = table.column(name);
        column.check_lengths(model).and_then(|()| column.texts()).map_err(of(name))
    });
    let words = words.transpose()?;
    for (row, &event_id) in events.iter().enumerate() {
        for at in model.values(row) {
            let kind = match words.as_ref().map_or("", |words| words[at]) {
                "" => ObjectKind::Electron,
                word => word.parse().map_err(|error: zfinder::Error| (Some(KIND), (row, error.to_string())))?,
            };
            let [eta, phi, et] = numbers.each_ref().map(|column| column[at]);
            let object = SeedObject::new(eta, phi, et, kind).map_err(|error| (None, (row, error.to_string())))?;
            objects.entry(event_id).or_default().push(object);
        }
    }
    Ok(numbers[0].len())
}
