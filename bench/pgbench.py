"""pgbench, and what it says of a run."""

import re

from harness.paths import postgres_bin

# Of pgbench to the server.
CONNECTIONS = 4


def postgres_program(name):
    return str(postgres_bin() / name)


def command(script, conninfo, seconds, rate=None, variables=None):
    """As fast as it goes; or `rate` transactions a second on a schedule that
    was fixed beforehand: a slow moment makes it late, never slower.
    """
    options = [] if rate is None else ["-R", str(rate)]
    for name, value in (variables or {}).items():
        options += ["-D", f"{name}={value}"]
    return [postgres_program("pgbench"), "-n", "-f", str(script), "-c",
            str(CONNECTIONS), "-j", "1", "-M", "prepared", *options, "-T",
            str(seconds), conninfo]


def transactions(said):
    return int(re.search(r"actually processed: (\d+)", said)[1])


def per_second(said):
    return float(re.search(r"tps = ([\d.]+)", said)[1])


def latency_ms(said):
    return float(re.search(r"latency average = ([\d.]+)", said)[1])


def lateness_ms(said):
    """(mean, worst) behind the schedule."""
    late = re.search(r"schedule lag: avg ([\d.]+) \(max ([\d.]+)\) ms", said)
    return float(late[1]), float(late[2])
