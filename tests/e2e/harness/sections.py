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
