//! Makes tensors of answers.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use zfinder::{Results, Tracklet};

use crate::refusal::{Refusal, shown};
use crate::schema::OUTPUTS;
use crate::tensor::{Element, Tensor, bytes_of};

/// Indices into [`OUTPUTS`] of the requested outputs, in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputSelection(Vec<usize>);

impl OutputSelection {
    /// Finds outputs by name; an empty list means all outputs.
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, Refusal> {
        let mut places = Vec::new();
        for name in names {
            let place = OUTPUTS.iter().position(|output| output.name == name).ok_or_else(|| {
                let known = OUTPUTS.each_ref().map(|output| output.name).join(", ");
                Refusal::invalid(format!("there is no output `{}`; outputs are {known}", shown(name)))
            })?;
            if places.contains(&place) {
                return Err(Refusal::invalid(format!("output {name} is asked for twice")));
            }
            places.push(place);
        }
        if places.is_empty() {
            places.extend(0..OUTPUTS.len());
        }
        Ok(Self(places))
    }

    /// Returns the number of outputs.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Makes the tensors of some RoIs of results. If these are most of the RoIs, the tensors share
    /// the memory of the results, except `COUNTS`. Otherwise they are copied: an answer that waits
    /// would keep the results of many others.
    pub(crate) fn tensors(&self, results: &Arc<Results>, rois: Range<usize>) -> Vec<Tensor> {
        let tensor = |&place: &usize| {
            let output = &OUTPUTS[place];
            let mut data = column(output.name, results, rois.clone());
            if 2 * rois.len() < results.len() {
                data = Bytes::copy_from_slice(&data);
            }
            let elements = data.len() / output.datatype.size();
            let row: i64 = output.shape[1..].iter().product();
            let shape = [&[elements as i64 / row][..], &output.shape[1..]].concat();
            Tensor { name: output.name.to_owned(), datatype: output.datatype, shape, data }
        };
        self.0.iter().map(tensor).collect()
    }
}

/// Returns the bytes of an output.
fn column(name: &str, results: &Arc<Results>, rois: Range<usize>) -> Bytes {
    let offsets = &results.offsets()[rois.start..=rois.end];
    let vertices = offsets[0]..offsets[rois.len()];
    let tracklets = || {
        let offsets = &results.tracklet_offsets()[rois.start..=rois.end];
        &results.tracklets()[offsets[0]..offsets[rois.len()]]
    };
    match name {
        "TRACKLET_COUNTS" => {
            let offsets = &results.tracklet_offsets()[rois.start..=rois.end];
            bytes_of(offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect::<Vec<_>>())
        }
        "TRACKLET_VERTEX" => {
            bytes_of(tracklets().iter().map(|of| of.vertex().map_or(-1, |vertex| vertex as i32)).collect::<Vec<_>>())
        }
        "TRACKLET_HITS" => bytes_of(tracklets().iter().flat_map(hits).collect::<Vec<_>>()),
        "TRACKLET_PARAMETERS" => bytes_of(tracklets().iter().flat_map(Tracklet::numbers).collect::<Vec<_>>()),
        "COUNTS" => bytes_of(offsets.windows(2).map(|pair| (pair[1] - pair[0]) as u32).collect::<Vec<_>>()),
        "STATUS" => share(results, rois, Results::status_codes),
        "FALLBACK" => share::<u8>(results, rois, |results| bytemuck::cast_slice(results.is_fallback())),
        "SPACEPOINTS" => share(results, rois, Results::spacepoint_counts),
        "OUTSIDE_WINDOW" => share(results, rois, Results::outside_window),
        "Z" => share(results, vertices, |results| results.vertices().z_mm()),
        "Z_ERROR" => share(results, vertices, |results| results.vertices().z_error_mm()),
        "WEIGHT" => share(results, vertices, |results| results.vertices().weight()),
        "RANK" => share(results, vertices, |results| results.vertices().rank()),
        "SIGNIFICANCE" => share(results, vertices, |results| results.vertices().significance()),
        "BACKGROUND" => share(results, vertices, |results| results.vertices().background()),
        "VERTEX_X" => share(results, vertices, |results| results.vertices().x_mm()),
        "VERTEX_Y" => share(results, vertices, |results| results.vertices().y_mm()),
        "COVARIANCE" => {
            let numbers = 6 * vertices.start..6 * vertices.end;
            share(results, numbers, |results| results.vertices().covariance_mm2().as_flattened())
        }
        "VERTEX_TRACKLETS" => share(results, vertices, |results| results.vertices().tracklet_count()),
        "SUM_PT2" => share(results, vertices, |results| results.vertices().sum_pt2_gev2()),
        _ => share(results, vertices, |results| results.vertices().pairs()),
    }
}

/// Returns the places of a tracklet's spacepoints, -1 for none.
fn hits(tracklet: &Tracklet) -> [i32; Tracklet::MOST_HITS] {
    std::array::from_fn(|i| tracklet.hits().get(i).map_or(-1, |hit| hit.cast_signed()))
}

/// A column that keeps its results.
struct Column<T> {
    results: Arc<Results>,
    elements: fn(&Results) -> &[T],
}

impl<T: Element> AsRef<[u8]> for Column<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice((self.elements)(&self.results))
    }
}

/// Returns the bytes of a part of a column, without a copy if the byte order permits it.
fn share<T: Element>(results: &Arc<Results>, part: Range<usize>, elements: fn(&Results) -> &[T]) -> Bytes {
    if cfg!(target_endian = "big") {
        return bytes_of(elements(results)[part].to_vec());
    }
    let (first, end) = (part.start * size_of::<T>(), part.end * size_of::<T>());
    Bytes::from_owner(Column { results: Arc::clone(results), elements }).slice(first..end)
}

#[cfg(test)]
mod tests {
    use zfinder::results::RoiSummary;
    use zfinder::{RoiId, Status, Vertex};

    use super::*;
    use crate::tensor::DataType;

    /// RoIs with these numbers of vertices, at z = 0 mm, 1 mm, 2 mm and so on.
    fn results(counts: &[u32]) -> Arc<Results> {
        let (mut results, mut z) = (Results::new(), 0..);
        for &count in counts {
            let vertices = z.by_ref().take(count as usize).map(|z| {
                let mut vertex = Vertex::at(f64::from(z));
                vertex.pairs = 7 + z as u64;
                vertex
            });
            results.push(RoiSummary::new(RoiId::default(), Status::Ok), vertices);
        }
        Arc::new(results)
    }

    #[test]
    fn every_output_has_a_column_of_its_type() {
        let results = results(&[2, 0]);
        let all = OutputSelection::new([]).expect("all").tensors(&results, 0..2);
        for (index, tensor) in all.iter().enumerate() {
            assert_eq!(tensor.name, OUTPUTS[index].name);
            // Two RoIs, two vertices, and no tracklet.
            let is_of_tracklets = tensor.name.starts_with("TRACKLET_") && tensor.name != "TRACKLET_COUNTS";
            let rows = if is_of_tracklets { 0 } else { 2 };
            let row: i64 = OUTPUTS[index].shape[1..].iter().product();
            assert_eq!(tensor.data.len(), tensor.datatype.size() * rows * row as usize, "{}", tensor.name);
            assert_eq!(tensor.shape[0], rows as i64, "{}", tensor.name);
            assert_eq!(tensor.shape[1..], OUTPUTS[index].shape[1..], "{}", tensor.name);
        }
        let asked = OutputSelection::new(["PAIRS", "COUNTS"]).expect("known").tensors(&results, 0..2);
        assert_eq!((asked[0].datatype, &asked[0].data[..8]), (DataType::Uint64, &7u64.to_le_bytes()[..]));
        assert_eq!(asked[1].data[..], [2, 0, 0, 0, 0, 0, 0, 0]);
        assert!(OutputSelection::new(["Q"]).is_err() && OutputSelection::new(["Z", "Z"]).is_err());
    }

    #[test]
    fn large_requests_of_a_batch_share_its_results() {
        let mut results = results(&[1, 2, 0, 3]);
        let wanted = OutputSelection::new(["COUNTS", "Z", "STATUS"]).expect("known");
        for (rois, counts, zs) in [
            (0..1, &[1u32][..], &[0.0f64][..]),
            (1..4, &[2, 0, 3], &[1.0, 2.0, 3.0, 4.0, 5.0]),
            (2..3, &[0], &[]),
            (4..4, &[], &[]),
        ] {
            let first = results.offsets()[rois.start];
            let tensors = wanted.tensors(&results, rois.clone());
            assert_eq!(tensors[0].data, bytes_of(counts.to_vec()), "{rois:?}");
            assert_eq!(tensors[1].data, bytes_of(zs.to_vec()), "{rois:?}");
            assert_eq!(tensors[2].data[..], results.status_codes()[rois.clone()], "{rois:?}");
            if cfg!(target_endian = "little") && !zs.is_empty() {
                let shared = results.vertices().z_mm()[first..].as_ptr().cast();
                assert_eq!(tensors[1].data.as_ptr() == shared, rois.len() >= 2, "{rois:?}");
            }
        }
        assert!(Arc::get_mut(&mut results).is_some(), "the memory is free once the tensors are gone");
    }
}
