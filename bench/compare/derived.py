"""Columns that follow from others of the same row. Pure.

They are computed where figures are read, so that older files have them, too.
"""

_ROLES = ("relay", "walsender", "backends", "broker")
_UNITS = ("cpu_s_per_million", "cpu", "ms_per_s")

# A rate is held by who is offered and delivers so much of it. pgbench draws its
# schedule by chance: at 100 events a second it is itself some per cent off.
HELD = 0.95


def with_derived(row):
    """The row, and what everybody together spent and what rate it reached."""
    return {
        **row,
        **{f"all_{unit}": total for unit in _UNITS
           if (total := _total(row, unit)) is not None},
        **_reached(row),
    }


def missed_rate(rows):
    """The spread of the rates that a contender reached at one rate; None if it
    held the rate, or was not asked to.
    """
    reached = rows.spread("reached_per_s")
    if not reached or reached.median >= HELD * rows.valid().rows[0]["rate"]:
        return None
    return reached


def _total(row, unit):
    """None where not everybody was watched."""
    parts = [row.get(f"{role}_{unit}") for role in _ROLES]
    return None if None in parts else sum(parts)


def _reached(row):
    """The load that was offered and the records that arrived, per second; the
    lower of the two is what was reached.

    A contender that falls behind needs longer than the load for all of it.
    """
    offered, late_s = row.get("achieved_per_s"), row.get("catch_up_s")
    if offered is None or row.get("rate") is None:
        return {}
    arrived = None
    if late_s is not None and row.get("seconds") is not None:
        arrived = row["events"] / (row["warm_up_s"] + row["seconds"] + late_s)
    return {"arrived_per_s": arrived,
            "reached_per_s": min(offered, arrived or offered)}
