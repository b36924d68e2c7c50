// Stiffness and lumped volumes in one kernel: a thread reads its prism once. The volumes follow the
// products with the stiffness matrix in `out`, which is twice as long.
// Needs: lumped; of the kernel WORKGROUP_SIZE, own_prism, params, slopes.

@compute @workgroup_size(WORKGROUP_SIZE)
fn stiffness_and_lumped(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    var prism = own_prism(group, groups, thread);
    if prism.is_one {
        slopes(prism, false);
        prism.nodes += params.nodes;
        volumes(prism);
    }
}
