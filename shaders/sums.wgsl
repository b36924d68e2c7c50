// Sums of four bins side by side: what sum_histos and merge share.
// Needs: histogram; of the kernel `rows`.

struct Sum {
    n: vec4<u32>,
    z: vec4<u32>,
}

// True where a count wrapped.
fn add(sum: ptr<function, Sum>, n: vec4<u32>, z: vec4<u32>) -> bool {
    (*sum).n += n;
    for (var i = 0u; i < 4u; i++) {
        (*sum).z[i] = sum_z((*sum).z[i], z[i]);
    }
    return any((*sum).n < n);
}

// Adds four bins of a row that find_z filled.
fn add_row(sum: ptr<function, Sum>, at: u32, row_blocks: u32) -> bool {
    let n = rows[at];
    let z = rows[at + (ROW_PARTS - 1u) * row_blocks];
    let entries = array(unpacked(vec2(n.x, z.x)), unpacked(vec2(n.y, z.y)), unpacked(vec2(n.z, z.z)), unpacked(vec2(n.w, z.w)));
    return add(
        sum,
        vec4<u32>(entries[0].x, entries[1].x, entries[2].x, entries[3].x),
        vec4<u32>(entries[0].y, entries[1].y, entries[2].y, entries[3].y),
    );
}
