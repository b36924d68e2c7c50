//! Counters from the words that kernels write.

use crate::counters::{
    CALO, CaloSums, EventCounters, SCIFI, Scheme, VELO_CLUSTERS, VELO_TRACKS, VERTEX_Z, VertexCounters,
};
use crate::event::EventBatch;

/// The number of words of an event, and where those of each detector begin; as in
/// shaders/types.wgsl.
pub(super) const WORDS: usize = 160;
const CALO_AT: usize = 0;
const SCIFI_AT: usize = 32;
const VELO_TRACKS_AT: usize = 70;
const VELO_CLUSTERS_AT: usize = 80;
const VERTICES_AT: usize = 140;
const SKIPPED_AT: usize = 155;

/// Returns the counters of an event of a batch from the words of its kernel results.
pub(super) fn decode(scheme: Scheme, batch: &EventBatch, event: usize, words: &[u32]) -> EventCounters {
    let array = |from: usize| move |i: usize| words[from + i];
    let float = |at: usize| f32::from_bits(words[at]);
    let long = |from: usize| move |i: usize| u64::from(words[from + 2 * i]) | u64::from(words[from + 2 * i + 1]) << 32;
    let calo = match scheme {
        Scheme::Float => CaloSums::Float(std::array::from_fn(|i| float(CALO_AT + i))),
        Scheme::Fixed => CaloSums::Fixed {
            positive: std::array::from_fn(long(CALO_AT)),
            negative: std::array::from_fn(long(CALO_AT + 2 * CALO)),
        },
        Scheme::Exact => CaloSums::Exact(std::array::from_fn(|i| long(CALO_AT)(i) as i64)),
    };
    let header = &batch.headers[event];
    EventCounters {
        event,
        event_id: header.event_id,
        calo,
        scifi: std::array::from_fn::<_, SCIFI, _>(array(SCIFI_AT)),
        velo_clusters: std::array::from_fn::<_, VELO_CLUSTERS, _>(array(VELO_CLUSTERS_AT)),
        velo_tracks: header.reconstructed.then(|| std::array::from_fn::<_, VELO_TRACKS, _>(array(VELO_TRACKS_AT))),
        vertices: header.reconstructed.then(|| VertexCounters {
            vertices: words[VERTICES_AT],
            fiducial: words[VERTICES_AT + 1],
            position: std::array::from_fn(|i| float(VERTICES_AT + 2 + i)),
            z: std::array::from_fn::<_, VERTEX_Z, _>(|i| float(VERTICES_AT + 5 + i)),
        }),
        skipped: std::array::from_fn(array(SKIPPED_AT)),
    }
}
