//! Probes of fields and paths, which tests and benches use without physics.

use crate::field::Field;
use crate::integrate::{Accuracy, Path, State, follow, plain_step, step};
use crate::number::Number;

/// The propagation of states through a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Walk {
    /// Steps of [`plain_step`].
    Plain {
        /// The number of steps.
        steps: u32,
        /// The length of a step \[mm\].
        length: f64,
    },
    /// Steps of [`step`].
    Halved {
        /// The number of steps.
        steps: u32,
        /// The length of a step \[mm\].
        length: f64,
    },
    /// A path of [`follow`].
    Follow {
        /// The length of the path \[mm\].
        length: f64,
        /// The accuracy of the path.
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

    /// Returns the path of a state, computed on one CPU core. Steps of a fixed length are all made,
    /// whatever the state.
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
