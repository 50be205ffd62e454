"""A publication of another name than that of the record (P9)."""

import pytest


@pytest.mark.parametrize("store", ["none", "postgres"])
@pytest.mark.parametrize("cause", ["mistyped", "renamed"])
@pytest.mark.long
def test_p9_it_is_named_and_nothing_is_latched(walpost, database, kafka, outbox,
                                               reader, topics, store, cause):
    relay = walpost(database, kafka, topics, checkpoint={"store": store}).run()
    outbox.insert("order", "first")
    database.wait_confirmed(relay.slot)
    relay.stop()
    outbox.insert("order", "second")
    good = relay.config
    other = "walpots" if cause == "mistyped" else "walpost"
    right = "walpost" if cause == "mistyped" else "events"
    if cause == "renamed":
        database.execute("alter publication walpost rename to events")
    relay.configure({**good, "postgres": {**good["postgres"],
                                          "publication": other}})
    remedy = f"set postgres.publication: {right}"
    for verb in (("check",), ("run",), ("recover",), ("recover", "--accept")):
        said = relay.verb(*verb)
        assert said.returncode != 0
        assert remedy in said.stdout + said.stderr, (verb, said)
    assert database.value("select count(*) from pg_publication") == 1
    relay.configure({**good, "postgres": {**good["postgres"],
                                          "publication": right}})
    if cause == "renamed":
        # Postgres looks for it by its new name in the WAL from before.
        assert "[coverage_changed]" in relay.verb("check").stdout
        return
    assert relay.verb("check").returncode == 0
    relay.run()
    database.wait_confirmed(relay.slot)
    assert len(reader.read(topics + "order")) == 2
