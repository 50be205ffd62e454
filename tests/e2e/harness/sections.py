"""Sections of configurations."""

import copy


def laid_over(base, changes):
    """A copy of `base` with other values; None removes a key."""
    result = copy.deepcopy(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = laid_over(result[key], value)
        else:
            result[key] = value
    return result


def outbox_table(**table):
    """The usual table, and more about it."""
    return {"outbox": {"tables": [{"name": "public.outbox", **table}]}}


def outbox_tables(*names):
    return {"outbox": {"tables": [{"name": name} for name in names]}}


def kafka_properties(**properties):
    """`linger__ms` is linger.ms."""
    return {"kafka": {"properties": {
        name.replace("__", "."): value
        for name, value in properties.items()}}}
