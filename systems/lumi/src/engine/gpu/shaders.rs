//! The WGSL, put together.

use kernel_host::KernelSource;

use crate::counters::Scheme;

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("systems/lumi/shaders/", $name), include_str!(concat!("../../../shaders/", $name))))+
    };
}

/// Kind of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Calo,
    SciFi,
    VeloClusters,
    VeloTracks,
    Vertices,
}

impl Subject {
    pub(crate) const ALL: [Self; 5] = [Self::Calo, Self::SciFi, Self::VeloClusters, Self::VeloTracks, Self::Vertices];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Calo => "calo",
            Self::SciFi => "scifi",
            Self::VeloClusters => "velo_clusters",
            Self::VeloTracks => "velo_tracks",
            Self::Vertices => "vertices",
        }
    }
}

/// Selects lumi events.
pub(crate) fn select() -> KernelSource {
    piece!(KernelSource::new("select"), "types.wgsl", "select.wgsl")
}

/// Counts a subject in a scheme.
pub(crate) fn counter(subject: Subject, scheme: Scheme) -> KernelSource {
    let source = piece!(KernelSource::new(subject.name()), "types.wgsl");
    let source = match scheme {
        Scheme::Exact => piece!(source, "events/listed.wgsl"),
        Scheme::Float | Scheme::Fixed => piece!(source, "events/all.wgsl"),
    };
    match (subject, scheme) {
        (Subject::Calo, Scheme::Float) => piece!(source, "subjects/calo.wgsl", "calo_by_thread.wgsl"),
        (Subject::Calo, Scheme::Fixed) => piece!(source, "limbs.wgsl", "subjects/calo.wgsl", "calo_fixed.wgsl"),
        (Subject::Calo, Scheme::Exact) => piece!(source, "limbs.wgsl", "calo_exact.wgsl"),
        (Subject::SciFi | Subject::VeloClusters, _) => {
            let source = if subject == Subject::SciFi {
                piece!(source, "subjects/scifi.wgsl")
            } else {
                piece!(source, "subjects/velo_clusters.wgsl")
            };
            if scheme == Scheme::Float { piece!(source, "tally_by_thread.wgsl") } else { piece!(source, "tally.wgsl") }
        }
        (Subject::VeloTracks, Scheme::Float) => {
            piece!(source, "decisions/float.wgsl", "subjects/velo_tracks.wgsl", "velo_tracks_by_thread.wgsl")
        }
        (Subject::VeloTracks, _) => {
            piece!(source, "limbs.wgsl", "decisions/exact.wgsl", "subjects/velo_tracks.wgsl", "velo_tracks.wgsl")
        }
        (Subject::Vertices, _) => piece!(source, "limbs.wgsl", "decisions/exact.wgsl", "vertices.wgsl"),
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use kernel_host::naga::valid::Capabilities;
    use kernel_host::{struct_layout, translations};

    use super::super::Params;
    use super::*;
    use crate::event::{VeloTrack, Vertex};

    const SCHEMES: [Scheme; 3] = [Scheme::Float, Scheme::Fixed, Scheme::Exact];

    /// Every variant of every kernel parses, validates and is written out as SPIR-V, MSL and HLSL.
    #[test]
    fn every_variant_is_written_out() {
        let counters = SCHEMES.into_iter().flat_map(|scheme| Subject::ALL.map(|subject| counter(subject, scheme)));
        for source in counters.chain([select()]) {
            let written = translations(&source, &[], &[], Capabilities::empty(), true)
                .unwrap_or_else(|error| panic!("{}: {error}", source.kernel()));
            assert!(!written.spirv.is_empty() && written.msl.is_some() && written.hlsl.is_some());
        }
    }

    #[test]
    fn the_host_lays_structures_out_alike() {
        let check = |source: &KernelSource, name: &str, size: usize, offsets: &[usize]| {
            let layout = struct_layout(source, name).expect("the struct");
            assert_eq!(layout.size as usize, size, "{name}");
            assert_eq!(layout.fields.iter().map(|&(_, at)| at as usize).collect::<Vec<_>>(), offsets, "{name}");
        };
        let params = [
            offset_of!(Params, events),
            offset_of!(Params, cells),
            offset_of!(Params, quads),
            offset_of!(Params, full_words),
            offset_of!(Params, basic_words),
            offset_of!(Params, least_chi2),
            offset_of!(Params, chunks),
            offset_of!(Params, unused),
            offset_of!(Params, below),
            offset_of!(Params, above),
        ];
        check(&select(), "Params", size_of::<Params>(), &params);
        let track = [
            offset_of!(VeloTrack, x),
            offset_of!(VeloTrack, y),
            offset_of!(VeloTrack, z),
            offset_of!(VeloTrack, tx),
            offset_of!(VeloTrack, ty),
            offset_of!(VeloTrack, backward),
        ];
        let vertex = [
            offset_of!(Vertex, x),
            offset_of!(Vertex, y),
            offset_of!(Vertex, z),
            offset_of!(Vertex, z_variance),
            offset_of!(Vertex, tracks),
        ];
        for scheme in SCHEMES {
            check(&counter(Subject::VeloTracks, scheme), "Track", size_of::<VeloTrack>(), &track);
            check(&counter(Subject::Vertices, scheme), "Vertex", size_of::<Vertex>(), &vertex);
        }
    }
}
