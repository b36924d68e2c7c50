// Sums over a workgroup: subgroups sum first, in three parts of 16 bits and more that fit words, and then add to words of
// the workgroup. All threads of a subgroup come here together.
// Needs: types, limbs; of the kernel own_thread, add.

fn any_of(own: bool) -> bool {
    return subgroupAny(own);
}

fn add_all(slot: u32, value: vec2<u32>) {
    let low = subgroupAdd(value.x & 0xffffu);
    let middle = subgroupAdd(value.x >> 16u);
    let high = subgroupAdd(value.y);
    if subgroupBroadcastFirst(own_thread) == own_thread {
        add(slot, add64(vec2<u32>(low, high), shift64(vec2<u32>(middle, 0u), 16u)));
    }
}

// Most subgroups are in one area; else one after the other.
fn add_of_area(slot: u32, area: u32, value: vec2<u32>) {
    if subgroupAll(area == subgroupBroadcastFirst(area)) {
        add_all(slot + area, value);
        return;
    }
    var area_left = select(NONE, area, any(value != vec2<u32>()));
    var next = subgroupMin(area_left);
    while next != NONE {
        let own = area_left == next;
        add_all(slot + next, select(vec2<u32>(), value, own));
        area_left = select(area_left, NONE, own);
        next = subgroupMin(area_left);
    }
}
