//! What is counted: the counters of an event, and the ways to count.

use crate::calorimeter::Calorimeter;

/// Calorimeter counters.
pub const CALO: usize = 8;
/// Counters of the fibre tracker.
pub const SCIFI: usize = 38;
/// Counters of Velo tracks.
pub const VELO_TRACKS: usize = 10;
/// Counters of Velo clusters.
pub const VELO_CLUSTERS: usize = 60;
/// Vertices whose z is kept.
pub const VERTEX_Z: usize = 10;

/// How the counters are summed, and how the work is laid out on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// A thread an event and f32 sums, a few workgroups for all events: how it was done before. The last digits depend on
    /// the order.
    Float,
    /// A workgroup an event, energies times 10^8 in 64-bit integers that are summed in workgroup memory, positive and
    /// negative ones apart: the same bits in any order.
    Fixed,
    /// A workgroup for lumi events only, whole-number gains, sums of threads before those of the workgroup: exact, and the
    /// same bits in any order.
    #[default]
    Exact,
}

/// Sums of the calorimeter, as the scheme makes them: sum of E_T, sum of E, and E_T of the outer, middle and inner area, at
/// the top and then at the bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaloSums {
    /// In MeV.
    Float([f32; CALO]),
    /// In 10^-8 MeV: sums of energies above zero, and of those below, without their sign.
    Fixed {
        /// Above zero.
        positive: [u64; CALO],
        /// Below.
        negative: [u64; CALO],
    },
    /// In [`Calorimeter::units`].
    Exact([i64; CALO]),
}

impl CaloSums {
    /// In MeV.
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
    /// Vertices after the clean-up.
    pub vertices: u32,
    /// Of these, those with |z| < 300 mm that are less than 3 mm from the beam line.
    pub fiducial: u32,
    /// x, y and z in mm of the vertex of number (event id) mod (vertices), in the order of z; zeros if there is none.
    pub position: [f32; 3],
    /// z in mm of the first ones in the order of z; then zeros.
    pub z: [f32; VERTEX_Z],
}

/// The counters of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventCounters {
    /// The event's place in the batch.
    pub event: usize,
    /// Its number.
    pub event_id: u64,
    /// Of the calorimeter.
    pub calo: CaloSums,
    /// Hits of the fibre tracker: modules 1 to 3 of each station, module 4 and above of each; then modules 0, 1, ... of each
    /// station, even quarters and odd ones.
    pub scifi: [u32; SCIFI],
    /// Clusters of each Velo station, inner and outer sensors; then of stations 0 to 3, 4 to 13, 14 to 19 and 20 to 25.
    pub velo_clusters: [u32; VELO_CLUSTERS],
    /// Velo tracks, fiducial ones, and by pseudorapidity; none if the event was not reconstructed.
    pub velo_tracks: Option<[u32; VELO_TRACKS]>,
    /// Vertices; none if the event was not reconstructed.
    pub vertices: Option<VertexCounters>,
    /// Digits, hits and clusters that nothing was counted for: digits marked as invalid, hits of no station or of a module
    /// that the station has not, clusters of no sensor.
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
