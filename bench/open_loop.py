#!/usr/bin/env python3
"""The highest rate of requests at which one in a hundred waits no longer than a bound, for pt-run and its peers.

  open_loop.py --ours PT_RUN [--plans DIR] [--seconds 3] [--steps 6] [--factor 2] FOLDER...

A FOLDER holds model.onnx with test_data_set_0/input_N.pb. Requests come at their own times (gaps of an exponential
distribution, the same for all), whatever became of those before; each latency counts from when its request was due. At
most 64 wait, and a request that is refused breaks the bound. The bound is FACTOR times the median latency of the fastest runtime
on the idle machine, the same for all. ONNX Runtime runs as one session of as many threads as there are cores and as one
caller a core with a thread each; OpenVINO with the throughput hint and one stream, and with a stream a core. Rates are
bisected, all runtimes in turns at each step. Needs: pip install onnx onnxruntime openvino numpy.
"""
import argparse
import json
import math
import os
import pathlib
import queue
import random
import statistics
import subprocess
import sys
import threading
import time

CORES = len(os.sched_getaffinity(0))
PEERS = ("ort:1", f"ort:{CORES}", "openvino:1", f"openvino:{CORES}")
QUEUE = 64


def read_inputs(path, data):
    import numpy as np
    import onnx

    from model_data import data_beside

    model = onnx.load(str(path), load_external_data=False)
    return {name: np.ascontiguousarray(value) for name, value in data_beside(data, model).items()}


def ort_callers(path, feed, streams):
    """One function a stream, each of which runs one request."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = max(1, CORES // streams)
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    callers = []
    for _ in range(streams):
        binding = session.io_binding()
        for name, value in feed.items():
            binding.bind_cpu_input(name, value)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        callers.append(lambda binding=binding: session.run_with_iobinding(binding))
    return callers


def openvino_callers(path, feed, streams):
    import openvino as ov

    core = ov.Core()
    model = core.read_model(str(path))
    model.reshape({name: list(value.shape) for name, value in feed.items()})
    compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "NUM_STREAMS": streams,
                                                 "INFERENCE_NUM_THREADS": CORES, "INFERENCE_PRECISION_HINT": "f32"})
    callers = []
    for _ in range(streams):
        request = compiled.create_infer_request()
        for name, value in feed.items():
            request.set_tensor(name, ov.Tensor(value))
        callers.append(request.infer)
    return callers


def percentile(sorted_times, percent):
    return sorted_times[max(0, math.ceil(percent / 100 * len(sorted_times)) - 1)]


def serve(callers, rate, seconds, seed):
    """An open loop over the callers, each with a thread of its own."""
    waiting, latencies, refused = queue.SimpleQueue(), [], 0

    def work(caller):
        while (due := waiting.get()) is not None:
            caller()
            latencies.append(time.perf_counter() - due)

    threads = [threading.Thread(target=work, args=(caller,)) for caller in callers]
    for thread in threads:
        thread.start()
    draw = random.Random(seed)
    start = time.perf_counter()
    due = start + draw.expovariate(rate)
    while due < start + seconds:
        while (left := due - time.perf_counter()) > 0:
            time.sleep(left)
        if waiting.qsize() >= QUEUE:
            refused += 1
        else:
            waiting.put(due)
        due += draw.expovariate(rate)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    times = sorted(latencies) or [math.inf]
    return {"p50": percentile(times, 50) * 1e6, "p99": percentile(times, 99) * 1e6, "refused": refused}


def be_child(kind, path, data):
    """Serves the lines `idle` and `RATE SECONDS SEED` of standard input, a line of JSON each."""
    runtime, streams = kind.split(":")
    feed = read_inputs(pathlib.Path(path), pathlib.Path(data))
    callers = {"ort": ort_callers, "openvino": openvino_callers}[runtime](path, feed, int(streams))
    for caller in callers:
        for _ in range(5):
            caller()
    for line in sys.stdin:
        if line.strip() == "idle":
            times = []
            end = time.perf_counter() + 0.5
            while time.perf_counter() < end:
                start = time.perf_counter()
                callers[0]()
                times.append(time.perf_counter() - start)
            answer = {"p50": statistics.median(times) * 1e6}
        else:
            rate, seconds, seed = line.split()
            answer = serve(callers, float(rate), float(seconds), int(seed))
        print(json.dumps(answer), flush=True)


class Peer:
    def __init__(self, kind, path, data):
        self.child = subprocess.Popen([sys.executable, __file__, "--child", kind, str(path), str(data)], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, line):
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            raise RuntimeError("it refused the model or crashed")
        return json.loads(answer)

    def idle(self):
        return self.ask("idle")["p50"]

    def at(self, rate, seconds, seed):
        return self.ask(f"{rate} {seconds} {seed}")

    def close(self):
        self.child.kill()
        self.child.wait()


class Ours:
    def __init__(self, tool, plan, path, data, flags=()):
        self.command = [tool, str(path), "--input", str(data), "--format", "json", "--queue", str(QUEUE), *flags]
        if plan and pathlib.Path(plan).exists():
            self.command += ["--plan", str(plan)]

    def ask(self, rate, seconds, seed):
        done = subprocess.run([*self.command, "--rate", str(rate), "--duration", f"{seconds}s", "--seed", str(seed)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-200:]}")
        return json.loads(done.stdout)

    def idle(self):
        return self.ask(10, 0.2, 1)["idle_ns"]["p50"] / 1e3

    def at(self, rate, seconds, seed):
        row = self.ask(rate, seconds, seed)["rates"][0]
        return {"p50": row["latency_ns"]["p50"] / 1e3, "p99": row["latency_ns"]["p99"] / 1e3,
                "refused": row["refused"] + row["late"]}

    def close(self):
        pass


def highest_rates(runtimes, bound_us, most, options):
    """By runtime: the highest rate within the bound, 0 where not even the lowest one is."""
    low = dict.fromkeys(runtimes, 0.0)
    high = dict.fromkeys(runtimes, most)
    for step in range(options.steps):
        for name, runtime in runtimes.items():
            rate = (low[name] + high[name]) / 2
            got = runtime.at(rate, max(options.seconds, 300 / rate), step + 1)
            within = got["refused"] == 0 and got["p99"] <= bound_us
            (low if within else high)[name] = rate
    return low


def main():
    if sys.argv[1:2] == ["--child"]:
        return be_child(*sys.argv[2:5])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--plans")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--factor", type=float, default=2)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    print("model\tbound us\tours/s\t" + "\t".join(f"{kind}/s" for kind in PEERS) + "\tto the best peer")
    for folder in options.folders:
        path, data = folder / "model.onnx", folder / "test_data_set_0"
        plan = pathlib.Path(options.plans) / f"{folder.name}.ptplan.json" if options.plans else None
        runtimes = {"ours": Ours(options.ours, plan, path, data)}
        runtimes |= {kind: Peer(kind, path, data) for kind in PEERS}
        idle = {}
        for name in list(runtimes):
            try:
                idle[name] = runtimes[name].idle()
            except RuntimeError as error:
                print(f"{folder.name}: {name}: {error}", file=sys.stderr)
                runtimes.pop(name).close()
        bound_us = options.factor * min(idle.values())
        rates = highest_rates(runtimes, bound_us, 1.2e6 * CORES / min(idle.values()), options)
        best = max(rate for name, rate in rates.items() if name != "ours")
        cells = [f"{rates[kind]:.1f}" if kind in rates else "-" for kind in PEERS]
        ratio = f"{rates['ours'] / best:.2f}" if best > 0 else "-"
        print("\t".join([folder.name, f"{bound_us:.0f}", f"{rates['ours']:.1f}", *cells, ratio]), flush=True)
        for runtime in runtimes.values():
            runtime.close()


if __name__ == "__main__":
    main()
