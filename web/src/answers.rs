//! Answers to RoIs, and their digest.

use wasm_bindgen::prelude::*;
use zfinder::{Results, RoiResult};
use zfinder_io::{AnswerDigest, VertexColumns, write_csv, write_json_line};

use crate::exception;

/// The answers to all RoIs of [`Events`](crate::events::Events).
#[wasm_bindgen]
pub struct Answers {
    pub(crate) results: Results,
}

#[wasm_bindgen]
impl Answers {
    /// Returns the answer to an RoI as JSON.
    ///
    /// # Errors
    /// The RoI does not exist.
    pub fn json(&self, roi: usize) -> Result<String, JsError> {
        let result = self.roi(roi)?;
        let mut line = Vec::new();
        write_json_line(&mut line, result, None).map_err(exception)?;
        String::from_utf8(line).map_err(exception)
    }

    /// Returns all answers as the CSV of `zfinder find`.
    ///
    /// # Errors
    /// A failed serialization.
    pub fn csv(&self) -> Result<String, JsError> {
        let columns = VertexColumns::of_results(&self.results);
        let mut text = (columns.csv_header() + "\n").into_bytes();
        self.results.iter().try_for_each(|result| write_csv(&mut text, result, columns)).map_err(exception)?;
        String::from_utf8(text).map_err(exception)
    }

    /// Returns the digest that `zfinder find --digest` prints for the same answers.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut digest = AnswerDigest::default();
        digest.extend(&self.results);
        digest.to_string()
    }
}

impl Answers {
    /// Returns the answer to an RoI.
    ///
    /// # Errors
    /// The RoI does not exist.
    pub(crate) fn roi(&self, roi: usize) -> Result<RoiResult<'_>, JsError> {
        self.results.iter().nth(roi).ok_or_else(|| exception("there is no such RoI"))
    }
}
