//! Names of columns: which column holds the event number, names that look like another name, and
//! lists of names in messages.
//!
//! Every reader of files, arrays and frames asks [`event_column`], so that all of them read the
//! same column as the event number, and none ignores a column that looks like one.

/// Returns the column of the event number. `event_id` comes first, then the only column with
/// another usual name of an event number (`event`, `eventNumber`, `Event_ID`, `ievent`,
/// `event_index`), then
/// `entry`, as uproot and awkward call the row of a tree. None if no name looks like one of these.
/// Case and punctuation do not matter.
///
/// # Errors
/// The reason for refusing the names: several columns have a usual name, or a name is similar to
/// one (`evnt_id`, `sp_event_id`).
///
/// ```
/// let names = ["x", "y", "z", "layer", "eventNumber"];
/// assert_eq!(column_names::event_column(names.into_iter()), Ok(Some("eventNumber")));
/// assert!(column_names::event_column(["Event_ID", "ievent"].into_iter()).is_err());
/// ```
pub fn event_column<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<Option<&'a str>, String> {
    if let Some(name) = names.clone().find(|name| *name == EVENT) {
        return Ok(Some(name));
    }
    let mut usual = names.clone().filter(|name| is_event_number(&letters(name)));
    match (usual.next(), usual.next()) {
        (Some(name), None) => return Ok(Some(name)),
        (Some(one), Some(other)) => {
            return Err(format!(
                "columns `{one}` and `{other}` both look like the number of the event: name the right one `{EVENT}`"
            ));
        }
        (None, _) => {}
    }
    let mut entries = names.clone().filter(|name| letters(name) == "entry");
    match (entries.next(), entries.next(), lookalike(names, EVENT)) {
        (_, _, Some(name)) => Err(refusal(name, EVENT)),
        (Some(one), Some(other), None) => Err(format!("columns `{one}` and `{other}` differ in case only")),
        (entry, None, None) => Ok(entry),
        (None, Some(_), None) => Ok(None),
    }
}

/// The name of the event number that all readers prefer.
const EVENT: &str = "event_id";

/// Returns whether letters are a usual name of an event number.
fn is_event_number(letters: &str) -> bool {
    let ending = ["event", "evt"].into_iter().find_map(|event| letters.strip_prefix(event));
    ending.is_some_and(|ending| ENDINGS.contains(&ending)) || ["ievent", "ievt", "iev"].contains(&letters)
}

/// Endings of the names of numbers.
const ENDINGS: [&str; 9] = ["", "id", "ids", "no", "nr", "num", "number", "index", "idx"];

/// Returns the first of `names` that is similar to `key`, as `ROI_id`, `roi` or `roid_id` are to
/// `roi_id`. None if `key` itself is present.
pub fn lookalike<'a>(mut names: impl Iterator<Item = &'a str> + Clone, key: &str) -> Option<&'a str> {
    if names.clone().any(|name| name == key) {
        return None;
    }
    let key = letters(key);
    names.find(|name| is_alike(&letters(name), &key))
}

/// Returns the reason for refusing a column similar to `key`.
pub fn refusal(name: &str, key: &str) -> String {
    format!("column `{name}` looks like `{key}`, and would not be read: name it `{key}`, or differently")
}

/// Returns advice about columns of coordinates or layers that are there under other names: in
/// another case, with a unit, or `r` for `rho`. Empty if no name is similar.
///
/// ```
/// let names = ["X", "y_mm", "z", "layer"];
/// let advice = column_names::advice(["x", "y"].into_iter(), names.into_iter());
/// assert_eq!(advice, "; `X` looks like `x`, `y_mm` like `y`: rename them");
/// ```
pub fn advice<'a>(missing: impl Iterator<Item = &'a str>, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let pairs: Vec<(&str, &str)> = missing.filter_map(|key| Some((similar(names.clone(), key)?, key))).collect();
    let mut text = String::new();
    for (number, (name, key)) in pairs.iter().enumerate() {
        let (begin, looks) = if number == 0 { ("; ", " looks") } else { (", ", "") };
        text.push_str(&format!("{begin}`{name}`{looks} like `{key}`"));
    }
    match pairs.len() {
        0 => {}
        1 => text.push_str(": rename it"),
        _ => text.push_str(": rename them"),
    }
    text
}

/// Returns the column that has a usual name of a coordinate or a layer, as [`advice`] names it. A
/// column may be a member of a record, as `hits.X`.
pub fn similar<'a>(mut names: impl Iterator<Item = &'a str>, key: &str) -> Option<&'a str> {
    names.find(|name| is_renamed(&letters(name.rsplit('.').next().unwrap_or(name)), key))
}

/// Returns whether letters are a usual name of a coordinate in mm or rad, or of a layer.
fn is_renamed(letters: &str, key: &str) -> bool {
    let others: &[&str] = match key {
        "rho" => &["r", "rmm", "rt", "perp"],
        "layer" => &["lay", "layernumber", "layerno", "layerindex", "ilayer"],
        _ => &[],
    };
    let bare = letters.strip_suffix("mm").or_else(|| letters.strip_suffix("rad")).unwrap_or(letters);
    let is_of_hit = ["hit", "sp", "pos"].iter().any(|prefix| bare.strip_prefix(prefix) == Some(key));
    bare == key || is_of_hit || others.contains(&letters)
}

/// Returns the names in backquotes; only the first ones of many.
pub fn quoted<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 40;
    const LONGEST: usize = 80;
    let name = |name: &str| match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}...`", &name[..end]),
        None => format!("`{name}`"),
    };
    let mut text = names.by_ref().take(MOST).map(name).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}

/// Returns a name in lower case without byte order marks, blanks and punctuation.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_alike(name: &str, key: &str) -> bool {
    if name == key {
        return true;
    }
    if let Some(what) = key.strip_suffix("id") {
        let is_number = |ending: &&str| name.strip_suffix(*ending) == Some(what);
        // A prefix, as in `sp_event_id` or `mc_event_number`.
        let ends_alike = |ending: &&str| !ending.is_empty() && name.ends_with(&format!("{what}{ending}"));
        if ENDINGS.iter().any(|ending| is_number(ending) || ends_alike(ending)) {
            return true;
        }
    }
    // Short names may differ by one letter on purpose: `eta` and `beta`.
    key.len() >= 5 && strsim::damerau_levenshtein(name, key) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_of_event_numbers_are_used() {
        for name in [
            "event_id",
            "event",
            "Event_ID",
            "eventNumber",
            "event_number",
            "ievent",
            "event_index",
            "entry",
            "evt_id",
            "EVENT ID",
            "\u{feff}event_id",
            "EventNo",
        ] {
            assert_eq!(event_column(["x", name, "layer"].into_iter()), Ok(Some(name)));
        }
        let both = |other| event_column([other, "event_id"].into_iter());
        assert_eq!((both("eventNumber"), both("evnt_id")), (Ok(Some("event_id")), Ok(Some("event_id"))));
        assert_eq!(event_column(["entry", "subentry", "event"].into_iter()), Ok(Some("event")));
        for name in ["event_time", "events", "hit_id", "particle_id", "subentry", "level", "even"] {
            assert_eq!(event_column([name].into_iter()), Ok(None), "{name}");
        }
    }

    #[test]
    fn usual_names_of_coordinates_are_recognised() {
        let advise = |missing: &str, name: &str| advice([missing].into_iter(), ["event_id", name].into_iter());
        for (missing, name) in [
            ("x", "X"),
            ("x", "x_mm"),
            ("y", "Y [mm]"),
            ("z", "hit_z"),
            ("z", "hits.Z"),
            ("rho", "r"),
            ("rho", "Rho (mm)"),
            ("phi", "PHI_rad"),
            ("layer", "Layer"),
            ("layer", "lay"),
        ] {
            assert_eq!(advise(missing, name), format!("; `{name}` looks like `{missing}`: rename it"));
        }
        for (missing, name) in [("x", "vx"), ("x", "x_cm"), ("z", "z0"), ("phi", "phi_deg"), ("layer", "player")] {
            assert_eq!(advise(missing, name), "", "{name}");
        }
    }

    #[test]
    fn doubtful_names_of_event_numbers_are_refused() {
        for name in ["evnt_id", "evetn_id", "sp_event_id", "mcEventNumber", "hit_event_index"] {
            let refused = event_column(["x", name].into_iter()).expect_err("refused");
            assert!(refused.contains(&format!("`{name}` looks like `event_id`")), "{refused}");
            assert!(event_column(["entry", name].into_iter()).is_err());
        }
        let refused = event_column(["event", "eventNumber"].into_iter()).expect_err("refused");
        assert!(refused.contains("`event` and `eventNumber`"), "{refused}");
        assert!(event_column(["entry", "Entry"].into_iter()).is_err());
    }

    #[test]
    fn names_that_look_like_a_key() {
        let of = |names: &[&'static str], key| lookalike(names.iter().copied(), key);
        for name in ["ROI_id", "roi", "roi_number", "roid_id", "roiId", "RoI index"] {
            assert_eq!(of(&[name], "roi_id"), Some(name));
            assert_eq!(of(&[name, "roi_id"], "roi_id"), None);
        }
        for name in ["event_time", "hit_id", "particle_id", "layer_id", "module_id", "vertex_id", "measurement_id_1"] {
            assert_eq!((of(&[name], "event_id"), of(&[name], "roi_id")), (None, None), "{name}");
        }
        assert_eq!(
            (of(&["Z_min"], "z_min"), of(&["beta"], "eta"), of(&["ETA"], "eta")),
            (Some("Z_min"), None, Some("ETA"))
        );
    }
}
