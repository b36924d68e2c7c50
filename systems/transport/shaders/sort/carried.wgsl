// One of several passes: numbers and keys are brought along.
// Needs: sort.

@group(0) @binding(5) var<storage, read_write> order: array<u32>;
@group(0) @binding(6) var<storage, read> order_before: array<u32>;
@group(0) @binding(7) var<storage, read> keys_before: array<u32>;
@group(0) @binding(8) var<storage, read_write> keys: array<u32>;

fn put(element: u32, to: u32) {
    if settings.is_first != 0u {
        order[to] = element;
    } else {
        order[to] = order_before[element];
    }
    if settings.is_last == 0u {
        keys[to] = keys_before[element];
    }
}

fn tell(thread: u32) {}
