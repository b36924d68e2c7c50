//! Requests and answers of the protocol over HTTP: JSON, with tensors in JSON or as bytes after it.
//!
//! Numbers are read straight into the elements of their tensor, so a request takes about as much
//! memory as its tensors. Objects are read twice: `data` may come before the type of its numbers.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::answer::OutputSelection;
use crate::limits::{DIMENSIONS, TENSORS};
use crate::received::Allowance;
use crate::refusal::{Refusal, check_name, shown, shown_error};
use crate::rois;
use crate::scheduler::Answer;
use crate::schema;
use crate::shared_memory::{Regions, TensorPlace};
use crate::tensor::{DataType, Element, Tensor, bytes_of, elements, view};

/// A request in JSON, without the numbers of its tensors.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    id: Cow<'a, str>,
    #[serde(default)]
    parameters: Parameters,
    #[serde(borrow, deserialize_with = "at_most::<_, _, TENSORS>")]
    inputs: Vec<Input<'a>>,
    #[serde(default, borrow, deserialize_with = "at_most::<_, _, TENSORS>")]
    outputs: Vec<Output<'a>>,
}

#[derive(Deserialize)]
struct Input<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    datatype: Cow<'a, str>,
    #[serde(deserialize_with = "at_most::<_, _, DIMENSIONS>")]
    shape: Vec<i64>,
    #[serde(default)]
    parameters: Parameters,
    data: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    parameters: Parameters,
}

/// Reads a list of at most `MOST` items.
fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(from: D) -> Result<Vec<T>, D::Error> {
    struct List<T, const MOST: usize>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for List<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} items")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::custom(format!("a list has more than {MOST} items")));
                }
                list.push(item);
            }
            Ok(list)
        }
    }
    from.deserialize_seq(List::<T, MOST>(PhantomData))
}

/// A value in JSON that is no list and no object.
#[derive(Clone, Debug, PartialEq)]
enum Scalar<'a> {
    Null,
    Flag(bool),
    Integer(i128),
    Float(f64),
    Text(Cow<'a, str>),
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Flag(flag) => flag.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Text(text) => f.write_str(&shown(text)),
        }
    }
}

impl Scalar<'_> {
    fn unsigned(&self) -> Option<u64> {
        if let Self::Integer(number) = self { u64::try_from(*number).ok() } else { None }
    }
}

/// The parameters that the server reads. Others are skipped.
#[derive(Debug, Default)]
struct Parameters {
    values: [Option<Scalar<'static>>; PARAMETERS.len()],
    /// Why the names of the parameters are refused.
    refusal: Option<Refusal>,
}

const PARAMETERS: [&str; 7] = [
    "timeout",
    "binary_data_output",
    "binary_data",
    "binary_data_size",
    "shared_memory_region",
    "shared_memory_byte_size",
    "shared_memory_offset",
];

impl Parameters {
    fn get(&self, name: &str) -> Option<&Scalar<'static>> {
        let at = PARAMETERS.iter().position(|known| *known == name)?;
        self.values[at].as_ref()
    }

    fn unsigned(&self, name: &str) -> Option<u64> {
        self.get(name)?.unsigned()
    }

    fn flag(&self, name: &str) -> Option<bool> {
        if let Some(Scalar::Flag(flag)) = self.get(name) { Some(*flag) } else { None }
    }

    /// Returns the place of a tensor in shared memory.
    fn place(&self, tensor: &str) -> Result<Option<TensorPlace>, Refusal> {
        let text = |key: &str| if let Some(Scalar::Text(text)) = self.get(key) { Some(&**text) } else { None };
        TensorPlace::read(tensor, text, |key| self.unsigned(key))
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfObject;
        impl<'de> Visitor<'de> for OfObject {
            type Value = Parameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parameters, A::Error> {
                let mut parameters = Parameters::default();
                while let Some(name) = map.next_key::<Cow<'_, str>>()? {
                    if parameters.refusal.is_none() {
                        parameters.refusal = schema::check_parameter(&name).err();
                    }
                    match PARAMETERS.iter().position(|known| *known == name) {
                        Some(at) => parameters.values[at] = map.next_value_seed(Value(keep))?,
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(parameters)
            }
        }
        from.deserialize_map(OfObject)
    }
}

/// Keeps the value of a parameter.
fn keep(scalar: Scalar<'_>) -> Result<Scalar<'static>, Refusal> {
    Ok(match scalar {
        Scalar::Text(text) => {
            check_name("a parameter", &text)?;
            Scalar::Text(text.into_owned().into())
        }
        Scalar::Null => Scalar::Null,
        Scalar::Flag(flag) => Scalar::Flag(flag),
        Scalar::Integer(number) => Scalar::Integer(number),
        Scalar::Float(number) => Scalar::Float(number),
    })
}

/// Reads a value by a function. Returns None for a list or an object.
struct Value<F>(F);

impl<'de, T, F: FnMut(Scalar<'_>) -> Result<T, Refusal>> DeserializeSeed<'de> for Value<F> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
        from.deserialize_any(self)
    }
}

/// The methods of a visitor that pass scalars to `self.scalar`.
macro_rules! visit_scalars {
    () => {
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            self.scalar(Scalar::Null)
        }

        fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Self::Value, E> {
            self.scalar(Scalar::Flag(flag))
        }

        fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
            self.scalar(Scalar::Integer(number.into()))
        }

        fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
            self.scalar(Scalar::Integer(number.into()))
        }

        fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
            self.scalar(Scalar::Float(number))
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            self.scalar(Scalar::Text(text.into()))
        }
    };
}

impl<T, F: FnMut(Scalar<'_>) -> Result<T, Refusal>> Value<F> {
    fn scalar<E: serde::de::Error>(mut self, scalar: Scalar<'_>) -> Result<Option<T>, E> {
        (self.0)(scalar).map(Some).map_err(E::custom)
    }
}

impl<'de, T, F: FnMut(Scalar<'_>) -> Result<T, Refusal>> Visitor<'de> for Value<F> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    visit_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Reads the value of one key of an object, and skips the others.
struct Member<S>(&'static str, S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Member<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Member<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self(key, seed) = self;
        let (mut seed, mut found) = (Some(seed), None);
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            match seed.take_if(|_| name == key) {
                Some(seed) => found = Some(map.next_value_seed(seed)?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// Reads the numbers of inputs.
struct AllNumbers<'a>(&'a [(Input<'a>, DataType)]);

impl<'de> DeserializeSeed<'de> for AllNumbers<'_> {
    type Value = Vec<Option<Bytes>>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for AllNumbers<'_> {
    type Value = Vec<Option<Bytes>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of inputs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::with_capacity(self.0.len());
        for (input, datatype) in self.0 {
            let numbers = items.next_element_seed(Member("data", TensorNumbers(input, *datatype)))?;
            all.push(numbers.flatten());
        }
        // The second reading ends as the first one.
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(all)
    }
}

/// Reads the numbers of an input.
#[derive(Clone, Copy)]
struct TensorNumbers<'a>(&'a Input<'a>, DataType);

impl<'de> DeserializeSeed<'de> for TensorNumbers<'_> {
    type Value = Bytes;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Bytes, D::Error> {
        match self.1 {
            DataType::Bool => self.read::<u8, _>(flag, from),
            DataType::Uint8 => self.read::<u8, _>(integer, from),
            DataType::Uint32 => self.read::<u32, _>(integer, from),
            DataType::Uint64 => self.read::<u64, _>(integer, from),
            DataType::Int32 => self.read::<i32, _>(integer, from),
            DataType::Int64 => self.read::<i64, _>(integer, from),
            DataType::Fp32 => self.read::<f32, _>(|scalar| float(scalar).map(|number| number as f32), from),
            DataType::Fp64 => self.read::<f64, _>(float, from),
        }
    }
}

fn flag(scalar: &Scalar<'_>) -> Option<u8> {
    if let Scalar::Flag(flag) = scalar { Some(u8::from(*flag)) } else { None }
}

fn integer<T: TryFrom<i128>>(scalar: &Scalar<'_>) -> Option<T> {
    if let Scalar::Integer(number) = scalar { T::try_from(*number).ok() } else { None }
}

/// null is NaN, as in the answers.
fn float(scalar: &Scalar<'_>) -> Option<f64> {
    match scalar {
        Scalar::Null => Some(f64::NAN),
        Scalar::Integer(number) => Some(*number as f64),
        Scalar::Float(number) => Some(*number),
        _ => None,
    }
}

impl TensorNumbers<'_> {
    fn read<'de, T: Element, D: Deserializer<'de>>(
        self,
        convert: fn(&Scalar<'_>) -> Option<T>,
        from: D,
    ) -> Result<Bytes, D::Error> {
        let Self(input, _) = self;
        let wanted = elements(&input.name, &input.shape).map_err(D::Error::custom)?;
        let mut numbers = Vec::with_capacity(wanted);
        let depth = input.shape.len();
        Numbers { tensor: self, convert, depth, to: &mut numbers, wanted }.deserialize(from)?;
        if numbers.len() == wanted {
            return Ok(bytes_of(numbers));
        }
        let (name, shape, found) = (shown(&input.name), &input.shape, numbers.len());
        Err(D::Error::custom(format!("input {name}: shape {shape:?} has {wanted} elements, and data has {found}")))
    }
}

/// Appends numbers, which may be nested like the shape.
struct Numbers<'a, T> {
    tensor: TensorNumbers<'a>,
    convert: fn(&Scalar<'_>) -> Option<T>,
    depth: usize,
    to: &'a mut Vec<T>,
    wanted: usize,
}

impl<T> Numbers<'_, T> {
    fn refuse<E: serde::de::Error>(&self, what: impl fmt::Display) -> E {
        let (name, datatype) = (shown(&self.tensor.0.name), self.tensor.1.name());
        E::custom(format!("input {name}: {what} is not a {datatype}"))
    }

    fn scalar<E: serde::de::Error>(self, scalar: Scalar<'_>) -> Result<(), E> {
        let Some(number) = (self.convert)(&scalar) else {
            return Err(self.refuse(format!("`{scalar}`")));
        };
        if self.to.len() == self.wanted {
            let (name, shape, wanted) = (shown(&self.tensor.0.name), &self.tensor.0.shape, self.wanted);
            return Err(E::custom(format!("input {name}: shape {shape:?} has {wanted} elements, and data has more")));
        }
        self.to.push(number);
        Ok(())
    }
}

impl<'de, T> DeserializeSeed<'de> for Numbers<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T> Visitor<'de> for Numbers<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers")
    }

    visit_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some(depth) = self.depth.checked_sub(1) else { return Err(self.refuse("a list")) };
        let Self { tensor, convert, to, wanted, .. } = self;
        while items.next_element_seed(Numbers { tensor, convert, depth, to: &mut *to, wanted })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(self.refuse("an object"))
    }
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

/// Parses a request. `header_length` is the length of the JSON if binary tensors follow. The
/// elements of tensors in JSON count towards the allowance.
pub(crate) fn parse(
    regions: &Regions,
    body: &Bytes,
    header_length: Option<usize>,
    allowance: &mut Allowance,
) -> Result<Parsed, Refusal> {
    let json_length = header_length.unwrap_or(body.len());
    let Some(header) = body.get(..json_length) else {
        let message = format!(
            "Inference-Header-Content-Length is {json_length}, and the body has {} bytes; it is the length of the JSON \
             before binary tensors",
            body.len()
        );
        return Err(Refusal::invalid(message));
    };
    let message: Message<'_> = serde_json::from_slice(header).map_err(|error| {
        let advice = match header_length {
            None => {
                "if binary tensors follow the JSON, its length must be in Inference-Header-Content-Length".to_owned()
            }
            Some(length) => {
                format!("Inference-Header-Content-Length is {length}, and the body has {} bytes", body.len())
            }
        };
        let error = shown_error(error);
        Refusal::invalid(format!("the request is not JSON of an inference request: {error}; {advice}"))
    })?;
    check_name("the id", &message.id)?;
    let of_tensors = message.inputs.iter().map(|input| &input.parameters);
    if let Some(refusal) = [&message.parameters].into_iter().chain(of_tensors).find_map(|of| of.refusal.clone()) {
        return Err(refusal);
    }
    let mut inputs = Vec::with_capacity(message.inputs.len());
    for input in message.inputs {
        let datatype = DataType::parse(&input.name, &input.datatype)?;
        inputs.push((input, datatype));
    }
    let mut numbers = read_numbers(header, &inputs, allowance)?;
    let mut rest = body.slice(json_length..);
    let mut tensors = Vec::with_capacity(inputs.len());
    let mut read = 0;
    for ((input, datatype), numbers) in inputs.into_iter().zip(&mut numbers) {
        let place = input.parameters.place(&input.name)?;
        let data = match (place, input.parameters.get("binary_data_size"), numbers.take()) {
            (Some(place), None, None) => regions.read(&place, &mut read)?,
            (None, Some(size), None) => take(&mut rest, &input.name, size, json_length)?,
            (None, None, Some(data)) => data,
            _ => {
                let message = "must have one of data, binary_data_size and shared_memory_region";
                return Err(Refusal::invalid(format!("input {} {message}", shown(&input.name))));
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
    let wanted = OutputSelection::new(message.outputs.iter().map(|output| &*output.name))?;
    let all_binary = message.parameters.flag("binary_data_output").unwrap_or(false);
    let of_flag = |is_binary| if is_binary { Transport::Bytes } else { Transport::Numbers };
    let mut travel = Vec::new();
    for output in &message.outputs {
        travel.push(match output.parameters.place(&output.name)? {
            Some(place) => Transport::SharedMemory(place),
            None => of_flag(output.parameters.flag("binary_data").unwrap_or(all_binary)),
        });
    }
    // A request that names no output wants all of them.
    travel.resize(wanted.len(), of_flag(all_binary));
    let timeout = message.parameters.unsigned("timeout").filter(|&microseconds| microseconds > 0);
    Ok(Parsed { id: message.id.into_owned(), tensors, wanted, travel, timeout })
}

/// Reads the numbers of all inputs that have them in JSON.
fn read_numbers(
    header: &[u8],
    inputs: &[(Input<'_>, DataType)],
    allowance: &mut Allowance,
) -> Result<Vec<Option<Bytes>>, Refusal> {
    let mut bytes = 0;
    for (input, datatype) in inputs.iter().filter(|(input, _)| input.data.is_some()) {
        let wanted = elements(&input.name, &input.shape)?;
        if input.name == "OFFSETS" {
            rois::check_offsets(wanted)?;
        }
        // A number takes a character, and another one before the next number.
        if wanted > header.len() / 2 + 1 {
            let (name, shape) = (shown(&input.name), &input.shape);
            return Err(Refusal::invalid(format!(
                "input {name}: shape {shape:?} has {wanted} elements, and data has fewer"
            )));
        }
        bytes += wanted * datatype.size();
    }
    if inputs.iter().all(|(input, _)| input.data.is_none()) {
        return Ok(inputs.iter().map(|_| None).collect());
    }
    allowance.take(bytes)?;
    let mut json = serde_json::Deserializer::from_slice(header);
    let numbers = Member("inputs", AllNumbers(inputs)).deserialize(&mut json);
    let numbers = numbers.map_err(|error| Refusal::invalid(shown_error(error)))?;
    numbers.ok_or_else(|| Refusal::invalid("the request has no inputs"))
}

/// Takes the bytes of a tensor from the rest of the body, which follows this length of JSON.
fn take(rest: &mut Bytes, name: &str, size: &Scalar<'_>, json_length: usize) -> Result<Bytes, Refusal> {
    let left = rest.len();
    let message = match size.unsigned().map(usize::try_from) {
        Some(Ok(size)) if size <= left => return Ok(rest.split_to(size)),
        Some(_) => format!(
            "binary_data_size is {size}, and {left} bytes are left; Inference-Header-Content-Length is {json_length}"
        ),
        None => format!("binary_data_size is {size}, which is not a number of bytes"),
    };
    Err(Refusal::invalid(format!("input {}: {message}", shown(name))))
}

/// An answer in JSON.
#[derive(Serialize)]
struct AnswerJson<'a> {
    model_name: String,
    model_version: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Warning<'a>>,
    outputs: Vec<OutputJson<'a>>,
}

#[derive(Serialize)]
struct Warning<'a> {
    warning: &'a str,
}

#[derive(Serialize)]
struct OutputJson<'a> {
    name: &'a str,
    datatype: &'static str,
    shape: &'a [i64],
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<OutputPlace<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<JsonNumbers<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OutputPlace<'a> {
    Bytes { binary_data_size: usize },
    SharedMemory { shared_memory_region: &'a str, shared_memory_byte_size: usize },
}

/// Elements as JSON numbers. NaN is null.
struct JsonNumbers<'a>(&'a Tensor);

impl Serialize for JsonNumbers<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let data = &self.0.data;
        match self.0.datatype {
            DataType::Bool => to.collect_seq(data.iter().map(|&flag| flag != 0)),
            DataType::Uint8 => to.collect_seq(data.iter()),
            DataType::Uint32 => to.collect_seq(view::<u32>(data).iter()),
            DataType::Uint64 => to.collect_seq(view::<u64>(data).iter()),
            DataType::Int32 => to.collect_seq(view::<i32>(data).iter()),
            DataType::Int64 => to.collect_seq(view::<i64>(data).iter()),
            DataType::Fp32 => to.collect_seq(view::<f32>(data).iter()),
            DataType::Fp64 => to.collect_seq(view::<f64>(data).iter()),
        }
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
    let mut size = 1 << 12;
    for (tensor, travel) in tensors.iter().zip(travel) {
        let Tensor { name, datatype, shape, data } = tensor;
        let (mut parameters, mut numbers) = (None, None);
        match travel {
            Transport::Numbers => {
                // A number takes some 18 digits.
                size += tensor.len() * (3 * datatype.size());
                numbers = Some(JsonNumbers(tensor));
            }
            Transport::Bytes => {
                size += data.len();
                parameters = Some(OutputPlace::Bytes { binary_data_size: data.len() });
                binary.push(data);
            }
            Transport::SharedMemory(place) => {
                regions.write(name, place, data)?;
                let (shared_memory_region, shared_memory_byte_size) = (&*place.region, data.len());
                parameters = Some(OutputPlace::SharedMemory { shared_memory_region, shared_memory_byte_size });
            }
        }
        outputs.push(OutputJson { name, datatype: datatype.name(), shape, parameters, data: numbers });
    }
    let parameters = warning.as_deref().map(|warning| Warning { warning });
    let answer = AnswerJson { model_name, model_version: model_version.to_string(), id, parameters, outputs };
    let mut body = Vec::with_capacity(size);
    let written = serde_json::to_writer(&mut body, &answer);
    written.map_err(|error| Refusal::new(crate::refusal::Reason::Failed, error.to_string()))?;
    if binary.is_empty() {
        return Ok((body.into(), None));
    }
    let json_length = body.len();
    binary.into_iter().for_each(|data| body.extend_from_slice(data));
    Ok((body.into(), Some(json_length)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::drain::Phases;
    use crate::limits::REQUEST_ROIS;
    use crate::received::ReceiveLimits;

    /// Parses within a limit on the bytes of tensors in JSON.
    fn parse_within(most: usize, body: &Bytes, header_length: Option<usize>) -> Result<Parsed, Refusal> {
        let limits = ReceiveLimits::new(most, 0, Duration::from_secs(10), Phases::new().1);
        let limits = Arc::new(limits);
        let mut allowance = Allowance::new(Arc::clone(&limits));
        let parsed = parse(&Regions::new(false, 100), body, header_length, &mut allowance);
        drop(allowance);
        assert_eq!(limits.taken(), 0);
        parsed
    }

    fn parse_body(body: &Bytes, header_length: Option<usize>) -> Result<Parsed, Refusal> {
        parse_within(1 << 20, body, header_length)
    }

    fn parsed(text: &str) -> Result<Parsed, String> {
        parse_body(&Bytes::copy_from_slice(text.as_bytes()), None).map_err(|refusal| refusal.message)
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
        let parsed = parse_body(&body.into(), Some(text.len())).expect("a request");
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
            (&input(r#", "data": [1, [2]]"#), "input LAYER: a list is not a UINT8"),
            (&input(r#", "data": [1, "2"]"#), "is not a UINT8"),
            (&input(r#", "data": [1, {"": 0}]"#), "an object is not a UINT8"),
            (&input(r#", "data": [1, 2, 3]"#), "2 elements, and data has more"),
            (&input(r#", "parameters": {"shared_memory_region": []}"#), "must have one of"),
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
            let message = parse_body(&body, length).expect_err(words).message;
            let numbers = length.map_or_else(String::new, |length| {
                format!("Inference-Header-Content-Length is {length}, and the body has {} bytes", body.len())
            });
            assert!(message.contains(words) && message.contains(&numbers), "{length:?}: {message}");
        }
        let longer = [&body[..], &[3]].concat().into();
        let message = parse_body(&longer, Some(json.len())).expect_err("longer").message;
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
        let parsed = parse_body(&body.into(), None).expect("a request");
        assert_eq!(view::<f64>(&parsed.tensors[0].data), numbers);
    }
    #[test]
    fn what_is_not_read_takes_no_memory() {
        // Unknown members anywhere, and data before its type.
        let text = r#"{"a": [{"": 0}], "inputs": [{"data": [[1, 2]], "b": {"c": [1]}, "shape": [1, 2], "parameters":
            {"d": [{"": 0}], "timeout": [1]}, "datatype": "UINT8", "name": "LAYER"}], "parameters": {"timeout": 3}}"#;
        let found = parsed(text).expect("a request");
        assert_eq!((&found.tensors[0].data[..], found.timeout), (&[1, 2][..], Some(3)));
        let list = |item: &str, count: usize| vec![item; count].join(",");
        let empty = r#"{"name":"","datatype":"UINT8","shape":[0],"data":[]}"#;
        let offsets = REQUEST_ROIS + 2;
        for (text, words) in [
            (format!(r#"{{"inputs":[{}]}}"#, list(empty, 65)), "a list has more than 64 items"),
            (format!(r#"{{"inputs":[],"outputs":[{}]}}"#, list(r#"{"name":"Z"}"#, 65)), "more than 64 items"),
            (
                format!(r#"{{"inputs":[{{"name":"Z","datatype":"FP32","shape":[{}]}}]}}"#, list("1", 9)),
                "a list has more than 8 items",
            ),
            (
                r#"{"inputs":[{"name":"Z","datatype":"FP32","shape":[1000000000000],"data":[1]}]}"#.to_owned(),
                "elements, and data has fewer",
            ),
            (
                format!(
                    r#"{{"inputs":[{{"name":"OFFSETS","datatype":"INT64","shape":[{offsets}],"data":[{}]}}]}}"#,
                    list("0", offsets)
                ),
                "the request has 65537 RoIs, and 65536 is the most",
            ),
            (format!(r#"{{"id":"{}","inputs":[]}}"#, "a".repeat(5000)), "the id has 5000 bytes, and 4096 is the most"),
            (
                format!(r#"{{"inputs":[],"parameters":{{"shared_memory_region":"{}"}}}}"#, "a".repeat(5000)),
                "a parameter has 5000 bytes",
            ),
        ] {
            let message = parsed(&text).expect_err(words);
            assert!(message.contains(words), "{message}");
        }
        let numbers =
            format!(r#"{{"inputs":[{{"name":"Z","datatype":"FP64","shape":[1000],"data":[{}]}}]}}"#, list("0", 1000));
        assert!(parse_within(8000, &numbers.clone().into(), None).is_ok());
        let refusal = parse_within(7999, &numbers.into(), None).expect_err("one byte more than the limit");
        assert!(refusal.message.contains("--max-receiving-mib"), "{refusal}");
    }

    #[test]
    fn long_text_is_cut_in_messages() {
        let long = "\u{e9}".repeat(1 << 20);
        for text in [
            format!(r#"{{"inputs": "{long}"}}"#),
            format!(r#"{{"inputs": [{{"name": "Z", "datatype": "{long}", "shape": [1], "data": [1]}}]}}"#),
            format!(r#"{{"inputs": [{{"name": "{long}", "datatype": "FP32", "shape": [1], "data": [[1]]}}]}}"#),
            format!(r#"{{"inputs": [{{"name": "Z", "datatype": "FP32", "shape": [1], "data": ["{long}"]}}]}}"#),
            format!(r#"{{"inputs": [{{"name": "Z", "datatype": "FP32", "shape": [-1], "data": ["{long}"]}}]}}"#),
            format!(r#"{{"inputs": [], "outputs": [{{"name": "{long}"}}]}}"#),
            format!(r#"{{"inputs": [], "parameters": {{"event{long}": 1}}}}"#),
        ] {
            let message = parsed(&text).err().unwrap_or_default();
            assert!(message.len() < 2500 && message.is_ascii(), "{message}");
        }
    }
}
