// Sums rows of histograms of each RoI, as sumHistos of the thesis: in groups of rows, or all rows
// at once.
// in:   params, rois, histograms (find_z's rows, or the groups' sums)
// out:  summed (rows of n, then the bits of the f32 sum of z; sums_* says which row)
// grid: GRID 1: x = groups, y = blocks of bins, z = RoI; GRID 0: x = all of these, blocks first
// Needs: types, sums_*.
// CPU twin: lab/thesis-steps/src/twin.rs

override WORKGROUP_SIZE: u32 = 128;
override GRID: u32 = 1;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> histograms: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_histos(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    var group = id.x;
    var block = id.y;
    var number = id.z;
    if GRID == 0u {
        block = id.x % params.blocks;
        group = id.x / params.blocks % params.groups_out;
        number = id.x / params.blocks / params.groups_out;
    }
    if number >= params.rois {
        return;
    }
    var first = number * params.groups_in;
    var count = params.groups_in;
    if count == 0u {
        first = rois[number].first_row;
        count = rois[number].slices;
    }
    let each = (count + params.groups_out - 1u) / params.groups_out;
    let begin = first + min(group * each, count);
    let end = first + min((group + 1u) * each, count);
    sum_rows(begin, end, number, group, block, thread);
}
