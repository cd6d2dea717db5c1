"""Random models of one node each of ai.onnx.ml, with data, beside onnxruntime_cases.py."""
import functools

import numpy as np

from onnxruntime_cases import Case, maybe, size

DOMAIN = "ai.onnx.ml"
ML = functools.partial(Case, domain=DOMAIN)
TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def features(rng, types=(np.float32, np.float32, np.float64, np.int64, np.int32), whole=0.3):
    dims = [size(rng, 1, 70) if rng.random() < 0.2 else size(rng), size(rng)]
    x = 2 * rng.standard_normal(dims if rng.random() < 0.9 else dims[1:])
    type = np.dtype(types[rng.integers(len(types))])
    return (np.round(x) if rng.random() < whole or type.kind == "i" else x).astype(type)


def numbers(rng, count):
    return [float(v) for v in rng.standard_normal(count).astype(np.float32)]


def transform(rng, kinds=TRANSFORMS):
    return {"post_transform": str(rng.choice(kinds))} if rng.random() < 0.7 else {}


def labels(rng, count, ints="classlabels_ints"):
    """(attributes, type of the labels)."""
    if rng.random() < 0.4:
        return {"classlabels_strings": [f"class {i}" for i in range(count)]}, np.dtype("O")
    return {ints: list(range(count)) if rng.random() < 0.5 else [int(v) for v in rng.permutation(20)[:count]]}, np.int64


def Scaler(rng):
    x = features(rng)
    count = x.shape[-1] if rng.random() < 0.8 else 1
    return ML("Scaler", {"x": x}, [("y", np.float32)], {"offset": numbers(rng, count), "scale": numbers(rng, count)})


def Normalizer(rng):
    x = features(rng, whole=0.6)
    return ML("Normalizer", {"x": x}, [("y", np.float32)], {"norm": str(rng.choice(["MAX", "L1", "L2"]))})


def Imputer(rng):
    x = features(rng, (np.float32, np.int64))
    count = x.shape[-1] if rng.random() < 0.6 else 1
    if x.dtype == np.int64:
        attributes = {"imputed_value_int64s": [int(v) for v in rng.integers(-9, 9, count)],
                      "replaced_value_int64": int(rng.integers(-2, 3))}
    else:
        missing = float("nan") if rng.random() < 0.7 else 1.0
        x[rng.random(x.shape) < 0.3] = missing
        attributes = {"imputed_value_floats": numbers(rng, count), "replaced_value_float": missing}
    return ML("Imputer", {"x": x}, [("y", x.dtype)], attributes)


def OneHotEncoder(rng):
    if rng.random() < 0.5:
        x = features(rng, (np.float32, np.float64, np.int64))
        cats = [int(v) for v in rng.permutation(np.arange(-3, 4))[:size(rng)]]
        return ML("OneHotEncoder", {"x": x}, [("y", np.float32)], {"cats_int64s": cats, "zeros": int(rng.random() < 0.8)})
    x = rng.choice(["a", "b", "ab", "c"], [size(rng), size(rng)]).astype(object)
    cats = [str(v) for v in rng.permutation(["a", "b", "ab", "d"])[:size(rng, 1, 4)]]
    return ML("OneHotEncoder", {"x": x}, [("y", np.float32)], {"cats_strings": cats})


def FeatureVectorizer(rng):
    rows, type = size(rng), [np.float32, np.float64, np.int64, np.int32][rng.integers(4)]
    parts = [(3 * rng.standard_normal([rows, size(rng)])).astype(type) for _ in range(size(rng, 1, 3))]
    sizes = [p.shape[1] if rng.random() < 0.7 else size(rng) for p in parts]
    return ML("FeatureVectorizer", {f"x{i}": p for i, p in enumerate(parts)}, [("y", np.float32)], {"inputdimensions": sizes})


def LabelEncoder(rng):
    kinds = {"strings": ["a", "b", "ab", "c"], "int64s": [1, -2, 3, 7], "floats": [0.5, -1.0, 2.0, float("nan")]}
    key, value = (str(rng.choice(list(kinds))) for _ in range(2))
    count = size(rng, 1, 4)
    types = {"strings": np.dtype("O"), "int64s": np.dtype(np.int64), "floats": np.dtype(np.float32)}
    x = np.array([kinds[key][i] for i in rng.integers(0, 4, size(rng))], types[key])
    attributes = {f"keys_{key}": kinds[key][:count], f"values_{value}": kinds[value][:count]}
    return ML("LabelEncoder", {"x": x}, [("y", types[value])], attributes)


def LinearRegressor(rng):
    x, targets = features(rng, (np.float32,)), size(rng, 1, 4)
    attributes = {"coefficients": numbers(rng, targets * x.shape[-1]), "targets": targets,
                  **transform(rng, TRANSFORMS if targets > 1 else ["NONE", "PROBIT"])}
    if rng.random() < 0.7:
        attributes["intercepts"] = numbers(rng, targets)
    return ML("LinearRegressor", {"x": x}, [("y", np.float32)], attributes)


def LinearClassifier(rng):
    x, classes = features(rng), size(rng, 2, 5)
    rows = 1 if classes == 2 and rng.random() < 0.7 else classes
    named, type = labels(rng, classes)
    return ML("LinearClassifier", {"x": x}, [("label", type), ("scores", np.float32)],
              {"coefficients": numbers(rng, rows * x.shape[-1]), "intercepts": numbers(rng, rows), **named,
               **transform(rng, TRANSFORMS if rows > 1 else ["NONE", "LOGISTIC"])})


def kernel(rng):
    name = str(rng.choice(["LINEAR", "POLY", "RBF", "SIGMOID"]))
    return {"kernel_type": name, "kernel_params": [float(rng.uniform(0.1, 0.5)), float(rng.uniform(0, 1)), float(rng.integers(1, 4))]}


def SVMRegressor(rng):
    x, vectors = features(rng, (np.float32,)), size(rng, 0, 8)
    attributes = {"coefficients": numbers(rng, vectors or x.shape[-1]), "rho": numbers(rng, 1), "n_supports": vectors, **kernel(rng)}
    if vectors:
        attributes["support_vectors"] = numbers(rng, vectors * x.shape[-1])
    if rng.random() < 0.3:
        attributes["one_class"] = 1
    return ML("SVMRegressor", {"x": x}, [("y", np.float32)], attributes)


def SVMClassifier(rng):
    x, classes = features(rng), size(rng, 2, 4)
    named, type = labels(rng, classes)
    pairs = classes * (classes - 1) // 2
    attributes = {**named, **kernel(rng)}
    if classes > 2 and rng.random() < 0.2:
        attributes |= {"coefficients": numbers(rng, classes * x.shape[-1]), "rho": numbers(rng, 1), **transform(rng)}
    else:
        counts = [size(rng, 1, 4) for _ in range(classes)]
        vectors = sum(counts)
        attributes |= {"coefficients": numbers(rng, (classes - 1) * vectors), "rho": numbers(rng, pairs),
                       "vectors_per_class": counts, "support_vectors": numbers(rng, vectors * x.shape[-1])}
        if rng.random() < 0.5:
            attributes |= {"prob_a": numbers(rng, pairs), "prob_b": numbers(rng, pairs)}
        if classes > 2 or "prob_a" in attributes:
            attributes |= transform(rng)
    return ML("SVMClassifier", {"x": x}, [("label", type), ("scores", np.float32)], attributes)


def grow(rng, width, role, targets, positive):
    """Attributes of some random trees; every leaf votes for every one of `targets`, or for one."""
    nodes, votes = [], []
    mixed, missing, whole = rng.random() < 0.3, rng.random() < 0.4, rng.random() < 0.5
    mode = str(rng.choice(MODES[:4]))
    for tree in range(size(rng, 1, 12)):
        here = []

        def branch(depth):
            number = len(here)
            here.append(None)
            if depth == 0 or rng.random() < 0.1:
                here[number] = ("LEAF", 0, 0.0, 0, 0, 0)
                for target in targets if rng.random() < 0.8 or positive is None else targets[:1]:
                    weight = rng.random() if positive else rng.standard_normal()
                    votes.append((tree, number, target, float(np.float32(weight))))
                return number
            split = float(np.float32(rng.standard_normal() * 2))
            true, false = branch(depth - 1), branch(depth - 1)
            here[number] = (str(rng.choice(MODES)) if mixed else mode, int(rng.integers(width)),
                            float(round(split)) if whole else split, true, false, int(missing and rng.random() < 0.5))
            return number

        branch(size(rng, 1, 5))
        nodes += [(tree, number, *node) for number, node in enumerate(here)]
    names = ["treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true"]
    attributes = {"nodes_" + name: [node[i] for node in nodes] for i, name in enumerate(names) if missing or i < 7}
    for i, name in enumerate(["treeids", "nodeids", "ids", "weights"]):
        attributes[f"{role}_{name}"] = [vote[i] for vote in votes]
    return attributes


def with_gaps(rng, x):
    if x.dtype.kind == "f" and rng.random() < 0.5:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def TreeEnsembleRegressor(rng):
    x, targets = with_gaps(rng, features(rng, (np.float32, np.float32, np.float64, np.int64, np.int32))), size(rng, 1, 3)
    attributes = {**grow(rng, x.shape[-1], "target", list(range(targets)), None), "n_targets": targets}
    if rng.random() < 0.5:
        attributes["aggregate_function"] = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
    if rng.random() < 0.4:
        attributes["base_values"] = numbers(rng, targets)
    return ML("TreeEnsembleRegressor", {"x": x}, [("y", np.float32)],
              {**attributes, **transform(rng, TRANSFORMS[:4] if targets > 1 else ["NONE"])})


def TreeEnsembleClassifier(rng):
    x, classes = with_gaps(rng, features(rng, (np.float32, np.float32, np.float64, np.int64, np.int32))), size(rng, 2, 4)
    named, type = labels(rng, classes, "classlabels_int64s")
    positive = rng.random() < 0.5
    targets = [0] if classes == 2 else list(range(classes))
    attributes = {**grow(rng, x.shape[-1], "class", targets, positive if classes == 2 else None), **named}
    if rng.random() < 0.3:
        attributes["base_values"] = numbers(rng, len(targets))
    kinds = TRANSFORMS[:4] if classes > 2 else ["NONE"] if positive else ["NONE", "LOGISTIC"]
    return ML("TreeEnsembleClassifier", {"x": x}, [("label", type), ("scores", np.float32)], {**attributes, **transform(rng, kinds)})


OPERATORS = {f.__name__: f for f in (
    FeatureVectorizer, Imputer, LabelEncoder, LinearClassifier, LinearRegressor, Normalizer, OneHotEncoder, SVMClassifier, SVMRegressor,
    Scaler, TreeEnsembleClassifier, TreeEnsembleRegressor)}
