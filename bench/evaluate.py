#!/usr/bin/env python3
"""Evaluates the three tools on folders of models and prints one table a question.

  evaluate.py [--bin DIR] [--db FILE] [--plans DIR] QUESTION MODEL...

MODEL is a folder with model.onnx (or one *.onnx) and test_data_set_*, or a folder of such folders.
Questions:
  profile      seconds of pt-profile from what the database lacks, and of a second run
  plan         seconds of planning; predicted makespan of every planner, bound and gap
  accuracy     predicted (written by an earlier process) against measured time of the kept plan: as predicted and
               at the pace of the runs; how far runs are apart; what made the difference, by name, in shares of the
               prediction (pt-run --residuals); median, 95th percentile and worst error at the end
  planners     measured time of every planner's plan, run in turns: how many times as fast search's plan is (search with
               --margin 0, so that it is its own); steps on one core each, steps on all cores each, --planners besides
  rewrites     measured time a request with each of --rewrites (split=..., time-slices=N, requests=N; with ; between them),
               by search and by the planner made for it: how many times as fast as search for the model as it is
  random       verifies the plan of search and --seeds random plans against the reference data, each also
               against its sequential twin bit for bit
  accelerator  the table static-type, per-op, tuned-ops, partitiontuner (as published, mended), duet, heft, search on CPU +
               the simulated device of --platform (sim-accelerator.json without); with --pictures FOLDER each model's
               timelines as FOLDER/MODEL.svg; exit 1 where search is behind another, or partitiontuner behind static-type.
               With sim-npu.json, which computes in fp16: --precision fp16
  streams      one device with streams, all on it: one stream, wavefront, ios, estf, search; then search on the host alone and
               with the host beside it; predicted by a platform file (default profiles/gpu-streams.json), planning time in brackets
  verify       verifies each model once with the default plan

Needs Python 3 only. Timings are of this machine and moment: compare within one run.
"""
import argparse, json, os, pathlib, statistics, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_models(paths):
    """(name, model file, data sets) of every model folder below the given paths."""
    found = []
    for path in map(pathlib.Path, paths):
        own = [path] if path.is_file() else sorted(path.glob("*.onnx"))
        if len(own) == 1:
            folder = own[0].parent
            name = own[0].stem if own[0].stem not in ("model", "mnist") else folder.name
            found.append((name, own[0], sorted(folder.glob("test_data_set_*"))))
        else:
            for folder in sorted(p for p in path.iterdir() if p.is_dir()):
                if any(folder.glob("*.onnx")):
                    found += find_models([folder])
    return found


class Tools:
    def __init__(self, arguments):
        self.bin, self.common = pathlib.Path(arguments.bin), ["--db", arguments.db] if arguments.db else []
        self.common += ["--precision", arguments.precision] if arguments.precision else []
        self.floors = dict(pair.split("=") for pair in arguments.atol)

    def tolerance(self, name):
        """Where the reference itself is only known to some absolute error, more than pt-run's default."""
        return ["--atol", self.floors[name]] if name in self.floors else []

    def run(self, tool, *arguments, check=True):
        """(seconds, exit code, stdout, stderr); with check, an unexpected exit ends the evaluation."""
        command = [str(self.bin / tool), *map(str, arguments), *self.common]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if check and done.returncode:
            sys.exit(f"{' '.join(command)}\nexit {done.returncode}: {done.stderr.strip()[-2000:]}")
        return seconds, done.returncode, done.stdout, done.stderr


def dims_from(data_sets):
    """Models with unknown dims take them from their data."""
    return ["--input", data_sets[0]] if data_sets else []


def profile(tools, models, arguments):
    print("model\tfirst_s\tagain_s")
    for name, model, data in models:
        extra = dims_from(data) + (["--budget", arguments.budget] if arguments.budget else [])
        first, code, _, error = tools.run("pt-profile", model, *extra, check=False)
        if code not in (0, 6):
            print(f"{name}\texit {code}: {error.strip().splitlines()[-1] if error.strip() else ''}")
            continue
        again = tools.run("pt-profile", model, *extra, check=False)[0]
        print(f"{name}\t{first:.1f}{' (partial)' if code == 6 else ''}\t{again:.2f}", flush=True)


def plan(tools, models, arguments):
    print("model\tseconds\tbound_us\t" + "planner=makespan_us(gap)")
    for name, model, data in models:
        seconds, _, out, _ = tools.run("pt-plan", model, *dims_from(data), "--baselines", "--format", "json")
        answer = json.loads(out)
        cells = [f"{p['planner']}={p['makespan_ns'] / 1e3:.0f}({p['gap'] * 100:.1f}%,{p['search_ms']:.0f}ms)"
                 if "makespan_ns" in p else f"{p['planner']}: {p['not_run']}" for p in answer["planners"]]
        print(f"{name}\t{seconds:.2f}\t{answer['bound_ns'] / 1e3:.0f}\t" + "\t".join(cells), flush=True)


def kept_plan(tools, model, data, arguments, name):
    folder = pathlib.Path(arguments.plans)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.ptplan.json"
    if arguments.keep and path.exists():
        return 0.0, path
    seconds = tools.run("pt-plan", model, *dims_from(data), "-o", path)[0]
    return seconds, path


TERMS = ("drift", "kernels", "inputs", "reorders", "copies", "waits")


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summary(label, rows):
    """Of absolute errors: median, 95th percentile and worst; raw and at the pace of each run."""
    if not rows:
        return
    for kind in ("raw", "at pace"):
        errors = {name: abs(row[kind]) for name, row in rows.items() if row[kind] is not None}
        if errors:
            worst = max(errors, key=errors.get)
            print(f"# {label}, {kind}: {len(errors)} models, median error {statistics.median(errors.values()):.1%}, "
                  f"95th percentile {percentile(errors.values(), 0.95):.1%}, worst {errors[worst]:.1%} ({worst})")


def accuracy(tools, models, arguments):
    print("model\tplan_s\tpredicted_us\tmeasured_us\terror\tat pace\trun to run\t" + "\t".join(TERMS))
    rows = {}
    for name, model, data in models:
        seconds, path = kept_plan(tools, model, data, arguments, name)
        runs = []
        for _ in range(arguments.rounds):
            _, _, out, _ = tools.run("pt-run", model, *dims_from(data), "--plan", path, "--duration", arguments.duration,
                                     "--residuals", "--format", "json")
            runs.append(json.loads(out))
        times = [run["latency_ns"]["p50"] for run in runs]
        measured, predicted = statistics.median(times), runs[0]["predicted_ns"]
        at_pace = [run["prediction_error_at_pace"] for run in runs if "prediction_error_at_pace" in run]
        row = {"raw": predicted / measured - 1, "at pace": statistics.median(at_pace) if at_pace else None,
               "predicted": predicted}
        rows[name] = row
        terms = [statistics.median(run["residuals"][term + "_ns"] for run in runs) / predicted for term in TERMS]
        floor = statistics.median(abs(t / measured - 1) for t in times)
        pace = f"{row['at pace']:+.1%}" if at_pace else "-"
        print(f"{name}\t{seconds:.2f}\t{predicted / 1e3:.0f}\t{measured / 1e3:.0f}\t{row['raw']:+.1%}\t{pace}\t{floor:.1%}\t"
              + "\t".join(f"{term:+.1%}" for term in terms), flush=True)
    summary("all", rows)
    summary("below 1 ms", {name: row for name, row in rows.items() if row["predicted"] < 1e6})
    return 0


def turns(tools, name, model, data, arguments, ways, per_run=lambda way: 1):
    """Median time of each way's plan, by processes that take turns; `per_run`: requests that a run answers."""
    folder = pathlib.Path(arguments.plans) / name
    folder.mkdir(parents=True, exist_ok=True)
    plans, times = {}, {}
    for number, (way, options) in enumerate(ways.items()):
        path = folder / f"{number}.ptplan.json"
        if tools.run("pt-plan", model, *dims_from(data), *options, "-o", path, check=False)[1] == 0:
            plans[way], times[way] = path, []
    for _ in range(arguments.rounds):
        for way, path in plans.items():
            out = tools.run("pt-run", model, *dims_from(data), "--plan", path, "--duration", arguments.duration,
                            "--format", "json")[2]
            times[way].append(json.loads(out)["latency_ns"]["p50"] / per_run(way))
    return {way: statistics.median(values) for way, values in times.items()}


def planners(tools, models, arguments):
    """How many times as long each plan takes as search's."""
    ways = {"search": ["--margin", "0"], "one core": ["--planner", "single:cpu", "--place", "*=cpu/1"],
            "all cores": ["--planner", "single:cpu", "--place", f"*=cpu/{len(os.sched_getaffinity(0))}"]}
    ways.update({name: ["--planner", name] for name in arguments.planners.split(",")})
    print("model\tsearch_us\t" + "\t".join(list(ways)[1:]), flush=True)
    ratios = {way: {} for way in ways}
    for name, model, data in models:
        median = turns(tools, name, model, data, arguments, ways)
        for way in median:
            ratios[way][name] = median[way] / median["search"]
        cells = [f"{ratios[way][name]:.3f}" if way in median else "-" for way in list(ways)[1:]]
        print(f"{name}\t{median['search'] / 1e3:.0f}\t" + "\t".join(cells), flush=True)
    for way in list(ways)[1:]:
        if ratios[way]:
            least = min(ratios[way], key=ratios[way].get)
            print(f"# {way}: geometric mean {statistics.geometric_mean(ratios[way].values()):.3f}, least "
                  f"{ratios[way][least]:.3f} ({least})")
    return 0


def rewrites(tools, models, arguments):
    """How many times as fast, a request, as the plan of search for the model as it is."""
    ways, requests = {"as it is": ["--margin", "0"]}, {}
    for text in arguments.rewrites.split(";"):
        for planner in ["search"] + ["throughput"] * ("requests=" in text) + ["rnn-pipeline"] * ("time-slices=" in text):
            way = f"{text} {planner}"
            ways[way] = ["--rewrite", text, "--planner", planner] + ["--margin", "0"] * (planner == "search")
            requests[way] = int(text.partition("requests=")[2].partition(",")[0] or 1)
    print("model\tas_it_is_us\t" + "\t".join(list(ways)[1:]), flush=True)
    for name, model, data in models:
        for options in {tuple(options[:2]) for options in ways.values() if options[0] == "--rewrite"} | {()}:
            tools.run("pt-profile", model, *dims_from(data), *options)
        median = turns(tools, name, model, data, arguments, ways, lambda way: requests.get(way, 1))
        cells = [f"{median['as it is'] / median[way]:.3f}" if way in median else "-" for way in list(ways)[1:]]
        print(f"{name}\t{median['as it is'] / 1e3:.0f}\t" + "\t".join(cells), flush=True)
    return 0


def random(tools, models, arguments):
    """Each plan against the reference data and, bit for bit, against its sequential twin."""
    devices = ["--platform", arguments.platform] if arguments.platform else []
    print("model\tsearch\trandom passed\tfailures")
    bad = 0
    for name, model, data in models:
        results = {}
        for planner in ["search"] + [f"random:{seed}" for seed in range(1, arguments.seeds + 1)]:
            for folder in data[:1]:
                _, code, out, error = tools.run("pt-run", model, "--planner", planner, "--verify", folder, "--twin",
                                                *tools.tolerance(name), *devices, check=False)
                results[planner] = (code, (error or out).strip().splitlines()[-1:])
        failures = {p: r for p, r in results.items() if r[0]}
        bad += bool(failures)
        passed = sum(1 for p, r in results.items() if p != "search" and r[0] == 0)
        print(f"{name}\t{'PASS' if results.get('search', (1,))[0] == 0 else 'FAIL'}\t{passed}/{arguments.seeds}\t{failures or ''}",
              flush=True)
    print(f"# {len(models) - bad} of {len(models)} models without a failure")
    return 1 if bad else 0


def accelerator(tools, models, arguments):
    wanted = ["single:cpu", "static-type", "per-op", "tuned-ops", "partitiontuner:paper", "partitiontuner", "duet", "heft",
              "search"]
    print("model\tbound_us\t" + "\t".join(wanted))
    behind, behind_types = [], []
    for name, model, data in models:
        tools.run("pt-profile", model, *dims_from(data), "--devices", f"cpu,sim:{arguments.platform}", check=False)
        picture = ["--export", pathlib.Path(arguments.pictures) / f"{name}.svg"] if arguments.pictures else []
        out = tools.run("pt-plan", model, *dims_from(data), "--platform", arguments.platform, "--baselines", *picture, "--format",
                        "json")[2]
        answer = json.loads(out)
        ns = {p["planner"]: p["makespan_ns"] for p in answer["planners"] if "makespan_ns" in p}
        if any(v < ns["search"] for v in ns.values()):
            behind.append(name)
        if ns["partitiontuner"] > ns["static-type"]:
            behind_types.append(name)
        print(f"{name}\t{answer['bound_ns'] / 1e3:.0f}\t" + "\t".join(f"{ns[w] / 1e3:.0f}" if w in ns else "-" for w in wanted), flush=True)
    print(f"# search behind another planner on: {', '.join(behind) or 'none'}")
    print(f"# partitiontuner behind static-type on: {', '.join(behind_types) or 'none'}")
    return 1 if behind or behind_types else 0


def streams(tools, models, arguments):
    device = json.loads(pathlib.Path(arguments.platform).read_text())["name"]
    wanted = [f"single:{device}", "wavefront", "ios", "estf", "search"]
    print("model\tbound_us\t" + "\t".join(wanted) + "\tthe host alone\tsearch with the host")
    for name, model, data in models:
        options = [model, *dims_from(data), "--platform", arguments.platform, "--baselines", "--format", "json"]
        alone = json.loads(tools.run("pt-plan", *options, "--place", f"*={device}")[2])
        beside = json.loads(tools.run("pt-plan", *options)[2])
        # Without a profile of the host nothing can be planned for it alone.
        host = json.loads(tools.run("pt-plan", *options, "--place", "*=cpu", check=False)[2] or "{}")
        rows = [{row["planner"]: row for row in answer.get("planners", [])} for answer in (alone, host, beside)]
        cells = [rows[0][way] for way in wanted] + [row.get("search", {}) for row in rows[1:]]
        print(f"{name}\t{alone['bound_ns'] / 1e3:.0f}\t" +
              "\t".join(f"{c['makespan_ns'] / 1e3:.0f} ({c['search_ms']:.0f} ms)" if "makespan_ns" in c else "-" for c in cells), flush=True)
    return 0


def verify(tools, models, arguments):
    bad = 0
    for name, model, data in models:
        for folder in data:
            _, code, out, error = tools.run("pt-run", model, "--verify", folder, *tools.tolerance(name), "--quiet", check=False)
            bad += code not in (0, 4)
            word = {0: "PASS", 4: "UNSUPPORTED"}.get(code, f"FAIL({code})")
            print(f"{word} {name}/{folder.name}: {(error or out).strip().splitlines()[-1] if (error or out).strip() else ''}", flush=True)
    return 1 if bad else 0


def main():
    questions = {f.__name__: f for f in (profile, plan, accuracy, planners, rewrites, random, accelerator, streams, verify)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=questions)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--bin", default=ROOT / "build" / "bin", help="folder of the tools")
    parser.add_argument("--db", help="profile database")
    parser.add_argument("--plans", default="plans", help="folder of kept plans (accuracy)")
    parser.add_argument("--keep", action="store_true", help="use plans already there")
    parser.add_argument("--budget", help="of pt-profile")
    parser.add_argument("--platform", help="file of a simulated device")
    parser.add_argument("--precision", help="as the tools' own")
    parser.add_argument("--pictures", help="folder for the timelines of question accelerator")
    parser.add_argument("--duration", default="1s", help="of each pt-run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--planners", default="single:cpu,per-op,operator,path,partitiontuner,heft,peft,estf,wavefront,critical-path",
                        help="what question planners compares search with")
    parser.add_argument("--rewrites", default="time-slices=2;time-slices=4;time-slices=8;requests=2",
                        help="what question rewrites compares, with ; between them")
    parser.add_argument("--atol", action="append", default=[], metavar="MODEL=X",
                        help="absolute tolerance of one model in verify and random")
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    platforms = {"accelerator": "sim-accelerator.json", "streams": "gpu-streams.json"}
    if arguments.question in platforms and not arguments.platform:
        arguments.platform = ROOT / "profiles" / platforms[arguments.question]
    if arguments.pictures:
        pathlib.Path(arguments.pictures).mkdir(parents=True, exist_ok=True)
    sys.exit(questions[arguments.question](Tools(arguments), find_models(arguments.models), arguments))


if __name__ == "__main__":
    main()
