// Products with the matrices of mass, of stiffness and of both, and lumped volumes: each node gathers its own number. A thread
// sums what the pairs of its vertex have at its level, mass and stiffness of the plane; workgroups go along columns, so that a
// thread finds those sums of the levels below and above beside its own.
// in:   params, heights (a sixth of a layer's, and 1 over it), offsets, neighbours, weights (mass and stiffness of a pair), thirds, field
// out:  out
// grid: WORKGROUP_SIZE - 2 nodes a workgroup, in rows
// workgroup memory: 2 WORKGROUP_SIZE numbers
// Needs: types, real. CPU twin: src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> heights: array<real, 2>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> neighbours: array<u32>;
@group(0) @binding(4) var<storage, read> weights: array<vec2<real>>;
@group(0) @binding(5) var<storage, read> thirds: array<real>;
@group(0) @binding(6) var<storage, read> field: array<real>;
@group(0) @binding(7) var<storage, read_write> out: array<real>;

var<workgroup> wg_mass: array<real, WORKGROUP_SIZE>;
var<workgroup> wg_stiffness: array<real, WORKGROUP_SIZE>;

struct Place {
    node: u32,
    vertex: u32,
    level: u32,
    is_node: bool,
    // Whether its number is this thread's: the first and the last sum for their neighbours only.
    is_own: bool,
}

fn own_place(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> Place {
    // Of the first workgroup's first thread it wraps around, and there is no such node.
    let node = place_of(group, groups) * (WORKGROUP_SIZE - 2u) + thread - 1u;
    let is_node = node < params.nodes;
    let vertex = select(0u, node / params.levels, is_node);
    let is_own = is_node & (thread > 0u) & (thread < WORKGROUP_SIZE - 1u);
    return Place(node, vertex, node - vertex * params.levels, is_node, is_own);
}

// m u.
fn sum_mass(at: Place) -> real {
    var mass = real();
    if at.is_node {
        let end = offsets[at.vertex + 1u];
        for (var pair = offsets[at.vertex]; pair < end; pair++) {
            mass += weights[pair].x * field[neighbours[pair] * params.levels + at.level];
        }
    }
    return mass;
}

// m u, and k u: rows of k sum to 0, so that a column that is constant makes exactly that.
fn sum_both(at: Place) -> vec2<real> {
    var both = vec2<real>();
    if at.is_node {
        let own = field[at.node];
        let end = offsets[at.vertex + 1u];
        for (var pair = offsets[at.vertex]; pair < end; pair++) {
            let other = field[neighbours[pair] * params.levels + at.level];
            let weight = weights[pair];
            both += vec2<real>(weight.x * other, weight.y * (other - own));
        }
    }
    return both;
}

// A column's mass times k, and its stiffness times m: of each layer that the node has.
fn upwards(at: Place, thread: u32) -> real {
    let mass = wg_mass[thread];
    let twice = wg_stiffness[thread] + wg_stiffness[thread];
    var sum = real();
    if at.level > 0u {
        sum += heights[0] * (twice + wg_stiffness[thread - 1u]) + heights[1] * (mass - wg_mass[thread - 1u]);
    }
    if at.level + 1u < params.levels {
        sum += heights[0] * (twice + wg_stiffness[thread + 1u]) + heights[1] * (mass - wg_mass[thread + 1u]);
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn mass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = own_place(group, groups, thread);
    let own = sum_mass(at);
    wg_mass[thread] = own;
    workgroupBarrier();
    if at.is_own {
        var sum = real();
        if at.level > 0u {
            sum += own + own + wg_mass[thread - 1u];
        }
        if at.level + 1u < params.levels {
            sum += own + own + wg_mass[thread + 1u];
        }
        out[at.node] = heights[0] * sum;
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn stiffness(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = own_place(group, groups, thread);
    let both = sum_both(at);
    wg_mass[thread] = both.x;
    wg_stiffness[thread] = both.y;
    workgroupBarrier();
    if at.is_own {
        out[at.node] = upwards(at, thread);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn helmholtz(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = own_place(group, groups, thread);
    let both = sum_both(at);
    wg_mass[thread] = both.x;
    wg_stiffness[thread] = both.x + both.y;
    workgroupBarrier();
    if at.is_own {
        out[at.node] = upwards(at, thread);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn lumped(
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
    // A sixth of the height and a third of the triangles: three of them are half a layer.
    let half = thirds[vertex] * (heights[0] + heights[0] + heights[0]);
    out[node] = select(half + half, half, (level == 0u) | (level + 1u == params.levels));
}
