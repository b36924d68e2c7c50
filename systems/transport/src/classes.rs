//! Elements by class: how they are counted, and how they are sorted.

use std::time::Duration;

/// The method by which a GPU counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// Every element is an atomic addition in device memory, as in the first version of the
    /// prototype.
    Atomics,
    /// Threads count, workgroups sum the counts in a tree, and each workgroup adds its sums in
    /// device memory. For more than eight classes, workgroups count in workgroup memory. If that is
    /// too small, the method is [`Count::Atomics`].
    #[default]
    Tree,
    /// As [`Count::Tree`], but subgroups sum the counts of threads. The device needs subgroups.
    Subgroups,
}

impl Count {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Atomics, Self::Tree, Self::Subgroups];

    /// Returns `atomics`, `tree` or `subgroups`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Atomics => "atomics",
            Self::Tree => "tree",
            Self::Subgroups => "subgroups",
        }
    }
}

/// Elements sorted by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorted {
    /// The number of elements in each class.
    pub counts: Vec<u32>,
    /// The indices of the elements, class by class. Within a class they ascend.
    pub order: Vec<u32>,
}

/// The time of a part, and the bytes that it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTime {
    /// The part.
    pub part: String,
    /// The time of each round.
    pub rounds: Vec<Duration>,
    /// Bytes read and written, each counted once. 0 if the time is almost independent of the number
    /// of elements.
    pub bytes: u64,
}

impl Sorted {
    /// Returns where each class begins in [`Sorted::order`].
    #[must_use]
    pub fn offsets(&self) -> Vec<u32> {
        let before = |sum: &mut u32, &count: &u32| {
            let offset = *sum;
            *sum += count;
            Some(offset)
        };
        self.counts.iter().scan(0, before).collect()
    }

    /// Returns the elements of a class. Empty if the class does not exist.
    #[must_use]
    pub fn of(&self, class: u32) -> &[u32] {
        let class = class as usize;
        let Some(&count) = self.counts.get(class) else { return &[] };
        let first = self.counts[..class].iter().map(|&count| count as usize).sum();
        self.order.get(first..first + count as usize).unwrap_or_default()
    }
}
