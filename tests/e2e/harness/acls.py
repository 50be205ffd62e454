"""Rights in Kafka, given and taken back without a JVM for each.

kafka-acls.sh takes a second of CPU time. These are its requests, CreateAcls and
DeleteAcls in version 1 of the protocol; whoever sends them may do everything.
https://kafka.apache.org/protocol.html
"""

import argparse
import socket
import struct

_CREATE, _DELETE, _VERSION = 30, 31, 1
_TOPIC, _GROUP, _CLUSTER, _TRANSACTIONAL_ID = 2, 3, 4, 5
_ANY = 1  # of everything that has numbers here
_PATTERNS = {"literal": 3, "prefixed": 4}
_OPERATIONS = {name: number for number, name in enumerate(
    ("All", "Read", "Write", "Create", "Delete", "Alter", "Describe",
     "ClusterAction", "DescribeConfigs", "AlterConfigs", "IdempotentWrite"), 2)}
_DENY, _ALLOW = 2, 3
_CLUSTER_NAME = "kafka-cluster"


def add_acls(address, words):
    """Does what `kafka-acls.sh --add WORDS` does."""
    given = _parse(words)
    permission, principal = ((_DENY, given.deny_principal)
                             if given.deny_principal
                             else (_ALLOW, given.allow_principal))
    pattern = _PATTERNS[given.resource_pattern_type]
    bindings = [
        struct.pack(">b", kind) + _string(name) + struct.pack(">b", pattern)
        + _string(principal) + _string("*")
        + struct.pack(">bb", _operation(operation), permission)
        for kind, name in _resources(given) for operation in given.operation]
    assert bindings, words
    _ask(address, _CREATE, bindings)


def remove_acls(address, topic=None, operation="Any", denied=False):
    """Those on this very topic, and on what begins with it; without a topic,
    those on the cluster. With `denied`, those that deny `operation` alone."""
    kind, name = (_CLUSTER, _CLUSTER_NAME) if topic is None else (_TOPIC, topic)
    _ask(address, _DELETE, [
        struct.pack(">b", kind) + _string(name) + struct.pack(">b", _ANY)
        + _string(None) + _string(None)
        + struct.pack(">bb", _OPERATIONS.get(operation, _ANY),
                      _DENY if denied else _ANY)])


def _parse(words):
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--allow-principal")
    parser.add_argument("--deny-principal")
    parser.add_argument("--operation", action="append", required=True)
    parser.add_argument("--topic", action="append", default=[])
    parser.add_argument("--group", action="append", default=[])
    parser.add_argument("--transactional-id", action="append", default=[])
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--resource-pattern-type", default="literal",
                        choices=_PATTERNS)
    return parser.parse_args(words)


def _operation(name):
    """DESCRIBE_CONFIGS or DescribeConfigs."""
    return _OPERATIONS[name.title().replace("_", "") if name.isupper() else name]


def _resources(given):
    for kind, names in ((_TOPIC, given.topic), (_GROUP, given.group),
                        (_TRANSACTIONAL_ID, given.transactional_id)):
        for name in names:
            yield kind, name
    if given.cluster:
        yield _CLUSTER, _CLUSTER_NAME


def _ask(address, request, entries):
    """Fails where the broker refuses one of the entries."""
    host, port = address.rsplit(":", 1)
    body = (struct.pack(">hhi", request, _VERSION, 1) + _string("test")
            + struct.pack(">i", len(entries)) + b"".join(entries))
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        answer = connection.makefile("rb")
        size, = struct.unpack(">i", answer.read(4))
        answered = answer.read(size)
    # Correlation id, throttle time, count; then of the first its error. The rest
    # of a deletion's answer lists what went.
    _, _, count = struct.unpack_from(">iii", answered)
    assert count == len(entries), answered
    at = 12
    for _ in range(count if request == _CREATE else 1):
        error, length = struct.unpack_from(">hh", answered, at)
        assert error == 0, answered
        at += 4 + max(length, 0)


def _string(text):
    """None is the protocol's null."""
    if text is None:
        return struct.pack(">h", -1)
    data = text.encode()
    return struct.pack(">h", len(data)) + data
