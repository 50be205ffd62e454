"""The status page, in a browser, in each state: it shows what /status has, keeps
no one out (axe-core), fits every screen, and never slows the relay.

WALPOST_SCREENSHOTS names a folder for its pictures.
"""

import itertools
import json
import os
import pathlib
import re
import secrets
import socket
import threading
import time
import urllib.request

import pytest

from harness import Load, note, wait_until
from harness.browser import Browser
from harness.matrix import LONG
from harness.paths import REPOSITORY
from harness.polled import PolledOutbox

_PICTURES = os.environ.get("WALPOST_SCREENSHOTS")
_SCREENS = {"phone": (360, 780), "desk": (1280, 900), "wall": (2560, 1440)}
# (screen, dark): a state is looked at on one of them; in a long run on all.
_LOOKS = itertools.cycle([("phone", True), ("desk", False)])
_ALL_LOOKS = list(itertools.product(_SCREENS, (False, True)))


@pytest.fixture(scope="module")
def browser(module_directory):
    chromium = Browser(module_directory / "browser")
    yield chromium
    chromium.close()


@pytest.fixture
def visit(browser):
    """Opens the page of a relay: visit(relay)."""
    opened = []

    def go(relay):
        page = browser.open()
        opened.append(page)
        page.look()
        page.go(f"http://{relay.config['http']['listen']}/")
        return page

    yield go
    for page in opened:
        complaints = page.complaints()
        page.close()
        assert complaints == []


def _status(relay):
    return json.loads(relay.get("/status")[1])


def _look_at(page, name):
    """Nothing is cut off, no barrier is found."""
    for screen, dark in _ALL_LOOKS if LONG or _PICTURES else [next(_LOOKS)]:
        width, height = _SCREENS[screen]
        page.look(width, height, dark, still=True)
        page.run("new Promise((done) => setTimeout(done, 50))")
        assert page.run("document.documentElement.scrollWidth") <= width, screen
        if _PICTURES:
            shade = "dark" if dark else "light"
            path = pathlib.Path(_PICTURES) / f"{name}-{screen}-{shade}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            page.picture(path)
        barriers = page.barriers()
        assert not barriers, f"{name}, {screen}:\n" + "\n".join(barriers)
    page.look()


def _shows(page, state):
    page.wait(f"document.querySelector('h1').textContent === {json.dumps(state)}")
    page.wait("!document.getElementById('main').hidden")


def _remedies(page):
    return page.run("[...document.querySelectorAll('.remedy .id')]"
                    ".map((node) => node.textContent)")


def test_it_shows_what_status_has(walpost, database, kafka, topics, outbox,
                                  visit):
    relay = walpost(database, kafka, topics).run()
    page = visit(relay)
    _shows(page, "streaming")
    with Load(outbox, "status-page", writers=2, pause=0.01) as load:
        load.wait(300)
        page.wait("/\\d\\/s/.test(document.querySelector('.chart b').textContent)")
        page.wait("document.querySelectorAll('path.line')[0].getAttribute('d')"
                  ".split('L').length > 3")
        _look_at(page, "streaming")
    database.wait_confirmed(relay.slot)
    wait_until(lambda: _status(relay)["in_flight_records"] == 0, "the end")
    status = _status(relay)
    page.wait_text(status["confirmed_lsn"], "#ruler")
    for name, count in status["records_by_topic"].items():
        page.wait_text(f"{count:,}", "#topics")
        assert name in page.text("#topics")
    assert f"{status['records_by_table']['public.outbox']:,}" in page.text("#tables")
    for text in (f"slot {relay.slot}", "PostgreSQL "):
        assert text in page.text("header")
    page.run("document.querySelector('#config').open = true")
    page.wait_text(f"slot: {relay.slot}", "#config")
    page.run("document.querySelector('#minutes').open = true")
    page.wait_text("0–1", "#minutes")
    assert not page.barriers()
    assert _remedies(page) == []


def test_without_kafka(walpost, database, own_kafka, topics, outbox, visit):
    relay = walpost(database, own_kafka, topics).run()
    outbox.insert("order", "k")
    database.wait_confirmed(relay.slot)
    page = visit(relay)
    _shows(page, "streaming")
    own_kafka.kill()
    outbox.insert("order", "k")
    reason = relay.wait_unready("no Kafka broker|not acknowledged").strip()
    _shows(page, "stuck")
    page.wait_text(reason.partition(": ")[2][:40], "#reason")
    assert _remedies(page)[0] == "WalpostKafkaUnavailable"
    assert page.text(".remedy").count("Bring the brokers back") == 1
    page.wait_text("error", "#warnings")
    assert "stuck: " in page.text("#warnings")
    _look_at(page, "without-kafka")
    own_kafka.mend()
    _shows(page, "streaming")
    # A screen reader was told of each change, and of nothing else.
    assert page.text("#announcement").startswith("State: streaming")


def test_at_a_row_that_cannot_be_delivered(walpost, database, kafka, topics,
                                           outbox, visit):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("<script>alert(1)</script>", "k")
    relay.wait_unready("cannot be delivered")
    page = visit(relay)
    _shows(page, "stuck")
    status = _status(relay)
    page.wait_text(status["stopped_position"], "#aside")
    assert _remedies(page)[0] == "WalpostEventStopsFlow"
    remedy = page.text(".remedy")
    assert "topic_illegal: use replace or default: in the topic template" in remedy
    assert "record_too_large" not in remedy
    assert str(relay.config_path) in page.text("#reason")
    _look_at(page, "bad-row")


@pytest.mark.long
def test_names_are_text(walpost, database, kafka, topics, visit):
    name = '<img src=x onerror="a=1">'
    database.execute(f"""create table "{name.replace('"', '""')}" (
        id uuid primary key default gen_random_uuid(), aggregate_type text,
        aggregate_id text, type text, payload jsonb)""")
    relay = walpost(database, kafka, topics, outbox={"tables": [
        {"name": f"public.{name}"}]}).run()
    quoted = name.replace('"', '""')
    database.execute(f'insert into "{quoted}" (aggregate_type, aggregate_id, '
                     "payload) values ('a', 'k', '{}')")
    page = visit(relay)
    _shows(page, "streaming")
    page.wait_text("<img src=x", "#tables")
    assert page.run("document.querySelectorAll('img').length") == 0


def test_with_a_gap(walpost, database, kafka, topics, outbox, visit):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "k")
    database.wait_confirmed(relay.slot)
    relay.stop()
    database.execute("select pg_drop_replication_slot(%s)", (relay.slot,))
    relay.start()
    relay.wait_unready("slot_missing")
    page = visit(relay)
    _shows(page, "stuck")
    assert _remedies(page)[0] == "WalpostGap"
    page.wait_text("Nothing has been read", "#positions-note")
    assert "Kept by Postgres" not in page.text("#ruler")
    assert "slot_missing: find out who dropped the slot" in page.text(".remedy")
    assert f"-c {relay.config_path} --dry-run" in page.text(".remedy")
    _look_at(page, "gap")


def test_paused_and_standing_by(walpost, database, kafka, topics, outbox, visit):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "k")
    database.wait_confirmed(relay.slot)
    standby = walpost(database, kafka, topics).start()
    wait_until(lambda: standby.get("/readyz")[1].startswith("standby"),
               "the standby")
    page = visit(standby)
    _shows(page, "standby")
    page.wait_text("Only the instance that has the stream", "#positions-note")
    _look_at(page, "standby")
    assert relay.verb("pause", "--reason", "a test").returncode == 0
    page = visit(relay)
    _shows(page, "paused")
    assert _remedies(page) == ["WalpostPaused"]
    page.wait_text("a test", "#reason")
    _look_at(page, "paused")


def test_polling(walpost, database, kafka, topics, visit):
    polled = PolledOutbox(database)
    relay = walpost(database, kafka, topics, **polled.sections(), postgres={
        "slot": None, "publication": None, "create": None}).run()
    page = visit(relay)
    _shows(page, "streaming")
    polled.insert(500)
    polled.wait_published()
    page.wait_text("none waits", "#ruler")
    assert "public.outbox" in page.text("#ruler")
    assert "LSN" not in page.text() and "WAL" not in page.text("main")
    _look_at(page, "polling")


def test_a_relay_that_does_not_answer_and_one_that_starts_again(
        walpost, database, kafka, topics, outbox, visit):
    relay = walpost(database, kafka, topics).run()
    page = visit(relay)
    _shows(page, "streaming")
    for _ in range(3):
        outbox.insert("order", "k")
        database.wait_confirmed(relay.slot)
    page.wait("document.querySelectorAll('path.line')[0].getAttribute('d')"
              ".split('L').length > 3")
    relay.kill()
    _shows(page, "no answer")
    page.wait("/^since [2-9] s/.test(document.querySelector('#since').textContent)")
    assert "It was streaming" in page.text("#reason")
    assert page.run("getComputedStyle(document.querySelector('main')).filter"
                    ) == "grayscale(1)"
    _look_at(page, "no-answer")
    relay.run()
    _shows(page, "streaming")
    outbox.insert("order", "k")
    page.wait("document.querySelectorAll('path.line')[0].getAttribute('d')"
              ".split('M').length > 2")
    assert "-" not in page.text("#charts")
    assert page.run("getComputedStyle(document.querySelector('main')).filter"
                    ) == "none"


@pytest.mark.long
def test_a_screen_is_read_from_afar_and_nothing_flickers(
        walpost, database, kafka, topics, outbox, visit):
    relay = walpost(database, kafka, topics).run()
    outbox.insert("order", "k")
    database.wait_confirmed(relay.slot)
    page = visit(relay)
    page.look(2560, 1440)
    _shows(page, "streaming")
    # 1.5 cm of an hour-hand letter per metre: on a screen of 1.2 m it is 6 cm.
    height = page.run("parseFloat(getComputedStyle(document.querySelector("
                      "'h1')).fontSize)")
    assert height / 2560 * 1.2 > 0.06
    for words, part in (("Kept by Postgres", "#ruler"), (topics, "#topics"),
                        ("WAL kept for the slot", "#meters")):
        page.wait_text(words, part)
    # For some seconds no element comes, goes or moves.
    moved = page.run("""new Promise((done) => {
      const changes = [];
      new MutationObserver((list) => list.forEach((one) => changes.push(
          ...[...one.addedNodes, ...one.removedNodes].map(
              (node) => node.outerHTML).filter(Boolean))))
          .observe(document.body, {childList: true, subtree: true});
      const places = () => JSON.stringify([...document.querySelectorAll(
          'h2, h3, .plot, table, dl')].map((node) => node.offsetTop));
      const before = places();
      setTimeout(() => done([changes, before === places()]), 3500);
    })""")
    assert moved == [[], True]


_VALUES = [
    ("lsnText(format.lsn('16/B374D848'))", "16/B374D848"),
    ("lsnText(format.lsn('FFFFFFFF/FFFFFFFF'))", "FFFFFFFF/FFFFFFFF"),
    ("lsnText(format.lsn('0/0'))", "–"),
    ("lsnText(format.lsn('<b>'))", "–"),
    ("bytes(format.lsn('FFFFFFFF/FFFFFFFF') - format.lsn('0/1'))", "16 EiB"),
    ("bytes(0)", "0 B"), ("bytes(1536)", "1.5 KiB"), ("bytes(null)", "–"),
    ("seconds(0.000141)", "141 µs"), ("seconds(0.0064)", "6.4 ms"),
    ("seconds(90)", "90 s"), ("seconds(600)", "10 min"),
    ("seconds(90000)", "25.0 h"), ("duration(1.9)", "1 s"),
    ("count(12345678)", "12,345,678"), ("rate(0.25)", "0.25/s"),
    ("rate(null)", "–"), ("serverVersion(170002)", "17.2")]


@pytest.mark.long
def test_values_have_their_units(walpost, database, kafka, topics, outbox,
                                 visit):
    assert outbox
    page = visit(walpost(database, kafka, topics).run())
    _shows(page, "streaming")
    for expression, text in _VALUES:
        assert page.run("import('/page/format.js').then((format) => "
                        f"format.{expression})") == text, expression


# Answers of a relay: seconds that it runs, records acknowledged. The third has
# started again.
_RESTART = """import('/page/history.js').then(({History}) => {
  const history = new History();
  const answer = (running_seconds, acknowledged, counts) => history.add({
    running_seconds, acknowledged, value_bytes: acknowledged,
    records_by_topic: counts, commit_to_acknowledgement_buckets: [],
  }, history.samples.length);
  const topic = ({records_by_topic}) => records_by_topic.a;
  answer(100, 1000, {a: 1000});
  answer(102, 1200, {a: 1200});
  const before = history.recent(topic);
  answer(1, 5, {a: 5});
  const after = history.recent(topic);
  answer(2, 15, {a: 3});
  return [history.samples.map(({values}) => values.rate),
          history.samples.map(({isFirst}) => isFirst),
          before, after, history.recent(topic)];
})"""


@pytest.mark.long
def test_rates_are_by_the_clock_of_the_relay_and_never_negative(
        walpost, database, kafka, topics, outbox, visit):
    assert outbox
    page = visit(walpost(database, kafka, topics).run())
    _shows(page, "streaming")
    rates, breaks, before, after, replaced = page.run(_RESTART)
    assert rates == [None, 100, None, 10]
    assert breaks == [True, False, True, False]
    # A producer that was replaced begins with its topics at zero.
    assert (before, after, replaced) == (100, None, None)


def test_the_manual_has_each_panel():
    page = (REPOSITORY / "src/admin/status_page/page.html").read_text()
    panels = re.findall(r"<h2[^>]*>([^<]+)</h2>", page)
    table = (REPOSITORY / "docs/status-page.md").read_text().split("## Paths")[0]
    rows = [name for row in re.findall(r"^\| ([^|]+) \|", table, re.M)
            for name in row.split(", ")]
    assert len(panels) > 8
    assert panels == rows[rows.index("State") + 1:]


def test_each_section_that_it_may_quote_is_in_the_runbook():
    page = (REPOSITORY / "src/admin/status_page/remedy.js").read_text()
    sections = re.findall(r"^## (Walpost\w+)$", (
        REPOSITORY / "docs/runbook.md").read_text(), re.M)
    quoted = set(re.findall(r'"(Walpost\w+)"', page))
    assert len(quoted) > 15
    assert quoted <= set(sections)
    # The others are about instances that do not answer, or the process.
    assert set(sections) - quoted == {
        "WalpostNobodyPublishes", "WalpostInstanceDown", "WalpostRestarts",
        "WalpostRetentionFails", "WalpostFewDescriptorsLeft"}


def test_no_secret_is_on_any_page(walpost, database, kafka, topics, outbox,
                                  visit):
    assert outbox
    secret = "planted-" + secrets.token_hex(8)
    conninfo = f"{database.conninfo()} password={secret}"
    relay = walpost(
        database, kafka, topics, postgres={"conninfo": conninfo},
        kafka={"properties": {"ssl.key.password": secret}}).run()
    page = visit(relay)
    _shows(page, "streaming")
    page.run("document.querySelector('#config').open = true")
    page.wait_text("********", "#config")
    assert secret not in page.run("document.documentElement.outerHTML")
    for path in ("/", "/status", "/config", "/runbook", "/metrics"):
        assert secret not in relay.get(path)[1]


@pytest.mark.long
def test_a_browser_may_use_nothing_but_this_server(walpost, database, kafka,
                                                   topics, outbox, visit):
    assert outbox
    relay = walpost(database, kafka, topics).run()
    listed = relay.get("/")[1]
    assert "/status" in listed and "<" not in listed
    request = urllib.request.Request(
        f"http://{relay.config['http']['listen']}/",
        headers={"Accept": "text/html,*/*;q=0.8"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        html, headers = answer.read().decode(), answer.headers
    policy = headers["Content-Security-Policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert not re.search(r"unsafe|https?:|\*", " ".join(policy))
    assert "frame-ancestors 'none'" in policy
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    page = visit(relay)
    _shows(page, "streaming")
    used = page.run("performance.getEntriesByType('resource')"
                    ".map(({name}) => new URL(name).pathname)")
    for path in set(used) - {"/favicon.ico"}:
        assert relay.get(path)[0] == 200
    for text in (html, *(relay.get(path)[1] for path in used
                         if path.startswith("/page/"))):
        assert not re.search(r"(src|href)=\W?(https?:)?//", text)
        assert not re.search(r"innerHTML|Date\.now|new Date", text)


class _Readers:
    """Clients that ask for the page's files and read nothing, again and again."""

    PATHS = ("/", "/status", "/page/page.js", "/config", "/runbook")

    def __init__(self, relay, count=200):
        host, _, port = relay.config["http"]["listen"].rpartition(":")
        self._address = (host, int(port))
        self._count = count
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _run(self):
        clients = [self._ask(number) for number in range(self._count)]
        while not self._end.wait(0.5):
            for number in range(0, self._count, 10):
                clients[number].close()
                clients[number] = self._ask(number)
        for client in clients:
            client.close()

    def _ask(self, number):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(self._address)
        path = self.PATHS[number % len(self.PATHS)]
        client.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n"
                    "\r\n".encode())
        return client


def _drain(relay, outbox, count):
    """Records a second, and the slowest probe meanwhile."""
    before = relay.metric("walpost_acknowledged_records_total")
    begun = time.monotonic()
    outbox.database.execute(
        "insert into outbox (aggregate_type, aggregate_id, payload) select "
        "'order', n %% 10, '{}' from generate_series(1, %s) n", (count,))
    slowest = 0
    while relay.metric("walpost_acknowledged_records_total") < before + count:
        asked = time.monotonic()
        assert relay.get("/readyz")[0] == 200
        slowest = max(slowest, time.monotonic() - asked)
        assert time.monotonic() < begun + 60
    return count / (time.monotonic() - begun), slowest


def test_p10_slow_readers_never_slow_the_relay(walpost, database, kafka, topics,
                                               outbox):
    relay = walpost(database, kafka, topics).run()
    _drain(relay, outbox, 1000)
    alone, _ = _drain(relay, outbox, 20_000)
    with _Readers(relay):
        rate, slowest = _drain(relay, outbox, 20_000)
    note(f"{alone:.0f} records/s alone, {rate:.0f} beside 200 slow readers; the "
         f"slowest probe took {slowest:.3f} s")
    assert slowest < (1 if LONG else 5)
    assert rate > alone / (1.5 if LONG else 4)
