// Products with the matrices of mass, of stiffness and of both, and lumped volumes: each node
// gathers its own number. Threads sum what the pairs of their vertex have at their levels, mass and
// stiffness of the plane; then they find those sums of the levels below and above in workgroup
// memory.
// in:   params, heights (a sixth of a layer's, and 1 over it), offsets, neighbours, weights (mass
//       and stiffness of a pair), thirds, field
// out:  out
// grid: TEAMS blocks of columns a workgroup, in rows
// Needs: types, real, columns. CPU twin: src/engine/cpu.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> heights: array<real, 2>;
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> neighbours: array<u32>;
@group(0) @binding(4) var<storage, read> weights: array<vec2<real>>;
@group(0) @binding(5) var<storage, read> thirds: array<real>;
@group(0) @binding(6) var<storage, read> field: array<real>;
@group(0) @binding(7) var<storage, read_write> out: array<real>;

var<workgroup> wg_mass: array<real, TEAMS * BLOCK>;
var<workgroup> wg_stiffness: array<real, TEAMS * BLOCK>;

struct Sums {
    mass: vec4<real>,
    stiffness: vec4<real>,
}

// The levels of a thread; beyond the last, that one again, which nobody uses.
fn own_levels(column: Column) -> vec4<u32> {
    let first = column.first + column.lane;
    let levels = vec4<u32>(first, first + LANES, first + 2u * LANES, first + 3u * LANES);
    return min(levels, vec4<u32>(params.levels - 1u));
}

fn at_levels(nodes: vec4<u32>) -> vec4<real> {
    return vec4<real>(field[nodes.x], field[nodes.y], field[nodes.z], field[nodes.w]);
}

// m u.
fn sum_mass(column: Column) -> vec4<real> {
    var mass = vec4<real>();
    if column.is_one {
        let levels = own_levels(column);
        let end = offsets[column.vertex + 1u];
        for (var pair = offsets[column.vertex]; pair < end; pair++) {
            mass += weights[pair].x * at_levels(levels + neighbours[pair] * params.levels);
        }
    }
    return mass;
}

// m u, and k u: rows of k sum to 0, so that a column that is constant makes exactly that.
fn sum_both(column: Column) -> Sums {
    var sums = Sums();
    if column.is_one {
        let levels = own_levels(column);
        let own = at_levels(levels + column.base);
        let end = offsets[column.vertex + 1u];
        for (var pair = offsets[column.vertex]; pair < end; pair++) {
            let other = at_levels(levels + neighbours[pair] * params.levels);
            let weight = weights[pair];
            sums.mass += weight.x * other;
            sums.stiffness += weight.y * (other - own);
        }
    }
    return sums;
}

fn place_in_block(column: Column, slot: u32) -> u32 {
    return column.team * BLOCK + slot * LANES + column.lane;
}

fn keep_mass(column: Column, mass: vec4<real>) {
    if column.is_one {
        wg_mass[place_in_block(column, 0u)] = mass.x;
        wg_mass[place_in_block(column, 1u)] = mass.y;
        wg_mass[place_in_block(column, 2u)] = mass.z;
        wg_mass[place_in_block(column, 3u)] = mass.w;
    }
}

fn keep_stiffness(column: Column, stiffness: vec4<real>) {
    if column.is_one {
        wg_stiffness[place_in_block(column, 0u)] = stiffness.x;
        wg_stiffness[place_in_block(column, 1u)] = stiffness.y;
        wg_stiffness[place_in_block(column, 2u)] = stiffness.z;
        wg_stiffness[place_in_block(column, 3u)] = stiffness.w;
    }
}

// Whether a level of a block is there and has what it needs below and above.
fn is_own(column: Column, slot: u32) -> bool {
    let place = slot * LANES + column.lane;
    let level = column.first + place;
    let has_below = (place > 0u) | (level == 0u);
    let has_above = (place + 1u < BLOCK) | (level + 1u == params.levels);
    return column.is_one & (level < params.levels) & has_below & has_above;
}

// A column's mass times k, and its stiffness times m: of each layer that the node has.
fn upwards(level: u32, at: u32) -> real {
    let mass = wg_mass[at];
    let twice = wg_stiffness[at] + wg_stiffness[at];
    var sum = real();
    if level > 0u {
        sum += heights[0] * (twice + wg_stiffness[at - 1u]) + heights[1] * (mass - wg_mass[at - 1u]);
    }
    if level + 1u < params.levels {
        sum += heights[0] * (twice + wg_stiffness[at + 1u]) + heights[1] * (mass - wg_mass[at + 1u]);
    }
    return sum;
}

fn write_upwards(column: Column) {
    for (var slot = 0u; slot < SLOTS; slot++) {
        if is_own(column, slot) {
            let level = column.first + slot * LANES + column.lane;
            out[column.base + level] = upwards(level, place_in_block(column, slot));
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn mass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let column = own_column(group, groups, thread, BLOCK - 2u);
    keep_mass(column, sum_mass(column));
    workgroupBarrier();
    for (var slot = 0u; slot < SLOTS; slot++) {
        if is_own(column, slot) {
            let level = column.first + slot * LANES + column.lane;
            let at = place_in_block(column, slot);
            let twice = wg_mass[at] + wg_mass[at];
            var sum = real();
            if level > 0u {
                sum += twice + wg_mass[at - 1u];
            }
            if level + 1u < params.levels {
                sum += twice + wg_mass[at + 1u];
            }
            out[column.base + level] = heights[0] * sum;
        }
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn stiffness(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let column = own_column(group, groups, thread, BLOCK - 2u);
    let sums = sum_both(column);
    keep_mass(column, sums.mass);
    keep_stiffness(column, sums.stiffness);
    workgroupBarrier();
    write_upwards(column);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn helmholtz(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let column = own_column(group, groups, thread, BLOCK - 2u);
    let sums = sum_both(column);
    keep_mass(column, sums.mass);
    keep_stiffness(column, sums.mass + sums.stiffness);
    workgroupBarrier();
    write_upwards(column);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn lumped(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let column = own_column(group, groups, thread, BLOCK);
    if !column.is_one {
        return;
    }
    // A sixth of the height and a third of the triangles: three of them are half a layer.
    let half = thirds[column.vertex] * (heights[0] + heights[0] + heights[0]);
    for (var slot = 0u; slot < SLOTS; slot++) {
        let level = column.first + slot * LANES + column.lane;
        if level < params.levels {
            out[column.base + level] = select(half + half, half, (level == 0u) | (level + 1u == params.levels));
        }
    }
}
