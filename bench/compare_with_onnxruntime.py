#!/usr/bin/env python3
"""Compares pt-run with ONNX Runtime, output by output.

  compare_with_onnxruntime.py [--bin DIR] [--format json] MODEL...          models, on random data or on that beside them
  compare_with_onnxruntime.py [--bin DIR] [--only GLOB] [--seed S] [--defaults SHARE] --random N    N models of each operator

MODEL is an .onnx file, or a folder with one and test_data_set_0, or a folder of such folders. --random draws models of
one node each, of operators that ONNX Runtime has beside ONNX (onnxruntime_cases.py) and of ai.onnx.ml (ml_cases.py); a SHARE of them (half of them, 1: all)
has every attribute written out at ONNX Runtime's default and every optional input written as absent. ONNX Runtime runs every
model as it is, without optimising it. --libraries and --planner are pt-run's.

A row a case: the largest difference of an output, of real numbers relative to the largest magnitude that ONNX Runtime
gives (0.1 at least: less is what larger numbers leave of each other), of integers in steps, with the share of elements
that differ; or who refused the model. At the end a row an operator. Exit code 1 where a difference is over --tolerance (--steps for integers), or where one refused what the other
ran. --keep DIR keeps the models and data.

Needs Python 3 with numpy, onnx and onnxruntime.
"""
import argparse, fnmatch, json, pathlib, shutil, subprocess, sys, tempfile, zlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

import ml_cases
import onnxruntime_cases
from model_data import data_beside, inputs_of

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run_peer(model_file, data):
    """(outputs by name in order, None), or (None, why not)."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(model_file), options, providers=["CPUExecutionProvider"])
        return session.run(None, data), None
    except Exception as error:  # whatever it throws is a refusal
        return None, " ".join(str(error).split())[:160]


def run_ours(arguments, model_file, folder, data):
    """(outputs, None), or (None, why not). A crash is no refusal."""
    inputs, outputs = folder / "in", folder / "out"
    for path in (inputs, outputs):
        shutil.rmtree(path, ignore_errors=True)
    inputs.mkdir()
    names = [value.name for value in onnx.load(model_file, load_external_data=False).graph.input]
    for i, name in enumerate(name for name in names if name in data):
        (inputs / f"input_{i}.pb").write_bytes(numpy_helper.from_array(data[name]).SerializeToString())
    command = [str(pathlib.Path(arguments.bin) / "pt-run"), str(model_file), "--iterations", "1", "--db", "none",
               "--denormals", "keep", "--save-outputs", str(outputs)] + (["--input", str(inputs)] if data else [])
    for flag in ("libraries", "planner"):
        if getattr(arguments, flag):
            command += ["--" + flag, getattr(arguments, flag)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3, 4, 12):
        raise RuntimeError(f"{model_file}: pt-run ended with {done.returncode}: {done.stderr}")
    if done.returncode != 0:
        return None, " ".join(done.stderr.split())[:240]
    count = len(list(outputs.glob("output_*")))
    return [read_output(outputs / f"output_{i}") for i in range(count)], None


def read_output(path):
    """What pt-run saved: strings as a TensorProto, all else as .npy."""
    if path.with_suffix(".npy").exists():
        return np.load(path.with_suffix(".npy"))
    strings = numpy_helper.to_array(onnx.TensorProto.FromString(path.with_suffix(".pb").read_bytes()))
    return np.vectorize(lambda text: text.decode() if isinstance(text, bytes) else text, otypes=["O"])(strings)


def difference(ours, peers):
    """(largest difference, share of elements that differ, whether it is counted in steps)."""
    if ours.shape != peers.shape or ours.dtype != peers.dtype:
        return float("inf"), 1.0, False
    if ours.size == 0:
        return 0.0, 0.0, False
    if ours.dtype.kind in "iub":
        steps = np.abs(ours.astype(np.int64) - peers.astype(np.int64))
        return float(steps.max()), float((steps > 0).mean()), True
    if ours.dtype.kind != "f":
        return (0.0, 0.0, True) if (ours == peers).all() else (float("inf"), 1.0, True)
    a, b = ours.astype(np.float64), peers.astype(np.float64)
    finite = np.isfinite(b)
    if (np.isnan(a) != np.isnan(b)).any() or (a[~finite & ~np.isnan(b)] != b[~finite & ~np.isnan(b)]).any():
        return float("inf"), 1.0, False
    apart = np.abs(a[finite] - b[finite])
    if apart.size == 0:
        return 0.0, 0.0, False
    return float(apart.max() / max(np.abs(b[finite]).max(), 0.1)), float((apart > 0).mean()), False


def compare(arguments, label, model_file, folder, data):
    row = {"case": label, "result": "same"}
    peers, peer_reason = run_peer(model_file, data)
    ours, our_reason = run_ours(arguments, model_file, folder, data)
    if peers is None or ours is None:
        row["result"] = "both refuse" if peers is None and ours is None else \
            "onnxruntime refuses" if peers is None else "we refuse"
        row["reason"] = our_reason or peer_reason
        return row
    worst = (0.0, 0.0, False)
    for a, b in zip(ours, peers, strict=True):
        found = difference(a, b)
        limit = arguments.steps if found[2] else arguments.tolerance
        if found[0] > limit:
            row["result"] = "DIFFERENT"
        worst = max(worst, found)
    row["difference"], row["share"], row["unit"] = worst[0], worst[1], "steps" if worst[2] else "relative"
    return row


def random_inputs(model, rng):
    """Data for a model's inputs; dims with names are 1 the first time and the same everywhere."""
    data = {}
    for value in inputs_of(model):
        tensor = value.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else 1 for d in tensor.shape.dim]
        type = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if type.kind == "f":
            data[value.name] = rng.standard_normal(dims).astype(type)
        else:
            data[value.name] = rng.integers(0, 2, dims).astype(type)
    return data


def find_models(paths):
    for path in map(pathlib.Path, paths):
        if path.is_file():
            yield path
            continue
        own = sorted(path.glob("*.onnx"))
        if own:
            yield from own
        else:
            yield from find_models(sorted(p for p in path.iterdir() if p.is_dir()))


def cases(arguments, folder):
    """(operator, label, model file, data) of everything asked for."""
    for path in find_models(arguments.models):
        model = onnx.load(path)
        beside = path.parent / "test_data_set_0"
        rng = np.random.default_rng(arguments.seed)
        data = data_beside(beside, model) if beside.is_dir() else random_inputs(model, rng)
        yield "models", str(path), path, data
    for name, make in {**onnxruntime_cases.OPERATORS, **ml_cases.OPERATORS}.items():
        if not fnmatch.fnmatch(name, arguments.only):
            continue
        for i in range(arguments.random):
            # A case depends on nothing but its own number.
            rng = np.random.default_rng([arguments.seed, i, zlib.crc32(name.encode())])
            case = make(rng)
            if rng.random() < arguments.defaults:
                case.write_out()
            here = folder / f"{name}-{i}"
            here.mkdir(parents=True, exist_ok=True)
            onnx.save(case.model(rng), here / "model.onnx")
            yield name, f"{name}-{i} {case.note()}", here / "model.onnx", case.data()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--only", default="*", metavar="GLOB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--defaults", type=float, default=0.5, metavar="SHARE")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--steps", type=float, default=1)
    parser.add_argument("--libraries")
    parser.add_argument("--planner")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        rows = []
        for operator, label, model_file, data in cases(arguments, folder):
            scratch = model_file.parent if operator != "models" else pathlib.Path(temporary)
            row = {"operator": operator, **compare(arguments, label, model_file, scratch, data)}
            rows.append(row)
            if arguments.format == "table" and row["result"] != "same":
                detail = row.get("reason") or f"{row['difference']:.2g} {row['unit']}, {row['share']:.0%} of elements"
                print(f"{row['result']}: {row['case']}: {detail}", flush=True)
    if arguments.format == "json":
        print(json.dumps({"cases": rows}, indent=1))
    else:
        print(f"{'operator':34}{'same':>6}{'different':>11}{'we refuse':>11}{'it refuses':>12}{'both':>6}{'largest':>11}{'share':>8}")
        for operator in dict.fromkeys(row["operator"] for row in rows):
            own = [row for row in rows if row["operator"] == operator]
            count = lambda result: sum(row["result"] == result for row in own)
            ran = [row for row in own if "difference" in row]
            worst = max(ran, key=lambda row: row["difference"], default=None)
            text = f"{worst['difference']:.2g}" + (" st" if worst["unit"] == "steps" else "") if worst else "-"
            share = f"{max(row['share'] for row in ran):.1%}" if ran else "-"
            print(f"{operator:34}{count('same'):6}{count('DIFFERENT'):11}{count('we refuse'):11}"
                  f"{count('onnxruntime refuses'):12}{count('both refuse'):6}{text:>11}{share:>8}")
    bad = {"DIFFERENT", "we refuse", "onnxruntime refuses"}
    sys.exit(any(row["result"] in bad for row in rows))


if __name__ == "__main__":
    main()
