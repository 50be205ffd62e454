"""One direction of a connection through the Proxy."""

import collections
import time

# As much as a kernel's buffer, so that a slow receiver is felt by the sender.
_MOST_HELD = 1 << 18


class Flow:
    """Bytes from the socket `source` to the socket `target`, held between."""

    def __init__(self, source, target, from_client):
        self.target = target
        self.from_client = from_client
        self.dropped = False
        self._source = source
        self._held = collections.deque()  # of (when due, bytes)
        self._size = 0
        self._blocked = False
        self._ended = False

    def held(self):
        return bool(self._held)

    def due(self):
        return self._held[0][0]

    def is_full(self):
        return self._ended or self._size >= _MOST_HELD

    def is_blocked(self):
        """Whether `target` takes nothing more at the moment."""
        return self._blocked

    def drop(self):
        self.dropped = True
        self._held.clear()
        self._size = 0
        self._blocked = False

    def end_when_written(self):
        self._ended = True

    def read(self, delay):
        """Takes what has arrived; False at the end of the stream."""
        try:
            data = self._source.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if data and not self.dropped:
            self._held.append((time.monotonic() + delay, data))
            self._size += len(data)
        return bool(data)

    def write(self, largest_piece, dice):
        """Passes on what is due; False when the connection is over."""
        self._blocked = False
        until = time.monotonic() + 0.01  # then it is the others' turn
        while self._held and self._held[0][0] <= time.monotonic() < until:
            due, data = self._held.popleft()
            piece = (data[:dice.randint(1, largest_piece)] if largest_piece
                     else data)
            sent = self._send(piece)
            if sent is None:
                return False
            self._size -= sent
            if sent < len(data):
                self._held.appendleft((due, data[sent:]))
            if sent < len(piece):
                self._blocked = True
                break
        return not (self._ended and not self._held)

    def _send(self, piece):
        try:
            return self.target.send(piece)
        except BlockingIOError:
            return 0
        except OSError:
            return None
