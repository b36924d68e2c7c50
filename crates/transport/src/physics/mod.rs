//! What electrons, positrons and photons do in lead tungstate: rates, losses and ranges. Energies in MeV, lengths in mm.

mod rates;
pub(crate) mod tables;

use crate::error::{Error, Result};

pub(crate) use rates::ELECTRON_MASS;
pub(crate) use tables::Tables;

/// Energies \[MeV\] at which particles begin and end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuts {
    /// Electrons that an electron knocks out with more than this are tracked; what has less is part of its continuous loss.
    pub electron: f64,
    /// So are photons of bremsstrahlung. A photon that has less is absorbed where it is.
    pub photon: f64,
    /// Electrons and positrons that have less stop where they are.
    pub stop: f64,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { electron: 1.0, photon: 0.1, stop: 0.1 }
    }
}

impl Cuts {
    /// That they can be: the models hold from 0.1 MeV on.
    ///
    /// # Errors
    /// [`Error::Options`].
    pub fn check(&self) -> Result<()> {
        for (name, cut) in [("electrons", self.electron), ("photons", self.photon), ("stopping", self.stop)] {
            if !(0.1..=1e4).contains(&cut) {
                return Err(Error::Options {
                    what: format!("a cut of {cut} MeV for {name}: 0.1 MeV to 10 GeV are wanted"),
                });
            }
        }
        Ok(())
    }
}
