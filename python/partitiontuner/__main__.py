"""Where the package keeps what C++ projects build with: `python -m partitiontuner --cmake-dir`."""

from __future__ import annotations

import argparse

from . import __version__
from ._tools import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m partitiontuner", description=__doc__)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--version", action="version", version=__version__)
    asked.add_argument(
        "--cmake-dir", action="store_const", dest="path", const=ROOT / "lib" / "cmake" / "partitiontuner",
        help="print the folder of the CMake package, for -Dpartitiontuner_DIR=",
    )
    asked.add_argument(
        "--include-dir", action="store_const", dest="path", const=ROOT / "include",
        help="print the folder of the headers",
    )
    asked.add_argument(
        "--bin-dir", action="store_const", dest="path", const=ROOT / "bin", help="print the folder of the programs"
    )
    print(parser.parse_args().path)


if __name__ == "__main__":
    main()
