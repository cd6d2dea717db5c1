"""Requests through a queue: answers, refusals, deadlines, cancelling, and queues that go."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import unittest
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

import partitiontuner as pt
from support import WithExample


def image(value: float) -> dict[str, np.ndarray[Any, Any]]:
    return {"image": np.full((1, 3, 96, 96), value, np.float32)}


class Queue(WithExample):
    def open(self, **options: Any) -> pt.Session:
        return pt.Session(self.load(), **options)

    def assert_same(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        self.assertEqual(one.keys(), other.keys())
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name])

    def test_answers_are_those_of_runs_whatever_becomes_of_the_inputs(self) -> None:
        session = self.open()
        expected = [session.run(image(value)) for value in range(20)]
        with pt.RequestQueue(session, waiting=20) as queue:
            requests = []
            given = image(0)
            for value in range(20):
                given["image"].fill(value)
                requests.append(queue.submit(given))
            for request, outputs in zip(requests, expected):
                self.assert_same(request.result(), outputs)
                report = request.report
                assert report is not None
                self.assertGreaterEqual(report.total_ns, report.waited_ns + report.run.wall_ns)
        counts = queue.counts
        self.assertEqual((counts.accepted, counts.succeeded, counts.failed, counts.refused), (20, 20, 0, 0))

    def hold(self, queue: pt.RequestQueue) -> threading.Event:
        """Keeps the one thread of the queue in telling an answer until the event is set."""
        begun, release = threading.Event(), threading.Event()

        def wait(*_: object) -> None:
            begun.set()
            release.wait()

        queue._core.submit(image(0), None, wait)
        begun.wait()
        return release

    def test_one_more_than_may_wait_is_refused(self) -> None:
        with pt.RequestQueue(self.open(), in_flight=1, waiting=1) as queue:
            release = self.hold(queue)
            requests = [queue.submit(image(1)), queue.submit(image(2))]  # the first one would begin, but for the hold
            for _ in range(3):
                with self.assertRaises(pt.QueueFullError) as raised:
                    queue.submit(image(3))
                self.assertIsInstance(raised.exception, pt.RunFailedError)
                self.assertEqual(raised.exception.id, "queue.full")
            release.set()
            for request in requests:
                request.result()
            self.assertEqual(queue.counts.refused, 3)

    def test_deadlines_and_cancelling_end_requests(self) -> None:
        with pt.RequestQueue(self.open(), in_flight=1) as queue:
            release = self.hold(queue)
            late = queue.submit(image(1), deadline=0.0)
            ends = [queue.submit(image(value)) for value in range(5)]
            self.assertTrue(all(request.cancel() for request in ends))
            release.set()
            with self.assertRaises(pt.RunFailedError) as raised:
                late.result()
            self.assertEqual(raised.exception.id, "run.deadline")
            for request in ends:
                self.assertRaises(CancelledError, request.result)
            queue.drain()
            counts = queue.counts
            self.assertEqual((counts.accepted, counts.succeeded, counts.failed), (7, 1, 6))

    def test_what_does_not_fit_is_refused_at_once_or_told_later(self) -> None:
        session = self.open()
        with pt.RequestQueue(session) as queue:
            with self.assertRaises(pt.InvalidInputError):
                queue.submit({"imagge": image(1)["image"]})
            with self.assertRaises(pt.InvalidInputError):
                queue.submit({})
            with self.assertRaises(pt.UsageError):
                queue.submit(image(1), deadline=float("nan"))
            wrong = queue.submit({"image": np.zeros((1, 3, 9, 9), np.float32)})
            self.assertIsInstance(wrong.exception(), pt.InvalidInputError)
            self.assertIsNone(wrong.report)
            queue.submit(image(1)).result()
        for options in ({"in_flight": 5}, {"waiting": 1 << 30}):
            self.assertRaises(pt.UsageError, pt.RequestQueue, session, **options)

    def test_a_closed_queue_ends_what_waits_and_takes_nothing(self) -> None:
        queue = pt.RequestQueue(self.open(), in_flight=1)
        requests = [queue.submit(image(value)) for value in range(20)]
        queue.close()
        for request in requests:
            error = request.exception()
            self.assertTrue(error is None or isinstance(error, pt.QueueClosedError), error)
        self.assertRaises(pt.QueueClosedError, queue.submit, image(0))
        self.assertEqual(queue.counts.accepted, 20)
        queue.close()

    def test_callbacks_may_submit_and_close(self) -> None:
        queue = pt.RequestQueue(self.open(), waiting=0)
        over = threading.Event()
        left = 10

        def again(request: pt.Request) -> None:
            nonlocal left
            request.result()
            left -= 1
            if left > 0:
                queue.submit(image(left)).add_done_callback(again)  # type: ignore[arg-type]
            else:
                if threading.current_thread() is not threading.main_thread():
                    self.assertRaises(RuntimeError, queue.drain)
                queue.close()
                over.set()

        queue.submit(image(0)).add_done_callback(again)  # type: ignore[arg-type]
        self.assertTrue(over.wait(60))
        self.assertRaises(pt.QueueClosedError, queue.submit, image(0))

    def test_a_queue_that_nothing_refers_to_is_closed(self) -> None:
        session = self.open()
        requests = [pt.RequestQueue(session).submit(image(value)) for value in range(5)]
        gc.collect()
        for request in requests:
            error = request.exception(60)
            self.assertTrue(error is None or isinstance(error, pt.QueueClosedError), error)

    def test_awaited_from_an_event_loop(self) -> None:
        session = self.open()
        expected = session.run(image(3))

        async def ask(queue: pt.RequestQueue) -> list[dict[str, Any]]:
            return await asyncio.gather(*(asyncio.wrap_future(queue.submit(image(3))) for _ in range(10)))

        with pt.RequestQueue(session) as queue:
            for outputs in asyncio.run(ask(queue)):
                self.assert_same(outputs, expected)

    def test_the_interpreter_ends_with_requests_in_flight(self) -> None:
        program = (
            "import numpy, partitiontuner as pt, sys\n"
            "queue = pt.RequestQueue(pt.Session(pt.Model(sys.argv[1], engine=pt.Engine(db='none'))))\n"
            "given = {'image': numpy.zeros((1, 3, 96, 96), numpy.float32)}\n"
            "requests = [queue.submit(given) for _ in range(50)]\n"
        )
        done = subprocess.run([sys.executable, "-c", program, str(self.model_path)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
