"""The user's own servers, where the environment names them.

WALPOST_PG is a conninfo of a role that may create databases and replication
slots; WALPOST_BROKERS a list of brokers that create topics by themselves. They
serve the tests that harm no server; the others start private ones regardless.
"""

import os

import psycopg2
import psycopg2.extensions

from harness.brokers import Brokers
from harness.database import Database
from harness.kafka_reader import KafkaReader


class ExternalPostgres:
    """A server that somebody else runs; see Postgres for the methods."""

    def __init__(self, conninfo):
        self._conninfo = conninfo

    @classmethod
    def from_environment(cls):
        conninfo = os.environ.get("WALPOST_PG")
        return cls(conninfo) if conninfo else None

    def conninfo(self, database=None, user=None):
        changes = {"dbname": database, "user": user}
        return psycopg2.extensions.make_dsn(
            self._conninfo, **{k: v for k, v in changes.items() if v})

    def connect(self, database=None, user=None):
        connection = psycopg2.connect(self.conninfo(database, user),
                                      connect_timeout=5)
        connection.autocommit = True
        return connection

    def create_database(self):
        return Database(self)

    def close(self):
        pass


class ExternalKafka(Brokers):
    """Brokers that somebody else runs; see Kafka for the methods."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap

    @classmethod
    def from_environment(cls):
        brokers = os.environ.get("WALPOST_BROKERS")
        return cls(brokers) if brokers else None

    def forget(self, prefixes):
        """Deletes the topics with one of these prefixes in their names."""
        topics = [topic for topic in KafkaReader(self.bootstrap).topics()
                  if any(prefix in topic for prefix in prefixes)]
        if topics:
            self.delete_topics(topics)

    def close(self):
        pass
