"""Measured figures, which pytest prints at the end of a run."""

import os

_noted = []


def note(text):
    """Keeps a line for the end of the run, under the name of the test."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[-1]
    _noted.append(f"{test.split(' ')[0]}: {text}")


def noted():
    return list(_noted)
