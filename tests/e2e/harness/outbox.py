"""The usual outbox table, and the truth beside it."""

import copy

from harness.checker import Expected

# The trigger keeps what was committed even when the outbox row is deleted in
# the same transaction; it rolls back with it. `truth` is not published.
_DDL = """
create table outbox (
  id             uuid primary key default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id   text,
  type           text,
  payload        jsonb,
  headers        jsonb,
  sequence       bigint
);
create table truth (
  id uuid, aggregate_type text, aggregate_id text, payload text,
  sequence bigint
);
"""

_REMEMBER = """
create or replace function remember() returns trigger language plpgsql as $$
begin
  insert into truth values (new.id, new.aggregate_type, new.{aggregate_id},
                            new.{payload}::text, new.sequence);
  return null;
end $$;
"""

_TRIGGER = """
create trigger remember after insert on outbox
  for each row execute function remember();
"""


class Outbox:
    """Creates `public.outbox` and `truth` in a database.

    `topic_prefix` is what the tests' topic template puts before
    `aggregate_type`.
    """

    def __init__(self, database, topic_prefix):
        self.database = database
        self.topic_prefix = topic_prefix
        self._names = {"aggregate_id": "aggregate_id", "payload": "payload"}
        database.execute(_DDL + _REMEMBER.format(**self._names) + _TRIGGER)

    def on(self, database):
        """The same in a copy of the database."""
        other = copy.copy(self)
        other.database = database
        return other

    def rename(self, column, name):
        """Renames `aggregate_id` or `payload`, whatever it is called by now;
        `insert` knows the new name."""
        before, self._names = self._names, {**self._names, column: name}
        with self.database.transaction() as cursor:
            cursor.execute(
                f"alter table outbox rename {before[column]} to {name}")
            cursor.execute(_REMEMBER.format(**self._names))

    def insert(self, aggregate_type, aggregate_id=None, payload="{}",
               cursor=None, table="outbox", **columns):
        """Inserts one row, in a transaction of its own without `cursor`, into
        this table or another of its kind.

        Returns the row's id as text.
        """
        columns = {"aggregate_type": aggregate_type,
                   self._names["aggregate_id"]: aggregate_id,
                   self._names["payload"]: payload, **columns}
        statement = (f"insert into {table} ({', '.join(columns)}) values "
                     f"({', '.join(['%s'] * len(columns))}) returning id")
        values = tuple(columns.values())
        if cursor is None:
            return str(self.database.value(statement, values))
        cursor.execute(statement, values)
        return str(cursor.fetchone()[0])

    def deleted(self):
        """How many committed rows are gone from the table."""
        return self.database.value(
            "select count(*) from truth where not exists (select from outbox "
            "where outbox.id = truth.id)")

    def expected(self):
        """What a consumer must find: every committed row."""
        rows = self.database.execute(
            "select id::text, aggregate_type, aggregate_id, payload, sequence "
            "from truth")
        return [Expected(id=row[0], topic=self.topic_prefix + row[1],
                         key=_bytes(row[2]), value=_bytes(row[3]),
                         sequence=row[4]) for row in rows]


def _bytes(text):
    return None if text is None else text.encode()
