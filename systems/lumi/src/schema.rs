//! The layout of a summary bank: the bits of each field, and how values are stored.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::error::{Error, Result};

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

    /// Returns the stored form of a count. It is not bounded: a count that does not fit is not
    /// stored.
    pub(crate) fn of_count(&self, count: u32) -> u32 {
        if self.is_plain() {
            return count;
        }
        (self.shift + f64::from(count) * self.scale).round().max(0.0) as u32
    }

    /// Returns the stored form of a measured value: truncated, and clamped to the field.
    pub(crate) fn of_value(&self, value: f64) -> u32 {
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
        // A fixed seed: the same fields always make the same schema.
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

/// Places fields in this order, each in the first word with room. Returns their first bits and the
/// number of words.
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

/// Stores a value that fits. Another value and a field beyond the bank leave the bank unchanged.
pub(crate) fn set(bank: &mut [u32], field: &Field, value: u32) {
    let mask = u32::MAX >> (32 - field.size);
    let (word, shift) = ((field.offset / 32) as usize, field.offset % 32);
    if let Some(word) = bank.get_mut(word).filter(|_| value <= mask) {
        *word = *word & !(mask << shift) | value << shift;
    }
}

/// Returns the stored value of a field; None beyond the bank.
pub(crate) fn get(bank: &[u32], field: &Field) -> Option<u32> {
    let mask = u32::MAX >> (32 - field.size);
    bank.get((field.offset / 32) as usize).map(|word| word >> (field.offset % 32) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

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
