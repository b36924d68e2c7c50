// Velo tracks: place in mm and slopes where they are closest to the beam line.

struct Track {
    x: f32,
    y: f32,
    z: f32,
    tx: f32,
    ty: f32,
    backward: u32,
}
