"""Random models of one node each, of operators that ONNX Runtime has beside ONNX, with data: what
compare_with_onnxruntime.py makes with --random.

Every operator is a function of a random generator that returns a Case. Shapes are small; attributes, optional inputs and
outputs, constants and dims with names are drawn, and whether defaults are written out. What ONNX Runtime refuses of it is
left to it to say.
"""
import dataclasses
import functools

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

DOMAIN = "com.microsoft"


# Defaults that ONNX Runtime's definitions only describe; its kernels have them.
DESCRIBED_DEFAULTS = {
    "Attention": {"do_rotary": 0, "mask_filter_value": -10000.0, "past_present_share_buffer": 0, "rotary_embedding_dim": 0},
    "EmbedLayerNormalization": {"mask_index_type": 0},
    "GroupQueryAttention": {"do_rotary": 0, "kv_cache_bit_width": 0, "rotary_interleaved": 0, "scale": 0.0, "softcap": 0.0},
    "MultiHeadAttention": {"mask_filter_value": -10000.0, "scale": 0.0},
    "QAttention": {"do_rotary": 0, "mask_filter_value": -10000.0, "past_present_share_buffer": 0, "scale": 0.0},
    "RotaryEmbedding": {"interleaved": 0, "is_packed_batching": 0, "num_heads": 0, "rotary_embedding_dim": 0, "scale": 1.0},
}


@functools.cache
def schemas():
    """ONNX Runtime's definitions of the operators of its domain, by name."""
    return {schema.name: schema for schema in get_all_operator_schema() if schema.domain == DOMAIN}


def defaults_of(operator):
    """Attributes of an operator of ONNX Runtime's domain that have a default, with it."""
    found = {}
    for name, attribute in schemas()[operator].attributes.items():
        value = AttributeProto.FromString(attribute._default_value)
        if value.type != AttributeProto.UNDEFINED:
            found[name] = helper.get_attribute_value(value)
    return {**found, **DESCRIBED_DEFAULTS.get(operator, {})}


@dataclasses.dataclass
class Case:
    operator: str
    inputs: dict  # name → array, in the order of the node's inputs; "" or None: absent
    outputs: list  # (name, numpy type), "" for one that is not asked for
    attributes: dict = dataclasses.field(default_factory=dict)
    constants: tuple = ()  # names of inputs that are initialisers
    domain: str = DOMAIN
    names: list = None  # of the node's inputs where they differ from `inputs`
    opset: int = 0  # of the default domain; 0: drawn
    sized: bool = False  # whether all dims need to be numbers
    trailing: list = None  # absent inputs behind all others, where those are written out

    def write_out(self):
        """Every attribute at its default and every optional input as absent, as ONNX Runtime's own tools save models."""
        if self.domain != DOMAIN:
            return
        self.attributes = {**defaults_of(self.operator), **self.attributes}
        inputs = schemas()[self.operator].inputs
        if not self.names and not any("Variadic" in str(entry.option) for entry in inputs):
            self.trailing = [""] * (len(inputs) - len(self.inputs))

    def model(self, rng):
        """The model; dims of its inputs are numbers, or names."""
        opset = self.opset or int(rng.choice([13, 17, 21]))
        named = rng.random() < 0.3 and not self.sized
        given = {name: array for name, array in self.inputs.items() if array is not None}
        infos = [helper.make_tensor_value_info(
                     name, helper.np_dtype_to_tensor_dtype(array.dtype),
                     [f"{name}_{i}" for i in range(array.ndim)] if named else array.shape)
                 for name, array in given.items() if name not in self.constants]
        node_inputs = self.names or [name if array is not None else "" for name, array in self.inputs.items()]
        while node_inputs and not node_inputs[-1]:
            node_inputs.pop()
        if self.trailing is not None:
            node_inputs = node_inputs + [""] * (len(self.inputs) - len(node_inputs)) + self.trailing
        outputs = [name for name, _ in self.outputs]
        node = helper.make_node(self.operator, node_inputs, outputs, domain=self.domain, **self.attributes)
        results = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(type)), None)
                   for name, type in self.outputs if name]
        graph = helper.make_graph([node], "case", infos, results,
                                  [numpy_helper.from_array(given[name], name) for name in self.constants if name in given])
        imports = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9)

    def data(self):
        return {name: array for name, array in self.inputs.items() if array is not None and name not in self.constants}

    def note(self):
        dims = " ".join(f"{name}{list(array.shape)}" for name, array in self.inputs.items() if array is not None)
        attributes = " ".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{dims} {attributes}".strip()


def floats(rng, *dims):
    return rng.standard_normal(dims).astype(np.float32)


def maybe(rng, array, chance=0.5):
    return array if rng.random() < chance else None


def size(rng, least=1, most=6):
    return int(rng.integers(least, most + 1))


def dims_of(rng, rank):
    return [size(rng) for _ in range(rank)]


def some_constant(rng, *names):
    """All of them, or some."""
    return names if rng.random() < 0.5 else tuple(name for name in names if rng.random() < 0.5)


def broadcastable(rng, dims):
    """Dims that broadcast to those."""
    kept = [d if rng.random() < 0.7 else 1 for d in dims]
    return kept[int(rng.integers(0, len(dims) + 1)) if rng.random() < 0.4 else 0:]


# ---- activations ----

def Gelu(rng):
    return Case("Gelu", {"x": 3 * floats(rng, *dims_of(rng, size(rng, 1, 4)))}, [("y", np.float32)])


def FastGelu(rng):
    x = 3 * floats(rng, *dims_of(rng, size(rng, 1, 4)))
    return Case("FastGelu", {"x": x, "bias": maybe(rng, floats(rng, x.shape[-1]))}, [("y", np.float32)])


def BiasGelu(rng):
    x = 3 * floats(rng, *dims_of(rng, size(rng, 1, 4)))
    return Case("BiasGelu", {"x": x, "bias": floats(rng, x.shape[-1])}, [("y", np.float32)])


def QuickGelu(rng):
    attributes = {"alpha": float(rng.uniform(-2, 3))} if rng.random() < 0.6 else {}
    return Case("QuickGelu", {"x": 3 * floats(rng, *dims_of(rng, size(rng, 1, 4)))}, [("y", np.float32)], attributes)


# ---- on trial in ONNX before opset 10 ----

def trial(operator, rng, x, attributes):
    return Case(operator, {"x": x}, [("y", np.float32)], attributes, domain="", opset=int(rng.choice([7, 8, 9])),
                sized=operator in ("Crop", "ImageScaler"))


def given(rng, **attributes):
    return {name: value for name, value in attributes.items() if rng.random() < 0.7}


def number(rng):
    return float(rng.uniform(-2, 2))


def Affine(rng):
    return trial("Affine", rng, floats(rng, *dims_of(rng, size(rng, 1, 4))), given(rng, alpha=number(rng), beta=number(rng)))


def Scale(rng):
    return trial("Scale", rng, floats(rng, *dims_of(rng, size(rng, 1, 4))), given(rng, scale=number(rng)))


def ScaledTanh(rng):
    return trial("ScaledTanh", rng, floats(rng, *dims_of(rng, size(rng, 1, 4))), {"alpha": number(rng), "beta": number(rng)})


def ParametricSoftplus(rng):
    return trial("ParametricSoftplus", rng, floats(rng, *dims_of(rng, size(rng, 1, 4))),
                 {"alpha": number(rng), "beta": number(rng)})


def ImageScaler(rng):
    x = floats(rng, *dims_of(rng, 4))
    return trial("ImageScaler", rng, x, {"bias": [number(rng) for _ in range(x.shape[1])], **given(rng, scale=number(rng))})


def Crop(rng):
    x = floats(rng, *dims_of(rng, 4))
    left, top = (int(rng.integers(0, d)) for d in (x.shape[3], x.shape[2]))
    attributes = {"border": [left, top, int(rng.integers(0, x.shape[3] - left)), int(rng.integers(0, x.shape[2] - top))]}
    if rng.random() < 0.5:
        attributes["scale"] = [size(rng, 1, x.shape[2] - top), size(rng, 1, x.shape[3] - left)]
    return trial("Crop", rng, x, attributes)


def DynamicSlice(rng):
    x, type = floats(rng, *dims_of(rng, size(rng, 1, 4))), rng.choice([np.int32, np.int64])
    axes = rng.permutation(x.ndim)[:size(rng, 1, x.ndim)] if rng.random() < 0.5 else np.arange(x.ndim)
    count = len(axes)
    inputs = {"x": x, "starts": rng.integers(-3, 4, count).astype(type), "ends": rng.integers(-3, 9, count).astype(type),
              "axes": axes.astype(type)}
    return Case("DynamicSlice", inputs, [("y", np.float32)], domain="", opset=9)


# ---- normalisation ----

def epsilon(rng):
    return {"epsilon": float(rng.choice([1e-12, 1e-5, 0.1]))} if rng.random() < 0.7 else {}


def skip_inputs(rng):
    batch, length, hidden = size(rng, 1, 3), size(rng), size(rng, 2, 9)
    skip = [(batch, length, hidden), (1, length, hidden), (length, hidden)][int(rng.integers(0, 3))]
    return floats(rng, batch, length, hidden), floats(rng, *skip), hidden


def skip_outputs(rng):
    """The result, and each of the others or not."""
    others = [(name, np.float32) if rng.random() < 0.4 else ("", None) for name in ("mean", "inv_std_var", "sum")]
    while others and not others[-1][0]:
        others.pop()
    return [("y", np.float32)] + others


def SkipLayerNormalization(rng):
    x, skip, hidden = skip_inputs(rng)
    inputs = {"x": x, "skip": skip, "gamma": floats(rng, hidden), "beta": maybe(rng, floats(rng, hidden)),
              "bias": maybe(rng, floats(rng, hidden))}
    return Case("SkipLayerNormalization", inputs, skip_outputs(rng), epsilon(rng), ("gamma", "beta", "bias"))


def SkipSimplifiedLayerNormalization(rng):
    x, skip, hidden = skip_inputs(rng)
    inputs = {"x": x, "skip": skip, "gamma": floats(rng, hidden), "bias": maybe(rng, floats(rng, hidden))}
    return Case("SkipSimplifiedLayerNormalization", inputs, skip_outputs(rng), epsilon(rng), ("gamma", "bias"))


def SimplifiedLayerNormalization(rng):
    dims = dims_of(rng, size(rng, 1, 4))
    axis = int(rng.integers(-len(dims), len(dims)))
    attributes = {"axis": axis, **epsilon(rng)}
    scale = dims[axis:]
    return Case("SimplifiedLayerNormalization", {"x": floats(rng, *dims), "scale": floats(rng, *scale)},
                [("y", np.float32)] + [("inv_std_var", np.float32)] * (rng.random() < 0.5), attributes, ("scale",), domain="")


def LayerNormalization(rng):
    dims = dims_of(rng, size(rng, 2, 4))
    axis = int(rng.integers(-len(dims), len(dims)))
    scale = dims[axis:]
    return Case("LayerNormalization", {"x": floats(rng, *dims), "scale": floats(rng, *scale),
                                       "bias": maybe(rng, floats(rng, *scale))},
                [("y", np.float32)], {"axis": axis, **epsilon(rng)}, ("scale", "bias"), domain="", opset=13)


def EmbedLayerNormalization(rng):
    batch, length, hidden, words, places, segments = (size(rng, 1, 3), size(rng), size(rng, 2, 9), 11, 8, 3)
    ids = lambda most, *dims: rng.integers(0, most, dims).astype(np.int32)
    with_segments = rng.random() < 0.6
    positions = maybe(rng, ids(places, size(rng, 0, 1) and batch or 1, length))
    inputs = {"ids": ids(words, batch, length), "segment_ids": ids(segments, batch, length) if with_segments else None,
              "words": floats(rng, words, hidden), "positions": floats(rng, places, hidden),
              "segments": floats(rng, segments, hidden) if with_segments else None, "gamma": floats(rng, hidden),
              "beta": floats(rng, hidden), "mask": maybe(rng, ids(3, batch, length)), "position_ids": positions}
    outputs = [("y", np.float32), ("mask_index", np.int32)] + ([("sum", np.float32)] if rng.random() < 0.5 else [])
    return Case("EmbedLayerNormalization", inputs, outputs, epsilon(rng),
                ("words", "positions", "segments", "gamma", "beta"))


# ---- attention ----

def mask_of(rng, batch, queries, keys, kinds):
    """A mask of one of the kinds that hides no query completely, or none."""
    kind = kinds[int(rng.integers(0, len(kinds)))]
    if kind == "length":
        return rng.integers(1, keys + 1, batch).astype(np.int32)
    if kind == "range":
        start = rng.integers(0, keys, batch)
        return np.concatenate([rng.integers(start + 1, keys + 1), start]).astype(np.int32)
    if kind == "dummy":
        return np.zeros((batch, 1), np.int32)
    if kind == "2d":
        mask = rng.integers(0, 2, (batch, keys))
        mask[:, 0] = 1
        return mask.astype(np.int32)
    if kind == "3d":
        mask = rng.integers(0, 2, (batch, queries, keys))
        mask[:, :, 0] = 1
        return mask.astype(np.int32)
    return None


def attention_attributes(rng, heads):
    attributes = {"num_heads": heads}
    if rng.random() < 0.4:
        attributes["scale"] = float(rng.uniform(0.1, 1))
    if rng.random() < 0.4:
        attributes["unidirectional"] = 1
    if rng.random() < 0.4:
        attributes["mask_filter_value"] = float(rng.choice([-10000.0, -50.0, np.finfo(np.float32).min]))
    return attributes


def attention_bias_of(rng, batch, heads, queries, keys):
    return maybe(rng, floats(rng, int(rng.choice([1, batch])), int(rng.choice([1, heads])), queries, keys), 0.3)


def Attention(rng):
    batch, length, heads, width = size(rng, 1, 3), size(rng, 1, 5), size(rng, 1, 4), size(rng, 1, 6)
    depth = size(rng, 2, 9)
    sizes = [heads * width] * 3
    attributes = attention_attributes(rng, heads)
    past = None
    if rng.random() < 0.3:
        past = floats(rng, 2, batch, heads, size(rng, 1, 3), width)
    elif rng.random() < 0.4:
        sizes[2] = heads * size(rng, 1, 6)
        attributes["qkv_hidden_sizes"] = sizes
    keys = length + (0 if past is None else past.shape[3])
    mask = mask_of(rng, batch, length, keys, ["none", "length", "range", "2d", "3d", "dummy"])
    bias = attention_bias_of(rng, batch, heads, length, keys) if past is None else None
    outputs = [("y", np.float32)]
    if past is not None or (sizes[0] == sizes[2] and rng.random() < 0.3):
        outputs.append(("present", np.float32))
    inputs = {"x": floats(rng, batch, length, depth), "weights": floats(rng, depth, sum(sizes)),
              "bias": maybe(rng, floats(rng, sum(sizes)), 0.8), "mask": mask, "past": past, "attention_bias": bias}
    return Case("Attention", inputs, outputs, attributes, ("weights", "bias"))


def MultiHeadAttention(rng):
    batch, length, heads, width = size(rng, 1, 3), size(rng, 1, 5), size(rng, 1, 4), size(rng, 1, 6)
    keys, value_width = (length, width) if rng.random() < 0.4 else (size(rng, 1, 5), size(rng, 1, 6))
    split = rng.random() < 0.2
    past_key = past_value = bias = None
    if split:
        key, value = floats(rng, batch, heads, keys, width), floats(rng, batch, heads, keys, width)
    else:
        if rng.random() < 0.3:
            value_width, past = width, size(rng, 1, 3)
            past_key, past_value = floats(rng, batch, heads, past, width), floats(rng, batch, heads, past, width)
        key, value = floats(rng, batch, keys, heads * width), floats(rng, batch, keys, heads * value_width)
        bias = maybe(rng, floats(rng, heads * (2 * width + value_width)))
    total = keys + (0 if past_key is None else past_key.shape[2])
    inputs = {"query": floats(rng, batch, length, heads * width), "key": key, "value": value, "bias": bias,
              "mask": mask_of(rng, batch, length, total, ["none", "length", "2d", "3d"]),
              "attention_bias": attention_bias_of(rng, batch, heads, length, total), "past_key": past_key,
              "past_value": past_value}
    outputs = [("y", np.float32)]
    if past_key is not None or rng.random() < 0.2:
        outputs += [("present_key", np.float32), ("present_value", np.float32)]
    return Case("MultiHeadAttention", inputs, outputs, attention_attributes(rng, heads), ("bias",))


def rotary_tables(rng, width):
    angles = floats(rng, 24, width // 2)
    return np.cos(angles), np.sin(angles)


def RotaryEmbedding(rng):
    batch, length, heads, width = size(rng, 1, 3), size(rng, 1, 5), size(rng, 1, 4), int(rng.choice([4, 8, 16]))
    attributes, turned = {"interleaved": int(rng.integers(0, 2))}, width
    if rng.random() < 0.3:
        turned = width // 2
        attributes |= {"rotary_embedding_dim": turned, "num_heads": heads}
    elif rng.random() < 0.5:
        attributes["num_heads"] = heads
    dims = (batch, heads, length, width) if rng.random() < 0.4 else (batch, length, heads * width)
    positions = rng.integers(0, 20, 1 if rng.random() < 0.5 else (batch, length)).astype(np.int64)
    cosines, sines = rotary_tables(rng, turned)
    inputs = {"x": floats(rng, *dims), "positions": positions, "cosines": cosines, "sines": sines}
    return Case("RotaryEmbedding", inputs, [("y", np.float32)], attributes, ("cosines", "sines"))


def GroupQueryAttention(rng):
    """Prompts without padding, and single tokens behind pasts of different lengths: of other rows ONNX Runtime says nothing."""
    batch, groups, width = size(rng, 1, 3), size(rng, 1, 2), int(rng.choice([16, 32]))
    heads = groups * size(rng, 1, 3)
    attributes = {"num_heads": heads, "kv_num_heads": groups}
    past_key = past_value = None
    if rng.random() < 0.4:
        length = total = size(rng, 1, 5)
        ends = np.full(batch, length)
    else:
        length = 1 if batch > 1 or rng.random() < 0.6 else 2
        total = length + size(rng, 1, 5)
        ends = rng.integers(length, total + 1, batch)
        ends[0] = total
        past = total - length if rng.random() < 0.6 else total + size(rng, 0, 2)
        past_key, past_value = floats(rng, batch, groups, past, width), floats(rng, batch, groups, past, width)
    packed = rng.random() < 0.3
    key = value = cosines = sines = positions = None
    if not packed:
        key, value = floats(rng, batch, length, groups * width), floats(rng, batch, length, groups * width)
    if rng.random() < 0.6:
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(rng.integers(0, 2))}
        cosines, sines = rotary_tables(rng, int(rng.choice([16, width])))
        positions = maybe(rng, rng.integers(0, 16, (batch, length)).astype(np.int64), 0.3)
    for name, number in (("local_window_size", size(rng, 1, 4)), ("softcap", 2.0), ("scale", 0.7), ("causal", 0),
                         ("smooth_softmax", 1)):
        if rng.random() < 0.3 and not (name == "causal" and "local_window_size" in attributes):
            attributes[name] = number
    sink = maybe(rng, floats(rng, heads), 0.3)
    bias = maybe(rng, floats(rng, int(rng.choice([1, batch])), int(rng.choice([1, heads])), length, total), 0.3)
    inputs = {"query": floats(rng, batch, length, (heads + 2 * groups * packed) * width), "key": key, "value": value,
              "past_key": past_key, "past_value": past_value, "ends": (ends - 1).astype(np.int32),
              "total": np.array([total], np.int32), "cosines": cosines, "sines": sines, "positions": positions, "bias": bias,
              "sink": sink}
    outputs = [("y", np.float32), ("present_key", np.float32), ("present_value", np.float32)]
    return Case("GroupQueryAttention", inputs, outputs, attributes, ("cosines", "sines"))


# ---- products ----

def FusedMatMul(rng, operator="FusedMatMul"):
    batch = dims_of(rng, size(rng, 0, 2))
    m, n, k = size(rng), size(rng), size(rng)
    attributes = {"alpha": float(rng.uniform(-2, 2))} if rng.random() < 0.6 else {}

    def operand(rows, columns, side):
        dims = batch + [rows, columns]
        if rng.random() < 0.5:
            attributes["trans" + side] = 1
            dims = batch + [columns, rows]
        if operator == "FusedMatMul" and batch and rng.random() < 0.3:
            attributes["transBatch" + side] = 1
            dims = [dims[-2]] + batch + [dims[-1]]
        return floats(rng, *dims)

    return Case(operator, {"a": operand(m, k, "A"), "b": operand(k, n, "B")}, [("y", np.float32)], attributes)


def TransposeMatMul(rng):
    return FusedMatMul(rng, "TransposeMatMul")


def FusedConv(rng):
    spatial = size(rng, 1, 2)
    group, per_group = size(rng, 1, 2), size(rng, 1, 3)
    kernel = dims_of(rng, spatial) and [size(rng, 1, 3) for _ in range(spatial)]
    channels, filters = group * per_group, group * size(rng, 1, 3)
    image = [size(rng, 5, 9) for _ in range(spatial)]
    attributes = {"kernel_shape": kernel, "group": group}
    if rng.random() < 0.5:
        attributes["strides"] = [size(rng, 1, 2) for _ in range(spatial)]
    if rng.random() < 0.5:
        attributes["pads"] = [size(rng, 0, 1) for _ in range(2 * spatial)]
    elif rng.random() < 0.3:
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    activation, parameters = [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]),
                              ("HardSigmoid", [0.3, 0.4]), (None, [])][int(rng.integers(0, 7))]
    if activation:
        attributes["activation"] = activation
    if parameters:
        attributes["activation_params"] = parameters
    x, w = floats(rng, size(rng, 1, 2), channels, *image), floats(rng, filters, per_group, *kernel)
    z = None
    if rng.random() < 0.4 and "auto_pad" not in attributes:
        pads, strides = attributes.get("pads", [0] * 2 * spatial), attributes.get("strides", [1] * spatial)
        out = [(image[i] + pads[i] + pads[i + spatial] - kernel[i]) // strides[i] + 1 for i in range(spatial)]
        z = floats(rng, x.shape[0], filters, *out)
    return Case("FusedConv", {"x": x, "w": w, "bias": maybe(rng, floats(rng, filters)), "z": z}, [("y", np.float32)],
                attributes, ("w", "bias"))


def FusedGemm(rng):
    m, n, k = size(rng), size(rng), size(rng)
    attributes = {}
    if rng.random() < 0.5:
        attributes["transA"] = 1
    if rng.random() < 0.5:
        attributes["transB"] = 1
    if rng.random() < 0.5:
        attributes.update(alpha=float(rng.uniform(-2, 2)), beta=float(rng.uniform(-2, 2)))
    activation, parameters = [("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.2}),
                              ("Elu", {"activation_alpha": 0.7}),
                              ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}), ("Softplus", {}),
                              ("Softsign", {}), ("ThresholdedRelu", {"activation_alpha": 0.7})][int(rng.integers(0, 9))]
    attributes.update(activation=activation, **parameters)
    c = maybe(rng, floats(rng, *[(m, n), (n,), (1, n), (m, 1), (1,)][int(rng.integers(0, 5))]))
    return Case("FusedGemm", {"a": floats(rng, *((k, m) if "transA" in attributes else (m, k))),
                              "b": floats(rng, *((n, k) if "transB" in attributes else (k, n))), "c": c},
                [("y", np.float32)], attributes, ("b",))


# ---- integers ----

def bytes_type(rng):
    return [np.uint8, np.int8][int(rng.integers(0, 2))]


def bytes_of(rng, type, *dims):
    return rng.integers(np.iinfo(type).min, np.iinfo(type).max + 1, dims).astype(type)


def scale_of(rng, *dims):
    return rng.uniform(0.01, 0.2, dims).astype(np.float32)


def zero_of(rng, type, *dims):
    return bytes_of(rng, type, *dims)


def one(rng):
    """Dims of a scale or zero point of one number, where ONNX Runtime takes both forms."""
    return () if rng.random() < 0.7 else (1,)


def quantised(rng, name, type, dims):
    """Zero points may be left out by their definition, but ONNX Runtime fails or crashes without them."""
    return {name: bytes_of(rng, type, *dims), name + "_scale": scale_of(rng), name + "_zero": zero_of(rng, type)}


def result(rng, type):
    return {"y_scale": scale_of(rng), "y_zero": zero_of(rng, type)}


def quantised_case(rng, operator, inputs, type, attributes=None):
    constants = tuple(name for name in inputs if "_" in name) if rng.random() < 0.7 else ()
    return Case(operator, inputs, [("y", type)], attributes or {}, constants)


def QLinearBinary(rng, operator):
    type, dims = bytes_type(rng), dims_of(rng, size(rng, 1, 4))
    inputs = {**quantised(rng, "a", type, dims), **quantised(rng, "b", type, broadcastable(rng, dims)),
              **result(rng, type)}
    return quantised_case(rng, operator, inputs, type)


def QLinearAdd(rng):
    return QLinearBinary(rng, "QLinearAdd")


def QLinearMul(rng):
    return QLinearBinary(rng, "QLinearMul")


def QLinearUnary(rng, operator, attributes):
    type = bytes_type(rng)
    inputs = {**quantised(rng, "x", type, dims_of(rng, size(rng, 1, 4))), **result(rng, type)}
    return quantised_case(rng, operator, inputs, type, attributes)


def QLinearSigmoid(rng):
    return QLinearUnary(rng, "QLinearSigmoid", {})


def QLinearLeakyRelu(rng):
    return QLinearUnary(rng, "QLinearLeakyRelu", {"alpha": float(rng.uniform(-0.5, 1))} if rng.random() < 0.6 else {})


def QLinearSoftmax(rng):
    type, dims = bytes_type(rng), dims_of(rng, size(rng, 1, 4))
    inputs = {**quantised(rng, "x", type, dims), "y_scale": np.array(1 / 256, np.float32),
              "y_zero": np.array(0 if type == np.uint8 else -128, type)}
    attributes = {"opset": int(rng.choice([11, 13]))}
    if rng.random() < 0.7:
        attributes["axis"] = int(rng.integers(-len(dims), len(dims)))
    return quantised_case(rng, "QLinearSoftmax", inputs, type, attributes)


def QLinearGlobalAveragePool(rng):
    type, dims = bytes_type(rng), [size(rng, 1, 2)] + [size(rng, 1, 9) for _ in range(3)]
    inputs = {**quantised(rng, "x", type, dims), **result(rng, type)}
    attributes = {"channels_last": int(rng.integers(0, 2))} if rng.random() < 0.7 else {}
    return quantised_case(rng, "QLinearGlobalAveragePool", inputs, type, attributes)


def QLinearAveragePool(rng):
    type, spatial = bytes_type(rng), size(rng, 1, 3)
    kernel = [size(rng, 1, 3) for _ in range(spatial)]
    image, attributes = [size(rng, 4, 7) for _ in range(spatial)], {"kernel_shape": kernel}
    if rng.random() < 0.5:
        attributes["strides"] = [size(rng, 1, 2) for _ in range(spatial)]
    if rng.random() < 0.5:
        attributes["pads"] = [int(rng.integers(0, kernel[i % spatial])) for i in range(2 * spatial)]
    elif rng.random() < 0.4:
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    for name in ("ceil_mode", "count_include_pad", "channels_last"):
        if rng.random() < 0.3:
            attributes[name] = 1
    channels = size(rng, 1, 3)
    dims = [size(rng, 1, 2)] + (image + [channels] if attributes.get("channels_last") else [channels] + image)
    inputs = {**quantised(rng, "x", type, dims), **result(rng, type)}
    return quantised_case(rng, "QLinearAveragePool", inputs, type, attributes)


def QLinearConcat(rng):
    type, dims = bytes_type(rng), dims_of(rng, size(rng, 1, 4))
    axis = int(rng.integers(-len(dims), len(dims)))
    inputs = result(rng, type)
    for i in range(size(rng, 1, 3)):
        part = list(dims)
        part[axis] = size(rng)
        shape = one(rng)
        inputs.update({f"x{i}": bytes_of(rng, type, *part), f"x{i}_scale": scale_of(rng, *shape),
                       f"x{i}_zero": zero_of(rng, type, *shape)})
    return quantised_case(rng, "QLinearConcat", inputs, type, {"axis": axis})


def QLinearWhere(rng):
    type, dims = bytes_type(rng), dims_of(rng, size(rng, 1, 3))
    inputs = {"condition": np.array(rng.random(broadcastable(rng, dims)) < 0.5)}
    for name, shape in (("x", dims), ("y", broadcastable(rng, dims))):
        inputs.update({name: bytes_of(rng, type, *shape), name + "_scale": scale_of(rng),
                       name + "_zero": zero_of(rng, type)})
    inputs.update(z_scale=scale_of(rng), z_zero=zero_of(rng, type))
    return Case("QLinearWhere", inputs, [("z", type)], {}, tuple(name for name in inputs if "_" in name))


def quantisation_case(rng, operator):
    type, dims = [np.uint8, np.int8, np.uint16, np.int16][int(rng.integers(0, 4))], dims_of(rng, size(rng, 1, 4))
    axis = int(rng.integers(-len(dims), len(dims)))
    shape = [(), (1,), (dims[axis],)][int(rng.integers(0, 3))]
    quantised = operator == "DequantizeLinear"
    inputs = {"x": bytes_of(rng, type, *dims) if quantised else 30 * floats(rng, *dims), "x_scale": scale_of(rng, *shape),
              "x_zero": zero_of(rng, type, *shape)}
    return Case(operator, inputs, [("y", np.float32 if quantised else type)], {"axis": axis}, ("x_scale", "x_zero"))


def QuantizeLinear(rng):
    return quantisation_case(rng, "QuantizeLinear")


def DequantizeLinear(rng):
    return quantisation_case(rng, "DequantizeLinear")


def by_column(rng, columns):
    return [(), (1,), (columns,)][int(rng.integers(0, 3))]


def DynamicQuantizeMatMul(rng):
    batch, k, n, type = dims_of(rng, size(rng, 1, 2)), size(rng, 1, 9), size(rng, 2, 6), bytes_type(rng)
    shape = by_column(rng, n)
    inputs = {"a": floats(rng, *batch, k), "b": bytes_of(rng, type, k, n), "b_scale": scale_of(rng, *shape),
              "b_zero": maybe(rng, zero_of(rng, type, *shape), 0.7), "bias": maybe(rng, floats(rng, n))}
    return Case("DynamicQuantizeMatMul", inputs, [("y", np.float32)], {}, ("b", "b_scale", "b_zero", "bias"))


def MatMulIntegerToFloat(rng):
    batch, k, n = dims_of(rng, size(rng, 1, 2)), size(rng, 1, 9), size(rng, 2, 6)
    type_a = bytes_type(rng)
    type_b = np.int8 if type_a == np.int8 else bytes_type(rng)
    shape, scalar = by_column(rng, n), one(rng)
    inputs = {"a": bytes_of(rng, type_a, *batch, k), "b": bytes_of(rng, type_b, k, n), "a_scale": scale_of(rng, *scalar),
              "b_scale": scale_of(rng, *shape), "a_zero": maybe(rng, zero_of(rng, type_a, *scalar), 0.7),
              "b_zero": maybe(rng, zero_of(rng, type_b, *shape), 0.7), "bias": maybe(rng, floats(rng, n))}
    constants = ("b", "b_scale", "b_zero", "bias") if rng.random() < 0.7 else ()
    return Case("MatMulIntegerToFloat", inputs, [("y", np.float32)], {}, constants)


def QGemm(rng):
    m, n, k = size(rng), size(rng, 2, 6), size(rng)
    type_a = bytes_type(rng)
    type_b = np.int8 if type_a == np.int8 else bytes_type(rng)
    attributes = {}
    for name in ("transA", "transB"):
        if rng.random() < 0.5:
            attributes[name] = 1
    if rng.random() < 0.5:
        attributes["alpha"] = float(rng.uniform(0.2, 2))
    shape = (n,) if rng.random() < 0.5 else ()
    inputs = {"a": bytes_of(rng, type_a, *((k, m) if "transA" in attributes else (m, k))), "a_scale": scale_of(rng),
              "a_zero": zero_of(rng, type_a),
              "b": bytes_of(rng, type_b, *((n, k) if "transB" in attributes else (k, n))),
              "b_scale": scale_of(rng, *shape), "b_zero": zero_of(rng, type_b, *shape),
              "c": maybe(rng, rng.integers(-500, 500, n).astype(np.int32))}
    quantise = rng.random() < 0.6
    if quantise:
        inputs.update(y_scale=np.array(rng.uniform(0.2, 2), np.float32), y_zero=zero_of(rng, type_a))
    constants = tuple(name for name in inputs if name not in ("a", "c"))
    return Case("QGemm", inputs, [("y", type_a if quantise else np.float32)], attributes, constants)


def MatMulNBits(rng):
    bits = int(rng.choice([2, 4, 8]))
    block = int(rng.choice([16, 32, 64]))
    k, n = int(rng.choice([block, 2 * block, 3 * block, 40, 17])), size(rng, 1, 6)
    blocks = -(-k // block)
    inputs = {"a": floats(rng, *dims_of(rng, size(rng, 1, 2)), k), "b": bytes_of(rng, np.uint8, n, blocks, block * bits // 8),
              "scales": scale_of(rng, n, blocks)}
    kind = rng.choice(["none", "packed", "real"] if bits < 8 else ["none", "packed"])
    inputs["zero_points"] = {"none": None, "packed": bytes_of(rng, np.uint8, n, -(-blocks * bits // 8)),
                             "real": rng.uniform(0, 2 ** bits, (n, blocks)).astype(np.float32)}[str(kind)]
    # With other bits ONNX Runtime refuses g_idx, and with packed zero points it passes over these.
    by_index = bits == 4 and kind != "packed"
    inputs["g_idx"] = maybe(rng, rng.integers(0, blocks, k).astype(np.int32), 0.3 if by_index else 0)
    inputs["bias"] = maybe(rng, floats(rng, n), 0.3)
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    if rng.random() < 0.3:
        attributes["accuracy_level"] = int(rng.integers(0, 4))
    return Case("MatMulNBits", inputs, [("y", np.float32)], attributes,
                some_constant(rng, "b", "scales", "zero_points", "g_idx") + ("bias",))


def MatMulBnb4(rng):
    block, k, n = int(rng.choice([16, 32, 64])), size(rng, 1, 50), size(rng, 1, 9)
    inputs = {"a": floats(rng, *dims_of(rng, size(rng, 1, 2)), k), "b": bytes_of(rng, np.uint8, -(-k * n // 2)),
              "absmax": scale_of(rng, -(-k * n // block))}
    attributes = {"K": k, "N": n, "block_size": block, "quant_type": int(rng.integers(0, 2))}
    return Case("MatMulBnb4", inputs, [("y", np.float32)], attributes, some_constant(rng, "b", "absmax"))


def CropAndResize(rng):
    images, channels, height, width, boxes = size(rng, 1, 3), size(rng, 1, 4), size(rng), size(rng, 1, 9), size(rng, 1, 5)
    rois = rng.choice([0, 0.25, 0.5, 1, 1.25, -0.1], (boxes, 4)) if rng.random() < 0.3 else rng.uniform(-0.1, 1.1, (boxes, 4))
    inputs = {"x": floats(rng, images, channels, height, width), "rois": rois.astype(np.float32),
              "batch_indices": rng.integers(0, images, boxes).astype(np.int32),
              "crop_size": np.array([size(rng), size(rng)], np.int32)}
    attributes = given(rng, extrapolation_value=number(rng), mode=str(rng.choice(["bilinear", "nearest"])))
    return Case("CropAndResize", inputs, [("y", np.float32)], attributes,
                ("crop_size",) if rng.random() < 0.6 else ())


def GatherBlockQuantized(rng):
    bits, block = int(rng.choice([2, 4, 8])), int(rng.choice([16, 32]))
    rows, width = size(rng, 1, 9), int(rng.choice([block, 2 * block, 48]))
    blocks = -(-width // block)
    inputs = {"data": bytes_of(rng, np.uint8, rows, width * bits // 8),
              "indices": rng.integers(-rows - 1, rows + 2, dims_of(rng, size(rng, 0, 3))).astype(rng.choice([np.int32, np.int64])),
              "scales": scale_of(rng, rows, blocks),
              "zero_points": maybe(rng, bytes_of(rng, np.uint8, rows, -(-blocks * bits // 8)))}
    attributes = {"bits": bits, "block_size": block, "gather_axis": int(rng.choice([0, -2])),
                  "quantize_axis": int(rng.choice([1, -1]))}
    return Case("GatherBlockQuantized", inputs, [("y", np.float32)], attributes,
                some_constant(rng, "data", "scales", "zero_points"), sized=True)


def QAttention(rng):
    batch, length, heads, width = size(rng, 1, 3), size(rng, 1, 5), size(rng, 1, 4), size(rng, 1, 6)
    depth, columns, type = size(rng, 2, 9), 3 * heads * width, bytes_type(rng)
    shape = (columns,) if rng.random() < 0.5 else one(rng)
    past = floats(rng, 2, batch, heads, size(rng, 1, 3), width) if rng.random() < 0.3 else None
    keys = length + (0 if past is None else past.shape[3])
    inputs = {"x": bytes_of(rng, np.uint8, batch, length, depth), "weights": bytes_of(rng, type, depth, columns),
              "bias": floats(rng, columns), "x_scale": scale_of(rng, *one(rng)), "w_scale": 0.1 * scale_of(rng, *shape),
              "mask": mask_of(rng, batch, length, keys, ["none", "length", "range", "2d", "3d", "dummy"]),
              "x_zero": maybe(rng, zero_of(rng, np.uint8, *one(rng)), 0.8),
              "w_zero": maybe(rng, zero_of(rng, type, *shape), 0.8), "past": past}
    outputs = [("y", np.float32)] + ([("present", np.float32)] if past is not None else [])
    return Case("QAttention", inputs, outputs, attention_attributes(rng, heads), ("weights", "bias", "x_scale", "w_scale", "w_zero"))


def MoE(rng):
    tokens, hidden, inner, experts = size(rng, 1, 5), size(rng, 2, 8), size(rng, 1, 6), size(rng, 1, 5)
    attributes = {"k": size(rng, 1, experts), "normalize_routing_weights": int(rng.integers(0, 2)),
                  "activation_type": str(rng.choice(["relu", "gelu", "silu", "identity", "swiglu"]))}
    rows = inner
    if attributes["activation_type"] == "swiglu":
        rows = 2 * inner
        attributes |= {"swiglu_fusion": 1, "activation_alpha": float(rng.choice([1, 1.702])),
                       "activation_beta": float(rng.integers(0, 2))}
        if rng.random() < 0.5:
            attributes["swiglu_limit"] = 0.7
    dims = (tokens, hidden) if rng.random() < 0.5 else (1, tokens, hidden)
    inputs = {"x": floats(rng, *dims), "router": floats(rng, tokens, experts), "up": floats(rng, experts, rows, hidden),
              "up_bias": maybe(rng, floats(rng, experts, rows)), "down": floats(rng, experts, hidden, inner),
              "down_bias": maybe(rng, floats(rng, experts, hidden))}
    return Case("MoE", inputs, [("y", np.float32)], attributes, ("up", "up_bias", "down", "down_bias"))


def QMoE(rng):
    tokens, hidden, inner, experts = size(rng, 1, 5), int(rng.choice([32, 64])), int(rng.choice([32, 64])), size(rng, 1, 5)
    # Activations of 8-bit blocks are rounded to 8 bits by ONNX Runtime, and columns of 4 bits are off by 2e-5 there.
    bits, block = [(2, 0), (2, 16), (4, 16), (4, 32), (8, 0)][int(rng.integers(0, 5))]
    attributes = {"k": size(rng, 1, experts), "normalize_routing_weights": int(rng.integers(0, 2)),
                  "activation_type": str(rng.choice(["relu", "gelu", "silu", "swiglu"])), "expert_weight_bits": bits}
    if block:
        attributes["block_size"] = block
    rows = inner
    if attributes["activation_type"] == "swiglu":
        rows = 2 * inner
        attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0}
    inputs = {"x": floats(rng, tokens, hidden), "router": floats(rng, tokens, experts)}
    zeros = {}
    for name, out, width in (("up", rows, hidden), ("down", hidden, inner)):
        blocks = (width // block,) if block else ()
        packed = (out, -(-blocks[0] * bits // 8)) if block else (-(-out * bits // 8),)
        inputs.update({name: bytes_of(rng, np.uint8, experts, out, width * bits // 8),
                       name + "_scales": 0.01 * scale_of(rng, experts, out, *blocks),
                       name + "_bias": maybe(rng, floats(rng, experts, out))})
        zeros[name + "_zeros"] = maybe(rng, bytes_of(rng, np.uint8, experts, *packed))
    inputs.update({"third": None, "third_scales": None, "third_bias": None, **zeros})
    return Case("QMoE", inputs, [("y", np.float32)], attributes,
                some_constant(rng, *(name for name in inputs if name not in ("x", "router"))), sized=True)


# ---- what ONNX has as well ----

def Trilu(rng):
    x = floats(rng, *dims_of(rng, size(rng, 2, 4)))
    k = maybe(rng, np.array([int(rng.integers(-4, 5))], np.int64)[: 1].reshape(()))
    return Case("Trilu", {"X": x, "k": k}, [("Y", np.float32)], {"upper": int(rng.random() < 0.5)} if rng.random() < 0.7 else {})


def ExpandDims(rng):
    rank = size(rng, 1, 4)
    return Case("ExpandDims", {"X": floats(rng, *dims_of(rng, rank)), "axis": np.array(int(rng.integers(-rank - 1, rank + 1)), np.int32)},
                [("Y", np.float32)], constants=("axis",) if rng.random() < 0.5 else ())


def GatherND(rng):
    dims = dims_of(rng, size(rng, 1, 4))
    depth = size(rng, 1, len(dims))
    indices = np.stack([rng.integers(0, d, (size(rng, 3, 3), 2)) for d in dims[:depth]], axis=-1)
    return Case("GatherND", {"data": floats(rng, *dims), "indices": indices.astype([np.int32, np.int64][rng.integers(2)])}, [("output", np.float32)])


def Range(rng):
    type = [np.float32, np.int32, np.int64][rng.integers(3)]
    dims = [[], [1]][rng.integers(2)]
    start, limit = (np.full(dims, int(v), type) for v in rng.integers(-5, 6, 2))
    return Case("Range", {"start": start, "limit": limit, "delta": maybe(rng, np.full(dims, int(rng.choice([-2, 1, 3])), type))}, [("Y", type)])


def Pad(rng):
    dims = dims_of(rng, size(rng, 1, 4))
    pads = rng.integers(0, 3, 2 * len(dims)).astype(np.int64)
    mode = str(rng.choice(["constant", "edge"]))
    return Case("Pad", {"data": floats(rng, *dims), "pads": pads if rng.random() < 0.5 else pads[None],
                        "value": maybe(rng, floats(rng, 1))}, [("output", np.float32)], {"mode": mode} if rng.random() < 0.7 else {})


def Unique(rng):
    return Case("Unique", {"x": rng.integers(-3, 4, size(rng, 1, 9)).astype(np.float32)}, [("y", np.float32), ("idx", np.int64), ("counts", np.int64)])


def GridSample(rng):
    x = floats(rng, 1, size(rng), size(rng, 2, 6), size(rng, 2, 6))
    attributes = {"mode": str(rng.choice(["bilinear", "nearest", "bicubic"])), "align_corners": int(rng.random() < 0.5),
                  "padding_mode": str(rng.choice(["zeros", "border", "reflection"]))}
    return Case("GridSample", {"X": x, "Grid": rng.uniform(-1.3, 1.3, [1, size(rng), size(rng), 2]).astype(np.float32)}, [("Y", np.float32)], attributes)


def CDist(rng):
    columns = size(rng)
    attributes = {"metric": str(rng.choice(["sqeuclidean", "euclidean"]))} if rng.random() < 0.7 else {}
    return Case("CDist", {"A": floats(rng, size(rng), columns), "B": floats(rng, size(rng), columns)}, [("C", np.float32)], attributes)


def NhwcMaxPool(rng):
    type = [np.int8, np.uint8][rng.integers(2)]
    x = rng.integers(-100 if type == np.int8 else 0, 100, [size(rng), size(rng, 3), size(rng, 3), size(rng)]).astype(type)
    attributes = {"kernel_shape": [2, 3], "pads": [int(v) for v in rng.integers(0, 2, 4)], "strides": [size(rng, 1, 2), size(rng, 1, 2)]}
    return Case("NhwcMaxPool", {"x": x}, [("y", type)], attributes)


def Inverse(rng):
    n = size(rng)
    x = floats(rng, *dims_of(rng, size(rng, 0, 2)), n, n) + 3 * np.eye(n, dtype=np.float32)
    return Case("Inverse", {"X": x}, [("Y", np.float32)])


OPERATORS = {f.__name__: f for f in (
    Affine, Attention, BiasGelu, CDist, Crop, CropAndResize, DequantizeLinear, DynamicQuantizeMatMul, DynamicSlice, EmbedLayerNormalization, ExpandDims, FastGelu, FusedConv, FusedGemm, FusedMatMul, GatherBlockQuantized, GatherND, Gelu, GridSample,
    GroupQueryAttention, ImageScaler, Inverse, LayerNormalization, MatMulBnb4, MatMulIntegerToFloat, MatMulNBits, MoE, MultiHeadAttention, NhwcMaxPool, Pad, ParametricSoftplus, QAttention, QGemm, QLinearAdd, QLinearAveragePool,
    QLinearConcat, QLinearGlobalAveragePool, QLinearLeakyRelu, QLinearMul, QLinearSigmoid,
    QLinearSoftmax, QLinearWhere, QMoE, QuantizeLinear, QuickGelu, Range, RotaryEmbedding, Scale, ScaledTanh, SimplifiedLayerNormalization, SkipLayerNormalization,
    SkipSimplifiedLayerNormalization, TransposeMatMul, Trilu, Unique)}
