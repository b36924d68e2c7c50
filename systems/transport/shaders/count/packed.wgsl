// A thread keeps counts of up to eight classes: in four bits each, which take fifteen elements, and
// those in sixteen bits each, which take 65,535: the grid has to be large enough for these.
// Needs: count/tree or count/subgroups; of the kernel CLASSES, counts.

var<private> few: u32;
// Of classes 0 to 3, and of 4 to 7 in the upper halves.
var<private> many: vec4<u32>;

fn begin(thread: u32) {
    few = 0u;
    many = vec4<u32>();
    begin_sum(thread);
}

fn take(class_: u32) {
    few += 1u << (4u * class_);
}

fn settle() {
    many += (vec4<u32>(few) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(0x000f000fu);
    few = 0u;
}

fn finish(thread: u32, of_workgroup: u32) {
    let sum = sum_of(thread, many, of_workgroup);
    if thread < min(CLASSES, 8u) && sum != 0u {
        atomicAdd(&counts[thread], sum);
    }
}
