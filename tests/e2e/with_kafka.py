"""Runs a command beside a broker for all of its tests:

    tests/e2e/with_kafka.py ctest ...

The tests that harm no broker find it in WALPOST_BROKERS, instead of starting one
for each file. It ends with this program, however that ends.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from harness import Kafka  # noqa: E402


def main(command):
    if os.environ.get("WALPOST_BROKERS"):
        return subprocess.call(command)
    # So that it, too, ends the broker in an orderly way.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="walpost-e2e-"))
    broker = None
    try:
        broker = Kafka(folder / "kafka", jvm=["-Xmx1g"]).start()
        return subprocess.call(command, env={
            **os.environ, "WALPOST_BROKERS": broker.bootstrap})
    finally:
        if broker is not None:
            broker.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
