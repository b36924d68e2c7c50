//! Reads page lists: where the pages of the columns are, cluster by cluster.

use crate::block::Locator;
use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::schema::{PAGE_LIST, Schema, open_envelope, read_locator};

/// Entries that are stored together.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) first_entry: u64,
    pub(crate) entries: u64,
    /// Pages of each column. Columns that were added later may be absent.
    pub(crate) columns: Vec<ColumnPages>,
}

/// The pages of a column in a cluster.
#[derive(Debug, Default)]
pub(crate) struct ColumnPages {
    pub(crate) pages: Vec<Page>,
    /// Another representation of the field has the elements.
    pub(crate) is_suppressed: bool,
}

#[derive(Debug)]
pub(crate) struct Page {
    /// Number of elements up to the end of this page, from the begin of the cluster.
    pub(crate) end: u64,
    pub(crate) elements: u64,
    pub(crate) at: Locator,
    pub(crate) has_checksum: bool,
}

impl ColumnPages {
    /// Returns the number of stored elements.
    pub(crate) fn elements(&self) -> u64 {
        self.pages.last().map_or(0, |page| page.end)
    }

    fn read(list: &mut Bytes<'_>) -> Result<Self> {
        let (count, mut list) = list.list()?;
        let mut pages = Vec::new();
        let mut end = 0u64;
        for _ in 0..count {
            let count = list.i32()?;
            let elements = u64::from(count.unsigned_abs());
            end += elements;
            pages.push(Page { end, elements, at: read_locator(&mut list)?, has_checksum: count < 0 });
        }
        let is_suppressed = list.i64()? < 0;
        Ok(Self { pages, is_suppressed })
    }
}

/// Reads the clusters of a page list. They cover the entries from `first_entry` on.
pub(crate) fn read_page_list(envelope: &[u8], schema: &Schema, first_entry: u64, entries: u64) -> Result<Vec<Cluster>> {
    const SHARDED: u64 = 1;
    let (mut envelope, _) = open_envelope(envelope, PAGE_LIST, "the page list of the RNTuple")?;
    schema.check_header(&mut envelope)?;
    let (count, mut list) = envelope.list()?;
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut next = first_entry;
    for _ in 0..count {
        let mut summary = list.record()?;
        let (first_entry, word) = (summary.u64()?, summary.u64()?);
        let (entries, flags) = (word & (u64::MAX >> 8), word >> 56);
        if flags & SHARDED != 0 {
            return Err(Error::Unsupported("sharded clusters are not read".into()));
        }
        if first_entry != next {
            return Err(summary.damaged("has clusters that do not follow one another"));
        }
        next = next.checked_add(entries).ok_or_else(|| summary.damaged("has an impossible number of entries"))?;
        clusters.push(Cluster { first_entry, entries, columns: Vec::new() });
    }
    let (count, mut list) = envelope.list()?;
    if count as usize != clusters.len() || next - first_entry != entries {
        return Err(envelope.damaged("has another number of clusters or entries than announced"));
    }
    for cluster in &mut clusters {
        let (columns, mut list) = list.list()?;
        if columns as usize > schema.columns.len() {
            return Err(list.damaged("has more columns than the schema"));
        }
        for _ in 0..columns {
            cluster.columns.push(ColumnPages::read(&mut list)?);
        }
    }
    Ok(clusters)
}
