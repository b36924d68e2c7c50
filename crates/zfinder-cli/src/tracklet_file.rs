//! The file of tracklets that `find` writes beside the answers.

use std::path::Path;

use command_host::{Failure, Output, ending};
use zfinder::Results;
use zfinder_io::{ParquetTracklets, tracklet_csv_header, write_tracklets_csv};

use crate::failure::unwritten;
use crate::output::PROGRAM;

/// A writer of tracklets, in the format that the name of the file ends in.
pub(super) enum TrackletFile {
    Csv(Output),
    Parquet(Box<ParquetTracklets<Output>>),
}

impl TrackletFile {
    /// Checks that the name says how to write it.
    pub(super) fn check_name(path: &Path) -> Result<(), Failure> {
        match ending(path).as_str() {
            "csv" | "parquet" => Ok(()),
            _ => Err(Failure::usage(
                format!("the ending of `{}` does not say how to write tracklets", path.display()),
                "end it in .csv or .parquet; JSON lines have tracklets in the answers, with --tracklets all",
            )),
        }
    }

    pub(super) fn open(path: &Path, has_header: bool) -> Result<Self, Failure> {
        let mut target = Output::open(Some(path), PROGRAM)?;
        if ending(path) == "parquet" {
            return Ok(Self::Parquet(Box::new(ParquetTracklets::new(target, path).map_err(unwritten)?)));
        }
        if has_header {
            target.write(|out| writeln!(out, "{}", tracklet_csv_header()))?;
        }
        Ok(Self::Csv(target))
    }

    pub(super) fn results(&mut self, results: &Results) -> Result<(), Failure> {
        match self {
            Self::Csv(target) => {
                target.write(|mut out| results.iter().try_for_each(|result| write_tracklets_csv(&mut out, result)))
            }
            Self::Parquet(file) => results.iter().try_for_each(|result| file.write(result)).map_err(unwritten),
        }
    }

    /// Completes the file, which gets its name.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Csv(target) => target.finish(),
            Self::Parquet(file) => file.finish().map_err(unwritten)?.finish(),
        }
    }
}
