// Sums over a workgroup: each thread adds to words of the workgroup itself.
// Needs: of the kernel add.

fn any_of(own: bool) -> bool {
    return own;
}

fn add_all(slot: u32, value: vec2<u32>) {
    add(slot, value);
}

fn add_of_area(slot: u32, area: u32, value: vec2<u32>) {
    add(slot + area, value);
}
