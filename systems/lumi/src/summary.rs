//! Summary banks of events: encoding and decoding.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::calorimeter::Calorimeter;
use crate::counters::{CALO, EventCounters};
use crate::error::{Error, Result};
use crate::event::Header;
use crate::fields::{basic_fields, extended_fields};
use crate::schema::{Field, FieldSpec, Schema, get, set};
use crate::sums::{Column, Values};

/// The number of bunch crossings in a turn.
pub const BUNCHES: u64 = 3564;
/// The number of bunch crossings in 1000 us.
pub(crate) const CROSSINGS_PER_MS: u64 = 40_078;

/// The version of the layout of banks. It rises with each change of [`Layout`] or of a field.
pub const LAYOUT_VERSION: u32 = 1;

/// The layout of summary banks, for programs that decode banks without this crate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// [`LAYOUT_VERSION`].
    pub version: u32,
    /// The basic and the full bank.
    pub banks: [BankLayout; 2],
    /// The fields of a full bank.
    pub fields: Vec<FieldLayout>,
}

/// The layout of one kind of bank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BankLayout {
    /// `basic` or `full`.
    pub name: &'static str,
    /// The first word of the bank.
    pub key: u32,
    /// The number of words.
    pub words: usize,
    /// The number of fields: so many of [`Layout::fields`], from the first one.
    pub fields: usize,
}

/// The layout of a field: a stored value is `value * scale + shift`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldLayout {
    /// The name, position and range.
    #[serde(flatten)]
    pub field: Field,
    /// Whether the field is a counter. A counter has no value if all its bits are set.
    pub counter: bool,
    /// The unit of the value: MeV or mm. None for a count and for the header.
    pub unit: Option<&'static str>,
}

/// The quantity of an event that a field stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Key,
    TimeLow,
    TimeHigh,
    CrossingLow,
    CrossingHigh,
    CrossingType,
    Reconstructed,
    Calo(usize),
    SciFi(usize),
    VeloTracks(usize),
    VeloClusters(usize),
    Vertices,
    FiducialVertices,
    VertexPosition(usize),
    VertexZ(usize),
}

impl Value {
    fn is_counter(self) -> bool {
        !matches!(
            self,
            Self::Key
                | Self::TimeLow
                | Self::TimeHigh
                | Self::CrossingLow
                | Self::CrossingHigh
                | Self::CrossingType
                | Self::Reconstructed
        )
    }

    /// Returns the unit of a measured value. Counts and the header have none.
    fn unit(self) -> Option<&'static str> {
        match self {
            Self::Calo(_) => Some("MeV"),
            Self::VertexPosition(_) | Self::VertexZ(_) => Some("mm"),
            _ => None,
        }
    }

    /// Returns the number of a counter. None if it was not counted or is no counter.
    fn number(self, counters: &EventCounters, energies: &[f64; CALO]) -> Option<f64> {
        match self {
            Self::Calo(i) => Some(energies[i]),
            Self::SciFi(i) => Some(counters.scifi[i].into()),
            Self::VeloClusters(i) => Some(counters.velo_clusters[i].into()),
            Self::VeloTracks(i) => counters.velo_tracks.map(|tracks| tracks[i].into()),
            Self::Vertices => counters.vertices.map(|vertices| vertices.vertices.into()),
            Self::FiducialVertices => counters.vertices.map(|vertices| vertices.fiducial.into()),
            Self::VertexPosition(i) => counters.vertices.map(|vertices| vertices.position[i].into()),
            Self::VertexZ(i) => counters.vertices.map(|vertices| vertices.z[i].into()),
            _ => None,
        }
    }
}

/// The schemata of basic and full summaries. A full summary begins with the fields of a basic one.
#[derive(Clone, Debug, PartialEq)]
pub struct Schemata {
    full: Schema,
    values: Vec<Value>,
    basic_fields: usize,
    basic_words: usize,
    /// The keys of a basic and of a full summary.
    keys: [u32; 2],
}

/// A decoded summary bank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Whether the summary has all counters or only the basic ones.
    pub full: bool,
    /// The key of the schema.
    pub key: u32,
    /// The GPS time \[us\] at the start of turn 0.
    pub t0_us: u64,
    /// The number of bunch crossings since then.
    pub crossing: u64,
    /// The type of the crossing.
    pub crossing_type: u32,
    /// Whether the event was reconstructed.
    pub reconstructed: bool,
    /// The counters in the unit of their field. None where all bits are set: the value was not
    /// counted, did not fit, or is the largest one.
    pub counters: BTreeMap<String, Option<f64>>,
}

impl Default for Schemata {
    fn default() -> Self {
        Self::new()
    }
}

impl Schemata {
    /// Makes the schemata of this crate's counters, with the sizes, shifts and scales that LHCb
    /// used in 2024.
    #[must_use]
    pub fn new() -> Self {
        let (basic, basic_values): (Vec<_>, Vec<_>) = basic_fields().into_iter().unzip();
        let (extended, extended_values): (Vec<_>, Vec<_>) = extended_fields().into_iter().unzip();
        let generate =
            |specs: &[FieldSpec]| Schema::generate(specs).expect("the names differ and the scales are finite");
        // The key is the first word.
        let key = generate(&[FieldSpec::new("encodingKey", u32::MAX)]);
        let basic = key.and(&generate(&basic));
        let full = basic.and(&generate(&extended));
        Self {
            keys: [basic.key(), full.key()],
            basic_fields: basic.fields.len(),
            basic_words: basic.words,
            values: [vec![Value::Key], basic_values, extended_values].concat(),
            full,
        }
    }

    /// Returns all fields, those of a basic summary first.
    #[must_use]
    pub fn full(&self) -> &Schema {
        &self.full
    }

    /// Returns the fields of a basic summary.
    #[must_use]
    pub fn basic_fields(&self) -> &[Field] {
        &self.full.fields[..self.basic_fields]
    }

    /// Returns the number of words of a basic summary.
    #[must_use]
    pub fn basic_words(&self) -> usize {
        self.basic_words
    }

    /// Returns the number of words of a full summary.
    #[must_use]
    pub fn full_words(&self) -> usize {
        self.full.words
    }

    /// Encodes the summary bank of an event. All bits are set in a field whose value was not
    /// counted or does not fit.
    #[must_use]
    pub fn encode(&self, header: &Header, counters: &EventCounters, calorimeter: &Calorimeter) -> Vec<u32> {
        let words = if header.full { self.full_words() } else { self.basic_words };
        let mut bank = vec![u32::MAX; words];
        let crossing = u64::from(header.orbit) * BUNCHES + u64::from(header.bunch);
        let t0 = header.gps_us.wrapping_sub(crossing * 1000 / CROSSINGS_PER_MS);
        let calo = counters.calo.mev(calorimeter);
        for (field, &value) in self.full.fields.iter().zip(&self.values) {
            let spec = &field.spec;
            let stored = match value {
                Value::Key => Some(self.keys[usize::from(header.full)]),
                Value::TimeLow => Some(t0 as u32),
                Value::TimeHigh => Some((t0 >> 32) as u32),
                Value::CrossingLow => Some(crossing as u32),
                Value::CrossingHigh => Some((crossing >> 32) as u32),
                Value::CrossingType => Some(header.crossing.into()),
                Value::Reconstructed => Some(header.reconstructed.into()),
                Value::Calo(i) => Some(spec.of_value(calo[i])),
                Value::SciFi(i) => Some(spec.of_count(counters.scifi[i])),
                Value::VeloClusters(i) => Some(spec.of_count(counters.velo_clusters[i])),
                Value::VeloTracks(i) => counters.velo_tracks.map(|tracks| spec.of_count(tracks[i])),
                Value::Vertices => counters.vertices.map(|vertices| spec.of_count(vertices.vertices)),
                Value::FiducialVertices => counters.vertices.map(|vertices| spec.of_count(vertices.fiducial)),
                Value::VertexPosition(i) => {
                    counters.vertices.map(|vertices| spec.of_value(vertices.position[i].into()))
                }
                Value::VertexZ(i) => counters.vertices.map(|vertices| spec.of_value(vertices.z[i].into())),
            };
            if let Some(stored) = stored {
                set(&mut bank, field, stored);
            }
        }
        bank
    }

    /// Returns the layout of the banks.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let [basic, full] = self.keys;
        let field = |(field, value): (&Field, &Value)| FieldLayout {
            field: field.clone(),
            counter: value.is_counter(),
            unit: value.unit(),
        };
        Layout {
            version: LAYOUT_VERSION,
            banks: [
                BankLayout { name: "basic", key: basic, words: self.basic_words, fields: self.basic_fields },
                BankLayout { name: "full", key: full, words: self.full.words, fields: self.full.fields.len() },
            ],
            fields: self.full.fields.iter().zip(&self.values).map(field).collect(),
        }
    }

    /// Returns the names of all counters of a full summary.
    pub fn counter_names(&self) -> impl Iterator<Item = &str> {
        let counters = self.full.fields.iter().zip(&self.values).filter(|(_, value)| value.is_counter());
        counters.map(|(field, _)| field.spec.name.as_str())
    }

    /// Returns the unit of a counter: MeV or mm. None for a count and for an unknown name.
    #[must_use]
    pub fn unit(&self, counter: &str) -> Option<&'static str> {
        let at = self.full.fields.iter().position(|field| field.spec.name == counter)?;
        self.values[at].unit()
    }

    /// Returns a column of each counter.
    pub(crate) fn counter_columns(&self, calorimeter: &Calorimeter, counted: &[EventCounters]) -> Vec<Column> {
        let energies: Vec<_> = counted.iter().map(|counters| counters.calo.mev(calorimeter)).collect();
        let counters = self.full.fields.iter().zip(&self.values).filter(|(_, value)| value.is_counter());
        let column = |(field, &value): (&Field, &Value)| {
            let number = |(counters, energies): (&EventCounters, &[f64; CALO])| {
                value.number(counters, energies).unwrap_or(f64::NAN)
            };
            let values = counted.iter().zip(&energies).map(number).collect();
            Column { name: field.spec.name.clone(), values: Values::Numbers(values) }
        };
        counters.map(column).collect()
    }

    /// Decodes a bank.
    ///
    /// # Errors
    /// [`Error::Bank`] if the first word is not the key of a schema, or if the length is wrong.
    pub fn decode(&self, bank: &[u32]) -> Result<Summary> {
        let key = *bank.first().ok_or_else(|| Error::Bank { what: "it has no words".to_owned() })?;
        let Some(full) = self.keys.iter().position(|&known| known == key).map(|at| at == 1) else {
            let [basic, full] = self.keys;
            let what = format!("key {key:08x} is none of this program's ({basic:08x} basic, {full:08x} full)");
            return Err(Error::Bank { what });
        };
        let words = if full { self.full_words() } else { self.basic_words };
        if bank.len() != words {
            return Err(Error::Bank { what: format!("{} words, and the schema of its key has {words}", bank.len()) });
        }
        let mut raw = [0_u64; 7];
        let mut counters = BTreeMap::new();
        for (field, &value) in self.full.fields.iter().zip(&self.values) {
            let Some(stored) = get(bank, field) else { continue };
            match value {
                Value::Key => {}
                Value::TimeLow => raw[1] = stored.into(),
                Value::TimeHigh => raw[2] = stored.into(),
                Value::CrossingLow => raw[3] = stored.into(),
                Value::CrossingHigh => raw[4] = stored.into(),
                Value::CrossingType => raw[5] = stored.into(),
                Value::Reconstructed => raw[6] = stored.into(),
                _ => {
                    let all = u32::MAX >> (32 - field.size);
                    let spec = &field.spec;
                    let value = (stored != all).then(|| (f64::from(stored) - spec.shift) / spec.scale);
                    counters.insert(spec.name.clone(), value);
                }
            }
        }
        Ok(Summary {
            full,
            key,
            t0_us: raw[2] << 32 | raw[1],
            crossing: raw[4] << 32 | raw[3],
            crossing_type: raw[5] as u32,
            reconstructed: raw[6] == 1,
            counters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decoders of other programs know a layout by its version: a change of the keys needs another
    /// version.
    #[test]
    fn a_version_has_one_layout() {
        let layout = Schemata::new().layout();
        let keys = layout.banks.map(|bank| bank.key);
        assert_eq!((layout.version, keys), (1, [0xa6a6_9dcd, 0x6174_5a9d]), "{keys:08x?}");
    }

    #[test]
    fn fields_do_not_overlap_and_span_no_words() {
        let schemata = Schemata::new();
        let mut taken = vec![0_u32; schemata.full_words()];
        for field in &schemata.full().fields {
            let (word, shift) = ((field.offset / 32) as usize, field.offset % 32);
            assert!(shift + field.size <= 32, "{field:?}");
            let mask = (u32::MAX >> (32 - field.size)) << shift;
            assert_eq!(taken[word] & mask, 0, "{field:?}");
            taken[word] |= mask;
        }
        assert_eq!((schemata.full().fields.len(), schemata.basic_fields().len()), (1 + 43 + 94, 44));
        // No two words of a part could be one.
        for part in [&taken[..schemata.basic_words()], &taken[schemata.basic_words()..]] {
            let bits: Vec<u32> = part.iter().map(|word| word.count_ones()).collect();
            let least = bits.iter().min().expect("a word");
            assert!(bits.iter().filter(|&bits| bits + least <= 32).count() <= 1, "{bits:?}");
        }
        assert!(schemata.basic_words() < schemata.full_words());
    }
}
