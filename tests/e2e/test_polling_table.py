"""sql/outbox_polling.sql: what each index is there for, on a million rows that
were published and twenty thousand that were not. And sql/outbox_notify.sql."""

import json
import select
import time

import pytest

from harness import note, run_sql_file

_PUBLISHED = 1_000_000
_UNPUBLISHED = 20_000
_BATCH = 500

# As src/polling/claim_sql.cc chooses rows of this table, locks and reads them.
# (To claim it then updates them, which takes the same pages whatever the plan.)
_KEYS = "{0}.id, {0}.sequence as place, {0}.aggregate_id as aggregate"
_CLAIM = f"""
with blocked as materialized (
  select {_KEYS.format('b')} from outbox b where b.status = 'processing'
  union all select {_KEYS.format('b')} from outbox b
    where (b.status = 'pending') is true and b.next_attempt_at > now()
  union all select {_KEYS.format('b')} from outbox b
    where (b.status = 'pending') is true and b.locked_until > now()),
candidate as materialized (
  select {_KEYS.format('o')} from outbox o where o.status = 'pending'
    and (o.next_attempt_at is null or o.next_attempt_at <= now())
    and (o.locked_until is null or o.locked_until <= now())
    and (o.aggregate_id is null or o.aggregate_id not in (
      select p.aggregate from blocked p where p.aggregate is not null))
  order by o.sequence limit {_BATCH} for update of o skip locked),
skipped as materialized (
  select {_KEYS.format('s')} from outbox s where s.status = 'pending'
    and s.sequence <= (select place from candidate
                       order by place desc limit 1)
    and s.id not in (select id from candidate)),
chosen as materialized (
  select * from candidate c where c.aggregate not in (
      select p.aggregate from skipped p where p.aggregate is not null)
    or not exists (select from skipped s where s.aggregate = c.aggregate
                   and s.place < c.place))
select r.* from outbox r join chosen on r.id = chosen.id order by r.sequence"""

_RETURN = """
update outbox u set status = 'pending' where u.status = 'processing'
and u.locked_until <= now()"""

_COUNT = """
select count(*) from (select from outbox g
where g.status = 'pending' limit 100000) counted"""

_OLDEST = """
select id, sequence as place, now() - created_at from outbox g
where g.status = 'pending' order by g.sequence limit 1"""

_FAILED = """
select count(*) from (select from outbox f where f.status = 'failed'
limit 100000) c"""

_PRUNE = """
select ctid from outbox
where published_at < now() - interval '7 days' and status = 'published'
order by published_at limit 1000"""


@pytest.fixture
def million(filled):
    """The table as vacuum leaves it; a test rolls back what it changes."""
    filled.execute("vacuum outbox")
    return filled


@pytest.fixture(scope="module")
def filled(postgres):
    database = postgres.create_database()
    run_sql_file(database, "outbox_polling.sql")
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, status, "
        "created_at, published_at) select 'order', 'key-' || n %% 5000, '{}', "
        "'published', at, at from (select n, now() - (10 * n) * "
        "interval '1 s' as at from generate_series(1, %s) n) rows",
        (_PUBLISHED,))
    _fill_backlog(database)
    yield database
    database.drop()


def _fill_backlog(database):
    """Seven in ten rows can be claimed."""
    database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload, status, "
        "next_attempt_at, locked_until) select 'order', 'key-' || n, '{}', "
        "case n %% 10 when 0 then 'failed' when 1 then 'processing' "
        "else 'pending' end, "
        "case n %% 10 when 2 then now() + interval '1 h' end, "
        "case n %% 10 when 1 then now() + interval '1 h' end "
        "from generate_series(1, %s) n", (_UNPUBLISHED,))
    database.execute("vacuum analyze outbox")


class _Plan:
    """EXPLAIN (ANALYZE, BUFFERS) of a statement that really runs.

    In a transaction that is rolled back; `before` is run in it first.
    """

    def __init__(self, database, sql, before="select 1"):
        with database.transaction() as cursor:
            cursor.execute(before)
            cursor.execute("explain (analyze, buffers, format json) " + sql)
            top = cursor.fetchone()[0][0]["Plan"]
            cursor.connection.rollback()
        self.pages = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
        self.rows = top["Actual Rows"]
        self.nodes = list(_nodes(top))
        self.text = json.dumps(top, indent=1)

    def rows_read(self):
        """Rows that all scans have brought, wanted or not."""
        return sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
                   * node["Actual Loops"] for node in self.nodes
                   if "Relation Name" in node)

    def indexes(self):
        return {node["Index Name"] for node in self.nodes
                if "Index Name" in node}

    def kinds(self):
        return {node["Node Type"] for node in self.nodes}


def _nodes(plan):
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _table_pages(database):
    return database.value("select pg_relation_size('outbox') / 8192")


def _without(database, index, sql):
    """The pages it takes when there is no such index."""
    return _Plan(database, sql, f"drop index {index}").pages


@pytest.mark.long
def test_a_claim_touches_rows_of_the_backlog_only(million):
    plan = _Plan(million, _CLAIM)
    assert plan.rows == _BATCH
    assert plan.indexes() >= {"outbox_pending", "outbox_claimed",
                              "outbox_waiting"}, plan.text
    assert "Seq Scan" not in plan.kinds(), plan.text
    # A few pages for each row, to find, to lock and to read it, and the blocked
    # ones; none is of a row that was published.
    assert plan.pages < 12 * _BATCH, plan.text
    note(f"claim of {_BATCH} among {_PUBLISHED} published and {_UNPUBLISHED} "
         f"others: {plan.pages} pages; the table has "
         f"{_table_pages(million):.0f}")


# The parts of it. Without its index each would read all rows that are not
# published, or the whole table.
@pytest.mark.parametrize("index, rows, part", [
    ("outbox_pending", 2 * _BATCH,
     "select id from outbox o where o.status = 'pending' "
     "and (o.next_attempt_at is null or o.next_attempt_at <= now()) "
     f"order by o.sequence limit {_BATCH} for update skip locked"),
    ("outbox_pending", 2 * _BATCH,
     "select id from outbox s where s.status = 'pending' and s.sequence <= "
     f"(select min(sequence) + {_BATCH} from outbox "
     "where status = 'pending')"),
    ("outbox_claimed", _UNPUBLISHED // 10,
     "select id from outbox b where b.status = 'processing'"),
    ("outbox_claimed", _UNPUBLISHED // 10,
     "select id from outbox b where (b.status = 'pending') is true "
     "and b.locked_until > now()"),
    ("outbox_waiting", _UNPUBLISHED // 10,
     "select id from outbox b where (b.status = 'pending') is true "
     "and b.next_attempt_at > now()"),
    ("outbox_claimed", 0, _RETURN),
])
@pytest.mark.sample(6)
def test_each_part_of_a_claim_has_its_index(million, index, rows, part):
    plan = _Plan(million, part)
    assert plan.indexes() == {index}, plan.text
    assert plan.rows_read() <= rows, plan.text
    without = _Plan(million, part, f"drop index {index}")
    assert without.rows_read() > 5 * max(rows, 100), without.text


@pytest.mark.parametrize("gauge, index, most_pages", [
    (_COUNT, "outbox_pending", 200),
    (_OLDEST, "outbox_pending", 10),
    (_FAILED, "outbox_failed", 50),
])
@pytest.mark.long
def test_a_gauge_is_answered_from_the_index(million, gauge, index, most_pages):
    plan = _Plan(million, gauge)
    assert plan.indexes() == {index}, plan.text
    assert plan.pages <= most_pages, plan.text
    assert _without(million, index, gauge) > 10 * plan.pages


@pytest.mark.long
def test_an_empty_outbox_is_seen_to_be_empty_at_once(million):
    """The look that is made once a second for ever."""
    with million.transaction() as cursor:
        cursor.execute("delete from outbox where status <> 'published'")
        cursor.connection.commit()
    # Vacuum would not bother with so few rows in a table of that size.
    million.execute("vacuum (index_cleanup on) outbox")
    try:
        plan = _Plan(million, _CLAIM)
        assert plan.rows == 0 and plan.pages < 20, plan.text
    finally:
        _fill_backlog(million)


@pytest.mark.long
def test_prune_finds_the_oldest_published_rows_by_the_index(million):
    plan = _Plan(million, _PRUNE)
    assert plan.rows == 1000
    assert plan.indexes() == {"outbox_published"}, plan.text
    assert plan.pages < 1000, plan.text
    assert _without(million, "outbox_published", _PRUNE) > 5 * plan.pages


@pytest.mark.long
def test_the_indexes_of_the_backlog_are_small(million):
    for index in ("outbox_pending", "outbox_claimed", "outbox_waiting"):
        assert million.value(f"select pg_relation_size('{index}')") < 4 << 20


@pytest.mark.long
def test_the_file_may_be_run_again(million):
    run_sql_file(million, "outbox_polling.sql")


@pytest.mark.parametrize("statements, expected", [
    (["insert into outbox (aggregate_type) values ('a')"], 1),
    (["insert into outbox (aggregate_type) select 'a' "
      "from generate_series(1, 100)"], 1),
    (["insert into outbox (aggregate_type) values ('a')"] * 10, 1),
    (["update outbox set status = 'failed'"], 0),
    (["delete from outbox"], 0),
])
@pytest.mark.sample(6)
def test_one_notification_for_a_transaction_that_inserts(
        database, statements, expected):
    run_sql_file(database, "outbox_polling.sql")
    for _ in range(2):
        run_sql_file(database, "outbox_notify.sql")
    listener = database.connect()
    with listener.cursor() as cursor:
        cursor.execute("listen walpost_outbox")
    with database.transaction() as cursor:
        for statement in statements:
            cursor.execute(statement)
    # Notifications come in the order of commits: this one is the last.
    database.execute("notify walpost_outbox, 'last'")
    heard = []
    deadline = time.monotonic() + 30
    while "last" not in heard and time.monotonic() < deadline:
        select.select([listener], [], [], 1)
        listener.poll()
        heard = [notification.payload for notification in listener.notifies]
    listener.close()
    assert heard == [""] * expected + ["last"]


@pytest.mark.long
def test_nobody_is_woken_by_what_is_rolled_back(database):
    run_sql_file(database, "outbox_polling.sql")
    run_sql_file(database, "outbox_notify.sql")
    listener = database.connect()
    with listener.cursor() as cursor:
        cursor.execute("listen walpost_outbox")
    with database.transaction() as cursor:
        cursor.execute("insert into outbox (aggregate_type) values ('a')")
        cursor.connection.rollback()
    database.execute("notify walpost_outbox, 'last'")
    select.select([listener], [], [], 30)
    listener.poll()
    assert [one.payload for one in listener.notifies] == ["last"]
    listener.close()


_STATE = {column: column for column in (
    "status", "published_at", "locked_until", "attempts", "last_error",
    "next_attempt_at")}


@pytest.mark.parametrize("table", ["public.outbox", "app.events"])
@pytest.mark.sample(2)
def test_init_makes_the_polling_table_and_its_trigger(
        walpost, database, kafka, topics, table):
    database.execute("create schema app")
    relay = walpost(database, kafka, topics, source="polling",
                    polling={"notify": "wake-up"},
                    outbox={"tables": [{"name": table, "state": _STATE}]})
    printed = relay.verb("init", "--print").stdout
    for _ in range(2):
        made = relay.verb("init")
        assert made.returncode == 0, made.stderr
    assert f"notify trigger of {table}: created" in made.stdout
    assert {row[0] for row in database.execute(
        "select indexrelid::regclass::text from pg_index "
        f"where indrelid = '{table}'::regclass and indpred is not null")} == {
            f"{table}_{name}".replace("public.", "") for name in (
                "pending", "claimed", "waiting", "failed",
                "published")}
    listener = database.connect()
    with listener.cursor() as cursor:
        cursor.execute('listen "wake-up"')
    database.execute(f"insert into {table} (aggregate_type) values ('a')")
    select.select([listener], [], [], 30)
    listener.poll()
    assert len(listener.notifies) == 1
    listener.close()
    # No slot and no publication: this source has none.
    assert database.confirmed_lsn(database.name) is None
    assert database.execute("select from pg_publication") == []

    database.execute(f"drop table {table} cascade")
    database.execute(printed)
    assert database.value(f"select count(*) from {table}") == 0
