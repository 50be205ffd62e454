"""What is noted of rows that cannot be sent, however odd they are."""

import pytest

from harness.polled import PolledOutbox, assert_delivered
from harness.waiting import wait_until

# Too long for a topic, and so long that the message does not have all of it.
_LONG = "\u20ac" * 300


def _refuse(polled, relay):
    """Inserts a row that is refused until it is failed; returns why."""
    bad = polled.database.value(
        "insert into outbox (aggregate_type, aggregate_id, payload) "
        "values (%s, 'x', '{}') returning id", (_LONG,))
    polled.insert(20)
    wait_until(lambda: polled.counts() == {"published": 20, "failed": 1},
               lambda: f"one to be failed: {polled.counts()}\n{relay.log()}",
               60)
    return polled.database.value(
        "select last_error from outbox where id = %s", (bad,))


@pytest.mark.long
def test_a_reason_is_cut_between_two_characters(
        database, walpost, kafka, topics):
    polled = PolledOutbox(database)
    # 498 bytes of the topic are told of; each of these has three of them.
    relay = walpost(database, kafka, topics,
                    route={"topic": topics + "x{aggregate_type}"},
                    **polled.sections(max_attempts=2)).run()
    reason = _refuse(polled, relay)
    assert "\u20ac\u20ac" in reason and "is not a topic name" in reason, reason
    assert (498 - len(topics) - 1) % 3 != 0, "nothing was cut in two"


@pytest.mark.parametrize("lease", [True, False], ids=["lease", "lock"])
@pytest.mark.long
def test_a_reason_is_cut_to_what_its_column_takes(
        database, walpost, kafka, topics, reader, lease):
    """Otherwise nothing could be noted, and what was sent with it would be
    sent again and again."""
    polled = PolledOutbox(database)
    database.execute("alter table outbox alter last_error type varchar(40)")
    sections = polled.sections(max_attempts=2)
    if not lease:
        table, = sections["outbox"]["tables"]
        table["state"] = {**table["state"], "locked_until": ""}
    relay = walpost(database, kafka, topics, **sections).run()
    assert len(_refuse(polled, relay)) == 40
    expected = [row for row in polled.expected() if "\u20ac" not in row[1]]
    assert_delivered(expected, reader.read_all(topics))
    assert relay.metric("walpost_reconnects_total") == 0
