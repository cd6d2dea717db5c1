"""What the package is made of: errors, programs, the CMake package, and other users of ONNX in the process."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import partitiontuner as pt
from partitiontuner import _core, errors


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


class Errors(unittest.TestCase):
    def test_each_exit_code_has_a_class(self) -> None:
        self.assertEqual(sorted(errors._KINDS), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 130])
        for code, kind in errors._KINDS.items():
            self.assertTrue(issubclass(kind, pt.Error))
            self.assertEqual(kind.exit_code, code)

    def test_errors_say_what_where_and_what_to_do(self) -> None:
        with self.assertRaises(pt.InvalidInputError) as caught:
            pt.Model("/no/such/file.onnx", engine=pt.Engine(db="none"))
        self.assertIn("/no/such/file.onnx", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(pt.DeviceUnusableError):
            pt.Engine(db="none", devices=["tpu:0"])
        with self.assertRaises(pt.InvalidInputError):
            pt.Plan.from_json("{}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "text.onnx"
            path.write_text("not a model")
            with self.assertRaises(pt.InvalidInputError) as caught:
                pt.Model(path, engine=pt.Engine(db="none"))
            self.assertIn("text.onnx", str(caught.exception))


class Stubs(unittest.TestCase):
    """mypy's stubtest does not take the functions of extension modules like ours for functions."""

    def test_they_name_what_the_extension_module_has(self) -> None:
        def names(owner: object) -> set[str]:
            return {name for name in vars(owner) if not name.startswith("_")}

        stub = ast.parse((Path(pt.__file__).parent / "_core.pyi").read_text())
        classes = {each.name: each for each in stub.body if isinstance(each, ast.ClassDef)}
        functions = {each.name for each in stub.body if isinstance(each, ast.FunctionDef)}
        self.assertEqual(set(classes) | functions | {"version"}, names(_core))
        for name, declared in classes.items():
            members = {each.name for each in declared.body if isinstance(each, ast.FunctionDef)}
            self.assertEqual(members, names(getattr(_core, name)), name)


class Installed(unittest.TestCase):
    def test_the_programs_run(self) -> None:
        for program in ("pt-profile", "pt-plan", "pt-run"):
            script = Path(sys.executable).parent / program
            done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
            self.assertIn(pt.__version__, done.stdout)
            failed = subprocess.run([script, "--no-such-flag"], capture_output=True, text=True, check=False)
            self.assertEqual(failed.returncode, 2)

    def test_the_folders_that_are_printed_hold_what_they_should(self) -> None:
        for flag, file in (
            ("--cmake-dir", "partitiontuner-config.cmake"),
            ("--include-dir", "partitiontuner/partitiontuner.h"),
            ("--bin-dir", "pt-run"),
        ):
            done = python("-m", "partitiontuner", flag)
            self.assertTrue((Path(done.stdout.strip()) / file).exists(), flag)
        self.assertEqual(python("-m", "partitiontuner", "--version").stdout.strip(), pt.__version__)
        self.assertEqual(python("-m", "partitiontuner").returncode, 2)

    def test_other_users_of_onnx_in_the_process_in_every_order(self) -> None:
        others = [name for name in ("onnx", "onnxruntime") if python("-c", f"import {name}").returncode == 0]
        if not others:
            self.skipTest("neither onnx nor onnxruntime is installed beside the package")
        work = "partitiontuner.Engine(db='none')"
        for other in others:
            for order in (f"import {other}, partitiontuner", f"import partitiontuner; {work}; import {other}"):
                done = python("-c", f"{order}; {work}")
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
