"""Log sequence numbers."""


def lsn(text):
    """The number behind Postgres' `X/X`; None stays None."""
    if text is None:
        return None
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)
