//! The counters of an event, and the ways to count.

use crate::calorimeter::Calorimeter;

/// The number of calorimeter counters.
pub const CALO: usize = 8;
/// The number of counters of the fibre tracker.
pub const SCIFI: usize = 38;
/// The number of counters of Velo tracks.
pub const VELO_TRACKS: usize = 10;
/// The number of counters of Velo clusters.
pub const VELO_CLUSTERS: usize = 60;
/// The number of vertices whose z is kept.
pub const VERTEX_Z: usize = 10;

/// How counters are summed, and how the work is distributed on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// One thread an event, f32 sums, and few workgroups for all events, as earlier programs do.
    /// The last digits depend on the order of summation.
    Float,
    /// One workgroup an event. Energies times 10^8 are summed as 64-bit integers in workgroup
    /// memory, positive and negative ones separately. The sums do not depend on the order.
    Fixed,
    /// Workgroups for lumi events only, with integer gains. Threads sum before workgroups do. The
    /// sums are exact and do not depend on the order.
    #[default]
    Exact,
}

/// How a counter counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) scheme: Scheme,
    /// Two vertices are one if their distance squared is below this many times the sum of their
    /// variances.
    pub(crate) least_chi2: f32,
}

/// Sums of the calorimeter in the unit of their scheme.
///
/// The order is: sum of E_T; sum of E; E_T of the outer, middle and inner area at the top; the same
/// at the bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaloSums {
    /// In MeV.
    Float([f32; CALO]),
    /// In 10^-8 MeV: the sums of positive and of negative energies, both as magnitudes.
    Fixed {
        /// The sums of positive energies.
        positive: [u64; CALO],
        /// The sums of negative energies.
        negative: [u64; CALO],
    },
    /// In [`Calorimeter::units`].
    Exact([i64; CALO]),
}

impl CaloSums {
    /// Converts the sums to MeV.
    #[must_use]
    pub fn mev(&self, calorimeter: &Calorimeter) -> [f64; CALO] {
        let (et, energy) = calorimeter.units();
        std::array::from_fn(|i| match self {
            Self::Float(sums) => sums[i].into(),
            // Each sum is rounded before they are subtracted, as the original does.
            Self::Fixed { positive, negative } => ((positive[i] as f32 - negative[i] as f32) / 1e8).into(),
            Self::Exact(sums) => sums[i] as f64 * if i == 1 { energy } else { et },
        })
    }
}

/// Counters of vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VertexCounters {
    /// The number of vertices after close ones are dropped.
    pub vertices: u32,
    /// The number of these with |z| < 300 mm and less than 3 mm from the beam line.
    pub fiducial: u32,
    /// x, y and z \[mm\] of one vertex: number (event id) mod (vertices) in the order of z. Zeros
    /// if there is no vertex.
    pub position: [f32; 3],
    /// z \[mm\] of the first vertices in the order of z, then zeros.
    pub z: [f32; VERTEX_Z],
}

/// The counters of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventCounters {
    /// The index of the event in its batch.
    pub event: usize,
    /// The event id.
    pub event_id: u64,
    /// The sums of the calorimeter.
    pub calo: CaloSums,
    /// Hits of the fibre tracker. First for each station: modules 1 to 3; then for each station:
    /// module 4 and above. Then for each station and module, from 0: even and odd quarters.
    pub scifi: [u32; SCIFI],
    /// Velo clusters. First for each station: inner and outer sensors. Then the same for stations 0
    /// to 3, 4 to 13, 14 to 19 and 20 to 25.
    pub velo_clusters: [u32; VELO_CLUSTERS],
    /// Velo tracks: all, fiducial, and by pseudorapidity. None if the event was not reconstructed.
    pub velo_tracks: Option<[u32; VELO_TRACKS]>,
    /// Vertices. None if the event was not reconstructed.
    pub vertices: Option<VertexCounters>,
    /// The numbers of digits, hits and clusters that were skipped: digits marked as invalid, hits
    /// of an unknown station or module, clusters of an unknown sensor.
    pub skipped: [u32; 3],
}

/// The counter of a hit of the fibre tracker among those by module and quarters.
pub(crate) fn scifi_counter(station: u32, module: u32, quarter: u32) -> Option<usize> {
    let modules = if station == 3 { 6 } else { 5 };
    (station > 0 && module < modules).then(|| (6 + 10 * (station - 1) + 2 * module + quarter % 2) as usize)
}

/// Sums of stations that the counters by module and quarters make: modules 1 to 3, and from 4 on.
pub(crate) fn scifi_sums(counters: &mut [u32; SCIFI]) {
    for station in 0..3 {
        let modules = if station == 2 { 6 } else { 5 };
        let of = |counters: &[u32; SCIFI], from: usize, to: usize| {
            counters[6 + 10 * station + 2 * from..6 + 10 * station + 2 * to].iter().sum()
        };
        counters[station] = of(counters, 1, 4);
        counters[station + 3] = of(counters, 4, modules);
    }
}

/// Velo stations, and the last one of each bin of them.
pub(crate) const STATIONS: usize = 26;
pub(crate) const STATION_BINS: [usize; 4] = [3, 13, 19, 25];

/// Sums of stations by bin.
pub(crate) fn velo_sums(counters: &mut [u32; VELO_CLUSTERS]) {
    let mut bin = 0;
    for station in 0..STATIONS {
        for side in 0..2 {
            counters[2 * STATIONS + 2 * bin + side] += counters[2 * station + side];
        }
        bin += usize::from(station == STATION_BINS[bin]);
    }
}
