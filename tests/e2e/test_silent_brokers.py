"""P10: brokers that fall silent are noticed within ten seconds, whatever the
producer has sent so far; and so is the end of it."""

import json
import re
import secrets
import signal
import time

import pytest

from harness import Kafka, Outbox, Proxy, note, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, pairs
from harness.ports import free_port

# pylint: disable=redefined-outer-name

_NOTICED_WITHIN_S = 10
_OVER_WITHIN_S = 10
_SHOWN_FOR_S = 15 if LONG else 11
_LIMIT = 5000
_WIDE = json.dumps(secrets.token_hex(_LIMIT))
_REASONS = "no Kafka broker is reachable|have answered nothing"


class _Brokers:
    """One broker, and the only way to it."""

    def __init__(self, directory):
        port = free_port()
        self.broker = Kafka(directory, advertised_port=port).start()
        self.way = Proxy(self.broker.behind_port, port)
        self.bootstrap = f"127.0.0.1:{port}"

    def silence(self, how):
        {"freeze": self.broker.freeze, "cut": self.way.cut,
         "kill": self.broker.kill}[how]()

    def mend(self):
        self.way.heal()
        self.broker.mend()

    def close(self):
        self.way.close()
        self.broker.close()


@pytest.fixture(scope="module")
def all_brokers(module_directory):
    made = _Brokers(module_directory / "silent-kafka")
    yield made
    made.close()


@pytest.fixture
def brokers(all_brokers):
    yield all_brokers
    all_brokers.mend()


# What a producer has been through. Each leaves one without a record.


def _started(relay, _):
    relay.run()


def _restarted(relay, outbox):
    relay.run()
    outbox.insert("order", "first")
    outbox.database.wait_confirmed(relay.slot)
    relay.stop()
    relay.run()


def _rejected(relay, outbox):
    relay.run()
    outbox.insert("narrow", "wide", _WIDE)
    relay.wait_log("replacing the Kafka producer")
    outbox.database.wait_confirmed(relay.slot)
    relay.wait_ready()


def _renewed(relay, _):
    relay.run()
    password = relay.config_path.parent / "password"
    password.write_text("another")
    relay.send(signal.SIGHUP)
    relay.wait_log("replacing the Kafka producer: its credentials have changed")
    wait_until(lambda: relay.log().count("streaming from slot") > 1,
               "another stream")
    relay.wait_ready()


_STATES = {
    "started": (_started, {}),
    "restarted": (_restarted, {}),
    "skipped": (_rejected, {"on_error": {"record_too_large": "skip"}}),
    "parked": (_rejected, {"on_error": {"record_too_large": "park"}}),
    "letter in Kafka": (_rejected, {
        "on_error": {"record_too_large": "dead_letter"},
        "dead_letter": {"payload": "none"}}),
    "letter in Postgres": (_rejected, {
        "on_error": {"record_too_large": "dead_letter"},
        "dead_letter": {"store": "postgres"}}),
    "renewed": (_renewed, {}),
    "standby": (_started, {}),
    "took over": (_started, {}),
}


@pytest.fixture
def relay(request, walpost, database, brokers, topics, directory):
    """In that state, and without a record on its way."""
    case = request.param
    enter, sections = _STATES[case["state"]]
    if case["guarantee"] == "exactly_once":
        sections = {**sections, **once(topics)}
    brokers.broker.create_topic(topics + "narrow", 1, max_message_bytes=_LIMIT)
    outbox = Outbox(database, topics)

    def make():
        made = walpost(database, brokers, topics, **sections)
        password = made.config_path.parent / "password"
        password.write_text("first")
        # It is not used: the brokers ask for none.
        made.config["kafka"]["properties"] = {
            "sasl.password": f"${{file:{password}}}"}
        made.configure(made.config)
        return made

    first = make()
    enter(first, outbox)
    if case["state"] in ("standby", "took over"):
        second = make().start()
        wait_until(lambda: second.get("/readyz")[1].startswith("standby"),
                   lambda: f"standby; it says {second.get('/readyz')}", 15)
        if case["state"] == "took over":
            first.kill()
            wait_until(lambda: second.get("/readyz")[1].startswith("streaming"),
                       lambda: f"streaming; it says {second.get('/readyz')}", 30)
        first = second
    first.case, first.outbox = case, outbox
    # Older than the interval of the questions.
    time.sleep(4)
    assert first.get("/readyz")[0] == 200
    return first


_SAMPLE = [
    {"state": "started", "how": "freeze", "guarantee": "at_least_once"},
    {"state": "parked", "how": "cut", "guarantee": "exactly_once"}]


@pytest.mark.parametrize("relay", pairs(
    _SAMPLE, state=list(_STATES), how=["freeze", "cut", "kill"],
    guarantee=["at_least_once", "exactly_once"]), ids=str, indirect=True)
@pytest.mark.sample(2)
def test_p10_silent_brokers_are_noticed(relay, database, brokers):
    brokers.silence(relay.case["how"])
    begun = time.monotonic()
    text = relay.wait_unready(_REASONS, 45)
    took = time.monotonic() - begun
    note(f"{relay.case}: unready after {took:.1f} s")
    assert took <= _NOTICED_WITHIN_S, text
    # It stays so.
    while time.monotonic() < begun + _SHOWN_FOR_S:
        status, text = relay.get("/readyz")
        assert status == 503 and re.search(_REASONS, text), text
        time.sleep(0.2)
    brokers.mend()
    begun = time.monotonic()
    relay.wait_ready(45)
    took = time.monotonic() - begun
    note(f"{relay.case}: ready {took:.1f} s later")
    assert took <= _OVER_WITHIN_S
    if relay.case["state"] == "standby":
        return
    relay.outbox.insert("order", "last")
    database.wait_confirmed(relay.slot)
