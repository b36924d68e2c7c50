//! Selects the part of each event that is searched as one RoI.

use super::objects::ObjectTable;
use super::rois::RoiTable;
use crate::error::Result;
use zfinder::region::{Calorimeter, Region};
use zfinder::{Config, PhiWindow, RoiDescriptor, RoiId, Spacepoint};

/// Reduces each whole event to one [`Region`].
#[derive(Clone, Debug)]
pub struct Regions {
    selection: Selection,
    /// Supplies z range, field and beam spot.
    config: Config,
    events_without: u64,
    events_too_few: u64,
}

#[derive(Clone, Debug)]
enum Selection {
    Objects(ObjectTable, Calorimeter),
    RoiTable(RoiTable),
}

impl Regions {
    /// Selects tubes around the objects of each event. An event is searched whole if it has no
    /// objects, or if its region holds spacepoints on fewer than [`Region::LEAST_LAYERS`] layers.
    ///
    /// # Errors
    /// A size of the calorimeter that is not finite or not positive.
    pub fn of_objects(objects: ObjectTable, calorimeter: Calorimeter, config: &Config) -> Result<Self> {
        Region::of_objects(&[], &calorimeter, config)?;
        Ok(Self::new(Selection::Objects(objects, calorimeter), config))
    }

    /// Selects the windows of all RoIs of each event, and searches them as one RoI with the number
    /// of the event's first row. eta is 0; the range of z is the smallest that holds all ranges. An
    /// event without RoIs is left out.
    pub fn of_rois(rois: RoiTable, config: &Config) -> Self {
        Self::new(Selection::RoiTable(rois), config)
    }

    fn new(selection: Selection, config: &Config) -> Self {
        Self { selection, config: config.clone(), events_without: 0, events_too_few: 0 }
    }

    /// Returns warnings about events that were searched whole or not at all, and about RoIs whose
    /// events are not `known`.
    pub(super) fn warnings(&self, known: impl Fn(u64) -> bool) -> Vec<String> {
        let counted = |count: u64, what: String| {
            let events = if count == 1 { "event of the input has" } else { "events of the input have" };
            (count > 0).then(|| format!("{count} {events} {what}"))
        };
        let warnings = match &self.selection {
            Selection::Objects(objects, _) => {
                let path = objects.path().display();
                let least = Region::LEAST_LAYERS;
                let too_few =
                    format!("spacepoints on fewer than {least} layers along the objects of {path}: searched whole");
                let without = counted(self.events_without, format!("no object in {path}: searched whole"));
                [without, counted(self.events_too_few, too_few)]
            }
            Selection::RoiTable(rois) => {
                let path = rois.path().display();
                let unknown = rois.descriptors().iter().filter(|roi| !known(roi.id.event_id)).count();
                let (rois_of, of) = if unknown == 1 {
                    ("RoI of", "is of an event that was")
                } else {
                    ("RoIs of", "are of events that were")
                };
                let left_out = format!("{unknown} {rois_of} {path} {of} not read: left out");
                let without = counted(self.events_without, format!("no RoI in {path}: not searched"));
                [without, (unknown > 0).then_some(left_out)]
            }
        };
        warnings.into_iter().flatten().collect()
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
            Selection::RoiTable(rois) => {
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

/// Returns the descriptor of the union of RoIs; None if there are no RoIs.
fn joint_descriptor<'a>(rois: impl Iterator<Item = &'a RoiDescriptor>) -> Option<RoiDescriptor> {
    let joint = rois.copied().reduce(|joint, roi| {
        let hull = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        // An RoI without a z range has the configuration's.
        let z_range = joint.z_range.zip(roi.z_range).map(|(a, b)| hull(a, b));
        RoiDescriptor { z_range, ..joint }
    })?;
    Some(Region::descriptor(RoiDescriptor { eta: 0.0, ..joint }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::SpacepointReader;
    use tempfile::TempDir;
    use zfinder::{Detector, Preset, Roi};

    const EVENTS: &str = "event_id,rho,phi,z,layer\n1,50.5,0.1,20,0\n1,88.5,0.1,20,1\n1,122.5,0.1,20,2\n1,88.5,2,20,1\n\
                          2,50.5,0.1,20,0\n2,88.5,2,20,1\n3,50.5,-3.1,20,0\n";

    fn written(folder: &TempDir, name: &str, text: &str) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path
    }

    fn read(folder: &TempDir, regions: Regions) -> (Vec<Roi>, Vec<String>) {
        let path = written(folder, "events.csv", EVENTS);
        let mut reader = SpacepointReader::new(vec![path], Detector::atlas2010(), None).with_regions(Some(regions));
        let rois = reader.by_ref().collect::<Result<_>>().expect("good");
        (rois, reader.warnings())
    }

    /// Returns event, number and spacepoints of each RoI.
    fn counts(rois: &[Roi]) -> Vec<(u64, u64, usize)> {
        rois.iter().map(|roi| (roi.descriptor.id.event_id, roi.descriptor.id.roi_id, roi.spacepoints.len())).collect()
    }

    #[test]
    fn objects_select_from_events() {
        let folder = TempDir::new().expect("a folder");
        let text = "kind,event_id,eta,phi,et\nelectron,1,0.01,0.1,30\n,2,0,0.1,30\n";
        let objects = ObjectTable::read(&written(&folder, "objects.csv", text)).expect("good");
        let regions =
            Regions::of_objects(objects, Calorimeter::default(), &Config::preset(Preset::Default)).expect("good");
        let (rois, warnings) = read(&folder, regions);
        assert_eq!(counts(&rois), [(1, 0, 3), (2, 0, 2), (3, 0, 1)]);
        assert_eq!(rois[0].descriptor.window, Some(PhiWindow::FullScan));
        assert_eq!(rois[1].descriptor.window, None, "searched whole");
        assert!(warnings[0].starts_with("1 event of the input has no object in"), "{warnings:?}");
        assert!(warnings[1].contains("on fewer than 3 layers along the objects"), "{warnings:?}");
    }

    #[test]
    fn joint_rois_are_one_roi() {
        let folder = TempDir::new().expect("a folder");
        let text = "event_id,roi_id,phi_min,phi_max,eta,z_min,z_max\n1,4,0,0.5,1,-50,30\n1,2,1.9,2.1,,-10,60\n\
                    2,1,3,-3,,,\n2,0,0,1,,0,1\n9,0,0,1,,,\n";
        let rois = RoiTable::read(&written(&folder, "rois.csv", text)).expect("good");
        let (rois, warnings) = read(&folder, Regions::of_rois(rois, &Config::preset(Preset::Default)));
        assert_eq!(counts(&rois), [(1, 4, 4), (2, 1, 1)]);
        let joint = rois[0].descriptor;
        assert_eq!((joint.eta, joint.z_range, joint.window), (0.0, Some((-50.0, 60.0)), Some(PhiWindow::FullScan)));
        assert_eq!(rois[1].descriptor.z_range, None);
        let [without, unknown] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(without.starts_with("1 event of the input has no RoI in"), "{without}");
        assert!(unknown.starts_with("1 RoI of ") && unknown.ends_with("is of an event that was not read: left out"));
    }

    #[test]
    fn regions_need_whole_events() {
        let folder = TempDir::new().expect("a folder");
        let objects = written(&folder, "objects.csv", "event_id,eta,phi,et\n1,0,0,9\n");
        let objects = ObjectTable::read(&objects).expect("good");
        let regions =
            Regions::of_objects(objects, Calorimeter::default(), &Config::preset(Preset::Default)).expect("good");
        let path = written(&folder, "s.csv", "event_id,roi_id,x,y,z,layer\n1,0,10,0,0,0\n");
        let mut reader = SpacepointReader::new(vec![path], Detector::atlas2010(), None).with_regions(Some(regions));
        let error = reader.next().expect("an error").expect_err("RoIs of its own").to_string();
        assert!(error.contains("select from whole events"), "{error}");
    }

    #[test]
    fn bad_object_files_say_where_and_what() {
        let folder = TempDir::new().expect("a folder");
        let header = "event_id,eta,phi,et,kind\n";
        for (text, expected) in [
            ("", ": the file is empty"),
            (header, ": there is a header and no object below it"),
            ("event_id,eta,phi\n", ", row 1: missing column `et`; the header has `event_id`, `eta`, `phi`"),
            ("event_id,eta,phi,et,Kind\n1,0,0,9,muon\n", ", row 1: "),
            (
                &format!("{header}1,0,0,9,tau\n"),
                ", row 2, column kind: `kind` of an object: tau is not one of electron",
            ),
            (&format!("{header}1,x,0,9,\n"), ", row 2, column eta: `x` is not a number"),
            (&format!("{header}1,0,90,9,\n"), ", row 2: `phi` of an object: 90 must lie in"),
            (&format!("{header}1,0,0,0,\n"), ", row 2: `et` of an object: 0 must be finite and above 0 GeV"),
            (&format!("{header}-1,0,0,9,\n"), ", row 2, column event_id: `-1` is not a whole number"),
        ] {
            let path = written(&folder, "objects.csv", text);
            let error = ObjectTable::read(&path).expect_err(text).to_string();
            assert!(error.starts_with(&format!("{}{expected}", path.display())), "{text:?}: {error}");
        }
    }
}
