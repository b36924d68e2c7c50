// Pairs of a share of an RoI's spacepoints: a thread takes one and goes through its partners.

#import shared::types
#import find_z::order
#import find_z::tracks
#import kernel::{WORKGROUP_SIZE, beside, params, points, set_rows}

// First and last of the spacepoints whose partners are sought, and ranges of partners.
var<workgroup> wg_searched: vec2<u32>;
var<workgroup> wg_ranges: u32;

// Histograms the pairs of this workgroup's share. Returns false for an empty share.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        let all = searched_range();
        wg_searched = all;
        wg_ranges = partner_ranges();
        if group == 0u && tile == 0u {
            set_rows((all.y - all.x + params.share - 1u) / params.share);
        }
    }
    let all = workgroupUniformLoad(&wg_searched);
    let ranges = workgroupUniformLoad(&wg_ranges);
    let first = all.x + group * params.share;
    if first >= all.y {
        return false;
    }
    let end = min(first + params.share, all.y);
    let lanes = 1u << params.lanes_shift;
    let lane = thread & (lanes - 1u);
    for (var a = first + (thread >> params.lanes_shift); a < end; a += WORKGROUP_SIZE >> params.lanes_shift) {
        let slice_layer = slice_layer_of(beside[a]);
        let point = points[a];
        for (var part = 0u; part < ranges; part++) {
            let range = partners(a, slice_layer, part);
            var i = range.first + lane;
            for (; i < range.end; i += lanes) {
                let b = place_in(range, i);
                let z12 = extrapolate(a, point, b, points[b]);
                if is_searched(z12) && is_partner(slice_layer, b) {
                    add_entry(a, b, z12, 1u);
                }
            }
            unfinished = unfinished || i < range.end;
        }
    }
    return true;
}
