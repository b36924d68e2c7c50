//! Names of the published tunings.

use crate::config::words::words;

words! {
    /// Published tunings.
    pub enum Preset for "preset" = Auto {
        /// For any event: hard-scatter, and full-scan where it finds no peak.
        Auto = "auto",
        /// For the hard scatter among many interactions: confirmed pairs weighted by pT, 4
        /// vertices.
        ///
        /// Pixels and short strips.
        HardScatter = "hard-scatter",
        /// For all vertices of an event, found from tracklets of pixels.
        AllVertices = "all-vertices",
        /// The reference program's: bending neighbours, 3 inner layers, 0.2 mm bins, 1 vertex.
        Default = "default",
        /// Full scan in slices of 1 degree, 3 vertices.
        FullScan = "full-scan",
        /// For the beam spot: full scan in slices of 1 degree, 3 vertices.
        BeamSpot = "beam-spot",
        /// For B physics: full scan in slices of 1 degree, 4 inner layers, 3 vertices.
        Bphysics = "bphysics",
        /// For jets: pairs that a third spacepoint confirms, 3 vertices.
        Jet = "jet",
        /// For electrons and photons: confirmed pairs in narrow slices, a histogram a charge, 4
        /// vertices.
        Egamma = "egamma",
        /// For muons: the same for tracks that bend more.
        Muon = "muon",
        /// For taus: the same in wider slices.
        Tau = "tau",
        /// For many interactions: pixels, confirmed pairs in full scan, 4 vertices that stand out.
        HighPileup = "high-pileup",
        /// For thousands of soft tracks, such as heavy ions: pixels, pairs confirmed within 0.5 mm.
        ///
        /// In full scan.
        HighMultiplicity = "high-multiplicity",
        /// The thesis's: single neighbours, all layers as inner layers, 0.4 mm bins.
        Thesis = "thesis",
    }
}
