use super::*;
use crate::config::{Config, Preset};
use crate::detector::Detector;
use crate::engine::gpu::capacity::{Capacity, cut, work_of};
use crate::engine::plan::Search;
use crate::engine::records::Params;
use crate::options::EngineOptions;
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{PhiWindow, RoiDescriptor, Spacepoint};
use kernel_host::Gpu;

/// The shape of the default configuration, with the limits that WebGPU promises.
fn shape() -> Shape {
    let gpu = Gpu::noop().expect("wgpu's noop backend");
    pollster::block_on(Shape::new::<f32>(&gpu, &search(), &EngineOptions::default())).expect("a shape")
}

fn search() -> Search {
    Search::new(&Config::preset(Preset::Default), &Detector::atlas2010()).expect("a valid configuration")
}

const WEBGPU: Capacity =
    Capacity { buffer_bytes: 128 << 20, upload_bytes: 16 << 20, workgroups: 65_535, filling: 2048, work: 1e12 };

/// The plan of a part of these RoIs, whose spacepoints take 8 bytes.
fn plan_part(plans: &[RoiPlan], capacity: &Capacity, shape: &Shape) -> PartPlan<f32> {
    let form = (Encoding::Lossless, 8);
    PartPlan::new(&search(), shape, capacity, form, Header::Exact, plans.iter(), || Ok(256)).expect("a plan")
}

fn share(plans: &[RoiPlan], capacity: &Capacity, shape: &Shape) -> Sharing {
    Sharing::new::<f32>(choose_method(shape, plans.iter()), plans.iter(), capacity, shape)
}

/// RoIs of a tenth of a radian with so many spacepoints each.
fn plans(spacepoints: impl IntoIterator<Item = usize>) -> Vec<RoiPlan> {
    let window = Some(PhiWindow::new(0.0, 0.1).expect("a window"));
    let mut batch = RoiBatch::new();
    for count in spacepoints {
        let point = Spacepoint { rho: 50.0, phi: 0.05, z: 0.0, layer: 0 };
        batch.push(RoiDescriptor { window, ..RoiDescriptor::default() }, std::iter::repeat_n(point, count));
    }
    let search = search();
    batch.iter().map(|roi| search.plan(roi).expect("a plan")).collect()
}

fn searched(plans: &[RoiPlan]) -> Vec<usize> {
    (0..plans.len()).filter(|&i| !plans[i].is_empty()).collect()
}

/// Every RoI with spacepoints is in one part, in order, and every part fits.
#[test]
fn a_cut_loses_nothing() {
    let shape = shape();
    for (what, counts) in [
        ("more RoIs than workgroups of a dimension", vec![1; 70_000]),
        ("empty ones among them", (0..3000).map(|i| i % 3).collect()),
        ("more than an upload", vec![100_000; 25]),
        ("one larger than an upload", vec![10, 2_000_000, 10]),
        ("none", vec![]),
    ] {
        let plans = plans(counts.iter().copied());
        let wanted = searched(&plans);
        let cut = cut::<f32>(&plans, &wanted, 16, &WEBGPU, &shape);
        assert!(cut.too_large.is_empty(), "{what}");
        let found: Vec<usize> = cut.parts.iter().flatten().copied().collect();
        assert_eq!(found, wanted, "{what}");
        for part in &cut.parts {
            let own: Vec<RoiPlan> = part.iter().map(|&i| plans[i].clone()).collect();
            let sharing = share(&own, &WEBGPU, &shape);
            let needs = own
                .iter()
                .map(|plan| BufferSizes::most(plan, &shape, sharing.pairs))
                .reduce(BufferSizes::and)
                .expect("no empty part");
            assert!(WEBGPU.holds::<f32>(&needs, &shape), "{what}: {needs:?}, {sharing:?}");
        }
    }
}

#[test]
fn what_never_fits_is_told() {
    let shape = shape();
    let plans = plans([10, 9_000_000, 10]);
    let cut = cut::<f32>(&plans, &searched(&plans), 16, &WEBGPU, &shape);
    assert_eq!((cut.parts, cut.too_large), (vec![vec![0, 2]], vec![1]));
}

/// A dispatch never has more work than allowed, unless one RoI alone does.
#[test]
fn work_is_capped() {
    let shape = shape();
    let plans = plans(vec![1000; 40]);
    let capacity = Capacity { work: 3.5 * work_of(&plans[0]), ..WEBGPU };
    let cut = cut::<f32>(&plans, &searched(&plans), 16, &capacity, &shape);
    assert!(cut.parts[..13].iter().all(|part| part.len() == 3), "{:?}", cut.parts);
    let capacity = Capacity { work: 1.0, ..WEBGPU };
    let cut = crate::engine::gpu::capacity::cut::<f32>(&plans, &searched(&plans), 16, &capacity, &shape);
    assert_eq!(cut.parts.len(), 40);
}

#[test]
fn small_shares_when_there_is_little_work() {
    let shape = shape();
    let sharing = |counts: Vec<usize>| share(&plans(counts), &WEBGPU, &shape);
    let little = sharing(vec![5000]);
    assert_eq!((little.pairs, little.lanes_shift), (RowSharing::Streamed { share: Some(128) }, 1));
    let much = sharing(vec![5000; 200]);
    assert_eq!((much.pairs, much.lanes_shift), (RowSharing::Streamed { share: Some(512) }, 0));
}

/// Spacepoints that may all lie in one slice are no more work than a dispatch may have; each row is
/// in one of them.
#[test]
fn a_large_roi_takes_several_dispatches() {
    let shape = shape();
    let capacity = Capacity { work: 1e6, ..WEBGPU };
    for (count, wanted) in [(1000, 1), (1500, 2), (4000, 8), (10_000, 50), (60_000, 64)] {
        let plan = plan_part(&plans([count]), &capacity, &shape);
        let rows = plan.params.rows;
        assert_eq!(plan.find_z_dispatches, wanted.min(rows), "{count} spacepoints, {rows} rows");
        let mut next = 0;
        for dispatch in 0..plan.find_z_dispatches {
            let [first, end] = plan.rows_of(dispatch);
            assert!(first == next && end > first, "{first} to {end}");
            next = end;
        }
        assert_eq!(next, rows);
        let (header, ..) = plan.header();
        assert_eq!(header.len() as u64 * 4, plan.regions.rois);
        let params = |at: usize| -> Params {
            let first = at * ALIGNMENT as usize / 4;
            bytemuck::pod_read_unaligned(bytemuck::cast_slice(&header[first..first + size_of::<Params>() / 4]))
        };
        assert_eq!((params(0).row_first, params(0).rows), (0, rows));
        for dispatch in (0..plan.find_z_dispatches).filter(|_| plan.find_z_dispatches > 1) {
            let own = params(STAGES + dispatch as usize);
            assert_eq!([own.row_first, own.rows], plan.rows_of(dispatch));
        }
    }
    let many = plans([700; 40]);
    assert_eq!(share(&many, &WEBGPU, &shape).dispatches, 1);
}

/// Regions are aligned, apart, and hold what they are for.
#[test]
fn an_upload_has_room_for_everything() {
    let plan = plan_part(&plans([3, 700, 41]), &WEBGPU, &shape());
    let regions = plan.regions;
    for at in [regions.rois, regions.row_rois, regions.spacepoints] {
        assert_eq!(at % ALIGNMENT, 0, "{regions:?}");
    }
    assert!(regions.rois >= STAGES as u64 * ALIGNMENT && ALIGNMENT >= size_of::<Params>() as u64);
    assert!(regions.row_rois - regions.rois >= size_of_val(&plan.rois[..]) as u64);
    assert!(regions.spacepoints - regions.row_rois >= 4 * u64::from(plan.params.rows));
    assert_eq!(regions.end - regions.spacepoints, 744 * 8);
    assert_eq!(plan.header().0.len() as u64 * 4, regions.rois);
}
