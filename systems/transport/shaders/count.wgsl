// Counts the elements of each class.
// in:   size (at SIZE_AT: how many elements), classes (of each element, four together)
// out:  counts (of each class; added to), status (how many are of no class, and the first of these:
//       all ones less its number)
// grid: any; threads take four elements at a time, in strides. Of `zero` too.
// Needs: count/atomics, count/workgroup or count/packed.
// CPU twin: src/engine/cpu/count.rs.

override THREADS: u32 = 256u;
override CLASSES: u32 = 8u;
override SIZE_AT: u32 = 0u;

@group(0) @binding(0) var<storage, read> size: array<u32>;
@group(0) @binding(1) var<storage, read> classes: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> status: array<atomic<u32>, 2>;

fn refuse(element: u32, many: u32) {
    atomicAdd(&status[0], many);
    atomicMax(&status[1], ~element);
}

fn take_one(class_: u32, element: u32) {
    if class_ < CLASSES {
        take(class_);
    } else {
        refuse(element, 1u);
    }
}

fn take_four(four: vec4<u32>, at: u32) {
    if all(four < vec4<u32>(CLASSES)) {
        take(four.x);
        take(four.y);
        take(four.z);
        take(four.w);
    } else {
        take_one(four.x, 4u * at);
        take_one(four.y, 4u * at + 1u);
        take_one(four.z, 4u * at + 2u);
        take_one(four.w, 4u * at + 3u);
    }
}

@compute @workgroup_size(THREADS)
fn count(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let held = 4u * arrayLength(&classes);
    let n = min(size[SIZE_AT], held);
    let whole = n / 4u;
    let step = groups.x * THREADS;
    begin(thread);
    var at = id.x;
    // Three at a time, for memory to have enough to do; and more than 15 elements would not fit
    // what is packed.
    while at + 2u * step < whole {
        let a = classes[at];
        let b = classes[at + step];
        let c = classes[at + 2u * step];
        take_four(a, at);
        take_four(b, at + step);
        take_four(c, at + 2u * step);
        settle();
        at += 3u * step;
    }
    while at < whole {
        take_four(classes[at], at);
        settle();
        at += step;
    }
    if id.x == 0u {
        if n % 4u != 0u {
            let rest = classes[whole];
            for (var k = 0u; k < n % 4u; k++) {
                take_one(rest[k], 4u * whole + k);
            }
            settle();
        }
        // Elements beyond the capacity are counted as an error.
        if size[SIZE_AT] > held {
            refuse(held, size[SIZE_AT] - held);
        }
    }
    // As many as a workgroup has at most, those of an incomplete four too.
    finish(thread, 4u * THREADS * (whole / step + 1u) + 3u);
}

@compute @workgroup_size(THREADS)
fn zero(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < CLASSES; i += groups.x * THREADS) {
        atomicStore(&counts[i], 0u);
    }
}
