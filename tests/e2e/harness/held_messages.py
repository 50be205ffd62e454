"""Requests and answers of Kafka's protocol that are on their way for long."""

import threading

_ANSWER_S = 10


class DelayedRequest:
    """A request whose client waits until a test lets it arrive."""

    def __init__(self, api_key):
        self.api_key = api_key
        self._kept = threading.Event()
        self._free = threading.Event()

    def is_kept(self):
        return self._kept.is_set()

    def deliver(self):
        self._free.set()

    def await_delivery(self):
        self._kept.set()
        self._free.wait()


class DelayedAnswer(DelayedRequest):
    """The broker has done what it was asked; its client waits for the answer."""


class LostRequest:
    """A request that its client takes for lost, and that is still on its way."""

    def __init__(self, api_key):
        self.api_key = api_key
        self.answered = threading.Event()
        self._kept = None

    def keep(self, frame, broker):
        self._kept = (frame, broker)

    def is_kept(self):
        return self._kept is not None

    def deliver(self):
        """It arrives, and the broker has answered it when this returns."""
        frame, broker = self._kept
        broker.sendall(frame)
        assert self.answered.wait(_ANSWER_S), "no answer to what came late"
