//! Where a sample goes: spacepoints as a stream or as a folder, and the tables beside them.

use crate::failure::unwritten;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
#[cfg(feature = "root")]
use zfinder_io::RootSpacepoints;
use zfinder_io::{CsvWriter, EventFiles, ParquetSpacepoints, ROI_HEADER, SpacepointWriter, write_roi};
use zfinder_study::simulate::{SimulatedRoi, Simulation, TRACKML_PARTICLES_HEADER, TRUTH_HEADER};

use super::super::output::PROGRAM;
use super::Format;
use command_host::Failure;
use command_host::Unfinished;
use command_host::{Output, folder_of, with_temporary};

/// Where spacepoints go.
pub(super) enum Sink {
    Csv(Output),
    Parquet(Output),
    #[cfg(feature = "root")]
    Root(Output),
    Acts(Folder),
    Trackml(Folder),
}

impl Sink {
    /// A file or folder, or standard output.
    pub(super) fn open(path: Option<&Path>, format: Format) -> Result<Self, Failure> {
        let folder = || match path {
            Some(path) => Folder::open(path),
            None => Err(Failure::usage(
                "--format acts and trackml write a folder, not standard output",
                "name the folder with -o",
            )),
        };
        Ok(match format {
            Format::Csv => Sink::Csv(Output::open(path, PROGRAM)?),
            Format::Parquet => Sink::Parquet(Output::open(path, PROGRAM)?),
            #[cfg(feature = "root")]
            Format::Root => Sink::Root(Output::open(path, PROGRAM)?),
            Format::Acts => Sink::Acts(folder()?),
            Format::Trackml => Sink::Trackml(folder()?),
        })
    }

    fn folder(&self) -> Option<&Folder> {
        match self {
            Sink::Acts(folder) | Sink::Trackml(folder) => Some(folder),
            _ => None,
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Sink::Csv(target) | Sink::Parquet(target) => target.finish(),
            #[cfg(feature = "root")]
            Sink::Root(target) => target.finish(),
            Sink::Acts(folder) | Sink::Trackml(folder) => folder.finish(),
        }
    }
}

/// A folder that takes its name when all is in it.
pub(super) struct Folder {
    temporary: TempDir,
    target: PathBuf,
    _unfinished: Unfinished,
}

impl Folder {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |source| Failure::output(&path.display().to_string(), &source);
        // Events of two samples in one folder would be taken for one.
        let occupied = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if occupied {
            return Err(Failure::usage(
                format!("the folder {} is not empty", path.display()),
                "name a new one, so that the events of two samples are not mixed",
            ));
        }
        let temporary =
            with_temporary(PROGRAM, 0o777, |builder| builder.tempdir_in(folder_of(path))).map_err(failed)?;
        let _unfinished = Unfinished::new(temporary.path());
        Ok(Self { temporary, target: path.to_owned(), _unfinished })
    }

    fn path(&self) -> &Path {
        self.temporary.path()
    }

    fn finish(self) -> Result<(), Failure> {
        // An empty folder of that name gives way; where there is none, that is as well.
        let _ = fs::remove_dir(&self.target);
        let renamed = fs::rename(self.temporary.path(), &self.target);
        renamed.map_err(|source| Failure::output(&self.target.display().to_string(), &source))?;
        // It has another name now: nothing is left to be removed.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// A sample on its way out.
pub(super) struct Outputs<'a> {
    spacepoints: Box<dyn SpacepointWriter + 'a>,
    truth: Option<Output>,
    rois: Option<Output>,
    /// Where TrackML's particles go.
    particles: Option<PathBuf>,
}

impl<'a> Outputs<'a> {
    pub(super) fn open(
        sink: &'a mut Sink,
        simulation: &Simulation,
        truth: Option<&Path>,
        rois: Option<&Path>,
    ) -> Result<Self, Failure> {
        let folder = sink.folder().map(|folder| folder.path().to_owned());
        let table = |asked: Option<&Path>, name, header| -> Result<Option<Output>, Failure> {
            let path = asked.map(Path::to_owned).or_else(|| Some(folder.as_ref()?.join(name)));
            let mut table = path.map(|path| Output::open(Some(&path), PROGRAM)).transpose()?;
            if let Some(table) = &mut table {
                table.write(|out| writeln!(out, "{header}"))?;
            }
            Ok(table)
        };
        let truth = table(truth, "truth_vertices.csv", TRUTH_HEADER)?;
        let rois = if simulation.is_full_scan() { None } else { table(rois, "rois.csv", ROI_HEADER)? };
        let particles = if matches!(sink, Sink::Trackml(_)) { folder } else { None };
        let detector = simulation.detector();
        let spacepoints: Box<dyn SpacepointWriter> = match sink {
            Sink::Csv(target) => {
                let name = target.name().to_owned();
                Box::new(CsvWriter::new(target.writer(), name))
            }
            Sink::Parquet(target) => {
                let name = target.name().to_owned();
                Box::new(ParquetSpacepoints::new(target.writer(), name.as_ref()).map_err(unwritten)?)
            }
            #[cfg(feature = "root")]
            Sink::Root(target) => match target.temporary() {
                Some(path) => Box::new(RootSpacepoints::create(path).map_err(unwritten)?),
                None => {
                    return Err(Failure::usage(
                        "--format root writes a file, not standard output or a device",
                        "name the file with -o",
                    ));
                }
            },
            Sink::Acts(folder) => Box::new(EventFiles::acts(folder.path(), &detector, &simulation.variances())?),
            Sink::Trackml(folder) => Box::new(EventFiles::trackml(folder.path(), &detector)?),
        };
        Ok(Self { spacepoints, truth, rois, particles })
    }

    pub(super) fn write(&mut self, made: &[SimulatedRoi]) -> Result<(), Failure> {
        for made in made {
            self.spacepoints.write((&made.roi).into()).map_err(unwritten)?;
            if let Some(folder) = &self.particles {
                particles(folder, made)?;
            }
        }
        if let Some(truth) = &mut self.truth {
            truth.write(|mut out| made.iter().try_for_each(|made| made.write_truth(&mut out)))?;
        }
        if let Some(rois) = &mut self.rois {
            rois.write(|mut out| made.iter().try_for_each(|made| write_roi(&mut out, &made.roi.descriptor)))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        self.spacepoints.finish().map_err(unwritten)?;
        for table in [self.truth, self.rois].into_iter().flatten() {
            table.finish()?;
        }
        Ok(())
    }
}

fn particles(folder: &Path, made: &SimulatedRoi) -> Result<(), Failure> {
    let path = folder.join(format!("event{:09}-particles.csv", made.roi.descriptor.id.event_id));
    let written = File::create_new(&path).and_then(|file| {
        let mut out = BufWriter::new(file);
        writeln!(out, "{TRACKML_PARTICLES_HEADER}")?;
        made.write_trackml_particles(&mut out)?;
        out.flush()
    });
    written.map_err(|source| Failure::output(&path.display().to_string(), &source))
}
