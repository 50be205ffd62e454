"""From polling to the WAL and back while services write (docs/polling.md)."""

import threading
import time

import pytest

from harness import note, run_sql_file
from harness.polled import PolledOutbox, assert_delivered
from harness.waiting import wait_until

_PAUSE_S = 0.02
_ROWS = 5  # in a statement


class Writer:
    """Inserts on a connection of its own until it is told to end."""

    def __init__(self, polled):
        self._polled = polled
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join(60)

    def _write(self):
        # One writer: its numbers are drawn in the order of its commits.
        connection = self._polled.database.connect()
        connection.autocommit = True
        with connection.cursor() as cursor:
            while not self._end.wait(_PAUSE_S):
                self._polled.insert(_ROWS, aggregates=3, cursor=cursor)
        connection.close()


@pytest.fixture
def polled(database):
    return PolledOutbox(database)


def _mark_published(database, slot):
    database.execute("call public.outbox_mark_published(%s)", (slot,))


def _rows(database):
    return database.value("select count(*) from outbox")


def _nothing_pending_of_before(database):
    """What the recipe asks: a look that waits for no row that comes later."""
    last = database.value("select max(sequence) from outbox")
    return lambda: database.value(
        "select count(*) from outbox where sequence <= %s and status in "
        "('pending', 'processing')", (last,)) == 0


def test_p1_p3_from_polling_to_the_wal_and_back(
        polled, walpost, database, kafka, topics, reader):
    poller = walpost(database, kafka, topics, **polled.sections())
    streamer = walpost(database, kafka, topics)
    poller.run()
    with Writer(polled):
        time.sleep(1)

        # The slot first: from now on the WAL keeps every commit. What was
        # committed before it is the poller's.
        init = streamer.verb("init")
        assert init.returncode == 0, init.stderr
        begin = _rows(database)
        wait_until(_nothing_pending_of_before(database),
                   "the poller to come so far")
        assert poller.stop() == 0
        twice = _rows(database) - begin
        streamer.run()
        time.sleep(2)

        # And back.
        run_sql_file(database, "outbox_mark_published.sql")
        _mark_published(database, streamer.slot)
        begin = _rows(database)
        assert streamer.stop() == 0
        twice += _rows(database) - begin
        poller.run()
        time.sleep(1)
    polled.wait_published()
    # Two looks at the table may each lie a few statements beside the moment
    # that they are taken for.
    most = twice + 20 * _ROWS
    duplicates = assert_delivered(polled.expected(), reader.read_all(topics),
                                  most)
    note(f"{_rows(database)} rows, {duplicates} duplicates, at most {most}")


@pytest.mark.long
def test_marking_without_a_slot_marks_nothing(polled, database):
    run_sql_file(database, "outbox_mark_published.sql")
    polled.insert(10)
    with pytest.raises(Exception, match="there is no slot nobody"):
        _mark_published(database, "nobody")
    assert polled.counts() == {"pending": 10}
