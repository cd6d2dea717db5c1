"""What tests share: the example network, and the published cases of ONNX's operators."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import partitiontuner as pt


def make_example(folder: Path) -> Path:
    """A network of branches, made by the program that is installed beside the package's library."""
    program = Path(pt.__file__).parent / "bin" / "pt-make-example"
    subprocess.run([program, folder], check=True, capture_output=True)
    return folder / "model.onnx"


def node_case(name: str) -> Path:
    """The model of a published case; $PARTITIONTUNER_NODE_CASES says where they are."""
    folder = os.environ.get("PARTITIONTUNER_NODE_CASES")
    if not folder:
        raise unittest.SkipTest("PARTITIONTUNER_NODE_CASES is not set: the published cases are not there")
    model = Path(folder) / name / "model.onnx"
    if not model.exists():
        raise FileNotFoundError(model)
    return model


class WithExample(unittest.TestCase):
    """Tests of the example on an engine with a database of their own."""

    folder: Path
    model_path: Path
    engine: pt.Engine

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.model_path = make_example(cls.folder / "example")
        cls.engine = pt.Engine(db=str(cls.folder / "profile.db"))

    def load(self) -> pt.Model:
        return pt.Model(self.model_path, engine=self.engine)
