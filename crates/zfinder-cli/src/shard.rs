//! Reads the shard of a job from its batch system.

use std::env;
use std::fs;

use zfinder_io::Shard;

/// Parses `I/N`, or `auto` for the place of a job in an array of SLURM or in a cluster of HTCondor.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    if text != "auto" {
        return text.parse();
    }
    let variable = |name: &str| env::var(name).ok();
    let job_ad = || fs::read_to_string(env::var_os("_CONDOR_JOB_AD")?).ok();
    slurm(variable).or_else(|| condor(&job_ad()?)).ok_or_else(|| {
        "neither SLURM_ARRAY_TASK_ID with SLURM_ARRAY_TASK_COUNT nor the job description of HTCondor is there: give I/N"
            .into()
    })
}

/// Reads the place in a job array. Ids of tasks begin at `MIN` and ascend by `STEP`.
fn slurm(variable: impl Fn(&str) -> Option<String>) -> Option<Shard> {
    let number = |name: &str| variable(name)?.trim().parse::<u64>().ok();
    let (id, count) = (number("SLURM_ARRAY_TASK_ID")?, number("SLURM_ARRAY_TASK_COUNT")?);
    let (min, step) = (number("SLURM_ARRAY_TASK_MIN").unwrap_or(0), number("SLURM_ARRAY_TASK_STEP").unwrap_or(1));
    Shard::new(id.checked_sub(min)?.checked_div(step)?, count)
}

/// Reads the number of the process, and the number of processes that were submitted.
fn condor(job_ad: &str) -> Option<Shard> {
    let number = |key: &str| {
        let mut lines = job_ad.lines().filter_map(|line| line.split_once('='));
        let (_, value) = lines.find(|(name, _)| name.trim().eq_ignore_ascii_case(key))?;
        value.trim().parse::<u64>().ok()
    };
    Shard::new(number("ProcId")?, number("TotalSubmitProcs")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_slurm(variables: &[(&str, &str)]) -> Option<String> {
        let value = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        slurm(value).map(|shard| shard.to_string())
    }

    #[test]
    fn a_job_array_gives_the_shard() {
        let (id, count) = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT");
        let (min, step) = ("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP");
        assert_eq!(of_slurm(&[(id, "3"), (count, "8")]), Some("3/8".into()));
        assert_eq!(of_slurm(&[(id, "8"), (count, "8"), (min, "1")]), Some("7/8".into()));
        assert_eq!(of_slurm(&[(id, "14"), (count, "3"), (min, "10"), (step, "2")]), Some("2/3".into()));
        for wrong in [&[(id, "3")][..], &[(id, "8"), (count, "8")], &[(id, "0"), (count, "2"), (min, "1")]] {
            assert_eq!(of_slurm(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_job_description_gives_the_shard() {
        let ad = "ClusterId = 7\nProcId = 3\nTotalSubmitProcs = 10\nCmd = \"x=1\"\n";
        assert_eq!(condor(ad).map(|shard| shard.to_string()), Some("3/10".into()));
        assert_eq!(condor("ProcId = 3\n"), None);
    }
}
