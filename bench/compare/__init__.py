"""Everything that does walpost's job, side by side. Begin with __main__.py.

It stands on the harness of the end-to-end tests.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]
                       / "tests" / "e2e"))
