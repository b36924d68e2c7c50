//! Reads the shard of a job from its batch system.
//!
//! A task of an array knows its own number. No batch system tells it whether the array is the whole
//! one or a part that was submitted again. `auto` accepts only arrays that look whole, and
//! `auto/N` names the whole array.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use zfinder_io::Shard;

/// The option `--shard`.
#[derive(Clone, Debug)]
pub(super) struct ShardOption {
    pub(super) shard: Shard,
    /// The assumption about the array, if the batch system gave N.
    pub(super) note: Option<String>,
}

/// Parses `I/N`, `auto`, or `auto/N` for the whole array of a batch system.
pub(super) fn shard(text: &str) -> Result<ShardOption, String> {
    let of_auto = match text.strip_prefix("auto") {
        Some("") => None,
        Some(tasks) if tasks.starts_with('/') => Some(tasks[1..].parse::<Tasks>()?),
        _ => return text.parse().map(|shard| ShardOption { shard, note: None }),
    };
    let task = Task::read(|name| env::var(name).ok(), |path| fs::read_to_string(path))?;
    match of_auto {
        Some(whole) => task.shard_of(whole).map(|shard| ShardOption { shard, note: None }),
        None => task.shard(),
    }
}

/// The numbers of all tasks of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tasks {
    first: u64,
    last: u64,
    step: u64,
}

impl Tasks {
    fn count(self) -> u64 {
        (self.last - self.first) / self.step + 1
    }

    /// Returns the place of a task among the tasks.
    fn index(self, task: u64) -> Option<u64> {
        let distance = task.checked_sub(self.first)?;
        (task <= self.last && distance.is_multiple_of(self.step)).then_some(distance / self.step)
    }
}

impl FromStr for Tasks {
    type Err = String;

    /// Parses `N`, `FIRST-LAST` or `FIRST-LAST:STEP`, as `sbatch --array` and `qsub -t` take them.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (range, step) = text.split_once(':').unwrap_or((text, "1"));
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
                None if range == text => (0, range.parse::<u64>().ok()?.checked_sub(1)?),
                None => return None,
            };
            let step = step.parse().ok().filter(|step| *step > 0)?;
            // A last task beyond a whole number of steps is not there.
            let tasks = (first <= last && last < u64::MAX).then_some(Self { first, last, step })?;
            Some(Self { last: first + (tasks.count() - 1) * step, ..tasks })
        };
        parse().ok_or_else(|| {
            format!(
                "`auto/{text}`: the tasks of the whole array are written auto/8 for 0 to 7, auto/1-8 or auto/0-14:2"
            )
        })
    }
}

impl fmt::Display for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { first: 0, last, step: 1 } => write!(f, "{}", last + 1),
            Self { first, last, step: 1 } => write!(f, "{first}-{last}"),
            Self { first, last, step } => write!(f, "{first}-{last}:{step}"),
        }
    }
}

/// A batch system.
#[derive(Debug, PartialEq, Eq)]
struct System {
    name: &'static str,
    /// The lowest number that it gives to a task.
    lowest: u64,
    /// Whether a task that is submitted again keeps its number.
    keeps_numbers: bool,
    /// The option to write if `auto` is refused.
    advice: &'static str,
}

impl System {
    const SLURM: Self = Self { name: "SLURM", lowest: 0, keeps_numbers: true, advice: FROM_ZERO };
    const PBS: Self = Self { name: "PBS", ..Self::SLURM };
    const LSF: Self = Self { name: "LSF", lowest: 1, keeps_numbers: true, advice: FROM_ONE };
    const GRID_ENGINE: Self = Self { name: "Grid Engine", ..Self::LSF };
    const CONDOR: Self = Self { name: "HTCondor", lowest: 0, keeps_numbers: false, advice: OF_PROCESSES };
}

const FROM_ZERO: &str = "write auto/N if the whole array has the tasks 0 to N-1, or auto/1-N if it has 1 to N";
const FROM_ONE: &str = "write auto/1-N, where N is the number of tasks of the whole array";
const OF_PROCESSES: &str = "write I/N, as auto/N begins anew with each submission: $(Process)/N in the submit \
                            description, or the shard that is to be searched again";

/// A task of an array, as its batch system describes it.
#[derive(Debug)]
struct Task {
    system: System,
    number: u64,
    /// The tasks that were submitted together. None if the batch system does not tell all of them.
    submitted: Option<Tasks>,
    /// The first and the last task that were submitted together, as far as they are known.
    ends: [Option<u64>; 2],
}

impl Task {
    /// Reads the only batch system that describes this process.
    fn read(
        variable: impl Fn(&str) -> Option<String>,
        read_file: impl Fn(&str) -> io::Result<String>,
    ) -> Result<Self, String> {
        let number = |name: &str| match variable(name).filter(|value| value != "undefined") {
            Some(value) => value.trim().parse::<u64>().map(Some).map_err(|_| format!("{name} is `{value}`, no number")),
            None => Ok(None),
        };
        let ad = match variable("_CONDOR_JOB_AD") {
            Some(path) => Some(read_file(&path).map_err(|error| format!("_CONDOR_JOB_AD, {path}: {error}"))?),
            None => None,
        };
        let condor = ad.as_deref().map(condor).transpose()?;
        let found = [slurm(&number)?, condor, grid_engine(&number)?, lsf(&number)?, pbs(&number)?];
        let mut found = found.into_iter().flatten();
        match (found.next(), found.next()) {
            (Some(task), None) => Ok(task),
            (Some(one), Some(other)) => Err(format!("this is both {one} and {other}: write I/N")),
            (None, _) => Err("this process is no task of an array: none of SLURM_ARRAY_TASK_ID, _CONDOR_JOB_AD, \
                              SGE_TASK_ID, LSB_JOBINDEX and PBS_ARRAY_INDEX is set: write I/N"
                .into()),
        }
    }

    /// Returns the shard if the tasks that were submitted together look like a whole array.
    fn shard(&self) -> Result<ShardOption, String> {
        let System { name, lowest, advice, .. } = self.system;
        let Some(tasks) = self.submitted else {
            return Err(format!("{self} does not know all tasks of its array: {advice}"));
        };
        if tasks.count() == 1 {
            return Err(format!("{self} was submitted alone, and cannot know N: {advice}"));
        }
        if tasks.first != lowest || tasks.step != 1 {
            let Tasks { first, last, step } = tasks;
            return Err(format!(
                "{self} was submitted with the tasks {first}-{last}:{step}, which may be a part of an array: {advice} \
                 (auto/{tasks} if these are all tasks)"
            ));
        }
        let shard = self.shard_of(tasks)?;
        let again = if self.system.keeps_numbers { format!("auto/{tasks}") } else { format!("I/{}", tasks.count()) };
        let note = format!(
            "shard {shard}: {name} runs the tasks {lowest} to {}; to submit one again, write {again}",
            tasks.last
        );
        Ok(ShardOption { shard, note: Some(note) })
    }

    /// Returns the shard of a task of this whole array.
    fn shard_of(&self, whole: Tasks) -> Result<Shard, String> {
        let System { name, lowest, keeps_numbers, advice } = self.system;
        if whole.first < lowest {
            return Err(format!("tasks of {name} count from {lowest}: write auto/{lowest}-{}", whole.count()));
        }
        // If one task is wrong, the whole array is wrong.
        let known = self.ends.into_iter().flatten().chain([self.number]);
        if let Some(task) = known.into_iter().find(|task| whole.index(*task).is_none()) {
            return Err(format!(
                "task {task} of {name} is none of the tasks {} to {} of auto/{whole}: {advice}",
                whole.first, whole.last
            ));
        }
        if !keeps_numbers && self.submitted != Some(whole) {
            return Err(format!("{self} was not submitted with {} tasks: {advice}", whole.count()));
        }
        let shard = whole.index(self.number).and_then(|index| Shard::new(index, whole.count()));
        shard.ok_or_else(|| format!("{self} is none of auto/{whole}: {advice}"))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} of {}", self.number, self.system.name)
    }
}

type Number<'a> = &'a dyn Fn(&str) -> Result<Option<u64>, String>;

/// Reads a task of SLURM. Its count tells arrays with gaps from whole ones.
fn slurm(number: Number<'_>) -> Result<Option<Task>, String> {
    let Some(id) = number("SLURM_ARRAY_TASK_ID")? else { return Ok(None) };
    let [count, first, last, step] =
        ["COUNT", "MIN", "MAX", "STEP"].map(|name| number(&format!("SLURM_ARRAY_TASK_{name}")));
    let (count, first, last, step) = (count?, first?, last?, step?.filter(|step| *step > 0));
    let submitted = first.zip(last).and_then(|(first, last)| {
        let tasks = (first <= last && last < u64::MAX).then_some(Tasks { first, last, step: step.unwrap_or(1) })?;
        (Some(tasks.count()) == count && tasks.index(last).is_some()).then_some(tasks)
    });
    Ok(Some(Task { system: System::SLURM, number: id, submitted, ends: [first, last] }))
}

/// Reads the number of the process, and the number of processes that were submitted.
fn condor(job_ad: &str) -> Result<Task, String> {
    let number = |key: &str| {
        let mut lines = job_ad.lines().filter_map(|line| line.split_once('='));
        let value = lines.find(|(name, _)| name.trim().eq_ignore_ascii_case(key)).map(|(_, value)| value.trim());
        value.and_then(|value| value.parse::<u64>().ok())
    };
    let id = number("ProcId").ok_or("_CONDOR_JOB_AD: the job description of HTCondor has no ProcId: write I/N")?;
    let last = number("TotalSubmitProcs").and_then(|count| count.checked_sub(1));
    let submitted = last.filter(|last| id <= *last && *last < u64::MAX).map(|last| Tasks { first: 0, last, step: 1 });
    Ok(Task { system: System::CONDOR, number: id, submitted, ends: [None, None] })
}

/// Reads a task of Grid Engine, whose arrays have no gaps.
fn grid_engine(number: Number<'_>) -> Result<Option<Task>, String> {
    let Some(id) = number("SGE_TASK_ID")? else { return Ok(None) };
    let [first, last, step] = ["FIRST", "LAST", "STEPSIZE"].map(|name| number(&format!("SGE_TASK_{name}")));
    let (first, last, step) = (first?, last?, step?.filter(|step| *step > 0));
    let submitted = first.zip(last).zip(step).map(|((first, last), step)| Tasks { first, last, step });
    let submitted = submitted.filter(|tasks| tasks.first <= tasks.last && tasks.last < u64::MAX);
    Ok(Some(Task { system: System::GRID_ENGINE, number: id, submitted, ends: [first, last] }))
}

/// Reads a task of LSF, which does not tell arrays with gaps from whole ones. A job that is no task
/// has the number 0.
fn lsf(number: Number<'_>) -> Result<Option<Task>, String> {
    let Some(id) = number("LSB_JOBINDEX")?.filter(|id| *id > 0) else { return Ok(None) };
    let ends = [None, number("LSB_JOBINDEX_END")?];
    Ok(Some(Task { system: System::LSF, number: id, submitted: None, ends }))
}

/// Reads a task of PBS or Torque, which tell its number alone.
fn pbs(number: Number<'_>) -> Result<Option<Task>, String> {
    let id = match number("PBS_ARRAY_INDEX")? {
        Some(id) => Some(id),
        None => number("PBS_ARRAYID")?,
    };
    Ok(id.map(|number| Task { system: System::PBS, number, submitted: None, ends: [None, None] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer to an option in an environment.
    fn in_job(option: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        // The value of _CONDOR_JOB_AD is the file's text here.
        let task = Task::read(variable, |text| Ok(text.replace(' ', "\n").replace('=', " = ")))?;
        let shard = match option.strip_prefix("auto/") {
            Some(tasks) => task.shard_of(tasks.parse()?)?,
            None => task.shard()?.shard,
        };
        Ok(shard.to_string())
    }

    fn slurm(option: &str, [id, count, min, max, step]: [&str; 5]) -> Result<String, String> {
        let names = ["ID", "COUNT", "MIN", "MAX", "STEP"].map(|name| format!("SLURM_ARRAY_TASK_{name}"));
        let variables = names.iter().map(String::as_str).zip([id, count, min, max, step]);
        in_job(option, &variables.filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>())
    }

    fn refused(answer: Result<String, String>, words: &str) {
        let error = answer.expect_err(words);
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn auto_accepts_whole_arrays() {
        assert_eq!(slurm("auto", ["3", "8", "0", "7", "1"]), Ok("3/8".into()));
        assert_eq!(slurm("auto", ["0", "2", "0", "1", ""]), Ok("0/2".into()));
        let ad = "ClusterId=7 ProcId=3 TotalSubmitProcs=10 Cmd=\"x\"";
        assert_eq!(in_job("auto", &[("_CONDOR_JOB_AD", ad)]), Ok("3/10".into()));
        let tasks = [("SGE_TASK_ID", "4"), ("SGE_TASK_FIRST", "1"), ("SGE_TASK_LAST", "4"), ("SGE_TASK_STEPSIZE", "1")];
        assert_eq!(in_job("auto", &tasks), Ok("3/4".into()));
    }

    #[test]
    fn auto_refuses_arrays_that_may_be_parts_of_others() {
        // --array=2, 0, 4-7, 0,2,5 and 0-4:2; then an array from 1, and missing variables.
        refused(slurm("auto", ["2", "1", "2", "2", "1"]), "submitted alone, and cannot know N: write auto/N");
        refused(slurm("auto", ["0", "1", "0", "0", "1"]), "submitted alone, and cannot know N: write auto/N");
        refused(slurm("auto", ["5", "4", "4", "7", "1"]), "may be a part of an array: write auto/N");
        refused(slurm("auto", ["2", "3", "0", "5", "1"]), "does not know all tasks of its array: write auto/N");
        refused(slurm("auto", ["2", "3", "0", "4", "2"]), "auto/0-4:2 if these are all tasks");
        refused(slurm("auto", ["2", "8", "1", "8", "1"]), "auto/1-8 if these are all tasks");
        refused(slurm("auto", ["3", "8", "", "", ""]), "does not know all tasks of its array");
        refused(slurm("auto", ["8", "8", "0", "7", "1"]), "task 8 of SLURM is none of the tasks 0 to 7");
        refused(slurm("auto", ["x", "8", "0", "7", "1"]), "SLURM_ARRAY_TASK_ID is `x`, no number");
        for ad in ["ProcId=0 TotalSubmitProcs=1", "ProcId=3 TotalSubmitProcs=3", "ProcId=3"] {
            refused(in_job("auto", &[("_CONDOR_JOB_AD", ad)]), "write I/N, as auto/N begins anew");
        }
        refused(in_job("auto", &[("_CONDOR_JOB_AD", "Cmd=1")]), "has no ProcId: write I/N");
        refused(in_job("auto", &[("LSB_JOBINDEX", "2"), ("LSB_JOBINDEX_END", "8")]), "write auto/1-N");
        refused(in_job("auto", &[("LSB_JOBINDEX", "0")]), "no task of an array");
        refused(in_job("auto", &[("PBS_ARRAY_INDEX", "2")]), "write auto/N");
        refused(in_job("auto", &[("SGE_TASK_ID", "undefined")]), "no task of an array");
        let tasks = [("SGE_TASK_ID", "4"), ("SGE_TASK_FIRST", "4"), ("SGE_TASK_LAST", "4"), ("SGE_TASK_STEPSIZE", "1")];
        refused(in_job("auto", &tasks), "submitted alone, and cannot know N: write auto/1-N");
        let both = [("SLURM_ARRAY_TASK_ID", "1"), ("_CONDOR_JOB_AD", "ProcId=3 TotalSubmitProcs=4")];
        refused(in_job("auto", &both), "both task 1 of SLURM and task 3 of HTCondor: write I/N");
    }

    #[test]
    fn the_whole_array_gives_the_shard_of_a_task_that_is_submitted_again() {
        assert_eq!(slurm("auto/8", ["2", "1", "2", "2", "1"]), Ok("2/8".into()));
        assert_eq!(slurm("auto/8", ["5", "3", "0", "5", "1"]), Ok("5/8".into()));
        assert_eq!(slurm("auto/1-8", ["8", "1", "8", "8", "1"]), Ok("7/8".into()));
        assert_eq!(slurm("auto/10-15:2", ["14", "", "", "", ""]), Ok("2/3".into()));
        assert_eq!(slurm("auto/1", ["0", "1", "0", "0", "1"]), Ok("0/1".into()));
        assert_eq!(in_job("auto/1-8", &[("LSB_JOBINDEX", "3"), ("LSB_JOBINDEX_END", "3")]), Ok("2/8".into()));
        assert_eq!(in_job("auto/8", &[("PBS_ARRAYID", "3")]), Ok("3/8".into()));
        assert_eq!(in_job("auto/10", &[("_CONDOR_JOB_AD", "ProcId=3 TotalSubmitProcs=10")]), Ok("3/10".into()));
    }

    #[test]
    fn a_wrong_whole_array_is_refused() {
        // All tasks of an array from 1 are refused, not the last one alone.
        for id in ["1", "8"] {
            refused(slurm("auto/8", [id, "8", "1", "8", "1"]), "task 8 of SLURM is none of the tasks 0 to 7");
        }
        refused(slurm("auto/0-6:2", ["3", "1", "3", "3", "1"]), "task 3 of SLURM is none of the tasks 0 to 6");
        refused(in_job("auto/8", &[("LSB_JOBINDEX", "3")]), "tasks of LSF count from 1: write auto/1-8");
        // HTCondor numbers the processes of each submission from 0.
        refused(
            in_job("auto/10", &[("_CONDOR_JOB_AD", "ProcId=0 TotalSubmitProcs=1")]),
            "write I/N, as auto/N begins anew",
        );
        for wrong in ["0", "x", "", "8-1", "1-8:0", "8:2", "1-8-9", "-1"] {
            refused(
                slurm(&format!("auto/{wrong}"), ["0", "1", "0", "0", "1"]),
                "the tasks of the whole array are written",
            );
        }
        assert!(shard("automatic").is_err() && shard("auto8").is_err());
    }
}
