"""delivery.guarantee: exactly_once, and the coordinator of the transactions:
walpost does not reach it, it moves at a chosen request, or it ends a transaction
that is open for too long."""

import time

import pytest

from harness import Load, RequestProxy, judge_once, wait_until
from harness.exactly_once import once
from harness.matrix import LONG, long_only, pairs
from harness.request_proxy import (ADD_PARTITIONS_TO_TXN, ANSWERS, END_TXN,
                                   INIT_PRODUCER_ID, REQUESTS,
                                   TO_THE_COORDINATOR)

_TIMEOUT_S = 30  # the least that is allowed
# How often the brokers look for transactions that are open for too long.
_LOOK_S = 3
BROKER = {"transaction.abort.timed.out.transaction.cleanup.interval.ms":
          1000 * _LOOK_S}
_UNTIL_ABORTED_S = _TIMEOUT_S + _LOOK_S + 1
_REQUESTS = {"init": INIT_PRODUCER_ID, "add": ADD_PARTITIONS_TO_TXN,
             "end": END_TXN}
_LOG = "__transaction_state"  # whoever leads it is the coordinator


def _make(walpost, database, brokers, topics):
    return walpost(database, brokers, topics, **once(
        topics, transaction_timeout=f"{_TIMEOUT_S}s",
        # So that one is open whenever something fails.
        transaction_interval="500ms", transaction_idle="500ms"))


def _lost_transactions(relay):
    return sum(relay.metric(
        f'walpost_kafka_transactions_total{{outcome="{outcome}"}}')
        for outcome in ("fenced", "given_up"))


# ---- walpost does not reach it.

_CUTS = {"requests": [REQUESTS], "answers": [ANSWERS],
         "both": [REQUESTS, ANSWERS]}


@pytest.mark.parametrize("cut", ["answers", *long_only("requests", "both")])
def test_p5_the_coordinator_alone_is_cut_off(walpost, database, way, outbox,
                                             topics, dice, cut):
    broker, proxy = way
    relay = _make(walpost, database, proxy, topics).run()
    with Load(outbox, dice.seed_text, pause=0.03) as load:
        for _ in range(4 if LONG else 1):
            load.wait(50)
            time.sleep(dice.random())
            proxy.cut(*_CUTS[cut], of=TO_THE_COORDINATOR)
            time.sleep(3 * dice.random())
            proxy.heal()
        load.wait(100)
    judge_once(outbox, broker, relay)
    assert relay.stop() == 0


@pytest.mark.long
@pytest.mark.parametrize("cut", ["both", "requests", "answers"])
def test_p5_p10_it_is_cut_off_for_longer_than_a_transaction_may_be_open(
        walpost, database, way, outbox, topics, dice, cut):
    broker, proxy = way
    relay = _make(walpost, database, proxy, topics).run()
    with Load(outbox, dice.seed_text, pause=0.05) as load:
        load.wait(50)
        proxy.cut(*_CUTS[cut], of=TO_THE_COORDINATOR)
        relay.wait_unready("__transaction_state")
        time.sleep(_UNTIL_ABORTED_S)
        assert relay.get("/readyz")[0] == 503
        proxy.heal()
        relay.wait_ready(90)
        load.wait(50)
    assert _lost_transactions(relay) >= 1
    judge_once(outbox, broker, relay)
    assert relay.stop() == 0


# ---- An outage is longer than a transaction may be open.

class _Cut:
    def __init__(self, _, proxy):
        self._proxy = proxy

    def begin(self):
        self._proxy.cut(REQUESTS, ANSWERS)

    def end(self):
        self._proxy.heal()


class _Freeze:
    """The brokers' clock goes on."""

    def __init__(self, broker, _):
        self.begin = broker.freeze
        self.end = broker.thaw


class _Kill:
    def __init__(self, broker, _):
        self.begin = broker.kill
        self.end = broker.start


@pytest.mark.long  # what follows is the same as with the coordinator alone
@pytest.mark.parametrize("outage", [_Freeze, _Cut, _Kill])
def test_p5_an_outage_is_longer_than_a_transaction_may_be_open(
        walpost, database, way, outbox, topics, dice, outage):
    broker, proxy = way
    relay = _make(walpost, database, proxy, topics).run()
    trouble = outage(broker, proxy)
    with Load(outbox, dice.seed_text, pause=0.05) as load:
        load.wait(50)
        trouble.begin()
        time.sleep(_UNTIL_ABORTED_S)
        trouble.end()
        relay.wait_ready(90)
        load.wait(50)
    judge_once(outbox, broker, relay)
    assert relay.stop() == 0


# ---- It moves.

@pytest.fixture(scope="module")
def proxies(kafka_cluster):
    made = {node: RequestProxy(*ports)
            for node, ports in kafka_cluster.far_ports.items()}
    yield made
    for proxy in made.values():
        proxy.close()


@pytest.fixture
def ways(proxies):
    """The only way of a client to each node; a test may harm both."""
    yield proxies
    for node, proxy in proxies.items():
        proxy.heal()
        node.mend()


class _Far:
    """The cluster as a client sees it that goes through proxies."""

    def __init__(self, ways):
        self.bootstrap = ",".join(proxy.bootstrap for proxy in ways.values())


@pytest.mark.parametrize("case", pairs(
    [{"request": "end", "is_done": "after", "way_to_move": "moves"}],
    request=list(_REQUESTS), is_done=["before", "after"],
    way_to_move=["moves", "dies"]), ids=str)
@pytest.mark.long
def test_p5_the_coordinator_moves_at_a_request(
        walpost, database, kafka_cluster, ways, outbox, topics, dice, case):
    """Before the request is there, or with its answer on the way."""
    cluster = kafka_cluster
    relay = _make(walpost, database, _Far(ways), topics).run(60)
    with Load(outbox, dice.seed_text, pause=0.03) as load:
        load.wait(50)
        coordinator = cluster.leader_of(_LOG)
        proxy = ways[coordinator]
        hold = proxy.delay if case["is_done"] == "before" else proxy.delay_answer
        if case["request"] == "init":
            relay.kill()
        held = hold(_REQUESTS[case["request"]])
        if case["request"] == "init":
            relay.start()
        wait_until(held.is_kept, relay.log, 60)
        if case["way_to_move"] == "dies":
            coordinator.kill()
        else:
            cluster.move_leader(_LOG)
        held.deliver()
        relay.wait_ready(90)
        load.wait(100)
        coordinator.mend()
        cluster.wait_in_sync()
        load.wait(50)
    judge_once(outbox, cluster, relay)
    assert relay.stop() == 0
