// The only pass, which moves groups of 16 bytes too: they are near where they are read, and written
// in runs.
// Needs: sort; of the kernel beginning, totals.

@group(0) @binding(5) var<storage, read_write> order: array<u32>;
@group(0) @binding(6) var<storage, read_write> bounds: array<u32>;
@group(0) @binding(7) var<storage, read> before: array<vec4<u32>>;
@group(0) @binding(8) var<storage, read_write> after: array<vec4<u32>>;

fn put(element: u32, to: u32) {
    order[to] = element;
    after[to] = before[element];
}

fn tell(thread: u32) {
    if thread < settings.classes {
        bounds[thread] = totals[thread];
        bounds[settings.classes + thread] = beginning(thread);
    }
}
