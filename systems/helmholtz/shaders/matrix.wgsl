// The product of a stored matrix with a field: out = A u.
// in:   params, offsets, neighbours, values ((3 * pair + step + 1) * levels + level, steps -1, 0
//       and 1 in level), field
// out:  out
// grid: a thread a node, in rows
// Needs: types, real. CPU twin: `NodeMatrix::apply` in src/matrix.rs.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> neighbours: array<u32>;
@group(0) @binding(3) var<storage, read> values: array<real>;
@group(0) @binding(4) var<storage, read> field: array<real>;
@group(0) @binding(5) var<storage, read_write> out: array<real>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn product(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let node = place_of(group, groups) * WORKGROUP_SIZE + thread;
    if node >= params.nodes {
        return;
    }
    let vertex = node / params.levels;
    let level = node - vertex * params.levels;
    // Entries beyond the ends of a column are 0, so any valid node may stand for them.
    let below = max(level, 1u) - 1u;
    let above = min(level + 1u, params.levels - 1u);
    var sum = real();
    for (var pair = offsets[vertex]; pair < offsets[vertex + 1u]; pair++) {
        let base = neighbours[pair] * params.levels;
        let at = 3u * pair * params.levels + level;
        sum += values[at] * field[base + below];
        sum += values[at + params.levels] * field[base + level];
        sum += values[at + 2u * params.levels] * field[base + above];
    }
    out[node] = sum;
}
