"""Sessions: a plan, compiled and allocated, that runs many times."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _core
from ._engine import Engine
from ._model import Model
from ._plan import Plan


class Session:
    """Runs a model by a plan; without one, by the best that can be made of what was measured, and by rough estimates
    on one device where nothing was.

    alone: whether a run takes the plan's cores or its caller alone: "auto" (by the times of both), "never", "always".
    max_runs: runs at a time before `run` waits. run_bytes: memory that one run may take.
    """

    def __init__(
        self,
        model: Model,
        plan: Plan | None = None,
        *,
        alone: str = "auto",
        max_runs: int = 4,
        run_bytes: int | None = None,
    ) -> None:
        self.plan = plan if plan is not None else model.plan(default_plan=True)
        self._core = _core.make_session(model._core, self.plan._core, alone, max_runs, run_bytes)

    @classmethod
    def open(
        cls, model: str | os.PathLike[str], plan: str | os.PathLike[str] | Plan, *, engine: Engine | None = None
    ) -> Session:
        """A session from two files; sizes and settings are those of the plan."""
        made = plan if isinstance(plan, Plan) else Plan.load(plan)
        return cls(Model.for_plan(model, made, engine=engine), made)

    def run(
        self, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None, *, deadline: float | None = None
    ) -> dict[str, Any]:
        """Outputs by name.

        inputs: by name, arrays of NumPy or anything else with __dlpack__ on the host. Contiguous ones are not copied.
        Strings are arrays or lists of str, sequences lists of arrays, an empty optional value is None.
        outputs: arrays to write to, by name; new ones are made for the others. Types that NumPy lacks (bfloat16,
        float8) come as arrays that speak DLPack: torch.from_dlpack(...).
        deadline: seconds, after which the run ends with RunFailedError.

        May be called by many threads at once. Ctrl-C takes effect when the run is over: give a deadline where it may
        take long.
        """
        return self.run_with_report(inputs, outputs, deadline=deadline)[0]

    def run_with_report(
        self, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None, *, deadline: float | None = None
    ) -> tuple[dict[str, Any], _core.RunReport]:
        """The same, and what the run took."""
        return self._core.run(dict(inputs), dict(outputs or {}), deadline)
