//! A set of RoIs that have been read, which takes little memory for consecutive numbers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use zfinder::RoiId;

/// A set of RoIs, and the number of the file of each. Consecutive events with the same RoI number
/// in one file share one entry.
#[derive(Debug, Default)]
pub struct RoiSet {
    /// Maps (RoI, first event) to (last event, file).
    ranges: BTreeMap<(u64, u64), (u64, usize)>,
}

impl RoiSet {
    /// Returns the file of the RoI.
    pub fn file_of(&self, id: RoiId) -> Option<usize> {
        let (&(roi, _), &(last, file)) = self.ranges.range(..=(id.roi_id, id.event_id)).next_back()?;
        (roi == id.roi_id && last >= id.event_id).then_some(file)
    }

    /// Returns the number of events, the first and the last. None for an empty set, and for RoIs of
    /// several numbers.
    pub fn events(&self) -> Option<(u64, u64, u64)> {
        let (&(roi, first), _) = self.ranges.first_key_value()?;
        let (&(other, _), &(last, _)) = self.ranges.last_key_value()?;
        let count = self.ranges.iter().map(|(&(_, first), &(last, _))| last - first).sum::<u64>();
        (roi == other).then_some((count + self.ranges.len() as u64, first, last))
    }

    /// Returns whether an RoI of one of these events, with this number, is in the set.
    pub fn has_any(&self, roi_id: u64, events: &RangeInclusive<u64>) -> bool {
        let last = self.ranges.range(..=(roi_id, *events.end())).next_back();
        last.is_some_and(|(&(roi, _), &(last, _))| roi == roi_id && last >= *events.start())
    }

    /// Adds an RoI. Returns its previous file if the RoI is known already.
    pub fn insert(&mut self, id: RoiId, file: usize) -> Option<usize> {
        let RoiId { event_id, roi_id } = id;
        if let Some(before) = self.file_of(id) {
            return Some(before);
        }
        let after = event_id.checked_add(1).map(|next| (roi_id, next));
        // If the range of the next event is of the same file, the new range includes it.
        let last = match after.and_then(|key| self.ranges.get(&key).copied().map(|range| (key, range))) {
            Some((key, (last, of))) if of == file => {
                self.ranges.remove(&key);
                last
            }
            _ => event_id,
        };
        let before = self.ranges.range_mut(..(roi_id, event_id)).next_back();
        match before {
            Some((&(roi, _), (end, of))) if roi == roi_id && end.checked_add(1) == Some(event_id) && *of == file => {
                *end = last;
            }
            _ => {
                self.ranges.insert((roi_id, event_id), (last, file));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn answers_as_a_plain_map_does() {
        let mut rng = fastrand::Rng::with_seed(3);
        let (mut seen, mut plain) = (RoiSet::default(), HashMap::new());
        for _ in 0..3000 {
            let event_id = if rng.u8(0..20) == 0 { u64::MAX - rng.u64(0..3) } else { rng.u64(0..400) };
            let id = RoiId { event_id, roi_id: rng.u64(0..4) };
            let file = rng.usize(0..2);
            let before = plain.get(&id).copied();
            assert_eq!(seen.insert(id, file), before, "{id:?}");
            plain.entry(id).or_insert(file);
        }
        for event_id in (0..401).chain(u64::MAX - 4..=u64::MAX) {
            for roi_id in 0..5 {
                let id = RoiId { event_id, roi_id };
                assert_eq!(seen.file_of(id), plain.get(&id).copied(), "{id:?}");
            }
        }
    }

    #[test]
    fn events_in_a_row_take_no_memory() {
        let mut seen = RoiSet::default();
        for event_id in (0..1000).chain((1000..2000).rev()) {
            for roi_id in 0..2 {
                assert_eq!(seen.insert(RoiId { event_id, roi_id }, 0), None);
            }
        }
        assert_eq!(seen.ranges.len(), 2);
    }
}
