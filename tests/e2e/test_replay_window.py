"""The replay window: how far the guard slot stays behind, and no further."""

import subprocess
import time

import pytest

from harness import wait_until

_MIB = 1 << 20


def _guard(database):
    return database.confirmed_lsn(database.name + "_guard")


def _text(number):
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def _half_a_mib(database):
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "select 'order', 'key-' || n % 9, to_jsonb(repeat('x', 500)) "
        "from generate_series(1, 700) n")
    database.wait_confirmed(database.name)


def test_it_is_bounded_while_a_slow_replay_runs(walpost, database, kafka,
                                                outbox, topics):
    assert outbox
    relay = walpost(database, kafka, topics, replay={"window": "1MiB"}).run()
    begin = _guard(database)
    _half_a_mib(database)
    events = 700
    replay = subprocess.Popen(
        relay.command("replay", "--from-lsn", _text(begin), "--rate", "100/s",
                      "--topic-prefix", "again."),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: database.execute(
            "select 1 from pg_replication_slots where temporary and active "
            "and database = %s", (database.name,)), "the copy of the slot")
        # Three windows of live flow meanwhile.
        for _ in range(6):
            _half_a_mib(database)
        wait_until(lambda: database.confirmed_lsn(database.name)
                   - _guard(database) < 1.3 * _MIB, "the guard slot to follow")
        assert _guard(database) > begin + _MIB
        assert replay.poll() is None, "it was too fast"
        # What the replay reads stays, all the same.
        output, errors = replay.communicate(timeout=120)
    finally:
        replay.kill()
    assert replay.returncode == 0, errors
    assert output.startswith(f"{events} events replayed"), output
    said = relay.verb("replay", "--from-lsn", _text(begin))
    assert said.returncode == 3 and "left to replay from" in said.stderr


@pytest.mark.long
def test_a_time_keeps_more_than_the_bytes(walpost, database, kafka, outbox,
                                          topics):
    assert outbox
    seconds = 6
    relay = walpost(database, kafka, topics, replay={
        "window": "64KiB", "window_time": f"{seconds}s"}).run()
    begin = _guard(database)
    confirmed = []  # when, and what
    until = time.monotonic() + 3 * seconds
    while time.monotonic() < until:
        _half_a_mib(database)
        confirmed.append((time.monotonic(),
                          database.confirmed_lsn(database.name)))
        guard = _guard(database)
        now = time.monotonic()
        # All that was confirmed within the time can be replayed.
        old = [lsn for at, lsn in confirmed if now - at >= seconds]
        assert guard <= (max(old) if old else begin)
        time.sleep(0.3)
    assert _guard(database) > begin, "it never moved"
    # And no more than that: idle, the bytes alone are left.
    wait_until(lambda: database.confirmed_lsn(database.name)
               - _guard(database) < 3 * 64 * 1024, "the guard slot to follow",
               seconds=6 * seconds)
    assert relay.stop() == 0
