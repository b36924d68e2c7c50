//! Options whose values are words: one declaration gives the enum, its words in files and on the
//! command line, and the line for each word in help and pages.

use crate::config::value::summary;
use crate::error::Error;

/// A word that an option accepts, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word in files, on the command line and in every front end, in kebab-case.
    pub word: &'static str,
    /// Meaning of the word: the documentation of the enum's variant. The first paragraph is one
    /// plain sentence.
    pub about: &'static str,
}

impl Word {
    /// Returns the meaning in one line, without the full stop.
    pub fn summary(&self) -> String {
        summary(self.about)
    }
}

/// Declares an enum of options.
///
/// `for "key"` is the name of the option in errors; a default value follows it. Each variant has
/// its documentation and its word. The enum gets `ALL`, `WORDS`, `as_str`, [`std::fmt::Display`]
/// and [`std::str::FromStr`]. With the feature `serde` it is read and written as its word.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $name:ident for $key:literal $(= $default:ident)? {
            $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $name {
            /// All values, in the order of their documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The words of [`Self::ALL`] and their meanings.
            pub const WORDS: &'static [$crate::config::words::Word] = &[
                $($crate::config::words::Word { word: $word, about: concat!($($doc, "\n"),+) }),+
            ];

            /// Returns the word that commands and files use.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        })?

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        /// Reads a word. Underscores stand for hyphens, too.
        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> $crate::error::Result<Self> {
                let known = Self::ALL.iter().copied().find(|value| $crate::config::words::is_word(value.as_str(), text));
                known.ok_or_else(|| $crate::config::words::not_a_word($key, text, Self::WORDS))
            }
        }

        impl $crate::config::value::Field for $name {
            fn to_value(&self) -> $crate::config::value::Value {
                $crate::config::value::Value::Word(self.as_str().to_owned())
            }

            fn from_value(value: &$crate::config::value::Value) -> Option<Self> {
                if let $crate::config::value::Value::Word(word) = value { word.parse().ok() } else { None }
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                word.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use words;

/// Returns whether a text is this word. Underscores stand for hyphens.
pub(crate) fn is_word(word: &str, text: &str) -> bool {
    let hyphens = |text: &str| text.replace('_', "-");
    word == text || hyphens(word) == hyphens(text)
}

/// Returns the error for a word that an option does not have.
pub(crate) fn not_a_word(key: &'static str, value: &str, words: &[Word]) -> Error {
    let words: Vec<_> = words.iter().map(|word| word.word).collect();
    Error::Config { key, value: value.to_owned(), reason: format!("must be one of {}", words.join(", ")) }
}
