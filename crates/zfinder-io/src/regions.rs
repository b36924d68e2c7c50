//! Which part of each event is searched as one RoI.

use super::objects::ObjectTable;
use super::rois::RoiTable;
use crate::error::Result;
use zfinder::{Calorimeter, Config, PhiWindow, Region, RoiDescriptor, RoiId, Spacepoint};

/// Reduces whole events to one [`Region`] each.
#[derive(Clone, Debug)]
pub struct Regions {
    selection: Selection,
    /// Gives z range, field and beam spot.
    config: Config,
    events_without: u64,
    events_too_few: u64,
}

#[derive(Clone, Debug)]
enum Selection {
    Objects(ObjectTable, Calorimeter),
    Rois(RoiTable),
}

impl Regions {
    /// Tubes about the objects of each event. An event without objects, and one with spacepoints on fewer than
    /// [`Region::LEAST_LAYERS`] layers of its region, is searched whole.
    ///
    /// # Errors
    /// A size of the calorimeter that is not finite or not positive.
    pub fn of_objects(objects: ObjectTable, calorimeter: Calorimeter, config: &Config) -> Result<Self> {
        Region::of_objects(&[], &calorimeter, config)?;
        Ok(Self::new(Selection::Objects(objects, calorimeter), config))
    }

    /// The windows of all RoIs of each event, searched as one RoI with the number of the event's first row. eta is 0; the range
    /// of z is the smallest that holds the ranges of all. An event without RoIs is left out.
    pub fn of_rois(rois: RoiTable, config: &Config) -> Self {
        Self::new(Selection::Rois(rois), config)
    }

    fn new(selection: Selection, config: &Config) -> Self {
        Self { selection, config: config.clone(), events_without: 0, events_too_few: 0 }
    }

    /// What a user should know of events that were searched whole or not at all.
    pub(super) fn warnings(&self) -> Vec<String> {
        let counted = |count: u64, what: String| {
            let events = if count == 1 { "event of the input has" } else { "events of the input have" };
            (count > 0).then(|| format!("{count} {events} {what}"))
        };
        let (without, too_few) = match &self.selection {
            Selection::Objects(objects, _) => {
                let path = objects.path().display();
                let least = Region::LEAST_LAYERS;
                (
                    format!("no object in {path}: searched whole"),
                    format!("spacepoints on fewer than {least} layers along the objects of {path}: searched whole"),
                )
            }
            Selection::Rois(rois) => (format!("no RoI in {}: not searched", rois.path().display()), String::new()),
        };
        [counted(self.events_without, without), counted(self.events_too_few, too_few)].into_iter().flatten().collect()
    }

    /// Reduces a whole event; None if the event is left out.
    pub(super) fn select(
        &mut self,
        event_id: u64,
        spacepoints: Vec<Spacepoint>,
    ) -> Result<Option<(RoiDescriptor, Vec<Spacepoint>)>> {
        let whole = RoiDescriptor { id: RoiId { event_id, roi_id: 0 }, ..RoiDescriptor::default() };
        match &self.selection {
            Selection::Objects(objects, calorimeter) => {
                let objects = objects.of_event(event_id);
                if objects.is_empty() {
                    self.events_without += 1;
                    return Ok(Some((whole, spacepoints)));
                }
                let region = Region::of_objects(objects, calorimeter, &self.config)?;
                let Some(selected) = region.select(spacepoints.iter().copied()) else {
                    self.events_too_few += 1;
                    return Ok(Some((whole, spacepoints)));
                };
                Ok(Some((Region::descriptor(whole), selected)))
            }
            Selection::Rois(rois) => {
                let Some(joint) = joint_descriptor(rois.of_event(event_id)) else {
                    self.events_without += 1;
                    return Ok(None);
                };
                let windows: Vec<PhiWindow> = rois.of_event(event_id).filter_map(|roi| roi.window).collect();
                let region = Region::of_windows(&windows, &self.config);
                let selected = spacepoints.into_iter().filter(|&s| region.contains(s)).collect();
                Ok(Some((joint, selected)))
            }
        }
    }
}

/// Returns the descriptor of the union of RoIs; None without any.
fn joint_descriptor<'a>(rois: impl Iterator<Item = &'a RoiDescriptor>) -> Option<RoiDescriptor> {
    let joint = rois.copied().reduce(|joint, roi| {
        let hull = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        // Without a range of its own an RoI has the configuration's.
        let z_range = joint.z_range.zip(roi.z_range).map(|(a, b)| hull(a, b));
        RoiDescriptor { z_range, ..joint }
    })?;
    Some(Region::descriptor(RoiDescriptor { eta: 0.0, ..joint }))
}
