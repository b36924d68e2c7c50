// Prisms, and the threads that take them.
// Needs: of the kernel params, triangles, order.

struct Place {
    is_one: bool,
    triangle: u32,
    corners: vec3<u32>,
    // Of the lower nodes.
    level: u32,
}

fn own_place(thread: u32) -> Place {
    var place = Place();
    place.is_one = thread < params.triangles * params.layers;
    if place.is_one {
        let column = vec2<u32>(thread / params.layers, thread % params.layers);
        let layer = vec2<u32>(thread % params.triangles, thread / params.triangles);
        let both = select(layer, column, params.by_columns != 0u);
        let triangle = order[params.first + both.x];
        place.triangle = triangle;
        place.corners = vec3<u32>(triangles[3u * triangle], triangles[3u * triangle + 1u], triangles[3u * triangle + 2u]);
        place.level = params.layer + both.y * params.step;
    }
    return place;
}
