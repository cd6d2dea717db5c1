#!/usr/bin/env python3
"""Runs every model of a folder in pt-run within limits, and in ONNX Runtime where that is installed.

  run_models.py [--bin DIR] [--seconds S] [--memory MIB] [--dim N] [--only GLOB] [--format json] FOLDER...

Each .onnx file below FOLDER is run once, in a process of its own that may take --seconds of time and --memory of
memory beside what pt-run and its libraries map themselves. Its inputs are those of test_data_set_0 beside it, else
random: real numbers around 0, integers of 0 and 1; dims without a number are --dim. ONNX Runtime gets the same inputs
in a process of its own, without optimising the model, and --peer-seconds; --no-peer leaves it out.

What comes out, a line a model but for "same":
  same                both ran, and the outputs are as near as --tolerance says (integers: one step)
  DIFFERENT           both ran
  we refuse           with pt-run's exit code (docs/exit-codes.md) and message
  onnxruntime refuses what pt-run ran
  both refuse
  ran                 without ONNX Runtime
  CRASH               a signal, or exit code 1, which is a bug of partitiontuner
  TIMEOUT, MEMORY     over the limits
At the end the models by what came out and by exit code. The exit code is 1 after a crash, a timeout, or a difference.

Models of other projects lie where they are: nothing is copied. Needs Python 3 with numpy and onnx.
"""
import argparse, collections, fnmatch, json, multiprocessing, pathlib, resource, signal, subprocess, sys, tempfile

import numpy as np
import onnx
from onnx import numpy_helper

from model_data import data_beside, inputs_of

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFUSALS = (2, 3, 4, 5, 7, 9, 12)  # of docs/exit-codes.md
MAPPED_MIB = 768  # address space of pt-run that loads nothing: its libraries, and the stacks of its threads


# ---- inputs ----

def tensor_shape(value, dim):
    return [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else dim
            for d in value.type.tensor_type.shape.dim]


def random_data(model, dim, seed):
    rng = np.random.default_rng(seed)
    data = {}
    for value in inputs_of(model):
        if not value.type.HasField("tensor_type"):
            raise ValueError(f"input {value.name} is no tensor")
        shape = tensor_shape(value, dim)
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            data[value.name] = np.full(shape, "a", dtype=object)
            continue
        type = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        is_real = type.kind == "f" or type.name.startswith(("bfloat", "float"))
        data[value.name] = (rng.standard_normal(shape) if is_real else rng.integers(0, 2, shape)).astype(type)
    return data


def data_of(path, model, arguments):
    beside = path.parent / "test_data_set_0"
    if not beside.is_dir():
        return random_data(model, arguments.dim, arguments.seed)
    return data_beside(beside, model)


# ---- the two ----

def run_peer_models(pipe):
    """In a process of its own: (path, data) in, (outputs, reason) out, until the other end closes."""
    while True:
        try:
            path, data = pipe.recv()
        except EOFError:
            return
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        try:
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            values = {name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
                          array, onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
                      if array.dtype.name not in np.sctypeDict and array.dtype != object else array
                      for name, array in data.items()}
            pipe.send((session.run(None, values), None))
        except Exception as error:  # whatever it throws is a refusal
            pipe.send((None, " ".join(str(error).split())[:200]))


class Peer:
    """ONNX Runtime, in a process that is replaced when it crashes or takes too long."""

    def __init__(self, seconds):
        self.seconds, self.process = seconds, None

    def run(self, path, data):
        if self.process is None:
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=run_peer_models, args=(other,), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send((str(path), data))
            if self.pipe.poll(self.seconds):
                return self.pipe.recv()
            reason = f"over {self.seconds} s"
        except (EOFError, BrokenPipeError, ConnectionResetError):
            reason = "it crashed"
        self.process.kill()
        self.process = None
        return None, reason


def run_ours(path, model, data, folder, arguments):
    """(outputs, exit code, message); the exit code is None where time ran out."""
    given, made = folder / "in", folder / "out"
    given.mkdir()
    for i, value in enumerate(inputs_of(model)):
        (given / f"input_{i}.pb").write_bytes(numpy_helper.from_array(data[value.name]).SerializeToString())
    command = [str(pathlib.Path(arguments.bin) / "pt-run"), str(path), "--iterations", "1", "--db", "none",
               "--denormals", "keep", "--save-outputs", str(made)] + (["--input", str(given)] if data else [])
    limit = (arguments.memory + MAPPED_MIB) << 20
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=arguments.seconds,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    except subprocess.TimeoutExpired:
        return None, None, f"over {arguments.seconds} s"
    message = " ".join(done.stderr.split())
    if done.returncode != 0:
        return None, done.returncode, message
    files = sorted(made.glob("output_*.npy"), key=lambda file: int(file.stem.split("_")[1]))
    return [np.load(file, allow_pickle=False) for file in files], 0, message


# ---- what came out ----

def difference(ours, peers, tolerance):
    """"" or in what an output differs."""
    peers = np.asarray(peers)
    if peers.dtype.kind not in "fiub" or peers.dtype.name != ours.dtype.name:
        # Types that numpy lacks are written as wider ones; strings are not compared.
        if peers.dtype.kind in "OUS":
            return ""
        peers = peers.astype(ours.dtype)
    if ours.shape != peers.shape:
        return f"dims {list(ours.shape)}, {list(peers.shape)} expected"
    if ours.size == 0:
        return ""
    if ours.dtype.kind in "iub":
        steps = np.abs(ours.astype(object) - peers.astype(object)).max()
        return "" if steps <= (0 if ours.dtype.kind == "b" else 1) else f"{steps} steps"
    a, b = ours.astype(np.float64), peers.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "NaN or infinite elsewhere"
    if not finite.any():
        return ""
    apart = np.abs(a[finite] - b[finite]).max() / max(np.abs(b[finite]).max(), 0.1)
    return "" if apart <= tolerance else f"by {apart:.2g} of the largest"


def judge(path, peer, arguments):
    row = {"model": str(path), "exit": None, "result": "", "detail": ""}
    try:
        model = onnx.load(path, load_external_data=False)
        data = data_of(path, model, arguments)
    except Exception as error:
        row["result"], row["detail"] = "no inputs", " ".join(str(error).split())[:160]
        return row
    with tempfile.TemporaryDirectory() as folder:
        ours, code, message = run_ours(path, model, data, pathlib.Path(folder), arguments)
    row["exit"], row["detail"] = code, message[:300]
    if code is None:
        row["result"] = "TIMEOUT"
    elif code == 11:
        row["result"] = "MEMORY"
    elif code not in REFUSALS and code != 0:
        row["result"] = "CRASH"
        row["detail"] = (signal.Signals(-code).name + ": " if code < 0 else "") + row["detail"]
    if row["result"]:
        return row
    if peer is None:
        row["result"] = "ran" if code == 0 else "we refuse"
        return row
    peers, reason = peer.run(path, data)
    if peers is None or code != 0:
        row["result"] = "both refuse" if peers is None and code != 0 else \
            "onnxruntime refuses" if peers is None else "we refuse"
        if code == 0:
            row["detail"] = reason
        return row
    faults = [difference(a, b, arguments.tolerance) for a, b in zip(ours, peers)] if len(ours) == len(peers) else \
        [f"{len(ours)} outputs, {len(peers)} expected"]
    row["result"] = "DIFFERENT" if any(faults) else "same"
    row["detail"] = "; ".join(f"output {i}: {fault}" for i, fault in enumerate(faults) if fault)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--memory", type=int, default=256, metavar="MIB")
    parser.add_argument("--peer-seconds", type=float, default=10)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--dim", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--only", default="*", metavar="GLOB")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    peer = None if arguments.no_peer or onnxruntime is None else Peer(arguments.peer_seconds)
    rows = []
    for folder in arguments.folders:
        for path in sorted(pathlib.Path(folder).rglob("*.onnx")):
            if not fnmatch.fnmatch(path.name, arguments.only):
                continue
            row = judge(path, peer, arguments)
            rows.append(row)
            if arguments.format == "table" and row["result"] not in ("same", "ran"):
                print(f"{row['result']} ({row['exit']}): {row['model']}: {row['detail']}", flush=True)
    results = collections.Counter(row["result"] for row in rows)
    codes = collections.Counter(str(row["exit"]) for row in rows)
    if arguments.format == "json":
        print(json.dumps({"models": rows, "results": results, "exit_codes": codes}, indent=1))
    else:
        print(f"{len(rows)} models: " + ", ".join(f"{count} {result}" for result, count in results.most_common()))
        print("exit codes: " + ", ".join(f"{code}: {count}" for code, count in sorted(codes.items())))
    sys.exit(any(results[bad] for bad in ("CRASH", "TIMEOUT", "DIFFERENT")))


if __name__ == "__main__":
    main()
