//! `--beam-spot auto`: finds the beam spot from the first events. They are searched afterwards like
//! all other events.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::str::FromStr;

use command_host::{Failure, note};
use zfinder::{Config, Detector, Roi, RoiBatch};
use zfinder_io::SpacepointReader;
use zfinder_study::beam_spot::{BeamSpot, BeamSpotFinder};

use super::options::pair;

/// Reading ahead stops at this number of tracks, which determine x and y within about 2 um, or at
/// this number of spacepoints in memory.
const ENOUGH_TRACKS: usize = 5_000;
const MOST_SPACEPOINTS: usize = 10_000_000;
/// Number of tracks, and of spacepoints of the first RoIs, that check a given beam.
const CHECKED_TRACKS: usize = 200;
const CHECKED_SPACEPOINTS: usize = 100_000;
/// A given beam is wrong if its distance from the tracks' beam exceeds both this many mm and this
/// many standard errors.
const WRONG_MM: f64 = 0.05;
const WRONG_ERRORS: f64 = 5.0;

/// A beam position of the command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BeamPosition {
    /// The beam spot is found from the events.
    Auto,
    /// x and y at z = 0 \[mm\].
    At([f64; 2]),
}

impl FromStr for BeamPosition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        pair(text).map(Self::At).map_err(|error| format!("`auto`, or {error}"))
    }
}

/// The RoIs of the input. Some may have been read ahead.
pub(super) struct RoiSource {
    ahead: VecDeque<zfinder_io::Result<Roi>>,
    pub(super) reader: SpacepointReader,
}

impl RoiSource {
    pub(super) fn new(reader: SpacepointReader) -> Self {
        Self { ahead: VecDeque::new(), reader }
    }

    /// Moves the RoIs out, which leaves an empty source.
    pub(super) fn take(&mut self) -> Self {
        let none = SpacepointReader::new(Vec::new(), Detector::atlas2010(), None);
        std::mem::replace(self, Self::new(none))
    }

    /// Finds the beam spot from the first events, at most `most_events`, and sets it in the
    /// configuration. The events are still searched afterwards.
    ///
    /// # Errors
    /// A detector with too few barrels; too few tracks; the error that ended the input.
    pub(super) fn find_beam_spot(
        &mut self,
        most_events: NonZeroUsize,
        detector: &Detector,
        config: &mut Config,
    ) -> Result<BeamSpot, Failure> {
        let mut finder = BeamSpotFinder::new(detector, config)?;
        let (mut events, mut last_event, mut spacepoints) = (0, None, 0);
        while events <= most_events.get() && finder.tracks() < ENOUGH_TRACKS && spacepoints < MOST_SPACEPOINTS {
            let Some(roi) = self.reader.next() else { break };
            if let Ok(roi) = &roi {
                let event = roi.descriptor.id.event_id;
                events += usize::from(last_event.replace(event) != Some(event));
                spacepoints += roi.spacepoints.len();
                if events <= most_events.get() {
                    finder.add(roi);
                }
            }
            self.ahead.push_back(roi);
        }
        match finder.fit() {
            Ok(beam) => {
                beam.apply(config);
                config.validate()?;
                Ok(beam)
            }
            // If the input ended with an error, that error is the reason for too few tracks.
            Err(error) => Err(match self.ahead.pop_back() {
                Some(Err(unread)) => unread.into(),
                _ => error.into(),
            }),
        }
    }
}

impl Iterator for RoiSource {
    type Item = zfinder_io::Result<Roi>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ahead.pop_front().or_else(|| self.reader.next())
    }
}

/// Reports a beam spot, and the options that set it.
pub(super) fn report(beam: &BeamSpot) {
    let BeamSpot { x_mm, y_mm, dx_dz, dy_dz, width_mm, errors, .. } = beam;
    let width = errors.width_mm.map_or_else(String::new, |_| format!(" --beam-width {width_mm}"));
    note(&format!("beam spot: {beam} (--beam-spot {x_mm},{y_mm} --beam-spot-tilt {dx_dz:e},{dy_dz:e}{width})"));
}

/// Returns a warning if the tracks of the first RoIs do not come from the configuration's beam.
pub(super) fn wrong_beam(batch: &RoiBatch, detector: &Detector, config: &Config) -> Option<String> {
    let mut finder = BeamSpotFinder::new(detector, config).ok()?;
    let mut spacepoints = 0;
    for roi in batch.iter() {
        if spacepoints > CHECKED_SPACEPOINTS || finder.tracks() > CHECKED_TRACKS {
            break;
        }
        spacepoints += roi.len();
        finder.add(roi);
    }
    let beam = finder.fit().ok()?;
    let BeamSpot { x_mm, y_mm, errors, tracks, .. } = beam;
    let off = (x_mm - config.beam_spot_mm[0]).hypot(y_mm - config.beam_spot_mm[1]);
    if off < WRONG_MM.max(WRONG_ERRORS * errors.x_mm.hypot(errors.y_mm)) {
        return None;
    }
    Some(format!(
        "the beam of the first {tracks} tracks is at x {x_mm:.2} mm, y {y_mm:.2} mm, {off:.2} mm from the beam spot of the \
         configuration; --beam-spot auto finds and uses it"
    ))
}
