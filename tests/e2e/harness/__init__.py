"""What the end-to-end tests and the demo stand on.

Every server is a private one, on a free loopback port, with its data in a
temporary folder; it dies with the process that started it.
"""

from harness.birth import LONG_AGO, put_on_record, read_birth
from harness.certificates import Authority
from harness.checker import Checker, Expected
from harness.database import Database
from harness.external import ExternalKafka, ExternalPostgres
from harness.fenced_metadata import FencedMetadata
from harness.figures import note
from harness.held_calls import HeldCalls
from harness.judge import MOST_MEMORY, judge, judge_once, verify
from harness.kafka import Kafka
from harness.kafka_cluster import KafkaCluster
from harness.kafka_reader import KafkaReader, Record
from harness.load import Load
from harness.lsn import lsn
from harness.open_transaction import OpenTransaction
from harness.outbox import Outbox
from harness.postgres import Postgres
from harness.proxy import Proxy
from harness.readiness import Readiness
from harness.request_proxy import RequestProxy
from harness.secured_kafka import SecuredKafka
from harness.secured_postgres import SecuredPostgres
from harness.sql_files import run_sql_file
from harness.stored import STORES, Store, checkpoint_section
from harness.token_endpoint import TokenEndpoint
from harness.token_signer import TokenSigner
from harness.waiting import wait_until
from harness.walpost import Walpost

__all__ = [
    "Authority",
    "Checker",
    "Database",
    "Expected",
    "ExternalKafka",
    "ExternalPostgres",
    "FencedMetadata",
    "HeldCalls",
    "Kafka",
    "KafkaCluster",
    "KafkaReader",
    "LONG_AGO",
    "Load",
    "MOST_MEMORY",
    "OpenTransaction",
    "Outbox",
    "Postgres",
    "Proxy",
    "Readiness",
    "Record",
    "RequestProxy",
    "STORES",
    "SecuredKafka",
    "SecuredPostgres",
    "Store",
    "TokenEndpoint",
    "TokenSigner",
    "Walpost",
    "checkpoint_section",
    "judge",
    "judge_once",
    "lsn",
    "note",
    "put_on_record",
    "read_birth",
    "run_sql_file",
    "verify",
    "wait_until",
]
