//! The table of keys: [`Config`] with the type, default, range, unit and meaning of each key, and
//! the options whose values are words. This is the one place that names a key's properties.

use crate::config::keys::{Group, Key, Kind};
use crate::config::max_layer::MaxLayer;
use crate::config::preset::Preset;
use crate::config::value::{Field, Value};
use crate::config::words::words;
use crate::error::Error;

words! {
    /// Which slices a pair or triplet may reach into.
    pub enum Neighbours for "neighbours" = Bending {
        /// The own slice and one on either side, for every pair of layers: the thesis's
        /// simplification.
        Single = "single",
        /// As many slices as a track of `bending_pt_gev` bends across, for each pair of layers.
        Bending = "bending",
    }
}

words! {
    /// Weight of a pair of spacepoints in the histogram.
    pub enum PairWeight for "pair_weight" = One {
        /// 1 for every pair.
        One = "one",
        /// 1 for a pair that at least one third spacepoint confirms.
        Any = "any",
        /// The number of third spacepoints that confirm the pair.
        Count = "count",
        /// By the transverse momentum of the track of pair and third spacepoints.
        ///
        /// [`PtWeight`](crate::config::PtWeight) has the formula.
        Pt = "pt",
    }
}

words! {
    /// Order in which peaks are taken: the highest rank first.
    pub enum Ranking for "ranking" = Entries {
        /// By the sum of the weights in the peak's three bins.
        Entries = "entries",
        /// By the sum of the weights and by the number of directions with hard and soft tracks.
        ///
        /// The vertex of the hardest tracks comes first at any pile-up
        /// ([`PtWeight::rank`](crate::config::PtWeight::rank)).
        Directions = "directions",
    }
}

words! {
    /// Estimate of a vertex's z from its peak.
    pub enum ZEstimate for "z_estimate" = Mean {
        /// The mean of the entries in the peak's three bins, by weight.
        Mean = "mean",
        /// The mean of the pairs where they are densest near the peak, by the precision of their
        /// layers.
        Densest = "densest",
    }
}

words! {
    /// The definition of [`Vertex::significance`](crate::Vertex::significance), which
    /// [`Config::min_significance`] cuts on.
    ///
    /// Both compare n, the entries in the peak's three bins, with b, the mean of the background
    /// windows.
    pub enum Significance for "significance" = Poisson {
        /// The Poisson significance of the number of tracks, after Li and Ma.
        ///
        /// Astrophys. J. 272 (1983) 317, equation 17: n and b are divided by the entries of a
        /// track. It holds at low counts, and also where the background windows are empty.
        Poisson = "poisson",
        /// (n - b) / sqrt(b) of entries, the definition of the reference program.
        ///
        /// None where b is 0, and far too large where b is below some ten entries.
        Gaussian = "gaussian",
    }
}

words! {
    /// The second search of an RoI in which the first one finds no peak.
    pub enum Fallback for "fallback" = None {
        /// No second search.
        None = "none",
        /// With the preset full-scan, whose pairs also have tracks of low momentum.
        ///
        /// Range of z, beam, field, phi window, number of vertices, extrapolation, background and
        /// significance remain the first search's.
        FullScan = "full-scan",
    }
}

words! {
    /// Where along the beam a pair of spacepoints comes from.
    pub enum Extrapolation for "extrapolation" = Linear {
        /// Along a line that meets the beam: z = (z2 rho1 - z1 rho2) / (rho1 - rho2).
        Linear = "linear",
        /// Along the line through both spacepoints, to where it is nearest to the beam.
        ///
        /// With d0 the distance there, rho gives way to sqrt(rho^2 - d0^2) (thesis, section 5.1).
        Accurate = "accurate",
    }
}

words! {
    /// The tracklets of pixels that are returned.
    pub enum Tracklets for "tracklets" = Off {
        /// None.
        Off = "off",
        /// Tracklets of the first vertex: within 3 standard deviations and 0.1 mm of its z.
        ///
        /// They are the seeds of its tracks.
        Window = "window",
        /// Tracklets of the whole range of z.
        All = "all",
    }
}

words! {
    /// The window of an RoI for which none is given.
    pub enum DefaultWindow for "phi_window" = FullScan {
        /// The full circle.
        FullScan = "full-scan",
        /// The smallest range that holds the RoI's spacepoints.
        Spacepoints = "spacepoints",
    }
}

/// Declares [`Config`] and the table of its keys.
///
/// Each key has its documentation, type, value in the preset `default`, values, unit, and group.
macro_rules! keys {
    (
        $(#[$about:meta])*
        pub struct Config {
            $(
                $(#[doc = $doc:literal])+
                $name:ident: $type:ty = $base:expr, $kind:expr $(, in $unit:literal)?; $group:ident
            )+
        }
    ) => {
        $(#[$about])*
        #[non_exhaustive]
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {
            $(
                $(#[doc = $doc])+
                $(#[doc = concat!("\n\nUnit: ", $unit, ".")])?
                pub $name: $type,
            )+
        }

        impl Config {
            /// All keys, in the order of [`Config`]: names, values, units and meanings.
            pub const KEYS: &'static [Key] = &[
                $(Key {
                    name: stringify!($name),
                    group: Group::$group,
                    kind: $kind,
                    unit: concat!("" $(, $unit)?),
                    about: concat!($($doc, "\n"),+),
                }),+
            ];

            /// Returns the error for a name that no key has.
            pub(super) fn unknown_key(name: &str) -> Error {
                Error::UnknownKey { name: name.to_owned(), known: vec![$(stringify!($name)),+] }
            }

            /// Returns the value of the key of this name.
            pub(super) fn value(&self, name: &str) -> Value {
                match name {
                    $(stringify!($name) => self.$name.to_value(),)+
                    _ => Value::Absent,
                }
            }

            /// Sets the key of this name. Returns whether the value is of the key's type.
            pub(super) fn set_value(&mut self, name: &str, value: &Value) -> bool {
                match name {
                    $(stringify!($name) => Field::from_value(value).map(|value| self.$name = value).is_some(),)+
                    _ => false,
                }
            }

            /// The values of the preset `default`, from which all presets start.
            pub(super) const BASE: Self = Self { $($name: $base),+ };
        }
    };
}

use Kind::{Flag, Pair, Real, Whole};

keys! {
    /// Every option of the physics. [`Config::KEYS`] has the names, ranges and units of all fields.
    ///
    /// ```
    /// use zfinder::config::PairWeight;
    /// use zfinder::{Config, Preset};
    ///
    /// let mut config = Config::preset(Preset::FullScan);
    /// config.z_bin_mm = 0.3;
    /// config.pair_weight = PairWeight::Any;
    /// config.validate()?;
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub struct Config {
        /// Preset from which the other keys start.
        ///
        /// It has no effect on a search.
        preset: Preset = Preset::Default, Kind::Word(Preset::WORDS); Search
        /// Most vertices for an RoI, highest peak first.
        peaks: u32 = 1, Whole { low: 1, high: Config::MAX_PEAKS, optional: false }; Search
        /// Slices of phi that a pair may reach into.
        neighbours: Neighbours = Neighbours::Bending, Kind::Word(Neighbours::WORDS); Search
        /// Weight of a pair.
        ///
        /// Third spacepoints keep the peak when there are many collisions at once. `pt` needs one
        /// histogram an RoI: `charge_aware` and `histogram_per_slice` must be `false`.
        pair_weight: PairWeight = PairWeight::One, Kind::Word(PairWeight::WORDS); Search
        /// Order in which peaks are taken.
        ///
        /// `directions` needs `pair_weight` = `pt`.
        ranking: Ranking = Ranking::Entries, Kind::Word(Ranking::WORDS); Search
        /// Estimate of z from a peak.
        ///
        /// `densest` needs `pair_weight` = `pt`.
        z_estimate: ZEstimate = ZEstimate::Mean, Kind::Word(ZEstimate::WORDS); Search
        /// Window in phi of an RoI for which none is given.
        phi_window: DefaultWindow = DefaultWindow::FullScan, Kind::Word(DefaultWindow::WORDS); Search
        /// Beam position (x, y) at z = 0.
        ///
        /// It is subtracted before rho and phi are used.
        beam_spot_mm: [f64; 2] = [0.0; 2], Pair { low: -1e3, high: 1e3 }, in "mm"; Search
        /// Slope of the beam, dx/dz and dy/dz.
        beam_spot_tilt: [f64; 2] = [0.0; 2], Pair { low: -1.0, high: 1.0 }; Search
        /// Standard deviation of vertices in x and y about the beam.
        ///
        /// With `z_estimate` = `densest`, the error of z contains it. Below
        /// [`Config::BEAM_WIDTH_MM`] it has no effect.
        beam_width_mm: f64 = Config::BEAM_WIDTH_MM, Real { low: 0.0, high: 1e3 }, in "mm"; Search
        /// How z is extrapolated to the beam.
        extrapolation: Extrapolation = Extrapolation::Linear, Kind::Word(Extrapolation::WORDS); Search
        /// Last layer that takes part, by number or by sensor.
        max_layer: MaxLayer = MaxLayer::All, Kind::WholeOrWord(MaxLayer::WORDS); Search
        /// Number of filled layers, from the innermost, that may hold the inner spacepoint of a
        /// pair.
        ///
        /// As many as the detector has, or more: all.
        first_layers: u32 = 3, Whole { low: 1, high: u32::MAX, optional: false }; Search
        /// Second search of an RoI without a peak.
        fallback: Fallback = Fallback::None, Kind::Word(Fallback::WORDS); Search

        /// Width of a bin of z at eta = 0.
        ///
        /// The range may have [`Config::MAX_BINS`] bins, and may end as many bins from z = 0.
        z_bin_mm: f64 = 0.2, Real { low: 1e-3, high: 1e4 }, in "mm"; Histogram
        /// Increase of the width of a bin with |eta| of the RoI.
        z_bin_eta_coeff: f64 = 0.1, Real { low: 0.0, high: 1e3 }, in "mm"; Histogram
        /// Lower end of the range of z.
        ///
        /// A pair must lie above it.
        z_min_mm: f64 = -200.0, Real { low: -1e5, high: 1e5 }, in "mm"; Histogram
        /// Upper end of the range of z.
        ///
        /// A pair must lie below it.
        z_max_mm: f64 = 200.0, Real { low: -1e5, high: 1e5 }, in "mm"; Histogram
        /// A histogram of pairs that bend up, and one of pairs that bend down.
        ///
        /// Each has pairs that bend at most one slice the other way. A track is in one of them,
        /// chance pairs are in both.
        charge_aware: bool = false, Flag; Histogram
        /// A histogram for each slice, of the pairs whose track may come from there.
        ///
        /// An RoI with more than 2^25 bins in all of them is too much
        /// ([`Status::CapacityExceeded`](crate::Status::CapacityExceeded)).
        histogram_per_slice: bool = false, Flag; Histogram
        /// Most pairs of an RoI: spacepoints of different layers in slices within reach.
        ///
        /// An RoI with more is not searched
        /// ([`Status::CapacityExceeded`](crate::Status::CapacityExceeded)).
        max_pairs: f64 = 2e9, Real { low: 1.0, high: 1e18 }; Histogram
        /// Most triplets of an RoI: its pairs, with each third spacepoint within reach.
        ///
        /// Counted only if third spacepoints confirm pairs. An RoI with more is not searched
        /// ([`Status::CapacityExceeded`](crate::Status::CapacityExceeded)).
        max_triplets: f64 = 1e11, Real { low: 1.0, high: 1e18 }; Histogram
        /// Distance within which a peak is mixed into a vertex that was found before.
        vertex_separation_bins: f64 = 0.0, Real { low: 0.0, high: Config::MAX_BINS as f64 }, in "bins"; Histogram
        /// Distance, as a fraction of its |z|, within which a peak is mixed into an earlier vertex.
        vertex_distance_cut: f64 = 0.0, Real { low: 0.0, high: 1e6 }; Histogram
        /// Share of a mixed peak in the vertex's z and weight; 0 drops the peak.
        vertex_mixing: f64 = 0.0, Real { low: 0.0, high: 1.0 }; Histogram
        /// Definition of a vertex's significance.
        significance: Significance = Significance::Poisson, Kind::Word(Significance::WORDS); Histogram
        /// Least significance of a vertex.
        ///
        /// The first peak below it ends the search. 0 keeps all peaks.
        min_significance: f64 = 0.0, Real { low: 0.0, high: 1e9 }, in "sigma"; Histogram
        /// Fraction of all windows of three bins, the lowest, whose mean is the background.
        ///
        /// 0: no background and no significance.
        percentile: f64 = 1.0, Real { low: 0.0, high: 1.0 }; Histogram
        /// Between peaks of equal height, take the one nearest to the middle of the range.
        ///
        /// Otherwise the one of lowest z is taken.
        prefer_central: bool = true, Flag; Histogram

        /// Width of a slice of phi.
        phi_slice_deg: f64 = 0.2, Real { low: 0.01, high: 360.0 }, in "deg"; Slices
        /// In full scan, let the slices at +pi and -pi be neighbours.
        wrap_full_scan: bool = true, Flag; Slices
        /// Factor on the bending.
        neighbour_multiplier: f64 = 1.0, Real { low: 0.0, high: 1e3 }; Slices
        /// Largest number of neighbour slices.
        ///
        /// There is no limit if the key is absent, which is `none` on the command line.
        neighbour_max: Option<u32> = None, Whole { low: 1, high: u32::MAX, optional: true }; Slices
        /// Transverse momentum of the track whose bending sets the neighbour slices.
        bending_pt_gev: f64 = 6.0, Real { low: 0.05, high: 1e4 }, in "GeV"; Slices
        /// Solenoid field.
        field_t: f64 = 2.0, Real { low: 0.0, high: 100.0 }, in "T"; Slices
        /// Change of the bending with eta in the end-caps.
        dphi_deta: f64 = -0.02, Real { low: -1.0, high: 0.0 }, in "rad"; Slices

        /// Largest difference of the two z extrapolations.
        triplet_dz_mm: f64 = 25.0, Real { low: 0.0, high: 1e6 }, in "mm"; Triplets
        /// Largest difference of the two curvatures.
        triplet_dk: f64 = 0.005, Real { low: 0.0, high: 1e6 }, in "rad/mm"; Triplets
        /// Limit of the difference of the two azimuths at the beam line.
        ///
        /// The difference must be below it.
        triplet_dp: f64 = 0.05, Real { low: 0.0, high: 1e6 }, in "rad"; Triplets

        /// All vertices, found from tracklets, in place of the highest peaks of the histogram.
        ///
        /// Vertices at peaks come first, in the order of the peaks.
        all_vertices: bool = false, Flag; Tracklets
        /// Tracklets that are returned with the vertices.
        ///
        /// Where they are searched, vertices have x, y, a covariance and a sharper z.
        tracklets: Tracklets = Tracklets::Off, Kind::Word(Tracklets::WORDS); Tracklets
        /// Least transverse momentum of a tracklet.
        tracklet_pt_gev: f64 = 0.4, Real { low: 0.05, high: 1e3 }, in "GeV"; Tracklets
        /// Least significance of a vertex of tracklets.
        tracklet_significance: f64 = 2.7, Real { low: 0.0, high: 1e9 }, in "sigma"; Tracklets
    }
}
