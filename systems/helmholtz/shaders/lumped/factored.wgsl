// Row sums of a prism's matrix of M + S. Columns are summed first, so gradients cancel exactly,
// before they are multiplied. Swapped with lumped/entries.wgsl.
// Needs: accumulate, real; of the kernel NODES, POINTS, Prism, gradient, node_of.

fn volumes(prism: Prism) {
    var sums = array<real, NODES>();
    for (var point = 0u; point < POINTS; point++) {
        var here = real();
        var along = vec3<real>();
        for (var k = 0u; k < NODES; k++) {
            here += value(point, k);
            along += vec3<real>(derivative(point, 0u, k), derivative(point, 1u, k), derivative(point, 2u, k));
        }
        let slope = prism.inverse[0] * along.x + prism.inverse[1] * along.y + prism.inverse[2] * along.z;
        let scale = prism.det * weight(point);
        for (var j = 0u; j < NODES; j++) {
            sums[j] += scale * (value(point, j) * here + dot(gradient(prism, point, j), slope));
        }
    }
    for (var j = 0u; j < NODES; j++) {
        add(node_of(prism, j), sums[j]);
    }
}
