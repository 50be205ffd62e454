"""Who spends how much CPU time and memory, by role.

  relay       the contender's process
  walsender   of Postgres
  backends    of Postgres, that serve the contender's SQL
  broker      Kafka
  load        backends of everybody else: the load, the benchmark itself
  background  the rest of Postgres: checkpointer, WAL writer, autovacuum
"""

import pathlib
import time

from processes import (children, cpu_seconds, machine_cpu_seconds,
                       peak_memory)

# Contenders connect to Postgres as this role, so that their backends are known
# by the title of the process.
RELAY_ROLE = "relay"


class Watch:
    """Accounts from `mark()` to `close()`; call `sample()` often in between.

    A process that ends meanwhile is accounted up to the last sample. Peak
    memory is that of the relay's whole life.
    """

    def __init__(self, postmaster_pid, broker_pid):
        self._postmaster = postmaster_pid
        self._roles = {broker_pid: "broker"}
        self._spent = {}   # CPU seconds by pid
        self._before = {}  # the same at the mark
        self._begun = None
        self._machine_before = None
        self.peak_bytes = 0
        self.elapsed_s = None
        self.machine_busy = None
        self.mark()

    def follow(self, pid):
        """The contender's process."""
        self._roles[pid] = "relay"
        self.sample()

    def mark(self):
        """The accounts begin here."""
        self.sample()
        self._before = dict(self._spent)
        self._machine_before = machine_cpu_seconds()
        self._begun = time.monotonic()

    def sample(self):
        for pid in children(self._postmaster):
            if self._roles.get(pid) not in ("walsender", "backends"):
                self._roles[pid] = _role(pid)
        for pid, role in self._roles.items():
            spent = cpu_seconds(pid)
            if spent is not None:
                self._spent[pid] = spent
            if role == "relay":
                self.peak_bytes = max(self.peak_bytes, peak_memory(pid))

    def close(self):
        self.elapsed_s = time.monotonic() - self._begun
        self.sample()
        busy, total = (after - before for after, before in
                       zip(machine_cpu_seconds(), self._machine_before))
        self.machine_busy = busy / total if total else 0.0
        return self

    def cpu_s(self, role):
        """Between mark and close."""
        return sum(spent - self._before.get(pid, 0.0)
                   for pid, spent in self._spent.items()
                   if self._roles[pid] == role)

    def cores(self, *roles):
        """{"relay_cpu": ...}: on average, between mark and close."""
        return {f"{role}_cpu": self.cpu_s(role) / self.elapsed_s
                for role in roles}


def _role(pid):
    """By the title that Postgres gives its processes."""
    try:
        title = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    except (FileNotFoundError, ProcessLookupError):
        return "background"
    if title.startswith("postgres: walsender"):
        return "walsender"
    if title.startswith(f"postgres: {RELAY_ROLE} "):
        return "backends"
    # Clients' titles end with their address, "127.0.0.1(54321) idle".
    return "load" if "127.0.0.1(" in title else "background"
