"""From delivery.guarantee: at_least_once to exactly_once, and back."""

from harness import KafkaReader, Load, judge_once, wait_until
from harness.exactly_once import once


def test_switching_there_and_back(walpost, database, kafka, outbox, topics,
                                  dice):
    sections = once(topics, transaction_timeout="30s")
    least = {"guarantee": "at_least_once"}
    relay = walpost(
        database, kafka, topics, delivery=least,
        checkpoint={**sections["checkpoint"], "store": "kafka"}).run()
    with Load(outbox, dice.seed_text, pause=0.01) as load:
        for delivery in (sections["delivery"], least, sections["delivery"]):
            load.wait(50)
            assert relay.stop() == 0
            relay.configure({**relay.config, "delivery": delivery})
            relay.run()
        load.wait(50)
        relay.kill()  # what is open is neither seen nor sent again
        relay.configure({**relay.config, "delivery": least})
        relay.run(90)
        load.wait(50)
    # It hides what lies behind it until the brokers abort it.
    database.wait_confirmed(relay.slot)
    events = len(outbox.expected())
    reader = KafkaReader(kafka.bootstrap)
    wait_until(lambda: len(reader.read_all(topics)) >= events,
               lambda: f"{events} records", 60, pause=1)
    judge_once(outbox, kafka, relay)
