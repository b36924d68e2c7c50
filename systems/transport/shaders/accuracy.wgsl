// Required accuracy of a path. Two words of padding align the next member of a uniform buffer.
struct Accuracy {
    least_step: f32,
    step_error: f32,
    relative: vec2<f32>, // bounds of the relative error of a step
    sagitta: f32,
    steps: u32, // at most
    unused: vec2<u32>,
}
