#!/usr/bin/env python3
"""Writes stacks of LSTM layers, for how plans behave with slices of time (evaluate.py rewrites).

  recurrent_models.py FOLDER [--layers 2,4,8] [--lengths 16,64,256] [--units 128]

FOLDER/lstm-LAYERSxLENGTHxUNITS/model.onnx each: float32, batch 1, seeded weights. Needs the Python packages onnx and numpy.
"""
import argparse, pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def stack(layers, length, units):
    random = np.random.default_rng(layers * 1_000_000 + length * 1_000 + units)
    nodes, weights, value = [], [], "x"

    def weight(name, *dims):
        data = random.uniform(-1, 1, dims) / np.sqrt(units)
        weights.append(numpy_helper.from_array(data.astype(np.float32), name))
        return name

    weights.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    for layer in range(layers):
        inputs = [value, weight(f"w{layer}", 1, 4 * units, units), weight(f"r{layer}", 1, 4 * units, units), weight(f"b{layer}", 1, 8 * units)]
        nodes.append(helper.make_node("LSTM", inputs, [f"all{layer}"], f"lstm{layer}", hidden_size=units))
        value = f"y{layer}"
        nodes.append(helper.make_node("Squeeze", [f"all{layer}", "axis"], [value], f"squeeze{layer}"))
    dims = [length, 1, units]
    graph = helper.make_graph(nodes, "lstm", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, dims)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.checker.check_model(model)
    return model


def numbers(text):
    return [int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=numbers, default=[2, 4, 8])
    parser.add_argument("--lengths", type=numbers, default=[16, 64, 256])
    parser.add_argument("--units", type=int, default=128)
    arguments = parser.parse_args()
    for layers in arguments.layers:
        for length in arguments.lengths:
            folder = arguments.folder / f"lstm-{layers}x{length}x{arguments.units}"
            folder.mkdir(parents=True, exist_ok=True)
            onnx.save(stack(layers, length, arguments.units), folder / "model.onnx")


if __name__ == "__main__":
    main()
