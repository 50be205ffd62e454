"""delivery.guarantee: exactly_once, on a network that delivers a request late.

Its client has lost the connection, has asked again, and has gone on. The
brokers tell neither the request nor the transactions of a producer apart.
"""

import pytest

from harness import Kafka, Load, RequestProxy, judge, wait_until
from harness.ports import free_port
from harness.request_proxy import ADD_PARTITIONS_TO_TXN, END_TXN, PRODUCE


@pytest.fixture(scope="module", name="way")
def _way(module_directory):
    """A broker, and the only way to it."""
    port = free_port()
    broker = Kafka(module_directory / "broker", advertised_port=port).start()
    proxy = RequestProxy(broker.behind_port, port)
    yield broker, proxy
    proxy.close()
    broker.close()


@pytest.mark.parametrize("late", [END_TXN, ADD_PARTITIONS_TO_TXN, PRODUCE],
                         ids=["end", "add", "produce"])
def test_p5_a_request_comes_late_into_the_next_transaction(
        walpost, database, way, outbox, topics, dice, late):
    broker, proxy = way
    relay = walpost(
        database, proxy, topics,
        delivery={"guarantee": "exactly_once", "transaction_interval": "1s",
                  "transaction_idle": "1s"},
        checkpoint={"topic": f"checkpoints-{topics}"}).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(4):
            load.wait(50)
            held = proxy.hold(late)
            ended = proxy.passed(END_TXN)
            wait_until(lambda: proxy.passed(END_TXN) > ended,
                       lambda: relay.log(), 60)
            produced = proxy.passed(PRODUCE)
            wait_until(lambda: proxy.passed(PRODUCE) > produced + 1,
                       lambda: relay.log(), 60)
            held.deliver()
            relay.kill()
            relay.run(90)
        load.wait(50)
    checker = judge(outbox, broker, relay)
    assert checker.duplicates == 0, checker.summary()
    assert relay.stop() == 0
