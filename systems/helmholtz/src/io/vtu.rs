//! VTU files: VTK's unstructured grids, which ParaView reads.

use std::io::{self, Write};
use std::path::Path;

use super::{MOST_BYTES, file_error};
use crate::error::{Error, Result};
use crate::mesh::Mesh;

/// VTK's number of a wedge.
const WEDGE: u8 = 13;

/// Writes a mesh of wedges and fields at its nodes, with 64-bit numbers in raw appended data.
///
/// The writes are small, so the writer should be buffered.
///
/// # Errors
/// Any error of the writer; a field whose length is not the number of nodes.
pub fn write_vtu(mut out: impl Write, mesh: &Mesh, fields: &[(&str, &[f64])]) -> io::Result<()> {
    if fields.iter().any(|(_, field)| field.len() != mesh.nodes()) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a field without a number for each node"));
    }
    let (nodes, prisms) = (mesh.nodes() as u64, mesh.prisms() as u64);
    // Each block is the number of its bytes, as a u64, and the bytes.
    let sizes = fields.iter().map(|_| 8 * nodes).chain([24 * nodes, 48 * prisms, 8 * prisms, prisms]);
    let offsets: Vec<u64> = sizes
        .clone()
        .scan(0, |end, size| {
            let start = *end;
            *end += 8 + size;
            Some(start)
        })
        .collect();
    let sizes: Vec<u64> = sizes.collect();
    writeln!(out, "<?xml version=\"1.0\"?>")?;
    let attributes = "type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\"";
    writeln!(out, "<VTKFile {attributes}>\n<UnstructuredGrid>")?;
    writeln!(out, "<Piece NumberOfPoints=\"{nodes}\" NumberOfCells=\"{prisms}\">\n<PointData>")?;
    let mut arrays = offsets.iter();
    let mut array = |out: &mut dyn Write, kind: &str, name: &str, components: u32| {
        let offset = arrays.next().copied().unwrap_or_default();
        let count = if components == 1 { String::new() } else { format!(" NumberOfComponents=\"{components}\"") };
        let name = escaped(name);
        writeln!(out, "<DataArray type=\"{kind}\" Name=\"{name}\"{count} format=\"appended\" offset=\"{offset}\"/>")
    };
    for (name, _) in fields {
        array(&mut out, "Float64", name, 1)?;
    }
    writeln!(out, "</PointData>\n<Points>")?;
    array(&mut out, "Float64", "Points", 3)?;
    writeln!(out, "</Points>\n<Cells>")?;
    array(&mut out, "Int64", "connectivity", 1)?;
    array(&mut out, "Int64", "offsets", 1)?;
    array(&mut out, "UInt8", "types", 1)?;
    writeln!(out, "</Cells>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">")?;
    write!(out, "_")?;
    write_blocks(&mut out, mesh, fields, &sizes)?;
    writeln!(out, "\n</AppendedData>\n</VTKFile>")?;
    out.flush()
}

fn write_blocks(out: &mut impl Write, mesh: &Mesh, fields: &[(&str, &[f64])], sizes: &[u64]) -> io::Result<()> {
    let mut sizes = sizes.iter();
    let mut begin = |out: &mut dyn Write| out.write_all(&sizes.next().copied().unwrap_or_default().to_le_bytes());
    for (_, field) in fields {
        begin(out)?;
        field.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
    }
    begin(out)?;
    for &[x, y] in mesh.vertices() {
        for level in 0..mesh.levels() {
            [x, y, mesh.z(level)].iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))?;
        }
    }
    begin(out)?;
    for (triangle, corners) in mesh.triangles().iter().enumerate() {
        // VTK's wedge has the triangle that points outwards first.
        let [a, b, c] =
            if mesh.is_anticlockwise(triangle) { [0, 2, 1] } else { [0, 1, 2] }.map(|i| corners[i] as usize);
        for layer in 0..mesh.levels() - 1 {
            for (vertex, level) in [a, b, c].map(|v| (v, layer)).into_iter().chain([a, b, c].map(|v| (v, layer + 1))) {
                out.write_all(&(mesh.node(vertex, level) as i64).to_le_bytes())?;
            }
        }
    }
    begin(out)?;
    (1..=mesh.prisms() as i64).try_for_each(|end| out.write_all(&(6 * end).to_le_bytes()))?;
    begin(out)?;
    (0..mesh.prisms()).try_for_each(|_| out.write_all(&[WEDGE]))
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Reads a field at the points of a VTU file, in the order of the file. Arrays may be text, inline
/// base64 or appended data, of `Float32` or `Float64`, without compression.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, has no such array, or stores it in another way.
pub fn read_vtu(path: &Path, name: &str) -> Result<Vec<f64>> {
    let bytes = table_file::read_whole(path, MOST_BYTES).map_err(|error| file_error(path, error))?;
    field(&bytes, name).map_err(|what| Error::File { path: path.display().to_string(), what })
}

type VtuResult<T> = std::result::Result<T, String>;

fn field(bytes: &[u8], name: &str) -> VtuResult<Vec<f64>> {
    // Tags are text; appended data may be anything.
    let end = find(bytes, b"<AppendedData").unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "this is not XML in UTF-8".to_owned())?;
    let head = tag(text, "<VTKFile").ok_or("this is not a VTK file in XML")?;
    if attribute(head, "type") != Some("UnstructuredGrid") {
        return Err("this is not an unstructured grid".to_owned());
    }
    if attribute(head, "compressor").is_some() {
        return Err("the data are compressed: write the file without compression".to_owned());
    }
    if attribute(head, "byte_order") == Some("BigEndian") {
        return Err("the data are big-endian: write the file as little-endian".to_owned());
    }
    let header = match attribute(head, "header_type") {
        Some("UInt64") => 8,
        _ => 4,
    };
    let start = text.find("<PointData").ok_or("the file has no point data")?;
    let points = &text[start..start + text[start..].find("</PointData>").ok_or("<PointData> has no end")?];
    let mut names = Vec::new();
    // Each search begins behind the tag before, so that time is linear.
    let mut rest = points;
    while let Some(at) = rest.find("<DataArray") {
        let array = &rest[at..];
        let head = tag(array, "<DataArray").ok_or("a tag has no end")?;
        rest = &array[head.len()..];
        let found = attribute(head, "Name").unwrap_or_default();
        if found != escaped(name) {
            names.push(found);
            continue;
        }
        if attribute(head, "NumberOfComponents").is_some_and(|count| count != "1") {
            return Err(format!("`{name}` has several numbers per point"));
        }
        let kind = attribute(head, "type").unwrap_or_default();
        let inline = || array[head.len()..].split('<').next().unwrap_or_default();
        return match attribute(head, "format") {
            Some("ascii") => {
                inline().split_ascii_whitespace().map(|word| word.parse().map_err(|_| bad(word))).collect()
            }
            Some("binary") => numbers(&from_base64(inline().trim())?, header, kind),
            Some("appended") => appended(&bytes[end..], head, header, kind),
            _ => Err(format!("`{name}` has an unknown format")),
        };
    }
    const MOST_NAMES: usize = 20;
    let more = if names.len() > MOST_NAMES { ", ..." } else { "" };
    names.truncate(MOST_NAMES);
    Err(format!("there is no point data `{name}`; there is {}{more}", names.join(", ")))
}

fn bad(word: &str) -> String {
    format!("a number is expected, not `{}`", word.chars().take(20).collect::<String>())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The first tag of a name, up to its `>`.
fn tag<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(name)?;
    let length = text[start..].find('>')?;
    Some(&text[start..=start + length])
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    tag[start..].split('"').next()
}

fn appended(section: &[u8], head: &str, header: usize, kind: &str) -> VtuResult<Vec<f64>> {
    let offset: usize = attribute(head, "offset").and_then(|text| text.parse().ok()).ok_or("an array has no offset")?;
    let close = section.iter().position(|&byte| byte == b'>').ok_or("the file has no appended data")?;
    let is_raw = find(&section[..close], b"encoding=\"raw\"").is_some();
    let start = section[close..].iter().position(|&byte| byte == b'_').ok_or("appended data begin with _")?;
    let data = section.get(close + start + 1 + offset..).ok_or("an offset is beyond the end of the file")?;
    if is_raw {
        return numbers(data, header, kind);
    }
    let is_data = |byte: &&u8| !matches!(**byte, b'<' | b'_');
    let text: String = data.iter().take_while(is_data).map(|&byte| char::from(byte)).collect();
    numbers(&from_base64(text.trim())?, header, kind)
}

/// The numbers of a block, whose size comes first.
fn numbers(block: &[u8], header: usize, kind: &str) -> VtuResult<Vec<f64>> {
    let short = || "an array ends too early".to_owned();
    let mut size = [0; 8];
    size[..header].copy_from_slice(block.get(..header).ok_or_else(short)?);
    let size = usize::try_from(u64::from_le_bytes(size)).map_err(|_| short())?;
    let data = block[header..].get(..size).ok_or_else(short)?;
    match kind {
        "Float64" => Ok(data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()),
        "Float32" => Ok(data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect()),
        _ => Err(format!("numbers of type {kind}: Float32 and Float64 are read")),
    }
}

/// Decodes base64. Padding may stand within the text, because VTK encodes a block's size by itself.
fn from_base64(text: &str) -> VtuResult<Vec<u8>> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let symbols: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    for four in symbols.chunks(4) {
        let padding = four.iter().rev().take_while(|&&byte| byte == b'=').count();
        let mut word = 0_u32;
        for place in 0..4 {
            let symbol = four.get(place).copied().unwrap_or(b'=');
            let six = if place < 4 - padding { value(symbol).ok_or("this is not base64")? } else { 0 };
            word = word << 6 | u32::from(six);
        }
        bytes.extend(&word.to_be_bytes()[1..4 - padding.min(2)]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use crate::mesh::Extrusion;

    #[test]
    fn written_fields_are_read_back() {
        let flat = generate::irregular(3, 0.2, 1).expect("triangles");
        let mesh = Mesh::new(flat, Extrusion { levels: 4, height: 0.5 }).expect("a mesh");
        let u: Vec<f64> = (0..mesh.nodes()).map(|i| (i as f64).sin()).collect();
        let mut bytes = Vec::new();
        write_vtu(&mut bytes, &mesh, &[("v", &vec![0.0; u.len()]), ("u < 1", &u)]).expect("written");
        assert_eq!(field(&bytes, "u < 1").expect("a field"), u);
        let error = field(&bytes, "w").expect_err("no such field");
        assert!(error.contains("no point data `w`; there is v, "), "{error}");
        assert!((0..bytes.len()).step_by(7).all(|length| field(&bytes[..length], "u < 1").is_err() || length > 1000));
        assert!(write_vtu(Vec::new(), &mesh, &[("u", &u[1..])]).is_err());
    }

    #[test]
    fn time_is_linear_in_the_file() {
        let refused = |points: &str| {
            let begun = std::time::Instant::now();
            let file = format!("<VTKFile type=\"UnstructuredGrid\"><PointData>{points}</PointData></VTKFile>");
            let error = field(file.as_bytes(), "u").expect_err("refused");
            assert!(begun.elapsed().as_secs() < 5, "{error}");
            error
        };
        assert_eq!(refused(&"<DataArray ".repeat(200_000)), "a tag has no end");
        assert!(refused(&format!("{}>", "<DataArray ".repeat(200_000))).contains("there is no point data `u`"));
        let error = refused(&"<DataArray Name=\"v\"/>".repeat(100_000));
        assert!(error.ends_with("v, ...") && error.len() < 200, "{error}");
    }

    #[test]
    fn text_and_base64_are_read() {
        let file = |format: &str, kind: &str, data: &str| {
            format!(
                "<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\"><PointData>\n<DataArray type=\"{kind}\" Name=\"u\" \
                 format=\"{format}\">{data}</DataArray></PointData></VTKFile>"
            )
        };
        assert_eq!(field(file("ascii", "Float32", " 1 -2.5\n3e1 ").as_bytes(), "u").expect("text"), [1.0, -2.5, 30.0]);
        // A size of 8 bytes and 1.0, -2.0 in f32: as one text, and with the size by itself.
        for data in ["CAAAAAAAgD8AAADA", "CAAAAA==AACAPwAAAMA="] {
            assert_eq!(field(file("binary", "Float32", data).as_bytes(), "u").expect("base64"), [1.0, -2.0]);
        }
        assert!(field(file("binary", "Float32", "CAAA!").as_bytes(), "u").is_err());
        assert!(field(file("ascii", "Float32", "1 x").as_bytes(), "u").is_err());
    }
}
