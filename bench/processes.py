"""What processes and the machine have spent, as /proc tells."""

import os
import pathlib
import re

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of all threads; None when it has ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def peak_memory(pid):
    """The most it has been resident with, in bytes; 0 when it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def machine_cpu_seconds():
    """(busy, all) of all cores since boot; waiting for a disk is idle."""
    first = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0]
    ticks = [int(field) for field in first.split()[1:9]]
    idle = ticks[3] + ticks[4]
    return ((sum(ticks) - idle) / _TICKS_PER_SECOND,
            sum(ticks) / _TICKS_PER_SECOND)


def children(pid):
    listing = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listing.read_text().split()]


def child_named(name):
    """The pid of our own child that runs this program."""
    for pid in children(os.getpid()):
        if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name:
            return pid
    raise RuntimeError(f"no child process {name}")
