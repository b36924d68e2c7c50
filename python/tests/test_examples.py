"""The examples run."""

import os
import subprocess
import sys

from conftest import DATA, ROOT


def run(name, folder, *arguments):
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_tutorial_draws_its_plot(tmp_path):
    done = run("tutorial.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "first vertex within 1 mm" in done.stdout
    assert (tmp_path / "efficiency.svg").stat().st_size > 10_000


def test_the_cluster_example_runs_on_one_machine(tmp_path):
    arguments = ["local", str(DATA / "zee7_mu2"), "vertices", "--jobs", "2", "--cores", "1"]
    done = run("cluster.py", tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert "1 parts in vertices" in done.stdout
    assert (tmp_path / "vertices" / "part-00000.parquet").exists()
