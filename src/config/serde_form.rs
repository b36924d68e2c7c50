//! Configurations in files and messages: a table of any of the keys.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::config::keys::{Key, Kind};
use crate::config::preset::Preset;
use crate::config::table::Config;
use crate::config::value::Value;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Pair(pair) => pair.serialize(serializer),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, true, false, a word or two numbers")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
                Ok(Value::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
                Ok(Value::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
                Ok(Value::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
                Ok(Value::Number(number))
            }

            fn visit_str<E>(self, word: &str) -> Result<Value, E> {
                Ok(Value::Word(word.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Absent)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Value, A::Error> {
                let (x, y) = (numbers.next_element()?, numbers.next_element()?);
                match (x, y, numbers.next_element::<f64>()?) {
                    (Some(x), Some(y), None) => Ok(Value::Pair([x, y])),
                    _ => Err(A::Error::custom("two numbers are expected")),
                }
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}

/// Writes every key that has a value.
impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in Self::KEYS {
            match (key.kind, key.get(self)) {
                (_, Value::Absent) => {}
                (Kind::Whole { .. } | Kind::WholeOrWord(_), Value::Number(number)) => {
                    map.serialize_entry(key.name, &(number as u32))?;
                }
                (_, value) => map.serialize_entry(key.name, &value)?,
            }
        }
        map.end()
    }
}

/// Any of the keys of a [`Config`], as configuration files have them. Each key is known and has a
/// value of its type and in its range.
#[derive(Clone, Debug, Default)]
pub struct ConfigChanges(Vec<(&'static Key, Value)>);

impl ConfigChanges {
    /// Returns the preset that the keys name.
    pub fn preset(&self) -> Option<Preset> {
        self.0.iter().find_map(|(key, value)| match value {
            Value::Word(word) if key.name == "preset" => word.parse().ok(),
            _ => None,
        })
    }

    /// Changes these keys of a configuration. The result is not validated.
    pub fn apply(&self, config: &mut Config) {
        for (key, value) in &self.0 {
            let is_set = config.set_value(key.name, value);
            debug_assert!(is_set, "{}: values are checked where they are read", key.name);
        }
    }
}

/// Reads the name of a key, so that a parser can say where an unknown one stands.
struct KeyName;

impl<'de> DeserializeSeed<'de> for KeyName {
    type Value = &'static Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static Key, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Config::KEYS.iter().find(|key| key.name == name);
        known.ok_or_else(|| D::Error::custom(Config::unknown_key(&name)))
    }
}

/// Reads a value of a key, so that a parser can say where a wrong one stands.
struct ValueOf(&'static Key);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let value = Value::deserialize(deserializer)?;
        self.0.set(&mut Config::default(), &value).map_err(D::Error::custom)?;
        Ok(value)
    }
}

impl<'de> Deserialize<'de> for ConfigChanges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = ConfigChanges;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConfigChanges, A::Error> {
                let mut changes: Vec<(&Key, Value)> = Vec::new();
                while let Some(key) = map.next_key_seed(KeyName)? {
                    if changes.iter().any(|(known, _)| known.name == key.name) {
                        return Err(A::Error::custom(format!("option `{}` stands there twice", key.name)));
                    }
                    changes.push((key, map.next_value_seed(ValueOf(key))?));
                }
                Ok(ConfigChanges(changes))
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

/// Reads any of the keys. Keys that are left out have the values of the preset that the key
/// `preset` names, else of [`Preset::Auto`].
impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let changes = ConfigChanges::deserialize(deserializer)?;
        let mut config = Self::preset(changes.preset().unwrap_or_default());
        changes.apply(&mut config);
        Ok(config)
    }
}
