"""The inputs of a model and the data that lies beside it, for the scripts of this folder."""
import pathlib

import onnx
from onnx import numpy_helper


def inputs_of(model):
    """The graph's inputs that are not initialisers."""
    known = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in known]


def data_beside(folder, model):
    """By name, as arrays: what input_N.pb of a folder such as test_data_set_0 hold."""
    data = {}
    for i, value in enumerate(inputs_of(model)):
        tensor = onnx.TensorProto.FromString((pathlib.Path(folder) / f"input_{i}.pb").read_bytes())
        data[value.name] = numpy_helper.to_array(tensor)
    return data
