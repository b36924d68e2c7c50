//! Names of columns: lists in messages, and names similar to a column that is read.

/// Returns the first of `names` that is similar to `key`, as `Event_ID`, `event` or `evnt_id` are
/// to `event_id`. None if `key` itself is present.
pub(crate) fn lookalike<'a>(mut names: impl Iterator<Item = &'a str> + Clone, key: &str) -> Option<&'a str> {
    if names.clone().any(|name| name == key) {
        return None;
    }
    let key = letters(key);
    names.find(|name| is_alike(&letters(name), &key))
}

/// Returns the reason for refusing a column similar to `key`.
pub(crate) fn refusal(name: &str, key: &str) -> String {
    format!("column `{name}` looks like `{key}`, and would not be read: name it `{key}`, or differently")
}

/// Returns the names in backquotes; only the first ones of many.
pub(crate) fn quoted<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
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
    /// Usual endings of the name of an id.
    const NUMBERS: [&str; 7] = ["", "id", "ids", "no", "nr", "num", "number"];
    if name == key {
        return true;
    }
    if let Some(what) = key.strip_suffix("id") {
        let short = if what == "event" { "evt" } else { what };
        let is_number = |of: &str| name.strip_suffix(of).is_some_and(|before| before == what || before == short);
        // A prefix, as in `sp_event_id`.
        if NUMBERS.into_iter().any(is_number) || name.ends_with(key) {
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
    fn names_that_look_like_a_key() {
        let of = |names: &[&'static str], key| lookalike(names.iter().copied(), key);
        for name in [
            "event",
            "Event_ID",
            "\u{feff}event_id",
            "EVENT ID",
            "eventid",
            "evt_id",
            "event_number",
            "evnt_id",
            "evetn_id",
            "sp_event_id",
        ] {
            assert_eq!(of(&["x", name], "event_id"), Some(name));
            assert_eq!(of(&["x", name, "event_id"], "event_id"), None);
        }
        for name in ["ROI_id", "roi", "roi_number", "roid_id", "roiId"] {
            assert_eq!(of(&[name], "roi_id"), Some(name));
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
