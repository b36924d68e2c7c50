// Columns of nodes, and who takes them: a team of LANES threads a column, or a block of one if it
// is longer, each thread SLOTS levels.
// Needs: types; of the kernel params.

override WORKGROUP_SIZE: u32 = 256;
override LANES: u32 = 32;
const SLOTS: u32 = 4u;
override TEAMS: u32 = WORKGROUP_SIZE / LANES;
override BLOCK: u32 = LANES * SLOTS;

struct Column {
    is_one: bool,
    vertex: u32,
    // Node of level 0.
    base: u32,
    // Level of the block's first.
    first: u32,
    team: u32,
    lane: u32,
}

// A thread's column; blocks begin `step` levels after one another.
fn own_column(group: vec3<u32>, groups: vec3<u32>, thread: u32, step: u32) -> Column {
    let team = thread / LANES;
    let blocks = max(1u, (params.levels - min(params.levels, BLOCK - step) + step - 1u) / step);
    let item = place_of(group, groups) * TEAMS + team;
    let vertex = item / blocks;
    // A team at the end may have too few threads.
    let is_one = (team < TEAMS) & (vertex < params.vertices);
    return Column(is_one, vertex, vertex * params.levels, (item % blocks) * step, team, thread % LANES);
}
