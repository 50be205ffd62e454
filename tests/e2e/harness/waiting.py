"""Waiting with a deadline."""

import time


def wait_until(condition, what, seconds=30, pause=0.05):
    """Calls `condition` until it is truthy and returns its result.

    `what` completes the sentence of the failure: "waited 30 s for <what>". It
    may be a function, called only then.
    """
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            text = what() if callable(what) else what
            raise TimeoutError(f"waited {seconds} s for {text}")
        time.sleep(pause)
