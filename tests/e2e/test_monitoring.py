"""monitoring/ and docs/runbook.md: the rules, the dashboard and the runbook fit
each other and walpost; a real Prometheus sees each incident begin and end."""

import json
import re
import signal
import time

import pytest
import yaml

from harness import Outbox, wait_until
from harness.matrix import LONG
from harness.pages import blocks
from harness.paths import REPOSITORY
from harness.polled import PolledOutbox
from harness.prometheus import (DASHBOARD, MONITORING, Prometheus,
                                dashboard_queries, promtool, rules)

_RUNBOOK = REPOSITORY / "docs/runbook.md"
_METRIC = re.compile(r"\b(?:walpost|process)_[a-z_]+")
_PARTS = ("**Meaning.**", "**Impact.**", "**Look at.**", "**Do.**")


def _sections():
    """The sections of the runbook that are about an alert."""
    found = re.split(r"^## (.+)\n", _RUNBOOK.read_text(), flags=re.M)
    return {title: text for title, text in zip(found[1::2], found[2::2])
            if title.startswith("Walpost")}


def _names_in(expression):
    """Metrics that an expression names, by the names of their families."""
    return {re.sub(r"_(bucket|sum|count)$", "", name)
            for name in _METRIC.findall(expression)}


def _named():
    """Each metric that a rule or the dashboard names."""
    return set().union(
        *(_names_in(rule["expr"]) for rule in rules()),
        *(_names_in(query)
          for _, query in dashboard_queries() + _queries_of_the_page()))


def _reason_codes():
    """All that are declared in src/."""
    text = "".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.h"))
    return set(re.findall(
        r"constexpr char k(?:Reason|Gap)\w+\[\]\s*=\s*\"([a-z0-9_]+)\"", text))


def test_promtool_accepts_the_rules_and_their_tests():
    for words in (("check", "config", "prometheus.yaml"),
                  ("check", "rules", "alerts.yaml"),
                  ("test", "rules", "alerts_test.yaml")):
        said = promtool(*words)
        assert said.returncode == 0, said.stdout + said.stderr


def test_each_alert_is_tested_and_has_its_section_in_the_runbook():
    alerts = [rule["alert"] for rule in rules()]
    assert len(set(alerts)) == len(alerts) >= 12
    situations = yaml.safe_load(
        (MONITORING / "alerts_test.yaml").read_text())["tests"]
    expected = json.dumps(situations)
    sections = _sections()
    assert list(sections) == alerts
    for rule in rules():
        name = rule["alert"]
        assert f'alertname=\\"{name}\\"' in expected, f"{name} never fires"
        assert rule["annotations"]["runbook_url"] == (
            f"docs/runbook.md#{name.lower()}")
        assert rule["labels"]["severity"] in ("page", "ticket")
        places = [sections[name].find(part) for part in _PARTS]
        assert -1 not in places and places == sorted(places), name


def _index(by):
    """The rows of an index at the head of the runbook: name, cells."""
    section = _RUNBOOK.read_text().split(f"## Index by {by}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def _link(alert):
    return f"[{alert}](#{alert.lower()})"


@pytest.mark.long
def test_the_index_of_the_runbook_has_each_alert():
    assert [row[:2] for row in _index("alert")] == [
        [_link(rule["alert"]), rule["labels"]["severity"]] for rule in rules()]


def test_the_index_of_the_runbook_has_each_reason_code():
    codes = _reason_codes()
    assert len(codes) > 25
    index = {code.strip("`"): section
             for code, section in _index("reason code")}
    assert set(index) == codes
    sections = {_link(name): text for name, text in _sections().items()}
    assert not [code for code, section in index.items()
                if f"`{code}`" not in sections[section]]


def _queries_of_the_page():
    return [(block.page, block.text) for block in blocks()
            if block.page == "docs/metrics.md"]


def test_promtool_parses_each_query(directory):
    queries = dashboard_queries() + _queries_of_the_page()
    assert len(queries) > 50
    (directory / "queries.yaml").write_text(json.dumps({"groups": [{
        "name": "dashboard",
        "rules": [{"record": f"query:{number}",
                   "expr": query.replace("$__rate_interval", "1m")}
                  for number, (_, query) in enumerate(queries)]}]}))
    said = promtool("check", "rules", directory / "queries.yaml")
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"{len(queries)} rules found" in said.stdout


@pytest.mark.long
def test_the_panels_of_the_dashboard_do_not_overlap():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        cells = {(at["x"] + x, at["y"] + y)
                 for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.fixture
def watch(directory):
    """Starts a Prometheus: watch({"shop": [relay, ...]})."""
    made = []

    def start(relays):
        made.append(Prometheus(directory / f"prometheus-{len(made)}", relays))
        return made[-1].start()

    yield start
    for prometheus in made:
        prometheus.close()


def _families(*relays):
    return {name for relay in relays for name in
            re.findall(r"^# TYPE (\S+)", relay.get("/metrics")[1], re.M)}


def _grow_wal(database, relay):
    """Until the time that is left is known."""
    def is_known():
        database.execute("select pg_logical_emit_message(false, 'x', %s)",
                         ("x" * 100_000,))
        return "walpost_wal_budget_left_seconds" in _families(relay)

    wait_until(is_known, "the budget's time left")


def test_walpost_has_each_metric_that_is_named(
        walpost, watch, postgres, own_kafka, topics, database, outbox):
    """A relay with everything, and one that polls."""
    database.execute("alter table outbox add created_at timestamptz not null "
                     "default now()")
    streams = walpost(
        database, own_kafka, topics, delivery={"guarantee": "exactly_once"},
        replay={"window": "1GiB"}, retention={"keep": "7d"}).run()
    other = postgres.create_database()
    polled = PolledOutbox(other)
    polls = walpost(other, own_kafka, topics, **polled.sections(), postgres={
        "slot": None, "publication": None, "create": None}).run()
    try:
        outbox.insert("order", "k", "1")
        polled.insert(1)
        streams.wait_acknowledged(0)
        wait_until(lambda: streams.metric("walpost_guard_lsn_bytes"),
                   "the guard slot")
        _grow_wal(database, streams)
        missing = _named() - _families(streams, polls)
        assert not missing
        for relay in (streams, polls):
            said = promtool("check", "metrics", stdin=relay.get("/metrics")[1])
            assert said.stdout + said.stderr == ""
        _each_panel_has_its_query_answered(watch, streams, polls)
    finally:
        polls.close()
        other.drop()


# Panels that are rightly empty while nothing is wrong.
_EMPTY_IF_WELL = {"Reason codes", "Causes", "Dead letters", "Skipped events"}


def _each_panel_has_its_query_answered(watch, streams, polls):
    prometheus = watch({"shop": [streams], "billing": [polls]})
    wait_until(lambda: prometheus.query("count(up == 1) == 2"), "both scrapes")

    queries = dashboard_queries() + _queries_of_the_page()

    def unanswered():
        return [f"{panel}: {query}" for panel, query in queries
                if panel not in _EMPTY_IF_WELL and not prometheus.query(
                    query.replace("$__rate_interval", "5s")
                    .replace("$relay", ".*").replace("$instance", ".*"))]

    wait_until(lambda: not unanswered(), lambda: f"answers to {unanswered()}",
               seconds=20, pause=0.5)


def _latencies(relay, name):
    """(number, seconds) of each table or topic."""
    found = re.findall(rf'^{name}_(count|sum){{\w+="(.*)"}} (\S+)$',
                       relay.get("/metrics")[1], re.M)
    of = {}
    for part, label, value in found:
        of.setdefault(label, {})[part] = float(value)
    return {label: (parts["count"], parts["sum"])
            for label, parts in of.items()}


@pytest.fixture(params=["at_least_once", "exactly_once", "polling"])
def table(request, walpost, database, own_kafka, topics):
    """(relay, outbox)"""
    if request.param == "polling":
        polled = PolledOutbox(database)
        return walpost(database, own_kafka, topics, **polled.sections(),
                       postgres={"slot": None, "publication": None,
                                 "create": None}).run(), polled
    outbox = Outbox(database, topics)
    return walpost(database, own_kafka, topics,
                   delivery={"guarantee": request.param}).run(), outbox


@pytest.mark.sample(3)
def test_latencies_of_tables_and_topics_add_up_to_all(table, own_kafka, topics):
    relay, outbox = table
    name = "walpost_commit_to_acknowledgement_seconds"

    def count():
        return relay.metric(f"{name}_count")

    own_kafka.freeze()
    try:
        for aggregate_type in ("order", "order", "refund"):
            outbox.database.execute(
                "insert into outbox (aggregate_type, aggregate_id, payload) "
                "values (%s, 'k', '{}')", (aggregate_type,))
        time.sleep(0.5)
    finally:
        own_kafka.thaw()
    wait_until(lambda: count() == 3, lambda: f"three events, not {count()}")
    for label in ("table", "topic"):
        of = _latencies(relay, f"walpost_{label}_latency_seconds")
        counts = {value: number for value, (number, _) in of.items()}
        assert counts == ({"public.outbox": 3} if label == "table" else
                          {topics + "order": 2, topics + "refund": 1})
        assert sum(seconds for _, seconds in of.values()) == pytest.approx(
            relay.metric(f"{name}_sum"))
        # A poller reads the later rows of a key when the first is acknowledged.
        assert max(seconds for _, seconds in of.values()) > 0.3


def test_the_first_steps_of_the_runbook_name_the_cause(
        walpost, database, own_kafka, topics, outbox):
    assert outbox  # the table
    relay = walpost(database, own_kafka, topics).run()
    first, = (block for block in blocks() if block.page == "docs/runbook.md")
    status, readyz = first.text.splitlines()
    assert status == "walpost status -c walpost.yaml"
    assert readyz.endswith("/readyz")
    assert relay.verb("pause", "--reason", "a test").returncode == 0
    reason = relay.wait_unready("a test").strip()
    assert "walpost resume" in reason
    assert reason.partition(": ")[2] in relay.verb("status").stdout


@pytest.fixture
def shop(walpost, own_postgres, own_kafka, topics):
    """A relay with servers that the test may harm, its outbox, and them."""
    database = own_postgres.create_database()
    outbox = Outbox(database, topics)
    own_kafka.create_topic(topics + "narrow", 1, max_message_bytes=2000)
    relay = walpost(database, own_kafka, topics, on_error={
        "headers_unreadable": "dead_letter", "record_too_large": "park"}).run()
    outbox.insert("order", "k", "1")
    relay.wait_acknowledged(0)
    return relay, outbox


def _drop_slot(relay, database):
    relay.stop()
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    relay.start()


def test_an_alert_fires_for_each_incident_and_resolves(
        shop, watch, own_postgres, own_kafka, topics):
    relay, outbox = shop
    database = outbox.database
    prometheus = watch({"shop": [relay]})
    wait_until(lambda: prometheus.query("up == 1"), "the first scrape")
    prometheus.wait_firing()
    wait_until(lambda: relay.metric("walpost_lag_seconds") == 0, "no lag")

    outbox.insert("order", "k", "1", headers='["no object"]')
    fired = prometheus.wait_firing("WalpostDeadLetters")
    assert fired["WalpostDeadLetters"]["class"] == "headers_unreadable"
    assert fired["WalpostDeadLetters"]["relay"] == "shop"
    prometheus.wait_firing()

    outbox.insert("narrow", "k", json.dumps("x" * 5000))
    prometheus.wait_firing("WalpostParkedKeys")
    said = relay.verb("parked", "discard", "--all", "--why", "a test")
    assert said.returncode == 0, said.stderr
    prometheus.wait_firing()

    own_kafka.kill()
    outbox.insert("order", "k", "2")
    prometheus.wait_firing("WalpostKafkaUnavailable")
    assert relay.metric("walpost_oldest_unpublished_seconds") > 5
    own_kafka.mend()
    prometheus.wait_firing(seconds=60)

    own_postgres.stop()
    prometheus.wait_firing("WalpostPostgresUnavailable")
    own_postgres.start()
    prometheus.wait_firing(seconds=60)

    before = own_postgres.hba()
    own_postgres.set_hba(f"host {database.name} all 127.0.0.1/32 reject\n"
                         f"host replication all 127.0.0.1/32 reject\n{before}")
    with own_postgres.connect() as connection, connection.cursor() as cursor:
        cursor.execute("select pg_terminate_backend(pid) from "
                       "pg_stat_replication")
    prometheus.wait_firing("WalpostCredentialsRejected")
    own_postgres.set_hba(before)
    prometheus.wait_firing(seconds=60)

    relay.kill()
    prometheus.wait_firing("WalpostInstanceDown", "WalpostNobodyPublishes")
    relay.run()
    prometheus.wait_firing()

    _drop_slot(relay, database)
    fired = prometheus.wait_firing("WalpostGap")
    assert fired["WalpostGap"]["reason_code"] == "slot_missing"
    relay.stop()
    said = relay.verb("recover", "--order-by", "sequence")
    assert said.returncode == 0, said.stdout + said.stderr
    relay.run()
    prometheus.wait_firing()
    if LONG:
        _rarer_incidents(relay, outbox, prometheus, own_postgres)


@pytest.mark.long
def test_a_standby_that_takes_over_leaves_no_one_missing(
        walpost, watch, database, own_kafka, topics, outbox):
    assert outbox  # the table
    relay = walpost(database, own_kafka, topics).run()
    standby = walpost(database, own_kafka, topics).start()
    wait_until(lambda: standby.get("/readyz")[1].startswith("standby"),
               "the standby")
    prometheus = watch({"shop": [relay, standby]})
    wait_until(lambda: prometheus.query("count(up == 1) == 2"), "both scrapes")
    prometheus.wait_firing()
    relay.kill()
    prometheus.wait_firing("WalpostInstanceDown")
    wait_until(lambda: standby.get("/readyz")[1].startswith("streaming"),
               "the standby to take over")
    prometheus.wait_firing("WalpostInstanceDown")
    standby.kill()
    prometheus.wait_firing("WalpostInstanceDown", "WalpostNobodyPublishes")


def _rarer_incidents(relay, outbox, prometheus, own_postgres):
    said = relay.verb("pause", "--reason", "a test")
    assert said.returncode == 0, said.stderr
    prometheus.wait_firing("WalpostPaused")
    outbox.insert("order", "k", "2")
    wait_until(lambda: relay.metric("walpost_lag_seconds") > 3, "a lag")
    assert relay.verb("resume").returncode == 0
    prometheus.wait_firing()

    # A class of on_error that is not set.
    outbox.database.execute(
        "alter table outbox alter aggregate_type drop not null")
    outbox.insert(None, "k", "3")
    fired = prometheus.wait_firing("WalpostEventStopsFlow")
    assert (fired["WalpostEventStopsFlow"]["reason_code"]
            == "topic_field_missing")
    position = json.loads(relay.get("/status")[1])["stopped_position"]
    said = relay.verb("skip", position, "--why", "a test")
    assert said.returncode == 0, said.stderr
    prometheus.wait_firing("WalpostSkippedEvents")
    prometheus.wait_firing()

    for _ in range(3):
        relay.stop()
        relay.run()
        wait_until(lambda: prometheus.query("up == 1"), "a scrape")
    wait_until(lambda: "WalpostRestarts" in prometheus.firing(), "restarts")
    prometheus.wait_firing()

    relay.send(signal.SIGSTOP)
    prometheus.wait_firing("WalpostInstanceDown", "WalpostNobodyPublishes",
                           seconds=60)
    relay.send(signal.SIGCONT)
    prometheus.wait_firing(seconds=60)

    own_postgres.freeze()
    prometheus.wait_firing("WalpostPostgresUnavailable", seconds=60)
    wait_until(lambda: relay.metric("walpost_lag_seconds") > 8, "a lag")
