"""Arrays in and out: whose memory it is, types, layouts, strings, sequences and optional values."""

from __future__ import annotations

import gc
import unittest

import numpy as np

import partitiontuner as pt
from support import WithExample, node_case

ENGINE = pt.Engine(db="none")


def session_of(case: str) -> pt.Session:
    return pt.Session(pt.Model(node_case(case), engine=ENGINE))


class Memory(WithExample):
    def setUp(self) -> None:
        self.session = pt.Session(self.load())
        self.image = np.random.default_rng(2).random((1, 3, 96, 96), np.float32)
        self.expected = self.session.run({"image": self.image})

    def test_outputs_are_written_to_arrays_of_the_caller(self) -> None:
        (name, expected), = self.expected.items()
        mine = np.full((1, 10), -1, np.float32)
        outputs = self.session.run({"image": self.image}, {name: mine})
        self.assertIs(outputs[name], mine)
        np.testing.assert_array_equal(mine, expected)

    def test_outputs_outlive_their_session(self) -> None:
        (name, expected), = self.expected.items()
        copy = expected.copy()
        self.session = None  # type: ignore[assignment]
        gc.collect()
        np.testing.assert_array_equal(expected, copy)
        expected[:] = 7  # and belong to the caller

    def test_views_and_read_only_arrays_are_inputs(self) -> None:
        wide = np.zeros((1, 96, 96, 6), np.float32)
        view = wide[..., ::2].transpose(0, 3, 1, 2)
        view[...] = self.image
        read_only = self.image.copy()
        read_only.flags.writeable = False
        for image in (view, read_only, np.asfortranarray(self.image)):
            for name, array in self.session.run({"image": image}).items():
                np.testing.assert_array_equal(array, self.expected[name])

    def test_outputs_that_are_no_plain_arrays_are_refused(self) -> None:
        (name, _), = self.expected.items()
        read_only = np.zeros((1, 10), np.float32)
        read_only.flags.writeable = False
        for output in (read_only, np.zeros((1, 20), np.float32)[:, ::2], [0.0] * 10):
            with self.assertRaisesRegex(pt.InvalidInputError, "not a writable, contiguous array"):
                self.session.run({"image": self.image}, {name: output})

    def test_what_does_not_fit_is_refused_with_the_name(self) -> None:
        with self.assertRaisesRegex(pt.InvalidInputError, "image"):
            self.session.run({"image": self.image.astype(np.float64)})
        with self.assertRaisesRegex(pt.InvalidInputError, "image"):
            self.session.run({"image": self.image[:, :2]})
        with self.assertRaisesRegex(pt.InvalidInputError, 'no input "imagge"; did you mean "image"'):
            self.session.run({"imagge": self.image})
        with self.assertRaisesRegex(pt.InvalidInputError, '"image" is missing'):
            self.session.run({})
        with self.assertRaisesRegex(pt.InvalidInputError, "str is not an array of numbers"):
            self.session.run({"image": "zeros"})


class Types(unittest.TestCase):
    def test_every_type_of_numpy_goes_through(self) -> None:
        for case, dtype in (
            ("test_cast_FLOAT_to_DOUBLE", np.float64),
            ("test_cast_FLOAT_to_FLOAT16", np.float16),
            ("test_isnan", np.bool_),
            ("test_shape", np.int64),
        ):
            session = session_of(case)
            (info,) = pt.Model(node_case(case), engine=ENGINE).inputs
            shape = tuple(dim for dim in info.shape or () if isinstance(dim, int))
            (output,) = session.run({info.name: np.ones(shape, info.dtype)}).values()
            self.assertEqual(output.dtype, dtype, case)

    def test_types_that_numpy_lacks_speak_dlpack(self) -> None:
        session = session_of("test_cast_FLOAT_to_BFLOAT16")
        (output,) = session.run({"input": np.array([[0, 1, 2, 3]] * 3, np.float32)}).values()
        self.assertEqual(output.__dlpack_device__(), (1, 0))
        self.assertTrue(hasattr(output, "__dlpack__"))
        back = session_of("test_cast_BFLOAT16_to_FLOAT").run({"input": output})
        np.testing.assert_array_equal(back["output"], [[0, 1, 2, 3]] * 3)

    def test_strings(self) -> None:
        session = session_of("test_string_concat")
        for x in (np.array(["abc", "ä"]), np.array(["abc", "ä"], object), ["abc", "ä"]):
            (output,) = session.run({"x": x, "y": ["d", "e"]}).values()
            self.assertEqual(output.tolist(), ["abcd", "äe"])
        with self.assertRaisesRegex(pt.InvalidInputError, "several depths|several lengths|str is expected"):
            session.run({"x": ["abc", ["d"]], "y": ["d", "e"]})

    def test_sequences(self) -> None:
        session = session_of("test_sequence_insert_at_front")
        names = [info.name for info in pt.Model(node_case("test_sequence_insert_at_front"), engine=ENGINE).inputs]
        rows = [np.array([1, 2, 3], np.int64), np.array([4, 5], np.int64)]
        given = dict(zip(names, (rows, np.array([7, 8, 9], np.int64), np.array([0], np.int64))))
        (output,) = session.run(given).values()
        self.assertEqual([row.tolist() for row in output], [[7, 8, 9], [1, 2, 3], [4, 5]])

    def test_sizes_known_only_at_run_time(self) -> None:
        session = session_of("test_nonzero_example")
        (output,) = session.run({"condition": np.array([[1, 0], [1, 1]], np.bool_)}).values()
        self.assertEqual(output.tolist(), [[0, 1, 1], [0, 0, 1]])
        before = output.copy()
        session.run({"condition": np.ones((2, 2), np.bool_)})
        np.testing.assert_array_equal(output, before)


if __name__ == "__main__":
    unittest.main()
