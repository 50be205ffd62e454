"""Free loopback ports."""

import socket


def free_port():
    """A TCP port on 127.0.0.1 that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
