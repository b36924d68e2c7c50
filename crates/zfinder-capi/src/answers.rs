//! Answers in the buffers of a caller.

use zfinder::{RoiResult, Status, Vertex};

use crate::failure::{Failure, Outcome};
use crate::memory;
use crate::types::{zf_answers, zf_code, zf_result, zf_status, zf_vertex};

/// Checks the sizes that a caller has compiled the answers with.
pub(crate) fn check(answers: &zf_answers) -> Outcome<()> {
    memory::check_size::<zf_result>("answers->result_size", answers.result_size)?;
    memory::check_size::<zf_vertex>("answers->vertex_size", answers.vertex_size)
}

/// Writes results and their vertices. If a buffer is too small, only the numbers of elements are
/// written.
///
/// # Safety
/// The buffers are NULL or have the room that the answers say.
pub(crate) unsafe fn write(answers: &mut zf_answers, results: &[RoiResult]) -> Outcome<()> {
    let vertices = results.iter().map(|result| result.vertices.len()).sum();
    (answers.results, answers.vertices) = (results.len(), vertices);
    if answers.result_room < results.len() || answers.vertex_room < vertices {
        let (results, result_room, vertex_room) = (results.len(), answers.result_room, answers.vertex_room);
        let text = format!(
            "{results} results and {vertices} vertices, and room for {result_room} results and {vertex_room} vertices"
        );
        return Err(Failure::new(zf_code::ZF_NO_ROOM, text));
    }
    memory::check_column("answers->result_buffer", answers.result_buffer, results.len())?;
    memory::check_column("answers->vertex_buffer", answers.vertex_buffer, vertices)?;
    let mut first_vertex = 0;
    for (index, result) in results.iter().enumerate() {
        // SAFETY: the buffer has room for all results.
        unsafe { answers.result_buffer.add(index).write(to_result(result, first_vertex as u64)) };
        for vertex in &result.vertices {
            // SAFETY: the buffer has room for all vertices.
            unsafe { answers.vertex_buffer.add(first_vertex).write(to_vertex(vertex)) };
            first_vertex += 1;
        }
    }
    Ok(())
}

fn to_result(result: &RoiResult, first_vertex: u64) -> zf_result {
    zf_result {
        event_id: result.id.event_id,
        roi_id: result.id.roi_id,
        status: to_status(result.status) as i32,
        fallback: u32::from(result.fallback),
        first_vertex,
        vertices: result.vertices.len() as u64,
        spacepoints: result.spacepoints as u64,
        outside_window: result.outside_window as u64,
    }
}

fn to_status(status: Status) -> zf_status {
    match status {
        Status::Ok => zf_status::ZF_STATUS_OK,
        Status::Empty => zf_status::ZF_STATUS_EMPTY,
        Status::NoPeak => zf_status::ZF_STATUS_NO_PEAK,
        Status::BadSpacepoint => zf_status::ZF_STATUS_BAD_SPACEPOINT,
        Status::CapacityExceeded => zf_status::ZF_STATUS_CAPACITY_EXCEEDED,
        _ => zf_status::ZF_STATUS_OTHER,
    }
}

fn to_vertex(&Vertex { z_mm, z_error_mm, weight, pairs, rank, significance, background }: &Vertex) -> zf_vertex {
    let [significance, background] = [significance, background].map(|number| number.unwrap_or(f64::NAN));
    zf_vertex { z_mm, z_error_mm, weight, rank, significance, background, pairs }
}
