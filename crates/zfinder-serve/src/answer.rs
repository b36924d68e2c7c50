//! Makes tensors of answers.

use bytes::Bytes;
use zfinder::{RoiResult, Status, Vertex};

use crate::refusal::Refusal;
use crate::schema::OUTPUTS;
use crate::tensor::{Tensor, bytes_of};

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
                Refusal::invalid(format!("there is no output `{name}`; outputs are {known}"))
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

    /// Makes the tensors of answers.
    pub(crate) fn tensors(&self, results: &[RoiResult]) -> Vec<Tensor> {
        let tensor = |&place: &usize| {
            let output = &OUTPUTS[place];
            let data = column(output.name, results);
            let elements = data.len() / output.datatype.size();
            Tensor { name: output.name.to_owned(), datatype: output.datatype, shape: vec![elements as i64], data }
        };
        self.0.iter().map(tensor).collect()
    }
}

/// The bytes of an output.
fn column(name: &str, results: &[RoiResult]) -> Bytes {
    fn vertices(results: &[RoiResult], value: impl Fn(&Vertex) -> f64) -> Bytes {
        bytes_of(results.iter().flat_map(|result| &result.vertices).map(value).collect::<Vec<f64>>())
    }
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    match name {
        "COUNTS" => bytes_of(results.iter().map(|result| result.vertices.len() as u32).collect::<Vec<_>>()),
        "STATUS" => bytes_of(results.iter().map(|result| status_code(result.status)).collect::<Vec<_>>()),
        "FALLBACK" => bytes_of(results.iter().map(|result| u8::from(result.fallback)).collect::<Vec<_>>()),
        "SPACEPOINTS" => bytes_of(results.iter().map(|result| result.spacepoints as u64).collect::<Vec<_>>()),
        "OUTSIDE_WINDOW" => bytes_of(results.iter().map(|result| result.outside_window as u64).collect::<Vec<_>>()),
        "Z" => vertices(results, |vertex| vertex.z_mm),
        "Z_ERROR" => vertices(results, |vertex| vertex.z_error_mm),
        "WEIGHT" => vertices(results, |vertex| vertex.weight),
        "RANK" => vertices(results, |vertex| vertex.rank),
        "SIGNIFICANCE" => vertices(results, |vertex| known(vertex.significance)),
        "BACKGROUND" => vertices(results, |vertex| known(vertex.background)),
        _ => {
            let pairs = results.iter().flat_map(|result| &result.vertices).map(|vertex| vertex.pairs);
            bytes_of(pairs.collect::<Vec<_>>())
        }
    }
}

/// The number of a status, as in `zfinder.h` and in the Python package.
pub(crate) fn status_code(status: Status) -> u8 {
    let position = Status::ALL.iter().position(|&known| known == status);
    position.unwrap_or(Status::ALL.len()) as u8
}

/// Returns the words of the numbers of a status.
pub(crate) fn status_words() -> impl Iterator<Item = &'static str> {
    Status::ALL.iter().map(|status| status.as_str()).chain(["other"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DataType;

    #[test]
    fn every_output_has_a_column_of_its_type() {
        let vertex = Vertex { z_mm: 1.5, pairs: 7, ..Vertex::default() };
        let two = RoiResult { vertices: vec![vertex; 2], status: Status::Ok, ..RoiResult::default() };
        let results = [two, RoiResult::default()];
        let all = OutputSelection::new([]).expect("all").tensors(&results);
        for (index, tensor) in all.iter().enumerate() {
            assert_eq!(tensor.name, OUTPUTS[index].name);
            assert_eq!(tensor.data.len(), tensor.datatype.size() * 2, "{}", tensor.name);
            assert_eq!(tensor.shape, [2], "{}", tensor.name);
        }
        let asked = OutputSelection::new(["PAIRS", "COUNTS"]).expect("known").tensors(&results);
        assert_eq!((asked[0].datatype, &asked[0].data[..8]), (DataType::Uint64, &7u64.to_le_bytes()[..]));
        assert_eq!(asked[1].data[..], [2, 0, 0, 0, 0, 0, 0, 0]);
        assert!(OutputSelection::new(["Q"]).is_err() && OutputSelection::new(["Z", "Z"]).is_err());
    }

    #[test]
    fn words_are_those_of_the_library() {
        let words: Vec<_> = status_words().collect();
        assert_eq!(words, ["ok", "empty", "no_peak", "bad_spacepoint", "capacity_exceeded", "other"]);
        for &status in Status::ALL {
            assert_eq!(words[usize::from(status_code(status))], status.as_str());
        }
    }
}
