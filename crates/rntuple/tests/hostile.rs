//! Damaged and hostile files give errors: no panic, no endless loop, little memory.
#![expect(unsafe_code, reason = "an allocator that counts is unsafe to implement")]

mod common;

use std::alloc::{GlobalAlloc, Layout as Size, System};
use std::cell::Cell;
use std::io::Cursor;
use std::time::{Duration, Instant};

use common::Model;
use fastrand::Rng;
use rntuple::testing::{Cluster, Dataset, File, Layout, Options, Packing, Spacepoint, role, spacepoints, write};
use rntuple::{Array, Error, NTuple, RootFile};

/// Most bytes that one small input may make the reader hold.
const MOST_BYTES: usize = 64 << 20;
const MOST_ELEMENTS: u64 = 1 << 20;
/// Mutations of each file, unless `RNTUPLE_MUTATIONS` has another number.
const MUTATIONS: usize = 600;
/// Of so many bytes one is flipped.
const FLIPS: usize = 8;

/// Counts the bytes of each thread.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn count(added: usize, removed: usize) {
    // A thread that ends frees memory after its counters are gone. Memory of another thread makes
    // the difference negative.
    let _ = HELD.try_with(|held| {
        held.set((held.get() + added).saturating_sub(removed));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, size: Size) -> *mut u8 {
        count(size.size(), 0);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(size) }
    }

    unsafe fn alloc_zeroed(&self, size: Size) -> *mut u8 {
        count(size.size(), 0);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(size) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, size: Size, new: usize) -> *mut u8 {
        // Both may exist while bytes are copied.
        count(new, 0);
        count(0, size.size());
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, size, new) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, size: Size) {
        count(0, size.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns what `run` returns, and the most bytes that it held.
fn peak<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = run();
    (result, PEAK.get() - before)
}

/// Reads a field in a few pieces, and returns the values.
fn read_field(ntuple: &mut NTuple<&mut Cursor<&[u8]>>, path: &str) -> Result<Vec<Array>, Error> {
    const PIECE: u64 = 50;
    const PIECES: usize = 20;
    ntuple.field(path)?;
    let selection = ntuple.select(path)?;
    let entries = ntuple.entries();
    let mut arrays = Vec::new();
    for begin in (0..entries).step_by(PIECE as usize).take(PIECES) {
        let end = entries.min(begin + PIECE);
        arrays.push(ntuple.read(&selection, begin..end)?);
        ntuple.lengths(&selection, begin..end)?;
        ntuple.cluster_of(begin)?;
    }
    if entries > 0 {
        ntuple.read(&selection, entries - 1..entries)?;
    }
    // Too many entries at once are an error.
    let _ = ntuple.lengths(&selection, 0..entries);
    let _ = ntuple.read(&selection, 0..entries);
    Ok(arrays)
}

/// Reads all that is in a file, and returns it, or the first error. Fields after an error are read,
/// too.
fn read_all(bytes: &[u8]) -> Result<Vec<(String, Vec<Array>)>, Error> {
    let mut file = RootFile::new(Cursor::new(bytes))?;
    let mut paths: Vec<String> = file.objects().iter().map(|object| object.path().to_owned()).collect();
    paths.dedup();
    let mut all = Vec::new();
    let mut first = None;
    for path in paths {
        let mut ntuple = match file.ntuple(&path) {
            Ok(ntuple) => ntuple,
            Err(error) => {
                first.get_or_insert(error);
                continue;
            }
        };
        ntuple.limit_elements(MOST_ELEMENTS);
        for path in ntuple.paths() {
            match read_field(&mut ntuple, &path) {
                Ok(arrays) => all.push((path, arrays)),
                Err(error) => _ = first.get_or_insert(error),
            }
        }
    }
    first.map_or(Ok(all), Err)
}

/// Checks that a file is read in little memory, and returns whether it is without errors.
fn check(bytes: &[u8], what: &dyn Fn() -> String) -> (bool, usize) {
    let begin = Instant::now();
    let (result, bytes) = peak(|| read_all(bytes).is_ok());
    assert!(bytes <= MOST_BYTES, "{}: {bytes} bytes", what());
    assert!(begin.elapsed() < Duration::from_secs(5), "{}: {:?}", what(), begin.elapsed());
    (result, bytes)
}

/// Small files of each kind.
fn files() -> Vec<(&'static str, File)> {
    let mut random = Rng::with_seed(11);
    let point = |at: u32| Spacepoint { x: at.into(), y: 0.5, z: -1.0, layer: at };
    let events: Vec<(u64, Vec<Spacepoint>)> =
        (0..6).map(|event| (event, (0..event as u32).map(point).collect())).collect();
    let small = Options { page_elements: 4, ..Options::default() };
    let large = Options { is_large: true, has_large_locators: true, has_checksums: false, ..small };
    let mut records = spacepoints(Layout::Records, &events, 2);
    let last = records.groups[0].split_off(2);
    records.groups.push(last);
    let mut files = vec![
        ("flat", write(&[spacepoints(Layout::Flat, &events, 2)], &small)),
        ("jagged", write(&[spacepoints(Layout::Jagged, &events, 4)], &large)),
        ("records", write(&[records], &small)),
    ];
    let mut model = Model::nested("nested");
    model.fill(&mut random, &[2, 1]);
    files.push(("nested", write(&[model.dataset], &Options::default())));
    let repeated = [(1, vec![point(1); 100])];
    for (name, pages) in
        [("zlib", Packing::Zlib), ("lz4", Packing::Lz4), ("zstd", Packing::Zstd), ("lzma", Packing::Lzma)]
    {
        let options = Options { pages, ..Options::default() };
        files.push((name, write(&[spacepoints(Layout::Flat, &repeated, 1)], &options)));
    }
    let mut late = spacepoints(Layout::Records, &events, 2);
    late.path = "folder/late".into();
    let hit = late.fields.iter().position(|field| field.name == "_0").expect("a record");
    late.leaf(Some(hit), "late", "float", 0x1d, 5);
    let vector = late.field(None, "vector", "std::vector<std::string>", role::COLLECTION);
    late.column(vector, 0x1b, 64);
    let text = late.field(Some(vector), "_0", "std::string", role::LEAF);
    late.column(text, 0x0e, 32);
    late.column(text, 0x02, 8);
    let columns = late.columns.len();
    late.fields[hit + 5..].iter_mut().for_each(|field| field.is_late = true);
    for (column, first) in (columns - 4..columns).zip([15, 6, 1, 1]) {
        late.columns[column].is_late = true;
        late.columns[column].first_element = Some(first);
    }
    late.columns[columns - 4].range = Some([0.0, 1.0]);
    files.push(("late", write(&[late, spacepoints(Layout::Flat, &events, 6)], &small)));
    for (name, file) in &files {
        read_all(&file.bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    files
}

/// Changes some bytes of a range.
fn mutate(bytes: &mut [u8], random: &mut Rng) {
    let most = bytes.len();
    let at = random.usize(..most);
    let mut put = |at: usize, new: &[u8]| {
        let end = most.min(at + new.len());
        bytes[at..end].copy_from_slice(&new[..end - at]);
    };
    match random.u8(..8) {
        0 | 1 => bytes[at] ^= 1 << random.u8(..8),
        2 => put(at, &[*random.choice(&[0x00, 0x01, 0x7f, 0x80, 0xff]).expect("there are some")]),
        3 => put(at, &[0xff; 8][..random.usize(1..=8)]),
        4 => {
            let large = *random.choice(&[20, 30, 31, 32, 40, 48, 56, 62, 63]).expect("there are some");
            let number = (1u64 << large).wrapping_sub(random.u64(..3));
            put(at, &number.to_le_bytes()[..if large < 32 { 4 } else { 8 }]);
        }
        5 => put(at, &(-random.i64(1..1 << 33)).to_le_bytes()[..if random.bool() { 4 } else { 8 }]),
        6 => put(at, &random.u32(..300).to_le_bytes()),
        _ => {
            let (length, to) = (random.usize(1..=12), random.usize(..most));
            let copied = bytes[at..most.min(at + length)].to_vec();
            let end = most.min(to + copied.len());
            bytes[to..end].copy_from_slice(&copied[..end - to]);
        }
    }
}

fn mutations() -> usize {
    std::env::var("RNTUPLE_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(MUTATIONS)
}

#[test]
fn mutations_with_right_checksums_give_errors_or_values() {
    let mut random = Rng::with_seed(12);
    let (mut most, mut total, mut good) = (0, 0, 0);
    let begin = Instant::now();
    for (name, file) in files() {
        let (pages, structures): (Vec<_>, Vec<_>) = file.seals.iter().partition(|seal| seal.is_page);
        for number in 0..mutations() {
            let mut changed = file.clone();
            for _ in 0..random.usize(1..4) {
                // The header of the file, keys and folders are outside of all seals.
                let range = match random.u8(..8) {
                    0 => None,
                    1 | 2 => random.choice(&pages),
                    _ => random.choice(&structures),
                };
                let range = range.map_or(0..changed.bytes.len(), |seal| seal.range.clone());
                mutate(&mut changed.bytes[range], &mut random);
            }
            changed.reseal();
            let (is_good, bytes) = check(&changed.bytes, &|| format!("{name}, mutation {number}"));
            most = most.max(bytes);
            good += usize::from(is_good);
            total += 1;
        }
    }
    println!("{total} mutations, {good} without errors, {most} bytes at most, {:?}", begin.elapsed());
}

#[test]
fn a_flipped_bit_of_a_range_with_a_checksum_is_an_error() {
    let mut random = Rng::with_seed(13);
    for (name, file) in files() {
        let good = read_all(&file.bytes).expect("a good file");
        let ranges = file.seals.iter().map(|seal| seal.range.start..seal.range.end + 8);
        for at in ranges.flatten().filter(|_| random.usize(..FLIPS) == 0).collect::<Vec<_>>() {
            let mut bytes = file.bytes.clone();
            bytes[at] ^= 1 << random.u8(..8);
            if let Ok(found) = read_all(&bytes) {
                assert_eq!(found, good, "{name}, byte {at}");
            }
        }
    }
}

#[test]
fn truncated_files_are_errors() {
    for (name, file) in files() {
        for length in 0..file.bytes.len() {
            assert!(read_all(&file.bytes[..length]).is_err(), "{name}, {length} bytes");
        }
    }
}

/// Returns the bytes of a file that all have one field, and reads its columns.
fn check_dataset(dataset: Dataset, options: &Options, wanted: &str) {
    let file = write(&[dataset], options);
    check(&file.bytes, &|| wanted.into());
    let error = read_all(&file.bytes).expect_err(wanted).to_string();
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn deep_nesting_is_refused() {
    for role in [role::RECORD, role::COLLECTION, role::LEAF, role::VARIANT] {
        let mut dataset = Dataset::new("deep");
        let mut parent = None;
        for _ in 0..3000 {
            let field = dataset.field(parent, "f", "F", role);
            match role {
                role::COLLECTION => _ = dataset.column(field, 0x0f, 64),
                role::VARIANT => _ = dataset.column(field, 0x10, 96),
                _ => {}
            }
            parent = Some(field);
        }
        dataset.leaf(parent, "f", "float", 0x0c, 32);
        let file = write(&[dataset], &Options::default());
        let ntuple = common::open(&file.bytes, "deep");
        let paths = ntuple.paths();
        assert!(matches!(paths.len(), 1 | 3001), "{}", paths.len());
        let deepest = paths.last().expect("a path");
        let error = ntuple.select(deepest).expect_err("too deep").to_string();
        assert!(error.contains("nested more than 64 times"), "{error}");
    }
}

#[test]
fn nested_deferred_collections_are_counted_once_a_level() {
    let mut dataset = Dataset::new("deep");
    let mut parent = None;
    for _ in 0..60 {
        let field = dataset.field(parent, "f", "std::vector<?>", role::COLLECTION);
        dataset.column(field, 0x0f, 64);
        parent = Some(field);
    }
    dataset.leaf(parent, "f", "float", 0x0c, 32);
    for column in &mut dataset.columns {
        column.first_element = Some(1);
    }
    let columns = (0..61).map(|_| Some(vec![1])).collect();
    dataset.groups = vec![vec![Cluster { entries: 1, columns }]];
    let file = write(&[dataset], &Options::default());
    let (is_good, _) = check(&file.bytes, &|| "deferred".into());
    assert!(is_good);
}

#[test]
fn long_names_of_parents_take_no_memory_for_each_subfield() {
    let mut dataset = Dataset::new("long");
    let record = dataset.field(None, &"n".repeat(100_000), "R", role::RECORD);
    for at in 0..1000 {
        dataset.leaf(Some(record), &at.to_string(), "float", 0x0c, 32);
    }
    check_dataset(dataset, &Options::default(), "paths of the fields");
}

#[test]
fn many_representations_take_no_memory_for_each_member() {
    let mut dataset = Dataset::new("many");
    let hits = dataset.field(None, "hits", "std::vector<R>", role::COLLECTION);
    for representation in 0..5000 {
        dataset.columns.push(common::column(hits, 0x0f, 64, representation));
    }
    let record = dataset.field(Some(hits), "_0", "R", role::RECORD);
    for at in 0..5000 {
        dataset.leaf(Some(record), &format!("m{at}"), "float", 0x0c, 32);
    }
    let file = write(&[dataset], &Options::default());
    let mut file = RootFile::new(Cursor::new(&file.bytes)).expect("a file");
    let ntuple = file.ntuple("many").expect("an RNTuple");
    let (selection, bytes) = peak(|| ntuple.select("hits"));
    assert!(selection.is_ok() && bytes < 8 << 20, "{bytes}");
}

#[test]
fn envelopes_that_are_far_larger_than_the_file_are_refused() {
    for envelopes in [Packing::Zlib, Packing::Zstd] {
        let mut dataset = Dataset::new("bomb");
        dataset.leaf(None, "f", &"T".repeat(8 << 20), 0x0c, 32);
        check_dataset(dataset, &Options { envelopes, ..Options::default() }, "at most are read");
    }
}

/// Returns a column's page as one block of zstd that repeats a byte: header, window, and blocks of
/// 128 KiB each.
fn zstd_of_zeros(length: usize) -> Vec<u8> {
    // No content size; a window of 64 MiB.
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 16 << 3];
    let blocks = length.div_ceil(1 << 17);
    for block in 1..=blocks {
        let size = (length - (block - 1) * (1 << 17)).min(1 << 17) as u32;
        let header = size << 3 | 1 << 1 | u32::from(block == blocks);
        bytes.extend(&header.to_le_bytes()[..3]);
        bytes.push(0);
    }
    [b"ZS\x01", &(bytes.len() as u32).to_le_bytes()[..3], &(length as u32).to_le_bytes()[..3], &bytes].concat()
}

#[test]
fn columns_that_share_a_large_page_do_not_hold_it_each() {
    const COLUMNS: usize = 50;
    const ELEMENTS: usize = 1 << 20;
    let packed = zstd_of_zeros(ELEMENTS * 8);
    let mut dataset = Dataset::new("shared");
    for at in 0..COLUMNS {
        dataset.leaf(None, &format!("c{at}"), "std::uint64_t", 0x0a, 64);
    }
    // A page of as many bytes as the packed one stands in for it. Its locator is changed below.
    let elements = vec![0; packed.len().div_ceil(8)];
    let columns = (0..COLUMNS).map(|_| Some(elements.clone())).collect();
    dataset.groups = vec![vec![Cluster { entries: ELEMENTS as u64, columns }]];
    let options = Options { has_checksums: false, ..Options::default() };
    let mut file = write(&[dataset], &options);
    let size = elements.len() * 8;
    let first = file.bytes.windows(size).position(|window| window.iter().all(|&byte| byte == 0)).expect("a page");
    // Pages follow the header.
    let begin = file.seals[0].range.end + 8;
    assert!(first >= begin - 8);
    file.bytes[begin..begin + packed.len()].copy_from_slice(&packed);
    let from = [&(elements.len() as i32).to_le_bytes()[..], &(size as i32).to_le_bytes()].concat();
    let to =
        [&(ELEMENTS as i32).to_le_bytes()[..], &(packed.len() as i32).to_le_bytes(), &(begin as u64).to_le_bytes()];
    let (to, mut changed) = (to.concat(), 0);
    for at in 0..file.bytes.len() - to.len() {
        if file.bytes[at..].starts_with(&from) {
            file.bytes[at..at + to.len()].copy_from_slice(&to);
            changed += 1;
        }
    }
    assert_eq!(changed, COLUMNS);
    file.reseal();
    let mut root = RootFile::new(Cursor::new(file.bytes.as_slice())).expect("a file");
    let mut ntuple = root.ntuple("shared").expect("an RNTuple");
    ntuple.limit_elements(MOST_ELEMENTS);
    let ((), bytes) = peak(|| {
        for path in ntuple.paths() {
            let selection = ntuple.select(&path).expect("a field");
            let array = ntuple.read(&selection, 5..9).expect("values");
            assert_eq!(array, Array::Numbers(rntuple::Numbers::U64(vec![0; 4])));
        }
    });
    println!("{bytes} bytes for {} in the file", file.bytes.len());
    assert!(bytes <= MOST_BYTES, "{bytes}");
}

#[test]
fn elements_that_no_file_holds_are_limited() {
    // Columns that were added later have zeros for every entry.
    let mut dataset = Dataset::new("late");
    for (at, &(code, bits, type_name)) in
        [(0x00, 1, "std::int64_t"), (0x1d, 1, "double"), (0x1b, 64, "ROOT::RNTupleCardinality<std::uint64_t>")]
            .iter()
            .enumerate()
    {
        dataset.leaf(None, &format!("c{at}"), type_name, code, bits);
        dataset.columns[at].first_element = Some(1);
    }
    let variant = dataset.field(None, "variant", "std::variant<float>", role::VARIANT);
    dataset.column(variant, 0x10, 96);
    dataset.leaf(Some(variant), "_0", "float", 0x0c, 32);
    dataset.columns[3].first_element = Some(1);
    dataset.groups = vec![vec![Cluster { entries: 1 << 50, columns: Vec::new() }]];
    let file = write(&[dataset], &Options::default());
    let mut ntuple = common::open(&file.bytes, "late");
    ntuple.limit_elements(MOST_ELEMENTS);
    for path in ntuple.paths() {
        let selection = ntuple.select(&path).expect("a field");
        let (array, bytes) = peak(|| ntuple.read(&selection, 0..MOST_ELEMENTS).expect("zeros"));
        assert_eq!(array.len(), MOST_ELEMENTS);
        println!("{bytes} bytes for {path}");
        assert!(bytes <= MOST_BYTES, "{path}: {bytes}");
        assert!(matches!(ntuple.read(&selection, 0..MOST_ELEMENTS + 1), Err(Error::TooLarge(_))));
    }
}

#[test]
fn records_without_columns_are_limited_by_the_clusters() {
    let mut dataset = Dataset::new("empty");
    let record = dataset.field(None, "record", "R", role::RECORD);
    for at in 0..3000 {
        dataset.field(Some(record), &format!("m{at}"), "E", role::RECORD);
    }
    dataset.groups = vec![(0..3000).map(|_| Cluster { entries: 1, columns: Vec::new() }).collect()];
    let file = write(&[dataset], &Options::default());
    let mut ntuple = common::open(&file.bytes, "empty");
    ntuple.limit_elements(MOST_ELEMENTS);
    let selection = ntuple.select("record").expect("a field");
    assert_eq!(ntuple.read(&selection, 0..300).expect("records").len(), 300);
    assert!(matches!(ntuple.read(&selection, 0..3000), Err(Error::TooLarge(_))));
}

#[test]
fn impossible_numbers_of_values_are_errors() {
    // A record without members takes no memory, so that nothing else limits its number.
    let mut dataset = Dataset::new("many");
    let empty = dataset.field(None, "empty", "E", role::RECORD);
    let array = dataset.field(None, "array", "std::array<E,4294967296>", role::LEAF);
    dataset.fields[array].repetition = Some(1 << 32);
    dataset.field(Some(array), "_0", "E", role::RECORD);
    let lists = dataset.field(None, "lists", "std::vector<E>", role::COLLECTION);
    dataset.column(lists, 0x0f, 64);
    dataset.field(Some(lists), "_0", "E", role::RECORD);
    let variant = dataset.field(None, "variant", "std::variant<E>", role::VARIANT);
    dataset.column(variant, 0x10, 96);
    dataset.field(Some(variant), "_0", "E", role::RECORD);
    let most: u128 = u64::MAX.into();
    let columns = vec![Some(vec![most, most]), Some(vec![1 << 64, 1 << 64 | most])];
    let large = Cluster { entries: 1 << 55, columns: vec![Some(vec![]), Some(vec![])] };
    dataset.groups = vec![vec![Cluster { entries: 2, columns: columns.clone() }, Cluster { entries: 2, columns }]];
    dataset.groups.push(vec![large.clone(), large]);
    let file = write(&[dataset], &Options::default());
    check(&file.bytes, &|| "many".into());
    let mut ntuple = common::open(&file.bytes, "many");
    let entries = ntuple.entries();
    let select = |path: &str| ntuple.select(path).expect("a field");
    let [empty_records, arrays, lists, variants] = ["empty", "array", "lists", "variant"].map(select);
    assert_eq!(ntuple.read(&empty_records, 0..entries).expect("no memory").len(), entries);
    for selection in [&empty_records, &arrays] {
        let error = ntuple.lengths(selection, 0..entries).expect_err("too many lengths");
        assert!(matches!(error, Error::TooLarge(_)), "{error}");
    }
    assert!(ntuple.read(&arrays, 0..entries).is_err());
    assert!(ntuple.read(&lists, 0..2).is_ok() && ntuple.read(&lists, 0..4).is_err());
    assert!(ntuple.read(&variants, 0..2).is_err());
    assert_eq!(empty, 0);
}

#[test]
fn a_folder_within_itself_is_an_error() {
    let mut dataset = Dataset::new("folder/in/events");
    dataset.leaf(None, "number", "float", 0x0c, 32);
    let mut file = write(&[dataset], &Options::default());
    // Of a description of a folder: version, dates, bytes of the list, bytes of the name, three
    // positions of 32 bits: its own, that of its parent, that of its list.
    let begin = [0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
    let folders: Vec<usize> = (0..file.bytes.len() - 30).filter(|&at| file.bytes[at..].starts_with(&begin)).collect();
    // The top folder is first, and inner folders come before outer ones.
    let &[_top, inner, outer] = folders.as_slice() else { panic!("{folders:?}") };
    for at in (10..14).chain(26..30) {
        file.bytes[inner + at] = file.bytes[outer + at];
    }
    let error = check_error(&file.bytes);
    assert!(error.contains("list more objects than it has room for"), "{error}");
}

fn check_error(bytes: &[u8]) -> String {
    check(bytes, &|| "an error".into());
    read_all(bytes).expect_err("an error").to_string()
}

#[test]
#[ignore = "writes fuzz/corpus/rntuple: cargo test -p rntuple --test hostile -- --ignored"]
fn write_the_corpus() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/rntuple");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, file) in files() {
        std::fs::write(folder.join(name).with_extension("root"), file.bytes).expect("written");
    }
}
