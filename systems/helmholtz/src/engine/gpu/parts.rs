//! Work of one dispatch: levels that fit, and triangles that share no vertex.

use std::ops::Range;

use kernel_host::Gpu;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::mesh::{Mesh, Number};

/// Additional levels below and above a part, if not all levels fit at once: M f at a level needs f
/// at its neighbours, and S M f needs M f there.
const HALO: usize = 2;
/// Levels that are computed at once, and those of them whose numbers count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) all: Range<usize>,
    pub(super) inner: Range<usize>,
}

/// Windows of as many levels as a buffer of `fields` fields holds.
pub(super) fn windows<T: Number>(gpu: &Gpu, mesh: &Mesh, most: u64, fields: usize) -> Result<Vec<Window>> {
    let limits = gpu.limits();
    let most = most.min(limits.max_storage_buffer_binding_size).min(limits.max_buffer_size);
    let level = (mesh.vertices().len() * fields * size_of::<T>()) as u64;
    // Nodes and prisms are numbered in 32 bits there, and workgroups' ends go a little beyond.
    let numbered =
        (u64::from(u32::MAX) - (1 << 16)) / (mesh.vertices().len() * fields).max(mesh.triangles().len()) as u64;
    let levels = (most / level.max(1)).min(numbered);
    let all = mesh.levels();
    if levels >= all as u64 {
        return Ok(vec![Window { all: 0..all, inner: 0..all }]);
    }
    let step = (levels as usize).saturating_sub(2 * HALO);
    if step == 0 {
        let what = format!(
            "{} vertices are {level} bytes a level, and a field of {} levels is the least that is computed at once; {} holds {most} bytes \
             a field: use f32, a coarser mesh or the CPU engine",
            mesh.vertices().len(),
            2 * HALO + 1,
            gpu.name()
        );
        return Err(Error::TooLarge { what });
    }
    let window = |first: usize| {
        let end = (first + step).min(all);
        Window { all: first.saturating_sub(HALO)..(end + HALO).min(all), inner: first..end }
    };
    Ok((0..all).step_by(step).map(window).collect())
}

/// The levels of a window that count, to where they belong.
pub(super) fn put<T: Number>(to: &mut [T], levels: usize, found: &[T], window: &Window) {
    let first = window.inner.start - window.all.start;
    let columns = to.par_chunks_mut(levels).zip(found.par_chunks(window.all.len()));
    columns.for_each(|(to, found)| to[window.inner.clone()].copy_from_slice(&found[first..][..window.inner.len()]));
}

/// Triangles by colours, no two of which share a vertex, and where each colour begins: the first
/// colour that is free at all three vertices, triangle after triangle.
pub(super) fn colours(mesh: &Mesh) -> (Vec<u32>, Vec<u32>) {
    // Of each vertex, the colours that its triangles have. Where one has more than 64 triangles,
    // words are added.
    let mut taken: Vec<Vec<u64>> = vec![vec![0]; mesh.vertices().len()];
    let mut colour_of = Vec::with_capacity(mesh.triangles().len());
    for corners in mesh.triangles() {
        let word =
            |word: usize| corners.iter().filter_map(|&vertex| taken[vertex as usize].get(word)).fold(0, |a, b| a | b);
        let place = (0..).find(|&place| word(place) != u64::MAX).unwrap_or_default();
        let colour = 64 * place + word(place).trailing_ones() as usize;
        for &vertex in corners {
            let taken = &mut taken[vertex as usize];
            if taken.len() <= place {
                taken.resize(place + 1, 0);
            }
            taken[place] |= 1 << (colour % 64);
        }
        colour_of.push(colour as u32);
    }
    let count = colour_of.iter().max().map_or(0, |&most| most + 1);
    let mut order: Vec<u32> = (0..mesh.triangles().len() as u32).collect();
    order.sort_by_key(|&triangle| colour_of[triangle as usize]);
    let begins = |colour: u32| order.partition_point(|&triangle| colour_of[triangle as usize] < colour) as u32;
    let bounds = (0..=count).map(begins).collect();
    (order, bounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use crate::mesh::{Extrusion, Triangles};

    #[test]
    fn triangles_of_a_colour_share_no_vertex() {
        // A fan of 100 triangles around a vertex needs as many colours.
        let at = |i: usize| [f64::cos(i as f64 * 0.06), f64::sin(i as f64 * 0.06)];
        let fan = Triangles {
            vertices: std::iter::once([0.0; 2]).chain((0..101).map(at)).collect(),
            triangles: (0..100).map(|i| [0, i + 1, i + 2]).collect(),
        };
        for (flat, least) in [(fan, 100), (generate::irregular(9, 0.1, 3).expect("a mesh"), 6)] {
            let mesh = Mesh::new(flat, Extrusion::default()).expect("a mesh");
            let (order, bounds) = colours(&mesh);
            let mut all = order.clone();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..mesh.triangles().len() as u32));
            assert!(bounds.len() > least, "{} colours", bounds.len() - 1);
            for bounds in bounds.windows(2) {
                let of = &order[bounds[0] as usize..bounds[1] as usize];
                let mut vertices: Vec<u32> = of.iter().flat_map(|&t| mesh.triangles()[t as usize]).collect();
                vertices.sort_unstable();
                assert!(vertices.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    }

    #[test]
    fn windows_cover_all_levels_once() {
        let gpu = Gpu::noop().expect("wgpu's noop device");
        let mesh =
            Mesh::new(generate::unit_square(3).expect("a mesh"), Extrusion { levels: 23, height: 0.1 }).expect("one");
        let level = 16 * 4;
        for levels in 5..25 {
            let windows = windows::<f32>(&gpu, &mesh, levels * level, 1).expect("they fit");
            let inner: Vec<usize> = windows.iter().flat_map(|window| window.inner.clone()).collect();
            assert_eq!(inner, (0..23).collect::<Vec<_>>());
            for Window { all, inner } in &windows {
                assert!(all.len() as u64 <= levels && all.end <= 23);
                assert!(all.start == 0 || all.start + HALO == inner.start);
                assert!(all.end == 23 || all.end == inner.end + HALO);
            }
            assert_eq!(windows.len() == 1, levels >= 23);
        }
        let refused = windows::<f32>(&gpu, &mesh, 4 * level, 1).expect_err("too few").to_string();
        assert!(refused.contains("16 vertices are 64 bytes a level") && refused.contains("f32"), "{refused}");
    }
}
