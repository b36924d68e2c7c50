//! Files that are made to exhaust memory or time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};

/// A file that a command reads.
#[derive(Clone, Copy, Debug)]
pub struct HostileFile<'a> {
    /// The name of the file; its ending decides how the command reads it.
    pub name: &'a str,
    /// The array of an `.npz` file that the command reads first.
    pub array: &'a str,
    /// The arguments of the command. `FILE` stands for the file and `FOLDER` for its folder.
    pub arguments: &'a [&'a str],
    /// Other files of the folder, with their content.
    pub beside: &'a [(&'a str, &'a str)],
}

/// Longer than any row, text or header that a reader accepts.
const LONG: usize = 20 << 20;
/// More than the address space of a command.
const MUCH: usize = 640 << 20;
/// Size of a piece that is packed once and repeated.
const PIECE: usize = 1 << 20;
const DEPTH: usize = 100_000;
/// Address space of a command \[KiB\].
const LIMIT_KIB: u32 = 512 << 10;
/// CPU time of a command. A busy machine does not change it.
const LIMIT_SECONDS: u32 = 20;

/// Runs a command on hostile files of every kind, within 512 MiB of address space. Each run must
/// end within 20 s of CPU time with exit code 1 or 2 and a message.
///
/// The kinds are a device without end, a folder, an empty file, a huge size without content, a row
/// without end (plain, quoted and in gzip), nesting, and an archive whose entry promises less than
/// it holds.
///
/// A pipe that nobody writes to is not among them: a command waits for its input.
///
/// # Panics
/// If a run ends in another way.
pub fn check_hostile_files(program: &str, files: &[HostileFile<'_>]) {
    let runs = files.iter().flat_map(|file| KINDS.map(|kind| (file, kind)));
    let runs = Mutex::new(runs);
    let next = || runs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run_all = || std::iter::from_fn(next).for_each(|(file, kind)| check(program, file, kind));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(run_all);
        }
    });
}

/// Runs a command on a hostile file of one kind.
fn check(program: &str, file: &HostileFile<'_>, (kind, make): Kind) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in file.beside {
        fs::write(folder.path().join(name), content).expect("written");
    }
    let path = folder.path().join(file.name);
    make(&path, file.array).expect("written");
    let replaced = |word: &str| {
        let word = word.replace("FILE", &path.display().to_string());
        word.replace("FOLDER", &folder.path().display().to_string())
    };
    let limits = format!("ulimit -v {LIMIT_KIB}; ulimit -t {LIMIT_SECONDS}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limits, program]);
    command.args(file.arguments.iter().map(|word| replaced(word))).env("RAYON_NUM_THREADS", "2");
    let done = command.output().expect("the command");
    let place = format!("{program} {}, {kind}", file.arguments.join(" "));
    let said = String::from_utf8_lossy(&done.stderr);
    let short: String = said.chars().take(2000).collect();
    assert!(matches!(done.status.code(), Some(1 | 2)), "{place}: {}: {short}", done.status);
    assert!(said.lines().any(|line| line.starts_with("error:")) && said.len() < 20_000, "{place}: {short}");
}

type Make = fn(&Path, &str) -> io::Result<()>;

/// A description of a file, and the function that makes it.
type Kind = (&'static str, Make);

const KINDS: [Kind; 9] = [
    ("a device without end", |path, _| std::os::unix::fs::symlink("/dev/zero", path)),
    ("a folder", |path, _| fs::create_dir(path)),
    ("an empty file", |path, _| fs::write(path, "")),
    ("a size without content", |path, _| File::create(path)?.set_len(1 << 40)),
    ("one line", |path, _| fs::write(path, vec![b'7'; LONG])),
    ("an open quote", |path, _| fs::write(path, [&b"\""[..], &b"1,2\n".repeat(LONG / 4)].concat())),
    ("one line in gzip", |path, _| {
        let mut member = GzEncoder::new(Vec::new(), Compression::fast());
        member.write_all(&vec![b'7'; PIECE])?;
        fs::write(path, member.finish()?.repeat(MUCH / PIECE))
    }),
    ("nested brackets", |path, array| {
        let header = format!("{{'descr': {}, 'fortran_order': False, 'shape': (1,)}}\n", "[".repeat(30_000));
        let content = match path.extension().and_then(|ending| ending.to_str()) {
            Some("npz") => archive(array, &packed(&npy(&header), 0)?, None),
            Some("npy") => npy(&header),
            _ => format!("a = {}{}\n", "[".repeat(DEPTH), "]".repeat(DEPTH)).into_bytes(),
        };
        fs::write(path, content)
    }),
    ("an archive that promises less than it holds", |path, array| {
        let header = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}\n");
        let promised = header.len() as u32 + 8;
        fs::write(path, archive(array, &packed(&header, MUCH / PIECE)?, Some(promised)))
    }),
];

/// An array of NumPy with this header and without elements.
fn npy(header: &str) -> Vec<u8> {
    let length = (header.len() as u32).to_le_bytes();
    [&b"\x93NUMPY\x02\x00"[..], &length, header.as_bytes()].concat()
}

/// Content that is followed by pieces of zeros, as a deflate stream.
fn packed(content: &[u8], pieces: usize) -> io::Result<Vec<u8>> {
    let flushed = |content: &[u8]| {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(content)?;
        // Blocks end with whole bytes, so that streams may follow each other.
        packed.flush()?;
        Ok::<_, io::Error>(packed.get_ref().clone())
    };
    let end = DeflateEncoder::new(Vec::new(), Compression::fast()).finish()?;
    Ok([flushed(content)?, flushed(&[0; PIECE])?.repeat(pieces), end].concat())
}

/// An archive of Zip with one array, whose entry promises this size. Its checksum is wrong.
fn archive(array: &str, packed: &[u8], promised: Option<u32>) -> Vec<u8> {
    const LARGE: u32 = 1 << 20;
    let name = format!("{array}.npy");
    let entry = |signature: &[u8], versions: &[u8]| {
        let mut bytes = [signature, versions, &[0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
        bytes.extend((packed.len() as u32).to_le_bytes());
        bytes.extend(promised.unwrap_or(LARGE).to_le_bytes());
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes
    };
    let mut bytes = [&entry(b"PK\x03\x04", &[20, 0])[..], &[0, 0], name.as_bytes(), packed].concat();
    let start = bytes.len() as u32;
    bytes.extend(entry(b"PK\x01\x02", &[20, 0, 20, 0]));
    bytes.extend([0; 16]);
    bytes.extend(name.as_bytes());
    let size = bytes.len() as u32 - start;
    bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend(size.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}
