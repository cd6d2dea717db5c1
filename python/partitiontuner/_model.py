"""Models: an ONNX file for sizes that are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from . import _core
from ._engine import Engine
from ._plan import Plan


@dataclass(frozen=True)
class ValueInfo:
    """An input or output.

    dtype is ONNX's name ("float32"); kind is "tensor", "sequence" or "optional"; a dim is a number, the name of one
    that is not known until run time, or None; shape is None where not even the rank is known.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


class Model:
    """A network, ready to be measured, planned and run.

    dims: sizes by name, {"batch": 1}. shapes: by input, {"x": (1, 3, 224, 224)}.
    constants: inputs that have this number in every element of every run; what depends on them is computed once.
    given: inputs that runs will give though the file has a default for them.
    precision: "fp32", or what else plans may compute in: see `pt-plan --help-all`.
    keep_nan: only kernels that pass NaN on; a little slower.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dims: Mapping[str, int] | None = None,
        shapes: Mapping[str, Sequence[int]] | None = None,
        constants: Mapping[str, float] | None = None,
        given: Sequence[str] = (),
        precision: str = "fp32",
        keep_nan: bool = False,
        engine: Engine | None = None,
    ) -> None:
        self._core = _core.load_model(
            (engine or Engine.default())._core,
            os.fspath(path),
            dict(dims or {}),
            {name: list(shape) for name, shape in (shapes or {}).items()},
            dict(constants or {}),
            list(given),
            precision,
            keep_nan,
        )

    @classmethod
    def for_plan(cls, path: str | os.PathLike[str], plan: Plan, *, engine: Engine | None = None) -> Model:
        """The model with the sizes and settings that the plan was made for; it can run by that plan alone."""
        model = cls.__new__(cls)
        model._core = _core.load_model_for_plan((engine or Engine.default())._core, os.fspath(path), plan._core)
        return model

    @property
    def inputs(self) -> list[ValueInfo]:
        return [ValueInfo(*each) for each in self._core.inputs]

    @property
    def outputs(self) -> list[ValueInfo]:
        return [ValueInfo(*each) for each in self._core.outputs]

    def profile(
        self,
        *,
        budget: float | None = None,
        max_noise: float = 0.02,
        refresh: str = "",
        progress: Callable[[_core.Progress], object] | None = None,
    ) -> _core.ProfileReport:
        """Measures every operator and group on every unit, as far as the database does not know it yet.

        budget: seconds for all of it; what is not reached stays missing, and is estimated by plans.
        refresh: a glob over keys that are measured again.
        progress: called between two measurements. An exception from it, or Ctrl-C, ends measuring; what was measured
        is kept.
        """
        return self._core.measure(budget, max_noise, refresh, progress)

    def plan(
        self,
        planner: str = "search",
        *,
        effort: int = 0,
        seed: int = 1,
        time_limit: float | None = None,
        allow_estimates: bool = True,
        default_plan: bool = False,
        always_split: bool = False,
        progress: Callable[[float | None], object] | None = None,
    ) -> Plan:
        """The best plan that the planner finds by what was measured.

        effort: how much the search tries; 0 for its default. time_limit: seconds.
        default_plan: where too little was measured, a plan for one device by rough estimates instead of PartialError.
        always_split: keep the plan on several units even where its gain is within the error of the prediction.
        progress: called some ten times a second with the best makespan so far, in seconds; returning False ends the
        search with the best plan so far.
        """
        return Plan(
            _core.make_plan(
                self._core, planner, effort, seed, time_limit, allow_estimates, default_plan, always_split, progress
            )
        )
