"""What is measured at each level: scenarios, shapes, contenders, rounds.

Pure: lists of Groups, nothing is run here.
"""

import dataclasses
import random

from compare.sections import RATES, READER, shape_words

CEILINGS = ("pg_recvlogical", READER, "produce")
SMOKE = ("walpost", "polling-claim-100ms", "naive-100ms")
TUNED = ("walpost", "naive-100ms", "debezium-tuned")
SMALL = "debezium-small"
RELAYS = (*TUNED, SMALL, "debezium")
# walpost in its other ways: exactly once, and without the WAL.
NOTIFIED = "polling-claim-notify"
OTHER_WAYS = ("walpost-once", NOTIFIED)
# Each strategy in the full matrix, and with --polling.
STRATEGIES = ("claim", "claim-leases", "delete", "cursor")
POLLING = tuple(f"polling-{strategy}-100ms" for strategy in STRATEGIES)
INTERVALS = ("1000ms", "100ms", "10ms", "notify")
EVENTS = ("nothing", "row", "row-polled", "row-notify", "message",
          "message-returning")


@dataclasses.dataclass(frozen=True)
class Group:
    """Contenders that are compared with each other in one scenario."""

    scenario: str
    shape: dict
    contenders: tuple
    rounds: int

    def order(self, dice):
        """(round, contender) of every run, each round shuffled by itself."""
        for number in range(1, self.rounds + 1):
            for name in dice.sample(self.contenders, len(self.contenders)):
                yield number, name

    def title(self):
        words = shape_words(self.shape)
        return f"{self.scenario}: {words}" if words else self.scenario


def _drain(rows, per_transaction, payload_bytes, relays, rounds):
    return Group("drain", {"rows": rows, "per_transaction": per_transaction,
                           "payload_bytes": payload_bytes},
                 (*relays, *CEILINGS), rounds)


def _smoke():
    return [
        _drain(20_000, 100, 250, SMOKE, 1),
        Group("rate", {"rate": 500, "warm_up_s": 2, "seconds": 4}, SMOKE, 1),
        Group("cold_start", {}, SMOKE, 1),
        Group("insert", {"seconds": 2}, ("nothing", "message"), 1),
    ]


def _short():
    return [
        _drain(200_000, 100, 250, RELAYS, 1),
        *_steady(RELAYS, rounds=1, warm_up_s=10, seconds=10),
        Group("cold_start", {}, RELAYS, 1),
        Group("recovery", {"before_s": 8, "after_s": 20}, RELAYS, 1),
        Group("insert", {"seconds": 5}, EVENTS, 1),
    ]


def _core():
    """What fits into two hours of two cores; see minutes().

    Five rounds, of which a median can be told, where the summary's figures come
    from; elsewhere three, of which each value is shown.
    """
    return [
        _drain(300_000, 100, 250, (*RELAYS, *OTHER_WAYS), 5),
        *_steady((*RELAYS, *OTHER_WAYS), rounds=5, warm_up_s=10, seconds=20,
                 rates=(1000,)),
        *_steady((*TUNED, SMALL), rounds=5, warm_up_s=10, seconds=20,
                 rates=(3000,)),
        *_steady(TUNED, rounds=5, warm_up_s=10, seconds=20, rates=(100,)),
        Group("cold_start", {}, (*RELAYS, NOTIFIED), 3),
        Group("recovery", {"before_s": 10, "after_s": 25},
              (*TUNED, "debezium", *OTHER_WAYS), 3),
        _drain(200_000, 1, 250, TUNED, 3),
        _drain(300_000, 300_000, 250, TUNED, 3),
        _drain(200_000, 100, 1_000, TUNED, 3),
        _drain(50_000, 100, 10_000, TUNED, 3),
        *_database((*TUNED, NOTIFIED), rounds=3, seconds=15),
    ]


def _full():
    relays = (*RELAYS, "walpost-once", "naive-1000ms", "naive-10ms")
    return [
        *(_drain(2_000_000, per_transaction, 250, relays, 5)
          for per_transaction in (100, 1, 10, 1_000, 1_000_000)),
        _drain(1_000_000, 100, 1_000, relays, 5),
        _drain(200_000, 100, 10_000, relays, 5),
        *_steady((*relays, READER), rounds=5, warm_up_s=60, seconds=60,
                 rates=(*RATES, 500, 2000, 5000, 10_000)),
        Group("cold_start", {}, relays, 5),
        Group("recovery", {"before_s": 30, "after_s": 60}, relays, 5),
        *_database(relays, rounds=5, seconds=60),
        *_held_snapshot(relays, rounds=5, seconds=600),
        Group("sustainable", {"warm_up_s": 30, "seconds": 60}, relays, 3),
    ]


def _steady(relays, rounds, warm_up_s, seconds, rates=RATES):
    return [Group("rate", {"rate": rate, "warm_up_s": warm_up_s,
                           "seconds": seconds}, relays, rounds)
            for rate in rates]


def _held_snapshot(relays, rounds, seconds):
    return [Group("held_snapshot",
                  {"rate": 2000, "warm_up_s": 10, "seconds": seconds,
                   "held": held}, relays, rounds)
            for held in (0, 1)]


def _database(relays, rounds, seconds):
    return [
        Group("insert", {"seconds": seconds}, EVENTS, rounds),
        Group("neighbour", {"seconds": seconds}, ("none", *relays), rounds),
        Group("idle", {"seconds": seconds}, relays, rounds),
    ]


WARM_UP_S = {"smoke": 3, "short": 60, "core": 90, "full": 300}
LEVELS = {"smoke": _smoke, "short": _short, "core": _core, "full": _full}


def groups(level, only=(), contenders=(), rounds=None, rows=None,
           polling=False):
    """The level's groups, narrowed down or widened as the command line asks."""
    chosen = []
    for group in LEVELS[level]():
        if only and group.scenario not in only:
            continue
        names = group.contenders
        if (polling or level == "full") and group.scenario != "insert":
            names = tuple(dict.fromkeys(
                (*names, *polling_names(level, group.scenario))))
        if contenders and group.scenario != "insert":
            names = tuple(dict.fromkeys((*contenders, *_baseline(group))))
            if group.scenario != "drain":
                names = tuple(n for n in names if n not in CEILINGS
                              or (n, group.scenario) == (READER, "rate"))
        shape = dict(group.shape)
        if rows and "rows" in shape:
            shape["rows"] = rows
            shape["per_transaction"] = min(shape["per_transaction"], rows)
        if names:
            chosen.append(Group(group.scenario, shape, names,
                                rounds or group.rounds))
    return chosen


def polling_names(level, scenario):
    """A backlog does not wait for an interval: one is enough to drain it."""
    every = level == "full" and scenario != "drain"
    if not every:
        return POLLING
    return tuple(f"polling-{strategy}-{interval}" for strategy in STRATEGIES
                 for interval in INTERVALS)


def _baseline(group):
    return [name for name in group.contenders if name == "none"]


def runs(plan):
    return sum(group.rounds * len(group.contenders) for group in plan)


# Seconds of a run beside its shape's own, as the raw files of November 2026 have
# them; a JVM takes longer to start, and to drain.
_SECONDS = {"drain": 12, "rate": 5, "cold_start": 4, "recovery": 6, "insert": 5,
            "neighbour": 7, "idle": 9, "held_snapshot": 6, "sustainable": 100}
_SECONDS_OF_A_JVM = 11
_ROWS_PER_SECOND = {"debezium": 30_000, "polling": 13_000, "naive": 30_000}


def minutes(plan):
    """How long these groups take on two cores, to within a tenth."""
    seconds = sum(group.rounds * sum(_run_seconds(group, name)
                                     for name in group.contenders)
                  for group in plan)
    return (seconds + sum(60 for group in plan if group.scenario == "drain")) / 60


def _run_seconds(group, name):
    shape, kind = group.shape, name.partition("-")[0]
    if group.scenario == "drain":
        if name in CEILINGS:
            return 8
        rows = shape["rows"] * max(1, shape["payload_bytes"] // 2000)
        own = rows / _ROWS_PER_SECOND.get(kind, 100_000)
    else:
        own = sum(value for key, value in shape.items()
                  if key in ("warm_up_s", "seconds", "before_s", "after_s"))
    jvm = _SECONDS_OF_A_JVM if kind == "debezium" else 0
    return own + _SECONDS[group.scenario] + jvm


def dice(seed):
    return random.Random(seed)
