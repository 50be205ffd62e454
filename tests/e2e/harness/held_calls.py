"""System calls of a program that hang for as long as a test likes."""

import os
import pathlib
import subprocess

_SOURCE = pathlib.Path(__file__).parents[1] / "preload" / "held_calls.c"


class HeldCalls:
    """Start the program with `env`; then hold() and release() calls.

    `names`: look-ups of host names, as before silent name servers. `fsync`: as
    on a disk that hangs.
    """

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        library = self._directory / "held_calls.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, _SOURCE,
                        "-ldl"], check=True)
        self.env = {"LD_PRELOAD": str(library),
                    "WALPOST_HELD_CALLS": str(self._directory)}

    def hold(self, call):
        (self._directory / call).touch()

    def release(self, call):
        os.remove(self._directory / call)
