#!/usr/bin/env python3
"""From nothing to a first result: milliseconds by stage and memory, in turns, one fresh process a measurement.

  startup.py [--ours NAME=BENCH_STARTUP]... [--peer PYTHON] [--rounds N] MODEL=PLAN[,DIM=VALUE...]...

Each --ours is a bench_startup program (several: before and after). --peer is a Python with ONNX Runtime, whose load is
the making of its session. "ready" is load + plan + compile + first run, without starting the process. "peak" is all
resident memory at its highest, Python with its modules and shared libraries included; "own" what is held after the runs,
without files' pages and without what was there before. Medians of the rounds.
"""
import argparse, json, pathlib, statistics, subprocess, sys, time

PEER = r"""
import json, sys, time
def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key): return float(line.split()[1]) / 1024
import numpy, onnxruntime
dims = dict(pair.split("=") for pair in sys.argv[2:])
bare_own, t0 = status("RssAnon:"), time.perf_counter()
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2
options.log_severity_level = 3
for name, value in dims.items(): options.add_free_dimension_override_by_name(name, int(value))
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
t1 = time.perf_counter()
types = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(bool)": "bool",
         "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(uint8)": "uint8", "tensor(int8)": "int8"}
feed = {i.name: numpy.zeros([d if isinstance(d, int) else 1 for d in i.shape], types[i.type]) for i in session.get_inputs()}
t2 = time.perf_counter()
session.run(None, feed)
t3 = time.perf_counter()
session.run(None, feed)
print(json.dumps({"bare_own": bare_own, "load": 1e3 * (t1 - t0), "first": 1e3 * (t3 - t2), "second": 1e3 * (time.perf_counter() - t3),
                  "peak": status("VmHWM:"), "own": status("RssAnon:")}))
"""
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
    parser.add_argument("--peer", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("models", nargs="+", metavar="MODEL=PLAN[,DIM=VALUE...]")
    arguments = parser.parse_args()

    print("| model | who | " + " | ".join(STAGES) + " | ready | peak MiB | own MiB |")
    print("|---|---|" + "---|" * (len(STAGES) + 3))
    for spec in arguments.models:
        (model, plan), *dims = spec.split(",")[0].split("="), *spec.split(",")[1:]
        commands = {name: [program, model, plan, *dims] for name, program in (o.split("=") for o in arguments.ours)}
        if arguments.peer:
            commands["onnxruntime"] = [arguments.peer, "-c", PEER, model, *dims]
        runs = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, command in commands.items():
                runs[name].append(measure(command))
        for name, rows in runs.items():
            for row in rows:
                row["ready"] = sum(row.get(stage, 0) for stage in ("load", "plan", "compile", "first"))
            median = lambda key: statistics.median(row[key] for row in rows) if key in rows[0] else float("nan")
            cells = [f"{median(stage):.1f}" if stage in rows[0] else "" for stage in STAGES + ["ready"]]
            cells += [f"{median('peak'):.0f}", f"{median('own') - median('bare_own'):.0f}"]
            print(f"| {pathlib.Path(model).parent.name} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
