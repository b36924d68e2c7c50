//! Requests and answers of the protocol over HTTP: JSON, with tensors in JSON or as bytes after it.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::answer::OutputSelection;
use crate::refusal::Refusal;
use crate::scheduler::Answer;
use crate::schema;
use crate::shared_memory::{Regions, TensorPlace};
use crate::tensor::{DataType, Element, Tensor, bytes_of, elements, view};

/// A request in JSON.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    inputs: Vec<Input>,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    datatype: String,
    shape: Vec<i64>,
    #[serde(default)]
    parameters: Map<String, Value>,
    data: Option<Value>,
}

#[derive(Deserialize)]
struct Output {
    name: String,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// Transport of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Numbers,
    Bytes,
    SharedMemory(TensorPlace),
}

/// A request that is parsed.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) id: String,
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) wanted: OutputSelection,
    /// Transport of each wanted output.
    pub(crate) travel: Vec<Transport>,
    /// Time limit in microseconds.
    pub(crate) timeout: Option<u64>,
}

/// Parses a request. `header_length` is the length of the JSON if binary tensors follow.
pub(crate) fn parse(regions: &Regions, body: &Bytes, header_length: Option<usize>) -> Result<Parsed, Refusal> {
    let json_length = header_length.unwrap_or(body.len());
    let Some(header) = body.get(..json_length) else {
        let message = format!(
            "Inference-Header-Content-Length is {json_length}, and the body has {} bytes; it is the length of the JSON \
             before binary tensors",
            body.len()
        );
        return Err(Refusal::invalid(message));
    };
    let message: Message = serde_json::from_slice(header).map_err(|error| {
        let advice = match header_length {
            None => {
                "if binary tensors follow the JSON, its length must be in Inference-Header-Content-Length".to_owned()
            }
            Some(length) => {
                format!("Inference-Header-Content-Length is {length}, and the body has {} bytes", body.len())
            }
        };
        Refusal::invalid(format!("the request is not JSON of an inference request: {error}; {advice}"))
    })?;
    let of_tensors = message.inputs.iter().flat_map(|input| input.parameters.keys());
    schema::check_parameters(message.parameters.keys().chain(of_tensors).map(String::as_str))?;
    let mut rest = body.slice(json_length..);
    let mut tensors = Vec::with_capacity(message.inputs.len());
    let mut read = 0;
    for input in message.inputs {
        let datatype = DataType::parse(&input.name, &input.datatype)?;
        let place = place(&input.name, &input.parameters)?;
        let data = match (place, input.parameters.get("binary_data_size"), input.data) {
            (Some(place), None, None) => regions.read(&place, &mut read)?,
            (None, Some(size), None) => take(&mut rest, &input.name, size, json_length)?,
            (None, None, Some(data)) => numbers(&input.name, datatype, &input.shape, &data)?,
            _ => {
                let message = "must have one of data, binary_data_size and shared_memory_region";
                return Err(Refusal::invalid(format!("input {} {message}", input.name)));
            }
        };
        tensors.push(Tensor::new(&input.name, datatype, input.shape, data)?);
    }
    if !rest.is_empty() {
        let message = format!(
            "{} bytes follow the last tensor: the body has {} bytes, and Inference-Header-Content-Length is {json_length}",
            rest.len(),
            body.len()
        );
        return Err(Refusal::invalid(message));
    }
    let wanted = OutputSelection::new(message.outputs.iter().map(|output| output.name.as_str()))?;
    let flag = |parameters: &Map<String, Value>, name| parameters.get(name).and_then(Value::as_bool);
    let all_binary = flag(&message.parameters, "binary_data_output").unwrap_or(false);
    let of_flag = |is_binary| if is_binary { Transport::Bytes } else { Transport::Numbers };
    let mut travel = Vec::new();
    for output in &message.outputs {
        travel.push(match place(&output.name, &output.parameters)? {
            Some(place) => Transport::SharedMemory(place),
            None => of_flag(flag(&output.parameters, "binary_data").unwrap_or(all_binary)),
        });
    }
    // A request that names no output wants all of them.
    travel.resize(wanted.len(), of_flag(all_binary));
    let timeout = message.parameters.get("timeout").and_then(Value::as_u64).filter(|&microseconds| microseconds > 0);
    Ok(Parsed { id: message.id, tensors, wanted, travel, timeout })
}

/// Returns the place of a tensor in shared memory from its parameters.
fn place(tensor: &str, parameters: &Map<String, Value>) -> Result<Option<TensorPlace>, Refusal> {
    let text = |key: &str| parameters.get(key).and_then(Value::as_str);
    TensorPlace::read(tensor, text, |key| parameters.get(key).and_then(Value::as_u64))
}

/// Takes the bytes of a tensor from the rest of the body, which follows this length of JSON.
fn take(rest: &mut Bytes, name: &str, size: &Value, json_length: usize) -> Result<Bytes, Refusal> {
    let left = rest.len();
    let message = match size.as_u64().map(usize::try_from) {
        Some(Ok(size)) if size <= left => return Ok(rest.split_to(size)),
        Some(_) => format!(
            "binary_data_size is {size}, and {left} bytes are left; Inference-Header-Content-Length is {json_length}"
        ),
        None => format!("binary_data_size is {size}, which is not a number of bytes"),
    };
    Err(Refusal::invalid(format!("input {name}: {message}")))
}

/// Returns the bytes of numbers in JSON, which may be nested like the shape.
fn numbers(name: &str, datatype: DataType, shape: &[i64], data: &Value) -> Result<Bytes, Refusal> {
    let mut flat = Vec::new();
    flatten(data, shape.len(), &mut flat);
    let wanted = elements(name, shape)?;
    if flat.len() != wanted {
        let message = format!("input {name}: shape {shape:?} has {wanted} elements, and data has {}", flat.len());
        return Err(Refusal::invalid(message));
    }
    let refuse = |value: &Value| {
        let datatype = datatype.name();
        Refusal::invalid(format!("input {name}: `{value}` is not a {datatype}"))
    };
    fn integers<T: Element + TryFrom<i128>>(
        flat: &[&Value],
        refuse: impl Fn(&Value) -> Refusal,
    ) -> Result<Bytes, Refusal> {
        let integer = |value: &&Value| {
            let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
            integer.and_then(|integer| T::try_from(integer).ok()).ok_or_else(|| refuse(value))
        };
        Ok(bytes_of(flat.iter().map(integer).collect::<Result<Vec<T>, _>>()?))
    }
    // null is NaN, as in the answers.
    let float =
        |value: &&Value| if value.is_null() { Ok(f64::NAN) } else { value.as_f64().ok_or_else(|| refuse(value)) };
    match datatype {
        DataType::Bool => {
            let flag = |value: &&Value| value.as_bool().map(u8::from).ok_or_else(|| refuse(value));
            Ok(bytes_of(flat.iter().map(flag).collect::<Result<Vec<_>, _>>()?))
        }
        DataType::Uint8 => integers::<u8>(&flat, refuse),
        DataType::Uint32 => integers::<u32>(&flat, refuse),
        DataType::Uint64 => integers::<u64>(&flat, refuse),
        DataType::Int32 => integers::<i32>(&flat, refuse),
        DataType::Int64 => integers::<i64>(&flat, refuse),
        DataType::Fp32 => {
            let floats = flat.iter().map(|value| float(value).map(|number| number as f32));
            Ok(bytes_of(floats.collect::<Result<Vec<f32>, _>>()?))
        }
        DataType::Fp64 => Ok(bytes_of(flat.iter().map(float).collect::<Result<Vec<f64>, _>>()?)),
    }
}

/// Appends the numbers of nested arrays. An array below the last dimension counts as one number,
/// which is refused.
fn flatten<'a>(value: &'a Value, depth: usize, to: &mut Vec<&'a Value>) {
    match value {
        Value::Array(values) if depth > 0 => values.iter().for_each(|value| flatten(value, depth - 1, to)),
        value => to.push(value),
    }
}

/// Returns the body of an answer, and the length of its JSON if binary tensors follow. Writes
/// outputs in shared memory to their places.
///
/// # Errors
/// An output that is larger than its place.
pub(crate) fn render(
    regions: &Regions,
    (model_name, model_version): (String, u32),
    id: &str,
    Answer { tensors, warning }: &Answer,
    travel: &[Transport],
) -> Result<(Bytes, Option<usize>), Refusal> {
    let mut outputs = Vec::with_capacity(tensors.len());
    let mut binary = Vec::new();
    for (tensor, travel) in tensors.iter().zip(travel) {
        let mut output = json!({ "name": tensor.name, "datatype": tensor.datatype.name(), "shape": tensor.shape });
        match travel {
            Transport::Numbers => output["data"] = to_json(tensor),
            Transport::Bytes => {
                output["parameters"] = json!({ "binary_data_size": tensor.data.len() });
                binary.push(&tensor.data);
            }
            Transport::SharedMemory(place) => {
                regions.write(&tensor.name, place, &tensor.data)?;
                output["parameters"] = json!({
                    "shared_memory_region": place.region,
                    "shared_memory_byte_size": tensor.data.len(),
                });
            }
        }
        outputs.push(output);
    }
    let mut answer =
        json!({ "model_name": model_name, "model_version": model_version.to_string(), "outputs": outputs });
    if !id.is_empty() {
        answer["id"] = id.into();
    }
    if let Some(warning) = warning {
        answer["parameters"] = json!({ "warning": warning });
    }
    let header = answer.to_string();
    if binary.is_empty() {
        return Ok((header.into(), None));
    }
    let mut body = BytesMut::with_capacity(header.len() + binary.iter().map(|data| data.len()).sum::<usize>());
    body.put(header.as_bytes());
    binary.into_iter().for_each(|data| body.put(&**data));
    Ok((body.freeze(), Some(header.len())))
}

/// Returns elements as JSON numbers. NaN is null.
fn to_json(tensor: &Tensor) -> Value {
    let data = &tensor.data;
    match tensor.datatype {
        DataType::Bool => data.iter().map(|&flag| flag != 0).collect(),
        DataType::Uint8 => data.iter().copied().collect(),
        DataType::Uint32 => view::<u32>(data).iter().copied().collect(),
        DataType::Uint64 => view::<u64>(data).iter().copied().collect(),
        DataType::Int32 => view::<i32>(data).iter().copied().collect(),
        DataType::Int64 => view::<i64>(data).iter().copied().collect(),
        DataType::Fp32 => view::<f32>(data).iter().copied().collect(),
        DataType::Fp64 => view::<f64>(data).iter().copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Parsed, String> {
        let regions = Regions::new(false, 100);
        parse(&regions, &Bytes::copy_from_slice(text.as_bytes()), None).map_err(|refusal| refusal.message)
    }

    #[test]
    fn tensors_are_numbers_or_bytes() {
        let text = r#"{"inputs": [
            {"name": "PHI_WINDOW", "datatype": "FP32", "shape": [2, 2], "data": [[1.5, null], [0, -2]]},
            {"name": "LAYER", "datatype": "UINT8", "shape": [3], "parameters": {"binary_data_size": 3}}],
            "outputs": [{"name": "Z", "parameters": {"binary_data": true}}, {"name": "COUNTS"}],
            "parameters": {"timeout": 7}}"#;
        let mut body = text.as_bytes().to_vec();
        body.extend([9, 8, 7]);
        let parsed = parse(&Regions::new(false, 100), &body.into(), Some(text.len())).expect("a request");
        let window = view::<f32>(&parsed.tensors[0].data);
        assert_eq!((window[0], window[1].is_nan(), &window[2..]), (1.5, true, &[0.0, -2.0][..]));
        assert_eq!(parsed.tensors[1].data[..], [9, 8, 7]);
        assert_eq!((parsed.travel, parsed.timeout), (vec![Transport::Bytes, Transport::Numbers], Some(7)));
    }

    #[test]
    fn wrong_requests_are_refused() {
        let input =
            |rest: &str| format!(r#"{{"inputs": [{{"name": "LAYER", "datatype": "UINT8", "shape": [2]{rest}}}]}}"#);
        for (text, words) in [
            ("{", "is not JSON"),
            ("[]", "is not JSON"),
            ("{}", "missing field `inputs`"),
            (&input(""), "must have one of"),
            (&input(r#", "data": [1]"#), "2 elements, and data has 1"),
            (&input(r#", "data": [1, 256]"#), "`256` is not a UINT8"),
            (&input(r#", "data": [1, -1]"#), "`-1` is not a UINT8"),
            (&input(r#", "data": [1, [2]]"#), "`[2]` is not a UINT8"),
            (&input(r#", "data": [1, "2"]"#), "is not a UINT8"),
            (&input(r#", "parameters": {"binary_data_size": 2}"#), "and 0 bytes are left"),
            (&input(r#", "parameters": {"binary_data_size": -2}"#), "not a number of bytes"),
            (&input(r#", "parameters": {"shared_memory_region": "a"}"#), "shared_memory_byte_size is missing"),
            (&input(r#", "parameters": {"shared_memory_region": "a", "shared_memory_byte_size": 2}"#), "not offered"),
            (
                &input(
                    r#", "parameters": {"shared_memory_region": "a", "shared_memory_byte_size": 2}, "data": [1, 2]"#,
                ),
                "one of",
            ),
        ] {
            let message = parsed(text).expect_err(words);
            assert!(message.contains(words), "{text}: {message}");
        }
        // A wrong length of the JSON is refused with its header and both numbers.
        let json = input(r#", "parameters": {"binary_data_size": 2}"#);
        let body: Bytes = [json.as_bytes(), &[1, 2]].concat().into();
        for (length, words) in [
            (None, "must be in Inference-Header-Content-Length"),
            (Some(0), "Inference-Header-Content-Length is 0, and the body has"),
            (Some(json.len() - 1), "and the body has"),
            (Some(json.len() + 1), "and the body has"),
            (Some(body.len()), "and the body has"),
            (Some(body.len() + 1), "and the body has"),
        ] {
            let message = parse(&Regions::new(false, 100), &body, length).expect_err(words).message;
            let numbers = length.map_or_else(String::new, |length| {
                format!("Inference-Header-Content-Length is {length}, and the body has {} bytes", body.len())
            });
            assert!(message.contains(words) && message.contains(&numbers), "{length:?}: {message}");
        }
        let longer = [&body[..], &[3]].concat().into();
        let message = parse(&Regions::new(false, 100), &longer, Some(json.len())).expect_err("longer").message;
        let numbers =
            format!("the body has {} bytes, and Inference-Header-Content-Length is {}", longer.len(), json.len());
        assert!(message.contains("1 bytes follow the last tensor") && message.contains(&numbers), "{message}");
    }

    #[test]
    fn numbers_keep_their_bits() {
        let mut random = fastrand::Rng::with_seed(7);
        let numbers: Vec<f64> = (0..10_000).map(|_| (random.f64() - 0.5) * 1000.0).collect();
        let tensor = json!({ "name": "X", "datatype": "FP64", "shape": [numbers.len()], "data": numbers });
        let body = json!({ "inputs": [tensor] }).to_string();
        let parsed = parse(&Regions::new(false, 0), &body.into(), None).expect("a request");
        assert_eq!(view::<f64>(&parsed.tensors[0].data), numbers);
    }
}
