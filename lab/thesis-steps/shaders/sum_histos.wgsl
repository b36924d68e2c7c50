// Sums rows of histograms of each RoI, a thread a bin, as sumHistos of the thesis: in groups of
// rows, or all rows at once.
// in:   params, rois, histograms (find_z's rows, or the groups' sums)
// out:  summed (groups_out rows an RoI: n, then the bits of the f32 sum of z)
// grid: GRID 1: x = groups, y = blocks of bins, z = RoI; GRID 0: x = all of these, blocks first
// Needs: types.
// CPU twin: lab/thesis-steps/src/twin.rs

override WORKGROUP_SIZE: u32 = 128;
override GRID: u32 = 1;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> histograms: array<u32>;
@group(0) @binding(3) var<storage, read_write> summed: array<u32>;

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
    let bin = block * WORKGROUP_SIZE + thread;
    if number >= params.rois || bin >= params.row_words {
        return;
    }
    var first = number * params.groups_in;
    var count = params.groups_in;
    if count == 0u {
        first = rois[number].first_row;
        count = rois[number].slices;
    }
    let each = (count + params.groups_out - 1u) / params.groups_out;
    let end = first + min((group + 1u) * each, count);
    var n = 0u;
    var z = 0.0f;
    for (var row = first + group * each; row < end; row++) {
        let at = row * 2u * params.row_words + bin;
        n += histograms[at];
        z += bitcast<f32>(histograms[at + params.row_words]);
    }
    let out = (number * params.groups_out + group) * 2u * params.row_words + bin;
    summed[out] = n;
    summed[out + params.row_words] = bitcast<u32>(z);
}
