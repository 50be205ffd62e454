"""delivery.guarantee: exactly_once, and what becomes of its checkpoint topic."""

import pytest

from harness import Load, judge_once, wait_until

_COMMITTED = "walpost_kafka_transaction_records_total"


@pytest.mark.parametrize("brokers", ["kafka", "strict_kafka"])
def test_p5_the_checkpoint_topic_is_deleted(walpost, database, outbox, topics,
                                            dice, brokers, request):
    """The events are still in their topics: nobody has to recover them.

    kafka makes missing topics by itself, strict_kafka does not.
    """
    broker = request.getfixturevalue(brokers)
    for kind in ("order", "invoice", "shipment"):
        broker.create_topic(topics + kind, 4)
    checkpoints = f"checkpoints-{topics}"
    relay = walpost(database, broker, topics,
                    delivery={"guarantee": "exactly_once"},
                    checkpoint={"topic": checkpoints}).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for _ in range(2):
            load.wait(100)
            broker.delete_topic(checkpoints)
            before = relay.metric(_COMMITTED)
            wait_until(lambda before=before:
                       relay.metric(_COMMITTED) > before + 50,
                       lambda: f"{relay.get('/readyz')}\n{relay.log()}", 60)
            relay.wait_ready(60)
        load.wait(100)
    judge_once(outbox, broker, relay)
    assert relay.stop() == 0
    if brokers == "kafka":
        relay.start()
        assert relay.wait_exit() == 4
        assert "checkpoints need one with a single partition" in relay.log()
