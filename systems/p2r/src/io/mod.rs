//! Files: tracks and hits in, fitted tracks out.
//!
//! # Input
//!
//! | `.npz` ([`read_sample`]) | shape | |
//! |---|---|---|
//! | `par` | (n, 6) | x, y, z \[cm\], 1/pt \[1/GeV\], phi, theta of each track's start |
//! | `cov` | (n, 21) | the lower triangle of their covariance, row by row |
//! | `charge` | (n) | 1 or -1 |
//! | `hit_pos`, `hit_cov` | (m, 3), (m, 6) | x, y, z \[cm\] of the hits, and the lower triangle of their covariance |
//! | `hit_offsets` | (n + 1) | where each track's hits begin, in the order in which it reaches them |
//! | `truth` | (n, 6) | optional: the true parameters at the last hit |
//! | `event_id`, `track_id` | (n) | optional: integers that the output repeats |
//!
//! A hit whose variance of z is 0 lies on a disk across the beam. Other hits lie on cylinders.
//! Arrays may have any of numpy's types of integers, floats (but no long doubles) and bool, in
//! either byte order, by rows or by columns. Other usual names of `event_id` are read too (`event`,
//! `eventNumber`, `entry`); similar names are refused.
//!
//! A folder ([`read_events`]) has events in the CSV files of TrackML or ACTS; see [`EventOptions`].
//!
//! [`Material`] reads the layers of a detector, in which tracks scatter.
//!
//! # Output
//!
//! [`write()`] writes an `.npy` array, [`write_arrays`] an `.npz` file with chi2 and pulls,
//! [`write_table`] the same as CSV.

mod events;
mod material;
mod output;
mod sample;
mod surfaces;
mod table;

pub use events::{EventOptions, read_events};
pub use material::Material;
pub use output::{COLUMNS, write, write_arrays, write_table};
pub use sample::{Labels, Sample, SampleTrack, read_sample};
