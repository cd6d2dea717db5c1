"""Writes the node cases of the installed onnx package: FOLDER/node/test_NAME/{model.onnx, test_data_set_0/*.pb}.

usage: make_cases.py FOLDER

They are what the ONNX project publishes for each operator: one model, its inputs and its expected outputs, computed
by numpy. The same versions of onnx and numpy give the same bytes. ./setup calls this.
"""
import argparse
import sys
import warnings

from onnx.backend.test import cmd_tools
from onnx.backend.test.case import node


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")  # cases divide by zero and overflow on purpose
    cmd_tools.model_test = node  # generate_data asks this module for its cases; by default the models, not the nodes
    cmd_tools.generate_data(argparse.Namespace(output=sys.argv[1]))


main()
