//! Tests that files of answers contain their provenance, and that JSON lines match their schema.

use std::fs::{self, File};
use std::path::Path;

use crate::common::{failed, folder, sample, succeeded, written, zfinder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

/// Checks a value against a schema, and returns the reason of a mismatch. An unknown keyword of the
/// schema is a panic.
fn check(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let object = schema.as_object().expect("a schema");
    for (keyword, wanted) in object {
        let is_good = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let path = wanted.as_str().and_then(|path| path.strip_prefix('#')).expect("a local reference");
                check(value, root.pointer(path).expect("a definition"), root)?;
                true
            }
            "oneOf" => {
                let holds = wanted.as_array().expect("schemas").iter().filter(|one| check(value, one, root).is_ok());
                holds.count() == 1
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().expect("values").contains(value),
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is_kind(value, kind)),
                kind => is_kind(value, kind),
            },
            "minimum" => value.as_f64() >= wanted.as_f64(),
            "pattern" => {
                assert_eq!(wanted, "^sha256:[0-9a-f]{64}$");
                let digits = value.as_str().and_then(|text| text.strip_prefix("sha256:")).unwrap_or_default();
                digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            }
            "required" => {
                wanted.as_array().expect("names").iter().all(|name| value.get(name.as_str().expect("a name")).is_some())
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("schemas") {
                    value.get(name).map_or(Ok(()), |value| check(value, schema, root))?;
                }
                true
            }
            "additionalProperties" => {
                assert_eq!(wanted, false);
                let known = object["properties"].as_object().expect("schemas");
                value.as_object().is_none_or(|fields| fields.keys().all(|name| known.contains_key(name)))
            }
            "items" => {
                value.as_array().into_iter().flatten().try_for_each(|item| check(item, wanted, root))?;
                true
            }
            other => panic!("the test does not know `{other}`"),
        };
        if !is_good {
            return Err(format!("{keyword}: {wanted} does not hold of {value}"));
        }
    }
    Ok(())
}

fn is_kind(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        other => panic!("the test does not know the type `{other}`"),
    }
}

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zfinder-io/schema/answers.schema.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the schema")).expect("JSON")
}

fn find(arguments: &[&str]) -> String {
    succeeded(zfinder(&[&["find", "-q", "--engine", "reference"], arguments].concat()))
}

#[test]
fn json_lines_hold_to_their_schema() {
    let schema = schema();
    let dir = folder();
    let lone = written(&dir, "lone.csv", "x,y,z,layer\n50,1,12,0\n");
    let text = find(&["--format", "jsonl", "--peaks", "3", "--digest", &sample("zee7_mu2")])
        + &find(&["--format", "jsonl", &lone]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 1 + 20 + 1 + 1 + 1);
    for line in &lines {
        check(line, &schema, &schema).unwrap_or_else(|reason| panic!("{reason}"));
    }
    for line in [
        r#"{"event_id":0}"#,
        r#"{"event_id":-1,"roi_id":0,"status":"ok","spacepoints":0,"outside_window":0,"fallback":false,"vertices":[]}"#,
        r#"{"event_id":1,"roi_id":0,"status":"fine","spacepoints":0,"outside_window":0,"fallback":false,"vertices":[]}"#,
        r#"{"event_id":1,"roi_id":0,"status":"ok","spacepoints":0,"outside_window":0,"fallback":false,"vertices":[],"more":1}"#,
    ] {
        let line = serde_json::from_str(line).expect("JSON");
        assert!(check(&line, &schema, &schema).is_err(), "{line}");
    }
}

#[test]
fn every_format_has_the_same_provenance() {
    let dir = folder();
    let input = written(&dir, "points.csv", "event_id,x,y,z,layer\n3,50,1,12,0\n3,88,2,13,1\n");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let read = |name: &str| fs::read_to_string(dir.path().join(name)).expect("written");
    for name in ["out.csv", "out.jsonl", "out.parquet"] {
        find(&[&input, "-o", &at(name), "--peaks", "2"]);
    }
    let beside: Value = serde_json::from_str(&read("out.csv.provenance.json")).expect("JSON");
    let schema = schema();
    check(&beside, &schema["$defs"]["provenance"], &schema).unwrap_or_else(|reason| panic!("{reason}"));
    let first: Value = serde_json::from_str(read("out.jsonl").lines().next().expect("a line")).expect("JSON");
    assert_eq!(first, beside);
    let file = SerializedFileReader::new(File::open(dir.path().join("out.parquet")).expect("there")).expect("Parquet");
    let metadata = file.metadata().file_metadata().key_value_metadata().expect("metadata");
    for (name, value) in beside.as_object().expect("an object") {
        let entry = metadata.iter().find(|entry| entry.key == format!("zfinder.{name}"));
        let text = value.as_str().map(str::to_owned).or_else(|| value.is_object().then(|| value.to_string()));
        assert_eq!(entry.and_then(|entry| entry.value.clone()), text, "{name}");
    }
    assert_eq!(beside["engine"], "reference engine, serial, f64");
    assert_eq!(beside["version"], env!("CARGO_PKG_VERSION"));

    // A digest depends on the content, and not on the file.
    let digests = |arguments: &[&str]| {
        let text = find(&[&[input.as_str(), "--format", "jsonl"], arguments].concat());
        let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        ["config_digest", "detector_digest"].map(|name| first[name].clone())
    };
    let [config, detector] = digests(&[]);
    let atlas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/detectors/atlas2010.toml").display().to_string();
    assert_eq!(digests(&["--detector", &atlas, "--peaks", "4"]), [config.clone(), detector.clone()]);
    let [other_config, other_detector] = digests(&["--peaks", "2", "--detector", "odd"]);
    assert!(other_config == beside["config_digest"] && other_config != config && other_detector != detector);

    // Standard output has no file of provenance, and no input is replaced.
    let before = fs::read_dir(dir.path()).expect("there").count();
    find(&[&input, "--format", "csv"]);
    assert_eq!(fs::read_dir(dir.path()).expect("there").count(), before);
    let config = written(&dir, "a.csv.provenance.json", "peaks = 2\n");
    let arguments = ["find", "-q", &input, "--config", &config, "-o", &at("a.csv")];
    failed(&zfinder(&arguments), 2, &["the output file is one of the inputs", "a.csv.provenance.json"]);
}

#[test]
fn an_adapter_is_named() {
    let Some(adapter) = zfinder_testing::on_fast_adapters().into_iter().next() else { return };
    let arguments = ["find", "-q", "--format", "jsonl", "--adapter", &adapter.index.to_string(), &sample("zee7_mu2")];
    let text = succeeded(zfinder(&arguments));
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["engine"], "GPU engine, f32");
    assert!(first["adapter"].as_str().is_some_and(|named| named.starts_with(&adapter.name)), "{first}");
}
