#!/usr/bin/env python3
"""Finds the vertices of files of spacepoints on a cluster of SLURM or of HTCondor, through Dask.

    examples/cluster.py slurm 'events/*.parquet' vertices --jobs 16 --cores 8
    examples/cluster.py htcondor 'events/*.parquet' vertices --jobs 4 --gpu
    examples/cluster.py local data/zee7_mu2 vertices --jobs 2

The workers and this script must reach the same files. Needs pyzfinder[dask] and dask-jobqueue.
"""

import argparse

from distributed import Client, LocalCluster, progress, wait

import pyzfinder
import pyzfinder.dask


def cluster(options):
    """Return a cluster of the batch system; each job is a worker process."""
    if options.system == "local":
        return LocalCluster(n_workers=options.jobs, threads_per_worker=options.cores)
    import dask_jobqueue

    common = {"cores": options.cores, "processes": 1, "memory": options.memory}
    if options.system == "slurm":
        extra = ["--gres=gpu:1"] if options.gpu else []
        jobs = dask_jobqueue.SLURMCluster(**common, walltime="02:00:00", job_extra_directives=extra)
    else:
        extra = {"request_gpus": "1"} if options.gpu else {}
        jobs = dask_jobqueue.HTCondorCluster(**common, disk="2 GB", job_extra_directives=extra)
    jobs.scale(jobs=options.jobs)
    return jobs


def main():
    """Run the search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("system", choices=["slurm", "htcondor", "local"])
    parser.add_argument("files", help="files, a folder or a glob")
    parser.add_argument("output", help="folder of the Parquet parts")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--cores", type=int, default=4, help="cores of a job")
    parser.add_argument("--memory", default="8 GB", help="memory of a job")
    parser.add_argument("--gpu", action="store_true", help="a GPU for each job")
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--detector", default="generic")
    options = parser.parse_args()
    engine = "gpu" if options.gpu else "cpu"
    finder = pyzfinder.Finder(options.preset, options.detector, engine)
    with cluster(options) as jobs, Client(jobs) as client:
        parts = pyzfinder.dask.find_files(options.files, finder, output=options.output)
        futures = client.compute(parts)
        progress(futures)
        wait(futures)
        print(f"{len(client.gather(futures))} parts in {options.output}")


if __name__ == "__main__":
    main()
