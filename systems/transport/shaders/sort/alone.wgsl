// The only pass: elements are numbers, and digits are classes, whose counts and beginnings fall
// out.
// Needs: sort; of the kernel beginning, totals.

@group(0) @binding(5) var<storage, read_write> order: array<u32>;
@group(0) @binding(6) var<storage, read_write> bounds: array<u32>;

fn put(element: u32, to: u32) {
    order[to] = element;
}

fn tell(thread: u32) {
    if thread < settings.classes {
        bounds[thread] = totals[thread];
        bounds[settings.classes + thread] = beginning(thread);
    }
}
