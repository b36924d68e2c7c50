// Fills nHisto and zHisto of one phi slice a row with z12 of all pairs of the slice, as findZ of
// the thesis. z12 = (z_b rho_a - z_a rho_b) / (rho_a - rho_b), a in the slice, b on a layer further
// out in the same or in a neighbouring slice.
// in:   params, rois, rows (RoI and slice), points (rho, z; by RoI, layer and slice), cells (where
//       each begins)
// out:  histograms (a row: n, then the bits of the f32 sum of z)
// grid: x, y = rows, y * width + x
// Needs: types, row_*, pairs_*, confirm_*.
// CPU twin: lab/thesis-steps/src/twin.rs

override WORKGROUP_SIZE: u32 = 128;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> rows: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> points: array<vec2<real>>;
@group(0) @binding(4) var<storage, read> cells: array<u32>;

// The RoI and the slice of this workgroup.
var<private> roi: Roi;
var<private> slice: u32;

// Where the spacepoints of a layer begin in a slice.
fn cell(layer: u32, in_slice: u32) -> u32 {
    return cells[roi.first_cell + layer * roi.slices + in_slice];
}

// The spacepoints of a layer in the slice: first and end.
fn inner(layer: u32) -> vec2<u32> {
    return vec2(cell(layer, slice), cell(layer, slice + 1u));
}

// The spacepoints of a layer in the slice and in its neighbours.
fn outer(layer: u32) -> vec2<u32> {
    return vec2(cell(layer, max(slice, 1u) - 1u), cell(layer, min(slice + 2u, roi.slices)));
}

// z where the line through two points, each (rho, z), meets the beam.
fn extrapolate(a: vec2<real>, b: vec2<real>) -> real {
    return (b.y * a.x - a.y * b.x) / (a.x - b.x);
}

// Histograms the pair of two spacepoints.
fn add_pair(a: u32, b: u32) {
    // A quotient by zero need not be infinite in WGSL.
    if points[a].x == points[b].x {
        return;
    }
    let z12 = extrapolate(points[a], points[b]);
    if z12 > roi.z_min && z12 < roi.z_max && is_confirmed(a, b, z12) {
        accumulate(min(u32(round(z12 * roi.bins_per_mm - roi.offset)), roi.bins - 1u), f32(z12));
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_z(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    roi = rois[rows[row].x];
    slice = rows[row].y;
    begin_row(row, thread);
    add_pairs(thread);
    end_row(row, thread);
}
