//! The summary bank of an event: which field has which bits, what values become there, and the way back.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::calorimeter::Calorimeter;
use crate::counters::EventCounters;
use crate::error::{Error, Result};
use crate::event::Header;

/// The number of bunch crossings in a turn.
pub const BUNCHES: u64 = 3564;
/// Bunch crossings in 1000 us.
const CROSSINGS_PER_MS: u64 = 40_078;

/// The range of values of a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldSpec {
    /// The name of the field.
    pub name: String,
    /// The largest value. It determines the number of bits.
    pub max: u32,
    /// The offset: a value is stored as `value * scale + shift`.
    pub shift: f64,
    /// The factor; see `shift`. A shift of 0 and a scale of 1 store values unchanged.
    pub scale: f64,
}

impl FieldSpec {
    /// Makes a field that stores values unchanged.
    #[must_use]
    pub fn new(name: &str, max: u32) -> Self {
        Self { name: name.to_owned(), max, shift: 0.0, scale: 1.0 }
    }

    /// Returns the field with another shift and scale.
    #[must_use]
    pub fn scaled(mut self, shift: f64, scale: f64) -> Self {
        (self.shift, self.scale) = (shift, scale);
        self
    }

    fn bits(&self) -> u32 {
        32 - self.max.max(1).leading_zeros()
    }

    fn is_plain(&self) -> bool {
        self.shift == 0.0 && self.scale == 1.0
    }

    /// A count as it is stored. Nothing bounds it: what does not fit is not stored.
    fn of_count(&self, count: u32) -> u32 {
        if self.is_plain() {
            return count;
        }
        (self.shift + f64::from(count) * self.scale).round().max(0.0) as u32
    }

    /// A measured value as it is stored: cut off, and never beyond the field.
    fn of_value(&self, value: f64) -> u32 {
        let most = u32::MAX >> (32 - self.bits());
        let scaled = self.shift + value * self.scale;
        if scaled < 1.0 {
            0
        } else if scaled >= f64::from(most) {
            most
        } else {
            scaled as u32
        }
    }
}

/// A field with its position in a bank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// The range of values.
    #[serde(flatten)]
    pub spec: FieldSpec,
    /// The first bit, counted from the start of the bank.
    pub offset: u32,
    /// The number of bits.
    pub size: u32,
}

/// Fields in 32-bit words. No field spans two words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schema {
    /// The fields by name.
    pub fields: Vec<Field>,
    /// The number of words.
    pub words: usize,
}

impl Schema {
    /// Places fields, widest first, each in the first word with room. It then tries random orders
    /// that need fewer words.
    ///
    /// # Errors
    /// [`Error::Schema`] if two fields have the same name, or if a scale is 0 or not finite.
    pub fn generate(specs: &[FieldSpec]) -> Result<Self> {
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Schema { what: format!("two fields are named `{}`", twice[0]) });
        }
        let sound = |spec: &&FieldSpec| spec.shift.is_finite() && spec.scale.is_finite() && spec.scale != 0.0;
        if let Some(spec) = specs.iter().find(|spec| !sound(spec)) {
            let FieldSpec { name, shift, scale, .. } = spec;
            return Err(Error::Schema { what: format!("field `{name}` has shift {shift} and scale {scale}") });
        }
        let mut order: Vec<usize> = (0..specs.len()).collect();
        order.sort_by_key(|&field| std::cmp::Reverse(specs[field].bits()));
        let bits: u32 = specs.iter().map(FieldSpec::bits).sum();
        let (mut offsets, mut words) = place(specs, &order);
        let least = bits.div_ceil(32) as usize;
        // Always the same ones: a schema is known by its fields.
        let rng = &mut ChaCha8Rng::seed_from_u64(0);
        for _ in 0..1000 {
            if words == least {
                break;
            }
            let mut other = order.clone();
            let from = rng.random_range(0..order.len());
            let end = rng.random_range(from..order.len()) + 1;
            other[from..end].shuffle(rng);
            let (moved, fewer) = place(specs, &other);
            if fewer <= words {
                (offsets, words, order) = (moved, fewer, other);
            }
        }
        let fields =
            specs.iter().zip(offsets).map(|(spec, offset)| Field { spec: spec.clone(), offset, size: spec.bits() });
        Ok(Self { fields: fields.collect(), words })
    }

    /// Returns the fields of this schema followed by those of the other.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let behind = 32 * self.words as u32;
        let moved = other.fields.iter().map(|field| Field { offset: field.offset + behind, ..field.clone() });
        Self { fields: self.fields.iter().cloned().chain(moved).collect(), words: self.words + other.words }
    }

    /// Returns the key of the schema: a hash (FNV-1a) of its fields and their positions. It is the
    /// first word of a bank.
    #[must_use]
    pub fn key(&self) -> u32 {
        let mut key = 0x811c_9dc5_u32;
        let mut add = |bytes: &[u8]| {
            for &byte in bytes {
                key = (key ^ u32::from(byte)).wrapping_mul(0x0100_0193);
            }
        };
        for Field { spec, offset, size } in &self.fields {
            add(spec.name.as_bytes());
            add(&[offset.to_le_bytes(), size.to_le_bytes()].concat());
            add(&[spec.shift.to_le_bytes(), spec.scale.to_le_bytes()].concat());
        }
        key
    }
}

/// First bits of fields, each taken in this order into the first word with room, and words.
fn place(specs: &[FieldSpec], order: &[usize]) -> (Vec<u32>, usize) {
    let mut taken: Vec<u32> = Vec::new();
    let mut offsets = vec![0; specs.len()];
    for &field in order {
        let bits = specs[field].bits();
        let word = taken.iter().position(|taken| taken + bits <= 32).unwrap_or_else(|| {
            taken.push(0);
            taken.len() - 1
        });
        offsets[field] = 32 * word as u32 + taken[word];
        taken[word] += bits;
    }
    (offsets, taken.len())
}

/// What of an event a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
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

/// The schemata of basic and full summaries. A full summary begins with the fields of a basic one.
#[derive(Clone, Debug, PartialEq)]
pub struct Schemata {
    full: Schema,
    values: Vec<Value>,
    basic_fields: usize,
    basic_words: usize,
    /// Of a basic and of a full summary.
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
        let generate = |specs: &[FieldSpec]| Schema::generate(specs).expect("names and scales are all right");
        // The key is the first word, whatever else there is.
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

/// Stores what fits; all else stays as it is, and so does a field beyond the bank.
fn set(bank: &mut [u32], field: &Field, value: u32) {
    let mask = u32::MAX >> (32 - field.size);
    let (word, shift) = ((field.offset / 32) as usize, field.offset % 32);
    if let Some(word) = bank.get_mut(word).filter(|_| value <= mask) {
        *word = *word & !(mask << shift) | value << shift;
    }
}

fn get(bank: &[u32], field: &Field) -> Option<u32> {
    let mask = u32::MAX >> (32 - field.size);
    bank.get((field.offset / 32) as usize).map(|word| word >> (field.offset % 32) & mask)
}

/// Fields of every summary. Names, largest values, shifts and scales are those of LHCb's lumi summaries; detectors that this
/// crate does not count have none.
fn basic_fields() -> Vec<(FieldSpec, Value)> {
    let plain = |name: &str, max: u32, value: Value| (FieldSpec::new(name, max), value);
    let mut fields = vec![
        plain("T0Low", u32::MAX, Value::TimeLow),
        plain("T0High", u32::MAX, Value::TimeHigh),
        plain("BCIDLow", u32::MAX, Value::CrossingLow),
        plain("BCIDHigh", 0x3fff, Value::CrossingHigh),
        plain("BXType", 3, Value::CrossingType),
        plain("GEC", 1, Value::Reconstructed),
        plain("VeloTracks", 1913, Value::VeloTracks(0)),
        plain("VeloFiducialTracks", 1913, Value::VeloTracks(1)),
    ];
    for (bin, max) in [68, 294, 302, 287, 471, 427, 328, 81].into_iter().enumerate() {
        fields.push(plain(&format!("VeloTracksEtaBin{bin}"), max, Value::VeloTracks(2 + bin)));
    }
    fields.push(plain("VeloVertices", 33, Value::Vertices));
    fields.push(plain("FiducialVeloVertices", 33, Value::FiducialVertices));
    for (i, (axis, scale)) in [("X", 1638.4), ("Y", 1638.4), ("Z", 16.384)].into_iter().enumerate() {
        let spec = FieldSpec::new(&format!("VeloVertex{axis}"), 0x3fff).scaled(f64::from(0x2000), scale);
        fields.push((spec, Value::VertexPosition(i)));
    }
    let clusters = [11_000, 11_000, 20_000, 20_000, 20_000, 11_000, 20_000, 11_000];
    for (i, max) in clusters.into_iter().enumerate() {
        let side = ["Inner", "Outer"][i % 2];
        fields.push(plain(&format!("VeloClusters{side}Bin{:02}", i / 2), max, Value::VeloClusters(52 + i)));
    }
    let stations = ["T1M123", "T2M123", "T3M123", "T1M4", "T2M4", "T3M45"];
    for (i, max) in [7650, 7590, 7890, 2100, 2350, 4100].into_iter().enumerate() {
        fields.push(plain(&format!("SciFi{}", stations[i]), max, Value::SciFi(i)));
    }
    let energies = [("ECalET", 0x1f_ffff, 0x10000, 0.2), ("ECalEtot", 0x7f_ffff, 0x10000, 0.0667)];
    for (i, (name, max, shift, scale)) in energies.into_iter().enumerate() {
        fields.push((FieldSpec::new(name, max).scaled(f64::from(shift), scale), Value::Calo(i)));
    }
    for i in 0..6 {
        let name = format!("ECalET{}{}", ["Outer", "Middle", "Inner"][i % 3], ["Top", "Bottom"][i / 3]);
        fields.push((FieldSpec::new(&name, 0x3_ffff).scaled(f64::from(0x4000), 0.2), Value::Calo(2 + i)));
    }
    fields
}

/// Fields of full summaries only.
fn extended_fields() -> Vec<(FieldSpec, Value)> {
    let mut fields = Vec::new();
    for station in 0..3 {
        for module in 0..if station == 2 { 6 } else { 5 } {
            for (side, quarters) in ["Q02", "Q13"].into_iter().enumerate() {
                let name = format!("SciFiT{}{quarters}M{module}", station + 1);
                let max = if module < 4 { 0x1fff } else { 0x3ff };
                fields.push((FieldSpec::new(&name, max), Value::SciFi(6 + 10 * station + 2 * module + side)));
            }
        }
    }
    for i in 0..52 {
        let name = format!("VeloClusters{}S{:02}", ["Inner", "Outer"][i % 2], i / 2);
        fields.push((FieldSpec::new(&name, 3000), Value::VeloClusters(i)));
    }
    for i in 0..10 {
        let spec = FieldSpec::new(&format!("VeloVertexZ_{i:02}"), 0x3fff).scaled(f64::from(0x2000), 16.384);
        fields.push((spec, Value::VertexZ(i)));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn sizes_are_those_of_the_largest_value() {
        let bits = |max| FieldSpec::new("", max).bits();
        assert_eq!([1, 2, 3, 4, 1913, 0x3fff, u32::MAX].map(bits), [1, 2, 2, 3, 11, 14, 32]);
    }

    #[test]
    fn values_are_cut_off_and_counts_left_alone() {
        let energy = FieldSpec::new("", 0xff).scaled(16.0, 0.5);
        assert_eq!(
            [-1000.0, -30.1, -30.0, 0.0, 1.9, 2.0, 1e9].map(|value| energy.of_value(value)),
            [0, 0, 1, 16, 16, 17, 255]
        );
        // Of counts nothing is cut off, so a field keeps all its bits where one does not fit.
        assert_eq!(FieldSpec::new("", 7).of_count(9), 9);
        assert_eq!(FieldSpec::new("", 7).scaled(1.0, 0.5).of_count(3), 3);
        let field = Field { spec: FieldSpec::new("", 7), offset: 4, size: 3 };
        let mut bank = [u32::MAX];
        set(&mut bank, &field, 9);
        assert_eq!(bank, [u32::MAX]);
        set(&mut bank, &field, 5);
        assert_eq!((bank[0], get(&bank, &field)), (u32::MAX - (2 << 4), Some(5)));
        set(&mut bank, &Field { offset: 32, ..field.clone() }, 1);
    }

    #[test]
    fn bad_schemata_are_refused() {
        assert!(Schema::generate(&[FieldSpec::new("a", 1), FieldSpec::new("a", 2)]).is_err());
        assert!(Schema::generate(&[FieldSpec::new("a", 1).scaled(0.0, 0.0)]).is_err());
        assert_eq!(Schema::generate(&[]).expect("nothing").words, 0);
    }

    #[test]
    fn a_better_order_is_found() {
        // The widest first needs three words for 20, 11, 11, 11, 10 and 1 bits; two do.
        let specs: Vec<FieldSpec> = [16, 8, 8, 12, 12, 8]
            .into_iter()
            .enumerate()
            .map(|(i, bits): (usize, u32)| FieldSpec::new(&i.to_string(), u32::MAX >> (32 - bits)))
            .collect();
        assert_eq!(Schema::generate(&specs).expect("a schema").words, 2);
    }
}
