"""The tests of the packages and of the chart use the harness of tests/e2e."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
