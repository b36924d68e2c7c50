//! Parts of an event that are searched together as one RoI: phi windows of several RoIs, and tubes
//! about objects of the calorimeter or the muon system.
//!
//! The host selects the spacepoints of a region. Engines see an ordinary RoI over the full circle,
//! so that its histograms hold the pairs of all parts.

use std::f64::consts::{FRAC_PI_2, TAU};
use std::str::FromStr;

use crate::batch_view::BatchView;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::roi_batch::RoiBatch;
use crate::spacepoint::{PhiWindow, RoiDescriptor, Spacepoint, normalised, usable};

/// Kind of a seed object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// One track, which may have lost half of its momentum to bremsstrahlung.
    Electron,
    /// No track unless the photon converts. Events with photons alone are searched opposite to the
    /// photons, too.
    Photon,
    /// One track.
    Muon,
    /// Tracks within [`Region::JET_HALF_WIDTH`] of the jet's axis.
    Jet,
}

impl ObjectKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Electron, Self::Photon, Self::Muon, Self::Jet];

    /// Returns the word that files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Electron => "electron",
            Self::Photon => "photon",
            Self::Muon => "muon",
            Self::Jet => "jet",
        }
    }
}

/// Reads the word that files use.
impl FromStr for ObjectKind {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
            let words = Self::ALL.map(Self::as_str).join(", ");
            Error::Object { key: "kind", value: word.into(), reason: format!("is not one of {words}") }
        })
    }
}

/// An object of the calorimeter or the muon system that comes from the hard scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedObject {
    eta: f64,
    phi: f64,
    et_gev: f64,
    kind: ObjectKind,
}

impl SeedObject {
    /// Largest transverse energy \[GeV\]: the design energy of a beam of the LHC.
    pub const MAX_ET_GEV: f64 = 7000.0;

    /// Makes an object. `eta` and `phi` \[rad\] are those of its position on the surface of
    /// [`Calorimeter`], seen from the origin; `et_gev` is its transverse energy, or a muon's
    /// transverse momentum \[GeV\].
    ///
    /// # Errors
    /// A number that is not finite, |eta| above 20, |phi| above 2 pi, and a transverse energy that
    /// is not positive or above [`SeedObject::MAX_ET_GEV`].
    pub fn new(eta: f64, phi: f64, et_gev: f64, kind: ObjectKind) -> Result<Self> {
        let refuse =
            |key, value: f64, reason: &str| Err(Error::Object { key, value: value.to_string(), reason: reason.into() });
        if eta.is_nan() || eta.abs() > 20.0 {
            return refuse("eta", eta, "must lie in [-20, 20]");
        }
        if phi.is_nan() || phi.abs() > TAU {
            return refuse("phi", phi, "must lie in [-2 pi, 2 pi] rad: are these degrees?");
        }
        if !(et_gev.is_finite() && et_gev > 0.0) {
            return refuse("et", et_gev, "must be finite and above 0 GeV");
        }
        if et_gev > Self::MAX_ET_GEV {
            return refuse("et", et_gev, "GeV is beyond the energy of the LHC's beams: are these MeV?");
        }
        Ok(Self { eta, phi: normalised(phi), et_gev, kind })
    }
}

/// The surface that positions of objects lie on, a cylinder with flat ends, and the end of the
/// magnetic field. The defaults are near those of ATLAS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calorimeter {
    /// Radius of the barrel \[mm\].
    pub barrel_rho_mm: f64,
    /// |z| of the end-caps \[mm\].
    pub endcap_z_mm: f64,
    /// Radius of the solenoid, beyond which tracks are straight \[mm\].
    pub field_rho_mm: f64,
}

impl Default for Calorimeter {
    fn default() -> Self {
        Self { barrel_rho_mm: 1500.0, endcap_z_mm: 3700.0, field_rho_mm: 1150.0 }
    }
}

impl Calorimeter {
    fn validate(&self) -> Result<()> {
        let Self { barrel_rho_mm, endcap_z_mm, field_rho_mm } = *self;
        let sizes = [("barrel_rho_mm", barrel_rho_mm), ("endcap_z_mm", endcap_z_mm), ("field_rho_mm", field_rho_mm)];
        for (key, value) in sizes {
            if !(value.is_finite() && value > 0.0) {
                let reason = "must be finite and above 0 mm".into();
                return Err(Error::Object { key, value: value.to_string(), reason });
            }
        }
        Ok(())
    }

    /// Returns rho and z \[mm\] where the line from the origin meets the surface.
    fn position(&self, eta: f64) -> [f64; 2] {
        let slope = libm::sinh(eta);
        let rho = self.barrel_rho_mm.min(self.endcap_z_mm / slope.abs());
        [rho, rho * slope]
    }
}

/// A part of an event: the union of windows and tubes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Lower edge and width \[rad\].
    windows: Vec<[f64; 2]>,
    tubes: Vec<Tube>,
    /// The beam's x and y at z = 0 \[mm\], and their slopes.
    beam: [[f64; 2]; 2],
}

/// The spacepoints of tracks from the beam line to an object.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tube {
    phi: f64,
    half_width: f64,
    /// phi of a track differs from the object's by up to `bending - per_mm rho` \[rad\].
    bending: f64,
    per_mm: f64,
    most_rho: f64,
    /// The lowest and the highest line in (rho, z): z at the beam \[mm\], and dz / drho.
    lines: [[f64; 2]; 2],
}

impl Region {
    /// Half the width of a tube in phi \[rad\], beside the bending.
    pub const HALF_WIDTH: f64 = 0.05;
    /// Half the width of a jet in phi and eta.
    pub const JET_HALF_WIDTH: f64 = 0.2;
    /// A region with spacepoints on fewer layers is not searched: no track leads to its objects.
    pub const LEAST_LAYERS: u32 = 3;
    /// Objects at a larger |eta| are left out: no tracker reaches there.
    pub const MOST_ETA: f64 = 4.0;
    /// The share of an object's transverse energy that its track is expected to have at least.
    const PT_SHARE: f64 = 0.5;
    /// Tubes end before the object, at this share of its rho.
    const TUBE_LENGTH: f64 = 0.95;

    /// Returns the union of phi windows, about the configuration's beam. Windows of other kinds
    /// than [`PhiWindow::Range`] are the full circle.
    ///
    /// ```
    /// use zfinder::region::Region;
    /// use zfinder::{Config, PhiWindow, Spacepoint};
    /// let windows = [PhiWindow::new(0.1, 0.3)?, PhiWindow::new(3.0, -3.0)?];
    /// let region = Region::of_windows(&windows, &Config::default());
    /// let at = |phi| Spacepoint { rho: 50.5, phi, z: 0.0, layer: 0 };
    /// assert!(region.contains(at(0.2)) && region.contains(at(3.1)) && !region.contains(at(1.0)));
    /// # Ok::<(), zfinder::Error>(())
    /// ```
    pub fn of_windows(windows: &[PhiWindow], config: &Config) -> Self {
        let edges = |window: &PhiWindow| match *window {
            PhiWindow::Range { phi_min, phi_max } => {
                let (low, width) = PhiWindow::edges(phi_min, phi_max);
                [low, width]
            }
            PhiWindow::FullScan | PhiWindow::FromSpacepoints => [0.0, TAU],
        };
        Self { windows: windows.iter().map(edges).collect(), ..Self::about_beam(config) }
    }

    /// Returns the tubes about objects of one event, from the configuration's z range on the beam
    /// line. Objects beyond [`Region::MOST_ETA`] are left out. If all others are photons, the half
    /// circle opposite to their summed momentum belongs to the region: tracks that balance the
    /// photons lie there.
    ///
    /// # Errors
    /// A size of the calorimeter that is not finite or not positive.
    pub fn of_objects(objects: &[SeedObject], calorimeter: &Calorimeter, config: &Config) -> Result<Self> {
        calorimeter.validate()?;
        let within = || objects.iter().filter(|object| object.eta.abs() <= Self::MOST_ETA);
        let tubes: Vec<Tube> = within().map(|object| Tube::new(object, calorimeter, config)).collect();
        let are_photons = !tubes.is_empty() && within().all(|object| object.kind == ObjectKind::Photon);
        let mut region = Self { tubes, ..Self::about_beam(config) };
        if are_photons {
            let sum = |of: fn(f64) -> f64| within().map(|object| object.et_gev * of(object.phi)).sum::<f64>();
            let opposite = libm::atan2(-sum(libm::sin), -sum(libm::cos));
            region.windows.push([normalised(opposite - FRAC_PI_2), 2.0 * FRAC_PI_2]);
        }
        Ok(region)
    }

    fn about_beam(config: &Config) -> Self {
        Self { beam: [config.beam_spot_mm, config.beam_spot_tilt], ..Self::default() }
    }

    /// Returns whether a spacepoint is searched. An invalid one is, so that its RoI's status is
    /// [`Status::BadSpacepoint`](crate::Status::BadSpacepoint).
    pub fn contains(&self, spacepoint: Spacepoint) -> bool {
        let Spacepoint { mut rho, mut phi, z, .. } = spacepoint;
        if !usable(rho, phi, z) {
            return true;
        }
        if self.beam != [[0.0; 2]; 2] {
            let [x0, y0] = [0, 1].map(|i| self.beam[0][i] + z * self.beam[1][i]);
            // libm's functions give the same bits on all platforms.
            let (x, y) = (rho * libm::cos(phi) - x0, rho * libm::sin(phi) - y0);
            (rho, phi) = ((x * x + y * y).sqrt(), libm::atan2(y, x));
        }
        let in_window = |&[low, width]: &[f64; 2]| turn(low, phi) < width;
        self.windows.iter().any(in_window) || self.tubes.iter().any(|tube| tube.contains(rho, phi, z))
    }

    /// Returns the spacepoints of the region, in their order; None if they lie on fewer than
    /// [`Region::LEAST_LAYERS`] layers.
    pub fn select(&self, spacepoints: impl IntoIterator<Item = Spacepoint>) -> Option<Vec<Spacepoint>> {
        let selected: Vec<Spacepoint> = spacepoints.into_iter().filter(|&s| self.contains(s)).collect();
        let layers = selected.iter().fold(0u64, |layers, s| layers | 1u64.checked_shl(s.layer).unwrap_or(0));
        (layers.count_ones() >= Self::LEAST_LAYERS).then_some(selected)
    }

    /// Returns a batch of whole events reduced to one region each, over the full circle. An event
    /// with too few spacepoints in its region stays whole, as does an event whose region is `None`.
    /// Spacepoints that are left out are in no count of the results.
    ///
    /// # Errors
    /// [`Error::Columns`] if there are not as many regions as events.
    pub fn select_batch<'a>(events: impl Into<BatchView<'a>>, regions: &[Option<Self>]) -> Result<RoiBatch> {
        let events = events.into();
        if events.len() != regions.len() {
            let reason = format!("{} regions for {} events; one each is expected", regions.len(), events.len());
            return Err(Error::Columns { reason });
        }
        let mut batch = RoiBatch::new();
        for (event, region) in events.iter().zip(regions) {
            match region.as_ref().and_then(|region| region.select(event.spacepoints())) {
                Some(selected) => batch.push(Self::descriptor(*event.descriptor), selected),
                None => batch.push(*event.descriptor, event.spacepoints()),
            }
        }
        Ok(batch)
    }

    /// Returns the descriptor of a region of an RoI: its window is the full circle.
    pub fn descriptor(roi: RoiDescriptor) -> RoiDescriptor {
        RoiDescriptor { window: Some(PhiWindow::FullScan), ..roi }
    }
}

/// Returns the angle from one azimuth on to another, in [0, 2 pi).
fn turn(from: f64, to: f64) -> f64 {
    let turn = (to - from).rem_euclid(TAU);
    // A tiny negative angle rounds to the whole circle.
    if turn < TAU { turn } else { 0.0 }
}

impl Tube {
    fn new(object: &SeedObject, calorimeter: &Calorimeter, config: &Config) -> Self {
        let [rho, _] = calorimeter.position(object.eta);
        let is_jet = object.kind == ObjectKind::Jet;
        // A jet has tracks of any momentum and either charge, within its width.
        let (half_width, of_track) = if is_jet { (Region::JET_HALF_WIDTH, 0.0) } else { (Region::HALF_WIDTH, 1.0) };
        // A track turns by half its bending on the way to rho, up to the end of the field, and is
        // straight beyond.
        let curvature = of_track * 0.0003 * config.field_t / (Region::PT_SHARE * object.et_gev);
        let inside = rho.min(calorimeter.field_rho_mm);
        let line = |z: f64, eta: f64| {
            let [rho, end] = calorimeter.position(eta);
            [z, (end - z) / rho]
        };
        let d_eta = if is_jet { Region::JET_HALF_WIDTH } else { 0.0 };
        Self {
            phi: object.phi,
            half_width,
            bending: curvature * inside * (1.0 - 0.5 * inside / rho),
            per_mm: 0.5 * curvature,
            most_rho: Region::TUBE_LENGTH * rho,
            lines: [line(config.z_min_mm, object.eta - d_eta), line(config.z_max_mm, object.eta + d_eta)],
        }
    }

    fn contains(&self, rho: f64, phi: f64, z: f64) -> bool {
        let away = turn(self.phi, phi).min(turn(phi, self.phi));
        let bent = (self.bending - self.per_mm * rho).max(0.0);
        let [low, high] = self.lines.map(|[z, slope]| z + slope * rho);
        rho < self.most_rho && away < self.half_width + bent && low < z && z < high
    }
}
