#!/usr/bin/env python3
"""From nothing to a first result: milliseconds by stage and memory, in turns, one fresh process a measurement.

  startup.py [--ours NAME=BENCH_STARTUP]... [--peer PROGRAM] [--rounds N] MODEL=PLAN[,DIM=VALUE...]...

Each --ours is a bench_startup program (several: before and after). --peer is bench_onnxruntime_startup, whose machine is
the environment of ONNX Runtime and whose load is the making of its session. "ready" is load + plan + compile + first
run; "total" is from the launch of the program to the end of its first run. "peak" is all resident memory at its highest,
shared libraries included; "own" what is held after the runs, without files' pages and without what was there before.
Medians of the rounds.
"""
import argparse, json, pathlib, statistics, subprocess, sys, time

STAGES = ["start", "machine", "load", "plan", "compile", "first", "second"]


def measure(command):
    started = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = subprocess.run(command, capture_output=True, text=True, env={"STARTED_NS": str(started), "PATH": "/usr/bin:/bin"})
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])}\nexit {done.returncode}: {done.stderr.strip()[-1000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--peer", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("models", nargs="+", metavar="MODEL=PLAN[,DIM=VALUE...]")
    arguments = parser.parse_args()

    print("| model | who | " + " | ".join(STAGES) + " | ready | total | peak MiB | own MiB |")
    print("|---|---|" + "---|" * (len(STAGES) + 4))
    for spec in arguments.models:
        (model, plan), *dims = spec.split(",")[0].split("="), *spec.split(",")[1:]
        commands = {name: [program, model, plan, *dims] for name, program in (o.split("=") for o in arguments.ours)}
        if arguments.peer:
            commands["onnxruntime"] = [arguments.peer, model, *dims]
        runs = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                runs[name].append(measure(command))
        for name, rows in runs.items():
            for row in rows:
                row["ready"] = sum(row.get(stage, 0) for stage in ("load", "plan", "compile", "first"))
                row["total"] = row["ready"] + row["start"] + row["machine"]
            median = lambda key: statistics.median(row[key] for row in rows) if key in rows[0] else float("nan")
            cells = [f"{median(stage):.1f}" if stage in rows[0] else "" for stage in STAGES + ["ready", "total"]]
            cells += [f"{median('peak'):.0f}", f"{median('own') - median('bare_own'):.0f}"]
            print(f"| {pathlib.Path(model).parent.name} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
