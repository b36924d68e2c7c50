//! Rates, losses and ranges of electrons, positrons and photons in matter. Energies in MeV, lengths
//! in mm.

pub(crate) mod photons;
mod rates;
pub(crate) mod tables;

use crate::error::{Error, Result};

pub(crate) use rates::ELECTRON_MASS;

/// Energy thresholds \[MeV\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuts {
    /// The production threshold of knocked-out electrons. Below it they are part of the continuous
    /// energy loss.
    pub electron: f64,
    /// The production threshold of bremsstrahlung photons. Photons below it are absorbed in place.
    pub photon: f64,
    /// The energy at which electrons and positrons stop.
    pub stop: f64,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { electron: 1.0, photon: 0.1, stop: 0.1 }
    }
}

impl Cuts {
    /// Checks the thresholds. The models are valid from 0.1 MeV.
    ///
    /// # Errors
    /// [`Error::Options`] if they are invalid.
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
