"""Free loopback ports."""

import pathlib
import random
import socket

_LOWEST = 10_000
_dice = random.SystemRandom()
_held = []  # until this process ends


def free_port():
    """A TCP port on 127.0.0.1 that nobody listens on, nor will by chance.

    It lies below those that the kernel gives to outgoing connections, which may
    take it before a server has started; and no other test process is given it,
    for this one holds a name for it.
    """
    for _ in range(1000):
        port = _dice.randrange(_LOWEST, _first_ephemeral())
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind(f"\0walpost-test-port-{port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            name.close()
            continue
        _held.append(name)
        return port
    raise RuntimeError("no free port on 127.0.0.1")


def is_open(address):
    """Whether somebody listens at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def _first_ephemeral():
    limits = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    return max(int(limits.split()[0]), _LOWEST + 10_000)
