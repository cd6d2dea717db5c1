"""From a file to results: measure, plan, keep the plan, run."""

from __future__ import annotations

import json
import threading
import unittest

import numpy as np

import partitiontuner as pt
from support import WithExample


class Chain(WithExample):
    def test_a_model_says_its_interface(self) -> None:
        model = self.load()
        self.assertEqual(model.inputs, [pt.ValueInfo("image", "tensor", "float32", (1, 3, 96, 96))])
        self.assertEqual([(each.dtype, each.shape) for each in model.outputs], [("float32", (1, 10))])
        self.assertIn("cpu[0]", self.engine.units)

    def test_measured_planned_kept_and_run(self) -> None:
        model = pt.Model(self.model_path, engine=pt.Engine(db=str(self.folder / "new.db")))
        seen: list[pt.Progress] = []
        report = model.profile(max_noise=1.0, budget=20, progress=seen.append)
        self.assertGreater(report.needed, 0)
        self.assertTrue(seen and seen[-1].total == report.needed)
        plan = model.plan(effort=200)
        self.assertGreaterEqual(plan.makespan, plan.lower_bound)
        self.assertEqual(json.loads(plan.to_json()), dict(plan))
        self.assertIn("<svg", plan.to_svg() or "")
        self.assertIn("<svg", plan._repr_html_())

        path = self.folder / "example.ptplan.json"
        plan.save(path)
        self.assertEqual(pt.Plan.load(path).to_json(), plan.to_json())
        self.assertEqual(pt.Plan.from_json(plan.to_json()).planner, plan.planner)
        image = np.random.default_rng(1).random((1, 3, 96, 96), np.float32)
        kept = pt.Session.open(self.model_path, path, engine=self.engine).run({"image": image})
        made = pt.Session(model, plan).run({"image": image})
        for name, array in made.items():
            np.testing.assert_array_equal(kept[name], array)

    def test_without_measurements_a_default_plan_runs(self) -> None:
        model = pt.Model(self.model_path, engine=pt.Engine(db="none"))
        session = pt.Session(model)
        self.assertFalse(session.plan.complete)
        outputs, report = session.run_with_report({"image": np.zeros((1, 3, 96, 96), np.float32)})
        self.assertEqual([array.shape for array in outputs.values()], [(1, 10)])
        self.assertGreater(report.wall_ns, 0)

    def test_a_search_ends_with_its_best_plan_when_progress_says_false(self) -> None:
        model = self.load()
        model.profile(max_noise=1.0, budget=20)
        plan = model.plan(effort=10_000_000, always_split=True, progress=lambda best: False)
        self.assertEqual(plan["report"]["stopped_by"], "interrupted")
        pt.Session(model, plan).run({"image": np.zeros((1, 3, 96, 96), np.float32)})

    def test_what_progress_raises_ends_measuring_and_planning(self) -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError

        model = self.load()
        with self.assertRaises(ZeroDivisionError):
            model.profile(refresh="*", progress=fail)
        with self.assertRaises(ZeroDivisionError):
            model.plan(effort=10_000_000, progress=fail)

    def test_threads_share_a_session(self) -> None:
        session = pt.Session(self.load())
        images = [np.full((1, 3, 96, 96), value, np.float32) for value in range(4)]
        alone = [session.run({"image": image}) for image in images]
        wrong: list[int] = []

        def run(number: int) -> None:
            for _ in range(20):
                for name, array in session.run({"image": images[number]}).items():
                    if not np.array_equal(array, alone[number][name]):
                        wrong.append(number)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(images))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
