#!/usr/bin/env python3
"""A consumer whose effects happen once, though records may come twice.

Writes an invoice for each order, in PostgreSQL:

    consumer.py --brokers 127.0.0.1:9092 --topic outbox.event.order \\
        --conninfo "host=127.0.0.1 dbname=billing user=billing"

requirements.txt has its libraries; on Debian: python3-confluent-kafka,
python3-psycopg2. The database needs
sql/processed_events.sql and docs/consumers/schema.sql.

Kill it at any point, run several, feed it duplicates: each order has one
invoice. Three things make it so.

1. Claim and effect are one transaction. claim_event() is false for an event
   whose effect is written already; after a crash neither is there.
2. The offset is committed to Kafka after that transaction, never before. In
   between, a crash brings the records again, and 1 takes care of them.
3. Kafka's own, timed commit of offsets is off: it would run ahead of 2.

It knows events by their id. A consumer that keeps the last walpost-position of
each partition instead must forget it when the database has moved to another
server (docs/moving.md); this one need not.
"""

import argparse
import json
import time

import confluent_kafka
import psycopg2

_CONSUMER = "billing"
_BATCH = 100


def main():
    arguments = _arguments()
    # begin: loop
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": arguments.brokers,
        "group.id": _CONSUMER,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        # When one of us dies, the others take over its partitions after that.
        "session.timeout.ms": 6000,
        # Nothing of an aborted transaction of Kafka.
        "isolation.level": "read_committed",
    })
    consumer.subscribe([arguments.topic])
    connection = psycopg2.connect(arguments.conninfo)
    last = time.monotonic()
    while not arguments.idle or time.monotonic() - last < arguments.idle:
        messages = consumer.consume(_BATCH, timeout=0.5)
        records = [message for message in messages if not message.error()]
        if not records:
            continue
        with connection, connection.cursor() as cursor:  # one transaction
            for record in records:
                _handle(cursor, record)
        _commit(consumer)
        last = time.monotonic()
    # end: loop
    consumer.close()
    connection.close()


# begin: handle
def _handle(cursor, record):
    """The effect of one record, the first time that it comes."""
    event_id = dict(record.headers())["id"].decode()
    cursor.execute("select claim_event(%s, %s)", (_CONSUMER, event_id))
    is_first, = cursor.fetchone()
    if not is_first or record.value() is None:  # None: no payload
        return
    event = json.loads(record.value())
    if event["event"] != "OrderPlaced":
        return
    cursor.execute(
        "insert into invoice (order_id, customer, cents) values (%s, %s, %s)",
        (event["orderId"], event["customer"], event["cents"]))
# end: handle


def _commit(consumer):
    """How far we are. When it fails, the records come again."""
    try:
        consumer.commit(asynchronous=False)
    except confluent_kafka.KafkaException as failure:
        # A rebalance took the partitions away; their next owner begins where
        # we last committed.
        print(f"offsets not committed: {failure}", flush=True)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--conninfo", required=True)
    parser.add_argument("--idle", type=float, metavar="SECONDS",
                        help="end when nothing came for so long")
    return parser.parse_args()


if __name__ == "__main__":
    main()
