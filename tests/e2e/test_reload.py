"""SIGHUP: the configuration file is read again."""

import copy
import signal

import pytest

from harness import Outbox, wait_until


def _reload(relay, pattern, **sections):
    """Lays `sections` over the file and sends the signal; waits for the answer."""
    config = copy.deepcopy(relay.config)
    for section, values in sections.items():
        config[section] = {**config.get(section, {}), **values}
    relay.configure(config)
    relay.send(signal.SIGHUP)
    relay.wait_log(pattern)


@pytest.mark.long
def test_the_log_level_is_taken_up(walpost, database, outbox, kafka, topics):
    relay = walpost(database, kafka, topics,
                    replay={"window": "64KiB"}, log={"level": "warn"}).run()
    assert " info " not in relay.log()
    _reload(relay, "SIGHUP: configuration reloaded; taken up: log.level",
            log={"level": "debug"})

    def guard_moves():
        outbox.insert("order", "order-1", payload='"%s"' % ("x" * 5000))
        return "debug guard slot" in relay.log()

    wait_until(guard_moves, "a line of level debug")
    _reload(relay, "SIGHUP: configuration reloaded; taken up: log.level",
            log={"level": "info"})
    assert relay.stop() == 0


def test_a_password_in_the_file_is_taken_up(walpost, own_postgres, own_database,
                                            kafka, topics):
    outbox = Outbox(own_database, topics)
    own_database.execute("create role locked login superuser password 'secret-1'")
    conninfo = own_database.conninfo("locked") + " password="
    relay = walpost(own_database, kafka, topics,
                    postgres={"conninfo": conninfo + "secret-1"}).run()
    own_database.execute("alter role locked password 'secret-2'")
    _reload(relay, "taken up: postgres.conninfo\n",
            postgres={"conninfo": conninfo + "secret-2"})
    own_database.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                         "where application_name like 'walpost:%%'")
    relay.wait_log("(?s)closed|terminating.*streaming from slot")
    outbox.insert("order", "order-1")
    own_database.wait_confirmed(relay.slot)
    relay.wait_ready()
    assert "secret-" not in relay.log()
    assert "authentication failed" not in relay.log()


def test_other_keys_are_named_and_need_a_restart(walpost, database, outbox, kafka,
                                                 topics):
    relay = walpost(database, kafka, topics).run()
    _reload(relay, "warn SIGHUP: restart walpost to take up postgres.conninfo, "
            "kafka.properties.linger.ms, checkpoint.store, delivery.shutdown_timeout\n",
            postgres={"conninfo": database.conninfo() + " user=somebody"},
            kafka={"brokers": kafka.bootstrap, "properties": {"linger.ms": 5}},
            checkpoint={"store": "file"}, delivery={"shutdown_timeout": "1s"})


@pytest.mark.long
def test_a_new_table_needs_a_restart(walpost, database, outbox, kafka, topics):
    relay = walpost(database, kafka, topics).run()
    _reload(relay, r"warn SIGHUP: restart walpost to take up .*outbox\.tables.*; "
            "until then it passes over rows of a table that is new",
            outbox={"tables": [{"name": "public.outbox"},
                               {"name": "public.push"}]})
    relay.wait_ready()


@pytest.mark.parametrize("broken", [
    "postgres: {", "postgres: {conninfo: 'host=${file:/none}'}", "a: b",
    "log: {level: loud}", ""])
@pytest.mark.long
def test_a_broken_file_changes_nothing(walpost, database, outbox, kafka, topics,
                                       broken):
    relay = walpost(database, kafka, topics).run()
    good = relay.config_path.read_text()
    relay.config_path.write_text(broken)
    relay.send(signal.SIGHUP)
    relay.wait_log("error SIGHUP: the configuration stays as it was: ")
    relay.config_path.unlink()
    relay.send(signal.SIGHUP)
    relay.wait_log("stays as it was: configuration file .* cannot be read")
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    relay.config_path.write_text(good)
    relay.send(signal.SIGHUP)
    relay.wait_log("reloaded; no key that is taken up has changed")
    assert relay.get("/readyz")[0] == 200
    assert relay.stop() == 0


def _survives(relay):
    before = relay.log().count("SIGHUP: configuration reloaded")
    for _ in range(20):
        relay.send(signal.SIGHUP)
    wait_until(lambda: relay.log().count("SIGHUP: configuration reloaded")
               > before, "a reload")
    assert relay.running()


@pytest.mark.long
def test_it_never_ends_the_process(walpost, own_postgres, own_database, kafka,
                                   topics):
    """At the start, in standby, in a gap, without servers, at the end."""
    outbox = Outbox(own_database, topics)
    relay = walpost(own_database, kafka, topics)
    relay.start()
    wait_until(lambda: "walpost 0" in relay.log(), "the first line")
    _survives(relay)
    relay.wait_ready()
    standby = walpost(own_database, kafka, topics)
    standby.start()
    wait_until(lambda: "standby" in standby.get("/readyz")[1], "a standby")
    _survives(standby)
    standby.stop()
    own_postgres.stop()
    relay.wait_unready()
    _survives(relay)
    own_postgres.start()
    relay.wait_ready(60)
    slot = relay.slot
    relay.kill()
    own_database.wait_slot_inactive(slot)
    own_database.execute("select pg_drop_replication_slot(%s)", (slot,))
    relay.start()
    relay.wait_unready()
    _survives(relay)
    relay.send(signal.SIGTERM)
    for _ in range(100):
        relay.send(signal.SIGHUP)
    assert relay.wait_exit() == 0
    del outbox


@pytest.mark.long
def test_while_polling(walpost, database, outbox, kafka, topics):
    database.execute("alter table outbox add published_at timestamptz, "
                     "add place bigserial")
    database.execute("create index on outbox (place) where published_at is null")
    relay = walpost(database, kafka, topics, source="polling",
                    outbox={"tables": [
                        {"name": "public.outbox", "order_by": "place",
                         "state": {"published_at": "published_at"}}]}).run()
    _survives(relay)
    _reload(relay, "taken up: log.level", log={"level": "warn"})
    outbox.insert("order", "order-1")
    wait_until(lambda: not database.value(
        "select count(*) from outbox where published_at is null"),
        "the row to be published")
    assert relay.stop() == 0
