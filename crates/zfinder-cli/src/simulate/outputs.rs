//! Outputs of a sample: spacepoints as a stream or as a folder, and the tables of truth and RoIs.

use crate::failure::unwritten;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

#[cfg(feature = "root")]
use zfinder_io::RootSpacepoints;
use zfinder_io::{CsvWriter, EventFiles, ParquetSpacepoints, ROI_HEADER, SpacepointWriter, write_roi};
use zfinder_study::simulate::{SimulatedRoi, Simulation, TRACKML_PARTICLES_HEADER, TRUTH_HEADER};

use super::super::output::PROGRAM;
use super::Format;
use command_host::{Failure, Output, OutputFolder};

/// The destination of spacepoints.
pub(super) enum Sink {
    Csv(Output),
    Parquet(Output),
    #[cfg(feature = "root")]
    Root(Output),
    Acts(OutputFolder),
    Trackml(OutputFolder),
}

impl Sink {
    /// Opens a file or folder, or standard output.
    pub(super) fn open(path: Option<&Path>, format: Format) -> Result<Self, Failure> {
        let folder = || match path {
            Some(path) => OutputFolder::open(path, PROGRAM),
            None => Err(Failure::usage(
                "--format acts and trackml write a folder, not standard output",
                "name the folder with -o",
            )),
        };
        if path.is_none() && io::stdout().is_terminal() {
            return Err(Failure::usage(
                "a sample has thousands of lines, and standard output is a terminal",
                "name a file with -o, or send standard output to a file or a program",
            ));
        }
        Ok(match format {
            Format::Csv => Sink::Csv(Output::open(path, PROGRAM)?),
            Format::Parquet => Sink::Parquet(Output::open(path, PROGRAM)?),
            #[cfg(feature = "root")]
            Format::Root => Sink::Root(Output::open(path, PROGRAM)?),
            Format::Acts => Sink::Acts(folder()?),
            Format::Trackml => Sink::Trackml(folder()?),
        })
    }

    fn folder(&self) -> Option<&OutputFolder> {
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

/// The temporary path that a writer uses, and the final path that the user knows.
struct OutputPaths(Option<(PathBuf, PathBuf)>);

impl OutputPaths {
    fn new(sink: &Sink) -> Self {
        Self(match sink {
            #[cfg(feature = "root")]
            Sink::Root(target) => target.temporary().map(|path| (path.to_owned(), target.name().into())),
            sink => sink.folder().map(|folder| (folder.path().to_owned(), folder.name().to_owned())),
        })
    }

    /// Replaces the temporary path in an error by the final path.
    fn final_error(&self, error: zfinder_io::Error) -> zfinder_io::Error {
        match (error, &self.0) {
            (zfinder_io::Error::Io { path, source }, Some((temporary, name))) => {
                let path = match path.strip_prefix(temporary) {
                    Ok(rest) if rest == Path::new("") => name.clone(),
                    Ok(rest) => name.join(rest),
                    Err(_) => path,
                };
                zfinder_io::Error::Io { path, source }
            }
            (error, _) => error,
        }
    }
}

/// The open outputs of a sample.
pub(super) struct Outputs<'a> {
    spacepoints: Box<dyn SpacepointWriter + 'a>,
    truth: Option<Output>,
    rois: Option<Output>,
    /// The folder of TrackML's files of particles, one for each event.
    particles: Option<&'a OutputFolder>,
    names: OutputPaths,
}

impl<'a> Outputs<'a> {
    pub(super) fn open(
        sink: &'a mut Sink,
        simulation: &Simulation,
        truth: Option<&Path>,
        rois: Option<&Path>,
    ) -> Result<Self, Failure> {
        let folder = sink.folder();
        let table = |asked: Option<&Path>, name, header| -> Result<Option<Output>, Failure> {
            let mut table = match (asked, folder) {
                (Some(path), _) => Some(Output::open(Some(path), PROGRAM)?),
                (None, Some(folder)) => Some(folder.output(name)?),
                (None, None) => None,
            };
            if let Some(table) = &mut table {
                table.write(|out| writeln!(out, "{header}"))?;
            }
            Ok(table)
        };
        let truth = table(truth, "truth_vertices.csv", TRUTH_HEADER)?;
        let rois = if simulation.is_full_scan() { None } else { table(rois, "rois.csv", ROI_HEADER)? };
        let names = OutputPaths::new(sink);
        let mut particles = None;
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
                Some(path) => {
                    let name = PathBuf::from(target.name());
                    Box::new(RootSpacepoints::create_named(path, &name).map_err(unwritten)?)
                }
                None => {
                    return Err(Failure::usage(
                        "--format root writes a file, not standard output or a device",
                        "name the file with -o",
                    ));
                }
            },
            Sink::Acts(folder) => Box::new(EventFiles::acts(folder.path(), &detector, &simulation.variances())?),
            Sink::Trackml(folder) => {
                particles = Some(&*folder);
                Box::new(EventFiles::trackml(folder.path(), &detector)?)
            }
        };
        Ok(Self { spacepoints, truth, rois, particles, names })
    }

    pub(super) fn write(&mut self, made: &[SimulatedRoi]) -> Result<(), Failure> {
        for made in made {
            self.spacepoints.write((&made.roi).into()).map_err(|error| unwritten(self.names.final_error(error)))?;
            if let Some(folder) = self.particles {
                write_particles(folder, made)?;
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
        self.spacepoints.finish().map_err(|error| unwritten(self.names.final_error(error)))?;
        for table in [self.truth, self.rois].into_iter().flatten() {
            table.finish()?;
        }
        Ok(())
    }
}

fn write_particles(folder: &OutputFolder, made: &SimulatedRoi) -> Result<(), Failure> {
    let mut output = folder.output(&format!("event{:09}-particles.csv", made.roi.descriptor.id.event_id))?;
    output.write(|mut out| {
        writeln!(out, "{TRACKML_PARTICLES_HEADER}")?;
        made.write_trackml_particles(&mut out)
    })?;
    output.finish()
}
