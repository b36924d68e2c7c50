//! Answers, and their digest.

use wasm_bindgen::prelude::*;
use zfinder::RoiResult;
use zfinder_io::{AnswerDigest, CSV_HEADER, write_csv, write_json_line};

use crate::exception;

/// The answers to all RoIs.
#[wasm_bindgen]
pub struct Answers {
    pub(crate) results: Vec<RoiResult>,
}

#[wasm_bindgen]
impl Answers {
    /// The answer to an RoI, as JSON.
    ///
    /// # Errors
    /// There is no such RoI.
    pub fn json(&self, roi: usize) -> Result<String, JsError> {
        let result = self.results.get(roi).ok_or_else(|| exception("there is no such RoI"))?;
        let mut line = Vec::new();
        write_json_line(&mut line, result).map_err(exception)?;
        String::from_utf8(line).map_err(exception)
    }

    /// All answers as the command's CSV.
    ///
    /// # Errors
    /// None that can be foreseen.
    pub fn csv(&self) -> Result<String, JsError> {
        let mut text = format!("{CSV_HEADER}\n").into_bytes();
        self.results.iter().try_for_each(|result| write_csv(&mut text, result)).map_err(exception)?;
        String::from_utf8(text).map_err(exception)
    }

    /// The digest that `zfinder find --digest` says of the same answers.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut digest = AnswerDigest::default();
        self.results.iter().for_each(|result| digest.add(result));
        digest.to_string()
    }
}
