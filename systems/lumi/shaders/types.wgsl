// Declarations that all kernels share: the batch, and the places of an event's counters.

struct Params {
    events: u32,
    cells: u32,
    quads: u32, // of four words, eight digits, an event
    full_words: u32, // of a summary
    basic_words: u32,
    least_chi2: f32, // of two vertices that are not one
    chunks: u32, // of quads, as calo_exact takes them
    unused: u32,
    // Squared slopes at pseudorapidities 2, 3, 4 and 5: low and high words.
    below: array<vec4<u32>, 2>,
    above: array<vec4<u32>, 2>,
}

// Flags of an event.
const BASIC: u32 = 1u;
const FULL: u32 = 2u;
const RECONSTRUCTED: u32 = 4u;

// Words of an event's counters, and where each detector's begin.
const WORDS: u32 = 160u;
// Calorimeter sums: positive and negative parts of two words each, or one sum of one or two words.
const CALO_AT: u32 = 0u;
const SCIFI_AT: u32 = 32u;
const VELO_TRACKS_AT: u32 = 70u;
const VELO_CLUSTERS_AT: u32 = 80u;
const VERTICES_AT: u32 = 140u;
const SKIPPED_AT: u32 = 155u; // digits, hits, clusters

const NONE: u32 = 0xffffffffu;

// Dispatches are rows of so many workgroups.
const ROW: u32 = 32768u;
