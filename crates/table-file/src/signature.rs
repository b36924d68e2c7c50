//! Recognizes files of other formats by their first bytes, so that an error can name them.

/// A format that is no text, in words, and what to do about it.
pub(crate) struct Foreign {
    pub(crate) name: &'static str,
    pub(crate) advice: &'static str,
}

const UNPACK: &str = "unpack it; gzip and zstd are read as they are";
const CONVERT: &str = "write its data as CSV";
const PANDAS: &str = "write its table as CSV (pandas: `to_csv`)";

/// First bytes of formats.
const SIGNATURES: &[(&[u8], &str, &str)] = &[
    (b"BZh", "a bzip2 file", UNPACK),
    (b"\xfd7zXZ\0", "an xz file", UNPACK),
    (b"\x04\x22\x4d\x18", "an LZ4 file", UNPACK),
    (b"\xff\x06\0\0sNaPpY", "a Snappy file", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"\x1f\x9d", "a file of compress (.Z)", UNPACK),
    (b"LZIP", "an lzip file", UNPACK),
    (b"PAR1", "a Parquet file", CONVERT),
    (b"root", "a ROOT file", CONVERT),
    (b"PARE", "a Parquet file whose footer is encrypted", "write it without encryption"),
    (b"ARROW1", "an Arrow IPC file (Feather)", "write its table as CSV, or as Parquet where that is read"),
    (b"\xff\xff\xff\xff", "an Arrow IPC stream", "write its table as CSV, or as Parquet where that is read"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", PANDAS),
    (b"\x93NUMPY", "a NumPy array (.npy)", "write its arrays as CSV (pandas: `to_csv`)"),
    (b"ORC", "an ORC file", PANDAS),
    (b"Obj\x01", "an Avro file", PANDAS),
    (b"FEA1", "a Feather file of version 1", PANDAS),
    (b"SQLite format 3\0", "an SQLite database", PANDAS),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file of the old format", PANDAS),
    (b"\x80\x03", "a Python pickle", PANDAS),
    (b"\x80\x04", "a Python pickle", PANDAS),
    (b"\x80\x05", "a Python pickle", PANDAS),
    (b"RDX", "an R data file", PANDAS),
    (b"CDF\x01", "a NetCDF file", PANDAS),
    (b"CDF\x02", "a NetCDF file", PANDAS),
    (b"MATLAB ", "a MATLAB file", PANDAS),
    (b"%PDF-", "a PDF document", CONVERT),
    (b"\x7fELF", "an executable", CONVERT),
    (b"\x89PNG", "a picture", CONVERT),
    (b"version https://git-lfs", "a pointer of Git LFS in place of the file", "fetch the file with `git lfs pull`"),
    (b"/annex/objects/", "a pointer of git-annex in place of the file", "fetch the file with `git annex get`"),
    (b"\xff\xfe", "text in UTF-16", "write it in UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "write it in UTF-8"),
    (b"HepMC::", "a HepMC file of generated particles, without spacepoints", CONVERT),
    (b"<LesHouchesEvents", "an LHE file of generated particles, without spacepoints", CONVERT),
];

/// Returns the format of a file with these first bytes if it is no text in UTF-8. Unknown bytes
/// give None.
pub(crate) fn foreign(head: &[u8]) -> Option<Foreign> {
    let found = |name, advice| Some(Foreign { name, advice });
    if let Some((_, name, advice)) = SIGNATURES.iter().find(|(bytes, ..)| head.starts_with(bytes)) {
        return found(name, advice);
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return zip(head);
    }
    // The magic of POSIX's tar is behind the name and the numbers of the first file.
    const TAR: usize = 257;
    if head.get(TAR..TAR + 5) == Some(b"ustar") {
        return found("a tar archive", "unpack it, and name the folder");
    }
    let text = head.trim_ascii_start();
    let begins_with = |word: &[u8]| text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    if begins_with(b"<!doctype html") || begins_with(b"<html") {
        return found(
            "a page of HTML",
            "a server answered in place of the file, or asked for a login: download it again",
        );
    }
    if begins_with(b"<?xml") {
        return found("an XML file", CONVERT);
    }
    if text.starts_with(b"{") || text.starts_with(b"[{") || text.starts_with(b"[[") || text == b"[" {
        return found("a JSON file", "write its data as CSV");
    }
    // Latin letters in UTF-16 without a byte order mark: every second byte is 0.
    let pairs = head.as_chunks::<2>().0;
    let is_wide = |zero: usize| {
        pairs.len() >= 4
            && pairs.iter().take(16).all(|pair| pair[zero] == 0 && pair[1 - zero].is_ascii() && pair[1 - zero] != 0)
    };
    if is_wide(0) || is_wide(1) {
        return found("text in UTF-16", "write it in UTF-8");
    }
    None
}

/// Names an archive by the name of its first file, which follows 30 bytes of header.
fn zip(head: &[u8]) -> Option<Foreign> {
    const HEADER: usize = 30;
    let length = head.get(26..28).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
    let name = head.get(HEADER..HEADER + length).unwrap_or_default();
    let found = |name, advice| Some(Foreign { name, advice });
    match name {
        name if name.ends_with(b".npy") => {
            found("arrays of NumPy (.npz)", "write its arrays as CSV (pandas: `to_csv`)")
        }
        b"[Content_Types].xml" | b"_rels/.rels" => found("an Excel or Office file", PANDAS),
        _ => found("a zip archive", "unpack it, and name the folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_not_foreign() {
        for head in [&b"x,y,z,layer\n1,2,3,0\n"[..], b"", b"event_id;x", b"# x,y", b"\xef\xbb\xbfx,y"] {
            assert!(foreign(head).is_none(), "{head:?}");
        }
    }

    #[test]
    fn archives_and_texts_are_named() {
        let zip = |name: &[u8]| {
            let mut bytes = b"PK\x03\x04".to_vec();
            bytes.resize(26, 0);
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend([0, 0]);
            bytes.extend(name);
            bytes
        };
        let mut tar = b"events.csv".to_vec();
        tar.resize(257, 0);
        tar.extend(b"ustar\0");
        let wide: Vec<u8> = b"event_id,x,y\n".iter().flat_map(|&byte| [byte, 0]).collect();
        for (head, name) in [
            (zip(b"x.npy"), ".npz"),
            (zip(b"train/event1-hits.csv"), "zip archive"),
            (zip(b"[Content_Types].xml"), "Excel"),
            (tar, "tar archive"),
            (wide, "UTF-16"),
            (b"\n {\"event_id\": 1}".to_vec(), "JSON"),
            (b"<!DOCTYPE HTML>".to_vec(), "HTML"),
        ] {
            assert!(foreign(&head).expect("foreign").name.contains(name), "{name}");
        }
    }
}
