//! Objects of the hard scatter in columns, and the regions that they select from events.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use zfinder::Config;
use zfinder::region::{Calorimeter, ObjectKind, Region, SeedObject};

use crate::columns::{offsets, slice};
use crate::error::{IntoException, config_error, input_error};

/// Columns of objects: event i has the objects from `offsets[i]` up to `offsets[i + 1]`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Objects<'py> {
    offsets: PyReadonlyArray1<'py, i64>,
    eta: PyReadonlyArray1<'py, f64>,
    phi: PyReadonlyArray1<'py, f64>,
    et: PyReadonlyArray1<'py, f64>,
    /// Index into [`ObjectKind::ALL`].
    kind: PyReadonlyArray1<'py, u8>,
    /// Radius of the calorimeter's barrel and |z| of its end-caps \[mm\].
    calorimeter: Option<(f64, f64)>,
}

impl Objects<'_> {
    /// Returns the region of each of `count` events; None for an event without objects.
    pub(crate) fn regions(&self, count: usize, config: &Config) -> PyResult<Vec<Option<Region>>> {
        let calorimeter = self.calorimeter.map_or_else(Calorimeter::default, |(barrel_rho_mm, endcap_z_mm)| {
            Calorimeter { barrel_rho_mm, endcap_z_mm, ..Calorimeter::default() }
        });
        Region::of_objects(&[], &calorimeter, config).map_err(|error| config_error(&error.to_string()))?;
        let objects = self.objects()?;
        let offsets = offsets(&self.offsets)?;
        if offsets.len() != count + 1 {
            let events = offsets.len().saturating_sub(1);
            return Err(input_error(&format!("objects of {events} events for {count} RoIs")));
        }
        let region = |pair: &[usize]| {
            let wrong =
                || input_error(&format!("the offsets of objects {pair:?} are not of {} objects", objects.len()));
            let of_event = objects.get(pair[0]..pair[1]).ok_or_else(wrong)?;
            let region = (!of_event.is_empty()).then(|| Region::of_objects(of_event, &calorimeter, config));
            region.transpose().map_err(IntoException::into_exception)
        };
        offsets.windows(2).map(region).collect()
    }

    fn objects(&self) -> PyResult<Vec<SeedObject>> {
        let [eta, phi, et] = [slice(&self.eta)?, slice(&self.phi)?, slice(&self.et)?];
        let kinds = slice(&self.kind)?;
        if [eta.len(), phi.len(), et.len()] != [kinds.len(); 3] {
            return Err(input_error("eta, phi, et and kind of objects differ in length"));
        }
        let object = |at: usize| {
            let wrong = || input_error(&format!("object {at}: kind {} is unknown", kinds[at]));
            let kind = ObjectKind::ALL.get(usize::from(kinds[at])).ok_or_else(wrong)?;
            SeedObject::new(eta[at], phi[at], et[at], *kind)
                .map_err(|error| input_error(&format!("object {at}: {error}")))
        };
        (0..kinds.len()).map(object).collect()
    }
}

/// Returns the words of the kinds, in the order of their numbers.
#[pyfunction]
pub(crate) fn object_kinds() -> Vec<&'static str> {
    ObjectKind::ALL.map(ObjectKind::as_str).to_vec()
}
