//! Fields and paths by themselves, with no physics: for tests and for benches.

use crate::field::Field;
use crate::integrate::{Accuracy, Path, State, follow, plain_step, step};
use crate::number::Number;

/// How far states go, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Walk {
    /// By [`plain_step`].
    Plain {
        /// How many.
        steps: u32,
        /// Of each \[mm\].
        length: f64,
    },
    /// By [`step`].
    Halved {
        /// How many.
        steps: u32,
        /// Of each \[mm\].
        length: f64,
    },
    /// By [`follow`].
    Follow {
        /// Of the path \[mm\].
        length: f64,
        /// What is asked of it.
        accuracy: Accuracy,
    },
}

impl Walk {
    /// Fields that a state needs, at most.
    pub(crate) fn fields(&self) -> u64 {
        match self {
            Self::Plain { steps, .. } => 4 * u64::from(*steps),
            Self::Halved { steps, .. } => 11 * u64::from(*steps),
            Self::Follow { accuracy, .. } => 11 * u64::from(accuracy.steps),
        }
    }

    /// The path of a state, by a core of the CPU. Of steps of a length, all are made, whatever the state is.
    #[must_use]
    pub fn path<T: Number>(&self, field: &impl Field<T>, charge: T, from: State<T>) -> Path<T> {
        let steps_of = |one: &dyn Fn(State<T>) -> State<T>, steps: u32, length: f64| {
            let state = (0..steps).fold(from, |state, _| one(state));
            Path { state, length: T::of(f64::from(steps) * length), steps }
        };
        match *self {
            Self::Plain { steps, length } => {
                steps_of(&|state| plain_step(field, charge, state, T::of(length)), steps, length)
            }
            Self::Halved { steps, length } => {
                steps_of(&|state| step(field, charge, state, T::of(length)), steps, length)
            }
            Self::Follow { length, accuracy } => follow(field, charge, from, T::of(length), &accuracy),
        }
    }
}
