//! Names that the columns of a file have: `x=X,layer=lay`.

use std::str::FromStr;

/// The names of columns in a file, for files whose names differ from those of the formats.
///
/// ```
/// let columns: zfinder_io::ColumnMap = "x=X,layer=lay".parse()?;
/// assert!("x".parse::<zfinder_io::ColumnMap>().is_err());
/// # let _ = columns;
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMap {
    /// Pairs of the name that readers know, and the name in the file.
    pairs: Vec<(String, String)>,
}

impl ColumnMap {
    /// Gives the columns of a file the names that readers know. A column that has such a name
    /// already, while another one takes its place, loses it.
    ///
    /// # Errors
    /// The message that a name is not in the file.
    pub(crate) fn rename<'a>(&'a self, names: impl Iterator<Item = &'a mut String>) -> Result<(), String> {
        let mut names: Vec<&mut String> = names.collect();
        let place = |(known, in_file): &'a (String, String)| {
            let place = names.iter().position(|name| *name == in_file);
            place.map(|place| (place, known)).ok_or_else(|| {
                let there = column_names::quoted(names.iter().map(|name| name.as_str()));
                format!("there is no column `{in_file}`, which is to be `{known}`; the file has {there}")
            })
        };
        let places = self.pairs.iter().map(place).collect::<Result<Vec<_>, String>>()?;
        let is_taken = |name: &String| self.pairs.iter().any(|(known, _)| known == name);
        names.iter_mut().filter(|name| is_taken(name)).for_each(|name| name.clear());
        places.into_iter().for_each(|(place, known)| names[place].clone_from(known));
        Ok(())
    }

    /// Returns the part for a file that lacks some of the columns, as files of truth may.
    pub(crate) fn of_those<'a>(&self, in_file: impl Iterator<Item = &'a str> + Clone) -> Self {
        let is_there = |(_, name): &&(String, String)| in_file.clone().any(|there| there == name);
        Self { pairs: self.pairs.iter().filter(is_there).cloned().collect() }
    }

    /// Returns the columns of a file: the names that readers know, and the names in the file.
    ///
    /// # Errors
    /// The message that a name is not in the file.
    #[cfg(feature = "root")]
    pub(crate) fn names(&self, in_file: Vec<String>) -> Result<Vec<(String, String)>, String> {
        let mut known = in_file.clone();
        self.rename(known.iter_mut())?;
        Ok(known.into_iter().zip(in_file).collect())
    }
}

impl FromStr for ColumnMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = |part: &str| {
            let (known, in_file) = part.split_once('=')?;
            let (known, in_file) = (known.trim(), in_file.trim());
            (!known.is_empty() && !in_file.is_empty()).then(|| (known.to_owned(), in_file.to_owned()))
        };
        let pairs: Vec<_> =
            text.split(',').map(|part| pair(part).ok_or(part)).collect::<Result<_, _>>().map_err(|part| {
                format!("`{part}` is no NAME=COLUMN; names of columns are written as in x=X,layer=lay")
            })?;
        Self::try_from(pairs)
    }
}

/// Takes pairs of the name that readers know, and the name in the file.
impl TryFrom<Vec<(String, String)>> for ColumnMap {
    type Error = String;

    fn try_from(pairs: Vec<(String, String)>) -> Result<Self, String> {
        if let Some((name, _)) = pairs.iter().find(|(name, in_file)| name.is_empty() || in_file.is_empty()) {
            return Err(format!("the column for `{name}` has no name"));
        }
        let again =
            pairs.iter().enumerate().find(|(at, (name, _))| pairs[..*at].iter().any(|(other, _)| other == name));
        match again {
            Some((_, (name, _))) => Err(format!("`{name}` has two columns")),
            None => Ok(Self { pairs }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(map: &str, names: &[&str]) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        map.parse::<ColumnMap>()?.rename(names.iter_mut())?;
        Ok(names)
    }

    #[test]
    fn columns_get_the_names_that_readers_know() {
        assert_eq!(renamed("x=X, layer = lay", &["X", "lay", "y"]).expect("names"), ["x", "layer", "y"]);
        assert_eq!(renamed("x=y,y=x", &["x", "y"]).expect("names"), ["y", "x"]);
        assert_eq!(renamed("x=x_true", &["x", "x_true"]).expect("names"), ["", "x"]);
        let error = renamed("x=X", &["a", "b"]).expect_err("no such column");
        assert_eq!(error, "there is no column `X`, which is to be `x`; the file has `a`, `b`");
        for wrong in ["", "x", "x=", "=X", "x=X,", "x=X,x=Y"] {
            assert!(wrong.parse::<ColumnMap>().is_err(), "{wrong}");
        }
        for wrong in [("x", ""), ("", "X")] {
            assert!(ColumnMap::try_from(vec![(wrong.0.to_owned(), wrong.1.to_owned())]).is_err(), "{wrong:?}");
        }
    }
}
