"""Runs neural networks as fast as the machine allows.

    import numpy, partitiontuner as pt

    model = pt.Model("model.onnx", dims={"batch": 1})
    model.profile(budget=30)                   # measures, into the database that pt-profile uses
    plan = model.plan()                        # in a notebook, a picture
    session = pt.Session(model, plan)
    outputs = session.run({"x": numpy.zeros((1, 3, 224, 224), numpy.float32)})

A plan is kept with `plan.save("model.ptplan.json")` and taken up again, in another process, by
`pt.Session.open("model.onnx", "model.ptplan.json")`.

Engines, models and sessions may be shared by threads; runs and everything else that takes long leave the interpreter
to other threads meanwhile.
"""

from __future__ import annotations

from . import _core
from ._engine import Engine
from ._model import Model, ValueInfo
from ._plan import Plan
from ._queue import Request, RequestQueue
from ._session import Session
from .errors import (
    AssertionFailedError,
    DeviceUnusableError,
    Error,
    InfeasibleError,
    InternalError,
    Interrupted,
    InvalidInputError,
    MismatchError,
    OutOfMemoryError,
    PartialError,
    QueueClosedError,
    QueueFullError,
    RunFailedError,
    StaleError,
    UnsupportedError,
    UsageError,
)

Progress = _core.Progress
ProfileReport = _core.ProfileReport
RequestCounts = _core.RequestCounts
RequestReport = _core.RequestReport
RunReport = _core.RunReport

__version__: str = _core.version

__all__ = [
    "AssertionFailedError",
    "DeviceUnusableError",
    "Engine",
    "Error",
    "InfeasibleError",
    "InternalError",
    "Interrupted",
    "InvalidInputError",
    "MismatchError",
    "Model",
    "OutOfMemoryError",
    "PartialError",
    "Plan",
    "ProfileReport",
    "Progress",
    "QueueClosedError",
    "QueueFullError",
    "Request",
    "RequestCounts",
    "RequestQueue",
    "RequestReport",
    "RunFailedError",
    "RunReport",
    "Session",
    "StaleError",
    "UnsupportedError",
    "UsageError",
    "ValueInfo",
    "__version__",
]
