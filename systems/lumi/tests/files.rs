//! Tests of files and banks: written files read back, damaged files are errors, and the command
//! does both.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use lumi::io::{Banks, read_banks, read_events, write_banks, write_events};
use lumi::{CaloSums, Calorimeter, Engine, Event, EventBatch, LumiCounter, Scheme, Simulation, VertexCounters};
use npyz::WriterBuilder;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn create(path: &Path) -> BufWriter<File> {
    BufWriter::new(File::create(path).expect("a file"))
}

fn simulation(events: usize) -> Simulation {
    Simulation { events, lumi_fraction: 0.5, seed: 4, ..Simulation::default() }
}

#[test]
fn files_hold_what_is_written() {
    let folder = folder("round_trip");
    let batch = simulation(20).simulate(&Calorimeter::lhcb()).expect("events");
    let path = folder.join("events.npz");
    write_events(create(&path), &batch).expect("written");
    assert_eq!(read_events(&path).expect("read"), batch);
    let banks = Banks { event_ids: vec![3, 1, u64::MAX], banks: vec![vec![1, 2], vec![], vec![u32::MAX]] };
    write_banks(create(&path), &banks).expect("written");
    assert_eq!(read_banks(&path).expect("read"), banks);
    let error = read_events(&path).expect_err("these are banks").to_string();
    assert!(error.contains("events.npz: there is no array `gps_us`"), "{error}");
}

/// The archive has a checksum of each array.
#[test]
fn a_flipped_bit_of_an_array_is_an_error() {
    let path = folder("flipped").join("banks.npz");
    let banks = Banks { event_ids: vec![3], banks: vec![vec![0x0102_0304; 4]] };
    write_banks(create(&path), &banks).expect("written");
    let bytes = std::fs::read(&path).expect("read");
    let word = 0x0102_0304_u32.to_le_bytes().repeat(4);
    let at = bytes.windows(16).position(|window| window == word).expect("the words");
    for bit in 8 * at..8 * (at + 16) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &damaged).expect("written");
        let error = read_banks(&path).expect_err("damaged").to_string();
        assert!(error.contains("words") && error.to_lowercase().contains("checksum"), "{error}");
    }
}

/// Copies an archive with another array of this name in it.
fn with_array(from: &Path, to: &Path, name: &str, array: &[u8]) {
    let mut archive = zip::ZipArchive::new(File::open(from).expect("a file")).expect("an archive");
    let mut out = zip::ZipWriter::new(create(to));
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("an entry");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("read");
        let of_entry = entry.name().expect("a name").into_owned();
        let replaced = of_entry == format!("{name}.npy");
        out.start_file(of_entry, zip::write::SimpleFileOptions::default()).expect("written");
        out.write_all(if replaced { array } else { &bytes }).expect("written");
    }
    out.finish().expect("written");
}

fn npy<T: npyz::AutoSerialize + Copy>(shape: &[u64], order: npyz::Order, elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
    let mut writer = options.writer(&mut bytes).begin_nd().expect("a header");
    writer.extend(elements.iter().copied()).expect("elements");
    writer.finish().expect("written");
    bytes
}

#[test]
fn offsets_that_do_not_rise_are_refused() {
    use npyz::Order::C;
    let folder = folder("offsets");
    let (whole, path) = (folder.join("whole.npz"), folder.join("other.npz"));
    let banks = Banks { event_ids: vec![3, 4, 5], banks: vec![vec![1, 2], vec![3], vec![4, 5]] };
    write_banks(create(&whole), &banks).expect("written");
    with_array(&whole, &path, "offsets", &npy(&[4], C, &[0_u64, 2, 3, 5]));
    assert_eq!(read_banks(&path).expect("the same"), banks);
    for offsets in [[0_u64, 3, 2, 5], [1, 2, 3, 5], [0, 2, 3, 4], [0, 2, 3, 6], [0, 6, 3, 5], [0, u64::MAX, 3, 5]] {
        with_array(&whole, &path, "offsets", &npy(&[4], C, &offsets));
        let error = read_banks(&path).expect_err("refused").to_string();
        assert!(error.contains("`offsets` does not rise from 0 to 5"), "{offsets:?}: {error}");
    }
    let batch = simulation(3).simulate(&Calorimeter::lhcb()).expect("events");
    write_events(create(&whole), &batch).expect("written");
    let last = |count: usize| count as u32;
    for (name, last) in [
        ("scifi_offsets", last(batch.iter().map(|event| event.scifi_hits.len()).sum())),
        ("cluster_offsets", last(batch.iter().map(|event| event.velo_clusters.len()).sum())),
        ("track_offsets", last(batch.iter().map(|event| event.velo_tracks.len()).sum())),
        ("vertex_offsets", last(batch.iter().map(|event| event.vertices.len()).sum())),
    ] {
        with_array(&whole, &path, name, &npy(&[4], C, &[0, last, last - 1, last]));
        let error = read_events(&path).expect_err("refused").to_string();
        assert!(error.contains(&format!("`{name}` does not rise from 0 to {last}")), "{error}");
    }
}

/// Arrays of other types of numpy's hold the same events.
#[test]
fn digits_stored_by_columns_and_other_types_are_read() {
    use npyz::Order::{C, Fortran};
    let folder = folder("types");
    let (whole, path) = (folder.join("whole.npz"), folder.join("other.npz"));
    let batch = simulation(3).simulate(&Calorimeter::lhcb()).expect("events");
    write_events(create(&whole), &batch).expect("written");
    let digits: Vec<i16> = batch.iter().flat_map(|event| event.adc.iter().copied()).collect();
    let cells = batch.cells();
    let by_columns: Vec<f32> = (0..digits.len()).map(|at| digits[at % 3 * cells + at / 3].into()).collect();
    let header = |number: fn(&lumi::Header) -> u64| batch.iter().map(move |event| number(event.header));
    let ids: Vec<i64> = header(|header| header.event_id).map(|id| id as i64).collect();
    let basic: Vec<bool> = header(|header| header.basic.into()).map(|basic| basic == 1).collect();
    let full: Vec<f64> = header(|header| header.full.into()).map(|full| full as f64).collect();
    let z: Vec<f64> = batch.iter().flat_map(|event| event.velo_tracks).map(|track| track.z.into()).collect();
    for (name, array) in [
        ("adc", npy(&[3, cells as u64], C, &digits)),
        ("adc", npy(&[3, cells as u64], Fortran, &by_columns)),
        ("event_id", npy(&[3], Fortran, &ids)),
        ("basic", npy(&[3], C, &basic)),
        ("full", npy(&[3], C, &full)),
        ("track_z", npy(&[z.len() as u64], C, &z)),
    ] {
        with_array(&whole, &path, name, &array);
        assert_eq!(read_events(&path).expect(name), batch, "{name}");
    }
    for (name, array, told) in [
        ("full", npy(&[3], C, &[0.0, 0.5, 1.0]), "`full`: element [1] is 0.5, and a whole number from 0 to 255"),
        ("basic", npy(&[3], C, &[0_i64, 0, 256]), "`basic`: element [2] is 256, and a whole number from 0 to 255"),
        ("event_id", npy(&[3], C, &[0_i64, -1, 0]), "`event_id`: element [1] is -1, and a whole number from 0 to"),
        ("adc", npy(&[4, 2], C, &[0_i16; 8]), "`adc` has shape [4, 2], and [3, cells] is wanted"),
        ("gps_us", npy(&[2], C, &[0_u64; 2]), "`gps_us` has shape [2], and [3] is wanted"),
    ] {
        with_array(&whole, &path, name, &array);
        let error = read_events(&path).expect_err("refused").to_string();
        assert!(error.starts_with(&path.display().to_string()) && error.contains(told), "{error}");
    }
}

/// Wherever a file is cut or a byte is changed it is read or refused.
#[test]
fn damaged_files_are_told() {
    let folder = folder("damaged");
    let small = small_calorimeter();
    let batch = Simulation { collisions: 0.1, ..simulation(2) }.simulate(&small).expect("events");
    let (whole, path) = (folder.join("whole.npz"), folder.join("damaged.npz"));
    write_events(create(&whole), &batch).expect("written");
    let bytes = std::fs::read(&whole).expect("read");
    let mut refused = 0;
    let rng = &mut fastrand::Rng::with_seed(6);
    for i in 0..2000 {
        let mut damaged = bytes.clone();
        if i % 4 == 0 {
            damaged.truncate(rng.usize(..bytes.len()));
        } else {
            let at = rng.usize(..bytes.len());
            damaged[at] = rng.u8(..);
        }
        std::fs::write(&path, &damaged).expect("written");
        refused += usize::from(read_events(&path).is_err());
    }
    assert!(refused > 800, "{refused}");
}

fn small_calorimeter() -> Calorimeter {
    let cell = lumi::Cell { x: 1.0, y: 1.0, gain: 1.0, pedestal: 0 };
    Calorimeter::new(vec![cell; 4], 1, 1, [0.0, 0.0, 1.0, -1.0]).expect("a calorimeter")
}

/// Makes the banks of events of a small calorimeter.
fn banks_of(events: impl Iterator<Item = Event>) -> Banks {
    let calorimeter = small_calorimeter();
    let mut batch = EventBatch::new(calorimeter.cells().len());
    events.for_each(|event| batch.push(event.view()).expect("an event"));
    let counter = LumiCounter::builder().engine(Engine::Cpu).calorimeter(calorimeter).build().expect("the CPU");
    let counted = counter.count(&batch).expect("counters");
    let event_ids = counted.iter().map(|counters| counters.event_id).collect();
    Banks { event_ids, banks: counter.summaries(&batch, &counted) }
}

/// A decoder that knows nothing but the printed layout.
#[test]
fn the_printed_layout_decodes_banks() {
    let layout: serde_json::Value = serde_json::from_slice(&run(&["schema", "--json"]).stdout).expect("JSON");
    assert_eq!(layout["version"], lumi::LAYOUT_VERSION);
    let schemata = lumi::Schemata::new();
    let events = (0..20).map(|number| {
        let mut event = simulation(20).event(&small_calorimeter(), number);
        event.header.basic = true;
        event.header.full = number % 2 == 0;
        event.header.reconstructed = number % 3 == 0;
        event
    });
    let mut full = 0;
    for bank in banks_of(events).banks {
        let summary = schemata.decode(&bank).expect("a bank");
        let kind =
            layout["banks"].as_array().expect("banks").iter().find(|kind| kind["key"] == bank[0]).expect("a key");
        assert_eq!(kind["words"], bank.len());
        full += usize::from(kind["name"] == "full");
        let fields = layout["fields"].as_array().expect("fields");
        let fields = &fields[..kind["fields"].as_u64().expect("a number") as usize];
        let mut header = BTreeMap::new();
        let mut counters = BTreeMap::new();
        for field in fields {
            let whole = |name: &str| field[name].as_u64().expect("a number");
            let number = |name: &str| field[name].as_f64().expect("a number");
            let all = (1_u64 << whole("size")) - 1;
            let stored = u64::from(bank[whole("offset") as usize / 32]) >> (whole("offset") % 32) & all;
            let name = field["name"].as_str().expect("a name").to_owned();
            if field["counter"] == true {
                let value = (stored as f64 - number("shift")) / number("scale");
                counters.insert(name, (stored != all).then_some(value));
            } else {
                header.insert(name, stored);
            }
        }
        assert_eq!(counters, summary.counters);
        assert_eq!(header["BCIDHigh"] << 32 | header["BCIDLow"], summary.crossing);
        assert_eq!(header["T0High"] << 32 | header["T0Low"], summary.t0_us);
        assert_eq!(header["GEC"] == 1, summary.reconstructed);
    }
    assert_eq!(full, 10);
    let table = text(&run(&["schema"]).stdout);
    let row = table.lines().find(|line| line.contains("ECalEtot")).expect("a row");
    assert!(table.starts_with("version 1\nbasic: key ") && row.contains("65536") && row.contains("MeV"), "{table}");
}

/// Both beams have half a collision, and the background of both single beams.
#[test]
fn the_background_is_subtracted() {
    let folder = folder("background");
    let path = folder.join("banks.npz");
    let events = [(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.8)].into_iter().flat_map(|(crossing, collisions)| {
        let simulation = Simulation { collisions, lumi_fraction: 1.0, ..simulation(800) };
        (0..200).map(move |number| {
            let mut event = simulation.event(&small_calorimeter(), 4 * number + u64::from(crossing));
            event.header.crossing = crossing;
            event
        })
    });
    write_banks(create(&path), &banks_of(events)).expect("written");
    let path = path.display().to_string();
    let average = |more: &[&str]| -> serde_json::Value {
        let all = [&["average", &path, "--counter", "VeloVertices", "--subtract-background", "--json"], more].concat();
        serde_json::from_slice(&run(&all).stdout).expect("JSON")
    };
    let json = average(&[]);
    let (mu, error) = (&json[0]["log_zero"]["mu"], &json[0]["log_zero"]["error"]);
    let (mu, error) = (mu.as_f64().expect("a number"), error.as_f64().expect("a number"));
    assert!((mu - 0.5).abs() < 2.0 * error && (0.06..0.12).contains(&error) && json[0]["events"] == 200, "{json}");
    let json = average(&["--by", "time", "--intervals", "2"]);
    assert_eq!(json.as_array().map(Vec::len), Some(2), "{json}");
    let mean = |row: usize| json[row]["mean"].as_f64().expect("a number");
    assert!((mean(0) - 0.5).abs() < 0.25 && (mean(1) - 0.5).abs() < 0.25, "{json}");
    // Intervals with about one event of each type.
    let by_time =
        |intervals: &str| run(&["average", &path, "--subtract-background", "--by", "time", "--intervals", intervals]);
    let (some, none) = (by_time("150"), by_time("100000"));
    assert!(some.status.success() && text(&some.stderr).contains("intervals lack a type of crossing"), "{some:?}");
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("no interval has events of all types"), "{none:?}");
    let printed = text(&run(&["average", &path, "--by", "bunch", "--subtract-background"]).stdout);
    assert!(printed.starts_with("VeloTracks: an event is empty below 1, background subtracted\n"), "{printed}");
}

/// Encoded and decoded, counts are what they were and measured values within what a field resolves.
#[test]
fn decoding_undoes_encoding() {
    let calorimeter = Calorimeter::lhcb();
    let batch = simulation(120).simulate(&calorimeter).expect("events");
    for scheme in [Scheme::Float, Scheme::Fixed, Scheme::Exact] {
        let counter = LumiCounter::builder().engine(Engine::Cpu).scheme(scheme).build().expect("the CPU");
        let counted = counter.count(&batch).expect("counters");
        let banks = counter.summaries(&batch, &counted);
        assert!(counted.len() > 40);
        for (counters, bank) in counted.iter().zip(&banks) {
            let header = batch.event(counters.event).header;
            let summary = counter.schemata().decode(bank).expect("a bank");
            assert_eq!((summary.full, summary.reconstructed), (header.full, header.reconstructed));
            let crossing = u64::from(header.orbit) * lumi::BUNCHES + u64::from(header.bunch);
            assert_eq!((summary.crossing, summary.crossing_type), (crossing, header.crossing.into()));
            assert_eq!(summary.t0_us, header.gps_us - crossing * 1000 / 40_078);
            let count = |name: &str| summary.counters[name].map(|value| value as u32);
            assert_eq!(count("SciFiT3M45"), Some(counters.scifi[5]));
            assert_eq!(count("VeloClustersInnerBin02"), Some(counters.velo_clusters[56]));
            assert_eq!(count("VeloTracks"), counters.velo_tracks.map(|tracks| tracks[0]));
            let mev = counters.calo.mev(&calorimeter);
            for (name, value, scale) in
                [("ECalET", mev[0], 0.2), ("ECalEtot", mev[1], 0.0667), ("ECalETInnerBottom", mev[7], 0.2)]
            {
                let stored = summary.counters[name].expect("it fits");
                assert!(stored <= value + 1e-6 && value - stored < 1.0 / scale + 1e-6, "{name}: {stored} {value}");
            }
            if let Some(VertexCounters { position, .. }) = counters.vertices {
                let stored = summary.counters["VeloVertexZ"].expect("it fits");
                assert!((stored - f64::from(position[2])).abs() < 1.0 / 16.0, "{stored} {position:?}");
            }
            if header.full {
                assert_eq!(count("SciFiT1Q13M2"), Some(counters.scifi[11]));
                // Sums of the extended counters are the basic ones.
                let sum = |names: &[&str]| names.iter().map(|name| count(name).expect("it fits")).sum::<u32>();
                let modules = ["Q02M1", "Q13M1", "Q02M2", "Q13M2", "Q02M3", "Q13M3"].map(|m| format!("SciFiT2{m}"));
                assert_eq!(count("SciFiT2M123"), Some(sum(&modules.each_ref().map(String::as_str))));
                let stations: Vec<String> = (4..=13).map(|s| format!("VeloClustersOuterS{s:02}")).collect();
                let stations: Vec<&str> = stations.iter().map(String::as_str).collect();
                assert_eq!(count("VeloClustersOuterBin01"), Some(sum(&stations)));
            } else {
                assert!(!summary.counters.contains_key("SciFiT1Q13M2"));
            }
        }
        // Beyond a field: measured values are the greatest, counts are not stored.
        let mut counters = counted[0];
        counters.calo = CaloSums::Float([1e12; 8]);
        counters.scifi = [100_000; 38];
        counters.velo_tracks = None;
        let header = batch.event(counters.event).header;
        let bank = counter.schemata().encode(header, &counters, &calorimeter);
        let summary = counter.schemata().decode(&bank).expect("a bank");
        for name in ["ECalET", "SciFiT1M123", "VeloTracks"] {
            assert_eq!(summary.counters[name], None, "{name}");
        }
        assert!(counter.schemata().decode(&bank[1..]).is_err() && counter.schemata().decode(&[]).is_err());
        assert!(counter.schemata().decode(&[&bank[..], &[0]].concat()).is_err());
    }
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lumi")).args(arguments).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn the_command_counts_and_prints() {
    let folder = folder("command");
    let path = |name: &str| folder.join(name).display().to_string();
    let (events, banks) = (path("events.npz"), path("banks.npz"));
    let done = run(&["simulate", &events, "--events", "60", "--lumi-fraction", "0.5"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let counted = run(&["count", &events, "--engine", "cpu", "-o", &banks, "--every", "7"]);
    assert!(counted.status.success(), "{}", text(&counted.stderr));
    let decoded = run(&["decode", &banks, "--every", "7"]);
    // The same events in the same order, whoever prints them.
    assert_eq!(text(&counted.stdout), text(&decoded.stdout));
    let numbers: Vec<u64> = (text(&decoded.stdout).lines())
        .filter_map(|line| line.strip_prefix("event ")?.split(':').next()?.parse().ok())
        .collect();
    assert!(numbers.len() > 2 && numbers.is_sorted(), "{numbers:?}");
    let json = run(&["decode", &banks, "--every", "1", "--json", "--counter", "ecalet"]);
    let line: serde_json::Value =
        serde_json::from_str(text(&json.stdout).lines().next().expect("a line")).expect("JSON");
    assert_eq!(line["summary"]["counters"].as_object().map(serde_json::Map::len), Some(8));
    for (arguments, code, message) in [
        (vec!["decode", &events], 1, "there is no array `words`"),
        (vec!["count", "/no/such/file"], 1, "/no/such/file"),
        (vec!["simulate", "/no/such/folder.npz", "--events", "1"], 1, "/no/such/folder.npz: "),
        (vec!["count", &events, "--adapter", "no such adapter"], 3, "no GPU adapter"),
        (vec!["simulate", &events, "--lumi-fraction", "2"], 2, "it is not from 0 to 1"),
        (vec!["count", &events, "--every", "0"], 2, "--every"),
    ] {
        let failed = run(&arguments);
        assert_eq!(failed.status.code(), Some(code), "{arguments:?}");
        assert!(text(&failed.stderr).contains(message), "{arguments:?}: {}", text(&failed.stderr));
    }
}

/// The built-in calorimeter as files is the same calorimeter; wrong files are refused.
#[test]
fn calorimeters_come_from_files() {
    let folder = folder("calorimeter");
    let path = |name: &str| folder.join(name);
    let text_of = |name: &str| path(name).display().to_string();
    assert!(run(&["calibration", &text_of("a.toml")]).status.success());
    assert_eq!(lumi::io::read_calorimeter(&path("a.toml")).expect("read"), Calorimeter::lhcb());
    let geometry = std::fs::read_to_string(path("a.toml")).expect("text");
    let cells = std::fs::read_to_string(path("a.csv")).expect("text");
    for (change, wanted) in [
        (("plane =", "plan ="), "unknown field `plan`"),
        (("1.0, -", "0.0, -"), "no plane across the beam"),
        (("a.csv", "none.csv"), "none.csv"),
    ] {
        std::fs::write(path("b.toml"), geometry.replacen(change.0, change.1, 1)).expect("written");
        let error = lumi::io::read_calorimeter(&path("b.toml")).map(drop).expect_err("refused").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    std::fs::write(path("b.toml"), geometry.replace("a.csv", "b.csv")).expect("written");
    // A table of pandas', whose whole numbers became floats.
    let pedestals = cells.lines().map(|line| match line.starts_with("area") {
        true => format!("{line}\n"),
        false => format!("{line}.0\n"),
    });
    std::fs::write(path("b.csv"), pedestals.collect::<String>()).expect("written");
    assert_eq!(lumi::io::read_calorimeter(&path("b.toml")).expect("read"), Calorimeter::lhcb());
    let half = cells.lines().next().map(|header| format!("{header}\nouter,1,1,1,100.5\n")).expect("a header");
    std::fs::write(path("b.csv"), half).expect("written");
    let error = lumi::io::read_calorimeter(&path("b.toml")).map(drop).expect_err("refused").to_string();
    assert!(error.contains("line 2") && error.contains("pedestal `100.5` is not a whole number"), "{error}");
    for (change, wanted) in
        [(("outer", "inner"), "outer cells come first"), (("gain_mev", "gain"), "the columns are area, x_mm")]
    {
        std::fs::write(path("b.csv"), cells.replacen(change.0, change.1, 1)).expect("written");
        let error = lumi::io::read_calorimeter(&path("b.toml")).map(drop).expect_err("refused").to_string();
        assert!(error.contains(wanted) && error.contains("b.csv"), "{error}");
    }
}

#[test]
fn the_cells_of_a_calibration_are_not_replaced() {
    let folder = folder("kept_cells");
    let text_of = |name: &str| folder.join(name).display().to_string();
    let (toml, cells) = (text_of("o.toml"), text_of("o.csv"));
    // An earlier run of this test may have left it.
    let _ = std::fs::remove_file(&toml);
    std::fs::write(&cells, "mine").expect("written");
    let refused = |arguments: &[&str]| {
        let done = run(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {}", text(&done.stderr));
    };
    refused(&["calibration", &toml]);
    assert_eq!(std::fs::read_to_string(&cells).expect("there"), "mine");
    std::fs::remove_file(&cells).expect("removed");
    // The second call replaces the files of the first.
    for _ in 0..2 {
        assert!(run(&["calibration", &toml]).status.success());
    }
    let before = std::fs::read(&cells).expect("there");
    refused(&["simulate", "--events", "1", "--calibration", &toml, &cells]);
    assert_eq!(std::fs::read(&cells).expect("there"), before);
}

#[test]
fn another_calorimeter_is_asked_for() {
    let folder = folder("other_calorimeter");
    let (path, toml) = (folder.join("events.npz"), folder.join("small.toml"));
    let small = small_calorimeter();
    write_events(create(&path), &simulation(4).simulate(&small).expect("events")).expect("written");
    lumi::io::write_cells(create(&folder.join("small.csv")), &small).expect("written");
    lumi::io::write_calorimeter(create(&toml), &small, "small.csv").expect("written");
    let (path, toml) = (path.display().to_string(), toml.display().to_string());
    let refused = run(&["count", &path, "--engine", "cpu"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("events.npz: events of 4 calorimeter cells") && said.contains("--calibration FILE.toml"),
        "{said}"
    );
    assert!(run(&["count", &path, "--engine", "cpu", "--calibration", &toml]).status.success());
}

#[test]
fn empty_events_alone_give_no_estimate() {
    let folder = folder("no_estimate");
    let path = |name: &str| folder.join(name).display().to_string();
    let (events, banks, csv) = (path("events.npz"), path("banks.npz"), path("averages.csv"));
    let arguments = ["simulate", &events, "--events", "20", "--lumi-fraction", "1", "--collisions", "0"];
    assert!(run(&arguments).status.success());
    assert!(run(&["count", &events, "--engine", "cpu", "-o", &banks]).status.success());
    let averaged = run(&["average", &banks, "--cross-section", "60", "-o", &csv]);
    assert!(text(&averaged.stdout).contains("no estimate"), "{}", text(&averaged.stdout));
    assert_eq!(
        std::fs::read_to_string(&csv).expect("a table"),
        "events,mean,mean_error,empty,mu,mu_error\n20,0.00000,0.00000,20,,\n"
    );
    let json: serde_json::Value = serde_json::from_slice(&run(&["average", &banks, "--json"]).stdout).expect("JSON");
    assert!(json[0]["log_zero"].is_null() && json[0]["empty"] == 20, "{json}");
}

/// Duplicates, unknown counters, columns, averages and pictures.
#[test]
fn banks_are_averaged_and_drawn() {
    let folder = folder("averages");
    let path = |name: &str| folder.join(name).display().to_string();
    let (events, banks, parquet) = (path("events.npz"), path("banks.npz"), path("sums.parquet"));
    let arguments = ["simulate", &events, "--events", "400", "--lumi-fraction", "1", "--collisions", "0.5"];
    assert!(run(&arguments).status.success());
    let arguments = ["count", &events, "--engine", "cpu", "-o", &banks, "--sums", &parquet, "-v"];
    let counted = run(&arguments);
    assert!(counted.status.success() && text(&counted.stderr).contains("counted 400 lumi events"));
    let bytes = std::fs::read(&parquet).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(run(&["count", &events, "--engine", "cpu", "--sums", &path("sums.npz")]).status.success());
    let mut sums = array_file::ArrayFile::open(&folder.join("sums.npz")).expect("arrays");
    assert_eq!(sums.column::<u64>("event_id").expect("ids").len(), 400);
    assert_eq!(sums.array::<f64>("VeloTracks").expect("counts").0, [400]);

    let averaged = run(&["average", &banks, "--counter", "VeloVertices", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&averaged.stdout).expect("JSON");
    let mu = json[0]["log_zero"]["mu"].as_f64().expect("a number");
    // Half a collision, of which nearly all have a vertex.
    assert!((mu - 0.5).abs() < 0.15, "{json}");
    let picture = path("time.svg");
    let arguments =
        ["average", &banks, "--by", "time", "--intervals", "5", "--cross-section", "60", "--plot", &picture];
    let drawn = run(&arguments);
    assert!(drawn.status.success() && text(&drawn.stdout).contains("luminosity_per_cm2_s"), "{}", text(&drawn.stderr));
    assert!(std::fs::read_to_string(&picture).expect("a picture").contains("luminosity"));
    let picture = path("energy.svg");
    assert!(run(&["histogram", &banks, "--counter", "ECalET", "--plot", &picture]).status.success());
    assert!(std::fs::read_to_string(&picture).expect("a picture").contains("ECalET [MeV]"));
    let picture = path("histogram.png");
    assert!(run(&["histogram", &banks, "--counter", "ECalET", "--plot", &picture]).status.success());
    assert!(std::fs::read(&picture).expect("a picture").starts_with(b"\x89PNG"));

    let mut twice = read_banks(&folder.join("banks.npz")).expect("banks");
    twice.event_ids[1] = twice.event_ids[0];
    write_banks(create(&folder.join("twice.npz")), &twice).expect("written");
    let decoded = run(&["decode", &path("twice.npz"), "--every", "1"]);
    assert!(text(&decoded.stderr).contains("warning: 2 events have the id 0"), "{}", text(&decoded.stderr));
    assert!(text(&decoded.stdout).ends_with("400 lumi events\n"));
    for (arguments, code, message) in [
        (vec!["decode", &banks, "--counter", "muons"], 2, "no counter has a name with `muons`"),
        (
            vec!["average", &banks, "--counter", "velotracks"],
            2,
            "there is no counter `velotracks`; there are VeloTracks",
        ),
        (vec!["average", &banks, "--empty-below", "NaN"], 2, "it is not finite"),
        (vec!["average", &banks, "--subtract-background"], 1, "no event of crossing type 0"),
        (vec!["average", &banks, "--plot", "a.svg"], 2, "add --by time"),
        (vec!["histogram", &banks, "--plot", "a.gif"], 2, ".png, .svg or .pdf"),
        (vec!["count", &events, "-o", &events], 2, "one of the inputs"),
        (vec!["count", &events, "--sums", "a.txt"], 2, "name a file .npz or .parquet"),
        (vec!["simulate", "/dev/null", "--events", "100000000"], 1, "are free: fewer events"),
    ] {
        let failed = run(&arguments);
        assert_eq!(failed.status.code(), Some(code), "{arguments:?}: {}", text(&failed.stderr));
        let said = text(&failed.stderr).replace("\n  │ ", " ");
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
    for (arguments, part) in [(&["completions", "zsh"][..], "histogram"), (&["man"], ".TH lumi 1")] {
        assert!(text(&run(arguments).stdout).contains(part), "{arguments:?}");
    }
}
