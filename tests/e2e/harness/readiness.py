"""What /readyz says all the while."""

import threading


class Readiness:
    """Asks a relay again and again whether it is ready.

        with Readiness(relay) as readiness:
            ...
        readiness.assert_always_ready()
    """

    def __init__(self, relay, pause=0.1):
        self._relay = relay
        self._pause = pause
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.answers = []  # of (status, text), each change once

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def assert_always_ready(self):
        refused = [answer for answer in self.answers if answer[0] != 200]
        assert self.answers and not refused, refused

    def _watch(self):
        while not self._end.wait(self._pause):
            answer = self._relay.get("/readyz")
            if self.answers[-1:] != [answer]:
                self.answers.append(answer)
