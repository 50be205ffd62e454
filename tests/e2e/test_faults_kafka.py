"""placeholder"""
import time
from harness import Load, judge


def test_x(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    with Load(outbox, 1, pause=0.005):
        time.sleep(1)
    judge(outbox, kafka, relay)


def test_y(walpost, database, kafka_cluster, outbox, topics):
    relay = walpost(database, kafka_cluster, topics).run()
    with Load(outbox, 1, pause=0.005):
        time.sleep(1)
    judge(outbox, kafka_cluster, relay)
