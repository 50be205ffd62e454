"""The birth record of a slot, by its published form alone: a line in the comment
of the publication (docs/architecture.md, src/postgres/birth_record.h)."""

import datetime

# Older than every row of a test, for those that are older by their own account.
LONG_AGO = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)


def read_birth(database, slot, publication="walpost"):
    """The words of the line with a `=` as a dictionary, `born` and `system`
    added; None: there is no such line."""
    rows = database.execute("select obj_description(oid, 'pg_publication') "
                            "from pg_publication where pubname = %s",
                            (publication,))
    for line in (rows[0][0] or "").split("\n") if rows else ():
        words = line.split(" ")
        if words[:3] == ["walpost:", "slot", slot]:
            return {"born": words[5], "system": words[8],
                    **dict(word.split("=", 1) for word in words[9:])}
    return None


def put_on_record(database, slot, publication="walpost",
                  tables=("public.outbox",), born_at=None, **words):
    """Writes the line anew, as `walpost init` would at this moment: rows of
    transactions from now on come through the slot.

    `born_at` is another time for that. `words` are laid over it; None takes one
    away.
    """
    line = {
        "born": database.value("select confirmed_flush_lsn::text from "
                               "pg_replication_slots where slot_name = %s",
                               (slot,)),
        "system": database.value(
            "select system_identifier::text from pg_control_system()"),
        "timeline": "1",
        "coverage": _coverage(database, publication, tables),
        "from": database.value(
            "select pg_snapshot_xmax(pg_current_snapshot())::text"),
        "at": _spelled(born_at or database.value(
            "select date_trunc('second', clock_timestamp()) + "
            "interval '1 second'")),
        **words}
    text = (f"walpost: slot {slot} born at {line.pop('born')} "
            f"of system {line.pop('system')}")
    text += "".join(f" {key}={value}" for key, value in line.items()
                    if value is not None)
    database.execute(f"comment on publication {publication} is %s", (text,))


def _spelled(time):
    return time.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _coverage(database, publication, tables):
    """Of tables that the publication names one by one."""
    text = database.value("select oid || ':' || xmin from pg_publication "
                          "where pubname = %s", (publication,))
    for table in tables:
        text += f",{table}=" + database.value(
            "select r.prrelid || '.r' || r.oid || ':' || r.xmin "
            "from pg_publication_rel r join pg_publication p "
            "on p.oid = r.prpubid where p.pubname = %s "
            "and r.prrelid = %s::regclass", (publication, table))
    return text
