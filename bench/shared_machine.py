#!/usr/bin/env python3
"""Runs and requests where the process has only a part of the machine: a quota of its control group, or one core.

  shared_machine.py --tool PT_RUN [--seconds 2] [--quota 1.5] [--rates 50,200] MODEL [PT_RUN_FLAG...]

Rows: the machine as it is; a control group with a quota of --quota cores; one whose cpuset is a single core; and an
affinity for a single core. In each, runs one after another (p50, p99, and the share that a caller did alone) and
requests at the rates; all outputs are held to those of the reference library once (--verify reference), and pt-run holds
every request's to a run by itself. Groups are made below the one that this process is in (version 2 or 1), which needs
the controllers cpu and cpuset and the right to write there. Rows that cannot be made are named on standard error, and
the exit code is 3. Where an output differs or pt-run fails it is 1.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class Unavailable(Exception):
    """The system does not let us make this row."""


class Whole:
    """The machine as it is."""

    name = "as it is"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def enter_child(self):
        pass


class OneCore(Whole):
    """An affinity for the first allowed core."""

    name = "affinity for one core"

    def enter_child(self):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class Group(Whole):
    """A control group below this process's own; processes enter it before they begin."""

    def __init__(self, name, controller, limits):
        """limits: by file of version 2, or of version 1, whichever the system has."""
        self.name = name
        self.folder = None
        self.controller = controller
        self.limits = limits

    def __enter__(self):
        parent = own_group(self.controller)
        folder = parent / f"pt-shared-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError as error:
            raise Unavailable(f"no control group can be made below {parent}: {error.strerror}") from error
        try:
            for file, value in self.limits[parent_version(parent)].items():
                (folder / file).write_text(value or (parent / file).read_text())
        except OSError as error:
            folder.rmdir()
            raise Unavailable(f"{folder / file} cannot be written: {error.strerror}") from error
        self.folder = folder
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def enter_child(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))


def parent_version(folder):
    return 2 if (folder / "cgroup.controllers").exists() else 1


def own_group(controller):
    """The folder of this process's group in the hierarchy that has the controller."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        version_2 = number == "0" and controllers == ""
        folder = ROOT / path.lstrip("/") if version_2 else ROOT / controller / path.lstrip("/")
        names = folder / "cgroup.controllers"
        has_it = controller in names.read_text().split() if version_2 and names.exists() else False
        if has_it or controller in controllers.split(","):
            return folder
    raise Unavailable(f"no hierarchy of control groups has the controller {controller}")


def settings(options):
    first = str(min(os.sched_getaffinity(0)))
    quota_us = str(int(options.quota * PERIOD_US))
    yield Whole()
    yield Group(f"quota of {options.quota:g} cores", "cpu", {
        2: {"cpu.max": f"{quota_us} {PERIOD_US}"},
        1: {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": quota_us}})
    yield Group("cpuset of one core", "cpuset", {
        2: {"cpuset.cpus": first},
        1: {"cpuset.cpus": first, "cpuset.mems": ""}})  # the parent's
    yield OneCore()


def run(options, setting, flags):
    command = [options.tool, options.model, *options.flags, "--format", "json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=setting.enter_child)
    if done.returncode != 0:
        raise RuntimeError(f"{setting.name}: {' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def ms(ns):
    return f"{ns / 1e6:.2f}"


def row(options, setting):
    length = ["--duration", f"{options.seconds}s"]
    run(options, setting, ["--verify", "reference"])
    alone = run(options, setting, length)
    cells = [setting.name, ms(alone["latency_ns"]["p50"]), ms(alone["latency_ns"]["p99"]),
             f"{100 * alone.get('alone_runs', 0) / alone['runs']:.0f} %"]
    for rate in run(options, setting, ["--rate", options.rates, *length])["rates"]:
        cells += [ms(rate["latency_ns"]["p50"]), ms(rate["latency_ns"]["p99"]), str(rate["refused"])]
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--quota", type=float, default=1.5)
    parser.add_argument("--rates", default="50,200")
    parser.add_argument("model")
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    heads = ["machine", "p50 ms", "p99 ms", "alone"]
    for rate in options.rates.split(","):
        heads += [f"{rate}/s p50", "p99", "refused"]
    print("\t".join(heads))
    skipped = failed = 0
    for setting in settings(options):
        try:
            with setting:
                print("\t".join(row(options, setting)), flush=True)
        except Unavailable as error:
            skipped += 1
            print(f"SKIPPED: {setting.name}: {error}", file=sys.stderr)
        except RuntimeError as error:
            failed += 1
            print(f"FAILED: {error}", file=sys.stderr)
    return 1 if failed else 3 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
