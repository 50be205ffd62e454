"""Tables that are polled, and what their rows say."""

from harness.sql_files import run_sql_file
from harness.waiting import wait_until

# The state of sql/outbox_polling.sql.
STATE = {
    "status": "status", "published_at": "published_at",
    "locked_until": "locked_until", "attempts": "attempts",
    "last_error": "last_error", "next_attempt_at": "next_attempt_at",
}

# A table that is read and never written, for strategy `cursor`.
EVENTS = """
create table events (
  id uuid primary key default gen_random_uuid(),
  seq bigserial unique,
  aggregate_type text not null default 'order',
  aggregate_id text not null,
  payload text not null default '{}',
  created_at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id()
);
create index on events (transaction_id, seq);
create index on events (created_at);
"""


def events_sections(**polling):
    """The configuration that polls EVENTS."""
    return {
        "source": "polling",
        "polling": {"strategy": "cursor", "interval": "20ms",
                    "retry_backoff": "100ms", "retry_backoff_max": "500ms",
                    **polling},
        "outbox": {"tables": [{"name": "public.events", "order_by": "seq",
                               "state": {"transaction_id":
                                         "transaction_id"}}]}}


class PolledOutbox:
    """`public.outbox` of sql/outbox_polling.sql in a database.

    `leases` says where they are: in a "column" of the rows, or in a "table".
    """

    name = "public.outbox"
    lease_table = "public.walpost_leases"

    def __init__(self, database, leases="column"):
        self.database = database
        self.leases = leases
        run_sql_file(database, "outbox_polling.sql")
        if leases == "table":
            run_sql_file(database, "leases.sql")
        # Its checks keep out what these tests want in.
        database.execute(
            "alter table outbox drop constraint outbox_headers_check, "
            "drop constraint outbox_aggregate_type_check")

    def sections(self, **polling):
        """The configuration that polls it."""
        state = STATE
        if self.leases == "table":
            state = {**STATE, "locked_until": ""}
            polling = {"lease_table": self.lease_table, **polling}
        return {
            "source": "polling",
            "polling": {"interval": "100ms", "lease": "5s",
                        "retry_backoff": "200ms", "retry_backoff_max": "1s",
                        **polling},
            "outbox": {"tables": [{"name": self.name, "order_by": "sequence",
                                   "state": state}]},
        }

    def insert(self, count, aggregates=10, aggregate_type="order",
               cursor=None):
        """`count` rows in one statement; payload {"n": number within it}."""
        statement = (
            "insert into outbox (aggregate_type, aggregate_id, type, "
            "payload) select %s, 'a' || (n %% %s), 'Happened', "
            "json_build_object('n', n) from generate_series(1, %s) n")
        values = (aggregate_type, aggregates, count)
        if cursor is None:
            self.database.execute(statement, values)
        else:
            cursor.execute(statement, values)

    def counts(self):
        """{status: rows}."""
        return dict(self.database.execute(
            "select status, count(*) from outbox group by status"))

    def held(self):
        """How many rows some poller holds, its lease not ended."""
        if self.leases == "column":
            return self.database.value(
                "select count(*) from outbox where status = 'processing' and "
                "locked_until > now()")
        return self.database.value(
            "select count(*) from outbox where status = 'pending' and "
            "hashtextextended(aggregate_type, hashtextextended(aggregate_id, "
            f"0)) in (select unnest(keys) from {self.lease_table} where until "
            "> now())")

    def wait_published(self, seconds=60):
        """Waits until every row is published (or failed)."""
        wait_until(
            lambda: not set(self.counts()) - {"published", "failed"},
            lambda: f"all rows to be published; there are {self.counts()}",
            seconds)

    def expected(self):
        """(id, aggregate, place) of every row, in order."""
        return self.database.execute(
            "select id::text, aggregate_type || '/' || aggregate_id, sequence "
            "from outbox order by sequence")


def assert_delivered(expected, records, most_duplicates=0):
    """Every row is a record; the first occurrences keep each one's order.

    `expected` is of (id, aggregate, place). Returns how many were duplicates.
    """
    places = {row[0]: (row[1], row[2]) for row in expected}
    seen = {}
    for record in sorted(records, key=lambda r: (r.topic, r.partition,
                                                 r.offset)):
        assert record.id in places, f"{record.id} is of no row"
        seen.setdefault(record.id, record)
    missing = [row for row in expected if row[0] not in seen]
    assert not missing, f"{len(missing)} rows are not in Kafka: {missing[:5]}"
    last = {}
    for record_id in seen:
        aggregate, place = places[record_id]
        assert last.get(aggregate, place) <= place, \
            f"row {place} of {aggregate} is behind row {last[aggregate]}"
        last[aggregate] = place
    duplicates = len(records) - len(seen)
    assert duplicates <= most_duplicates, f"{duplicates} duplicates"
    return duplicates
