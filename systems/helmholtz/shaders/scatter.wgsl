// The helmholtz report's stages: a thread takes a prism, sums over points of quadrature, and adds
// to the prism's six nodes. Of a colour's triangles and every other layer no two prisms share a
// node.
// in:   params, triangles, edges (from a triangle's first vertex to the others), order (of
//       triangles), field, and tables if they are stored
// out:  out
// grid: a thread a prism, in rows; of `zero`, a thread a number of `out`
// Needs: types, real, prisms, accumulate, lumped.
// CPU twin: src/engine/reference.rs.

override WORKGROUP_SIZE: u32 = 128;
const NODES: u32 = 6u;
const POINTS: u32 = 8u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> triangles: array<u32>;
@group(0) @binding(2) var<storage, read> edges: array<vec4<real>>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read> field: array<real>;
@group(0) @binding(6) var<storage, read> heights: array<real, 2>;

struct Prism {
    is_one: bool,
    // Of each vertex of the triangle, the lower one; the upper one is the next.
    nodes: vec3<u32>,
    // Of the prism's volume over the reference prism's.
    det: real,
    // Rows of the inverse Jacobian.
    inverse: array<vec3<real>, 3>,
}

fn own_prism(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> Prism {
    let place = own_place(place_of(group, groups) * WORKGROUP_SIZE + thread);
    var prism = Prism();
    prism.is_one = place.is_one;
    if prism.is_one {
        prism.nodes = place.corners * params.levels + place.level;
        // Columns of the Jacobian: two edges, and the vertical one. The code holds for any prism.
        let edge = edges[place.triangle];
        let height = heights[0] * real(6);
        let a = vec3<real>(edge.xy, real());
        let b = vec3<real>(edge.zw, real());
        let c = vec3<real>(real(), real(), height);
        let bc = cross(b, c);
        let det = dot(a, bc);
        prism.det = abs(det);
        prism.inverse = array<vec3<real>, 3>(bc / det, cross(c, a) / det, cross(a, b) / det);
    }
    return prism;
}

fn node_of(prism: Prism, j: u32) -> u32 {
    return prism.nodes[j / 2u] + j % 2u;
}

fn gradient(prism: Prism, point: u32, j: u32) -> vec3<real> {
    return prism.inverse[0] * derivative(point, 0u, j) + prism.inverse[1] * derivative(point, 1u, j)
        + prism.inverse[2] * derivative(point, 2u, j);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn zero(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let node = place_of(group, groups) * WORKGROUP_SIZE + thread;
    if node < arrayLength(&out) {
        store(node, real());
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn mass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let prism = own_prism(group, groups, thread);
    if !prism.is_one {
        return;
    }
    var own = array<real, NODES>();
    for (var j = 0u; j < NODES; j++) {
        own[j] = field[node_of(prism, j)];
    }
    var sums = array<real, NODES>();
    for (var point = 0u; point < POINTS; point++) {
        var here = real();
        for (var r = 0u; r < NODES; r++) {
            here += own[r] * value(point, r);
        }
        here *= prism.det * weight(point);
        for (var j = 0u; j < NODES; j++) {
            sums[j] += value(point, j) * here;
        }
    }
    for (var j = 0u; j < NODES; j++) {
        add(node_of(prism, j), sums[j]);
    }
}

// Integrals of the functions' gradients times that of the field, and of the functions times the
// field if that is wanted.
fn slopes(prism: Prism, with_mass: bool) {
    var own = array<real, NODES>();
    for (var j = 0u; j < NODES; j++) {
        own[j] = field[node_of(prism, j)];
    }
    var sums = array<real, NODES>();
    for (var point = 0u; point < POINTS; point++) {
        var here = real();
        var slope = vec3<real>();
        for (var r = 0u; r < NODES; r++) {
            here += own[r] * value(point, r);
            // Constants have no slope, and are exactly without one: derivatives sum to zero.
            slope += gradient(prism, point, r) * (own[r] - own[0]);
        }
        let scale = prism.det * weight(point);
        for (var j = 0u; j < NODES; j++) {
            var product = dot(gradient(prism, point, j), slope);
            if with_mass {
                product += value(point, j) * here;
            }
            sums[j] += scale * product;
        }
    }
    for (var j = 0u; j < NODES; j++) {
        add(node_of(prism, j), sums[j]);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn stiffness(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let prism = own_prism(group, groups, thread);
    if prism.is_one {
        slopes(prism, false);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn helmholtz(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let prism = own_prism(group, groups, thread);
    if prism.is_one {
        slopes(prism, true);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn lumped(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let prism = own_prism(group, groups, thread);
    if prism.is_one {
        volumes(prism);
    }
}
