"""NATS by its protocol alone: a client that is not ours."""

import base64
import json
import re
import socket
import ssl

from harness.kafka_reader import Record


class NatsClient:
    """One connection, one question at a time."""

    def __init__(self, port, user=None, password=None):
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self.info = json.loads(self._first_line()[5:])
        if self.info.get("tls_required"):
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self._socket = context.wrap_socket(self._socket)
        self._lines = self._socket.makefile("rb")
        self._asked = 0
        options = {"verbose": False, "headers": True, "no_responders": True}
        if user is not None:
            options |= {"user": user, "pass": password}
        self._send(f"CONNECT {json.dumps(options)}\r\nSUB _INBOX.e2e.* 1\r\n")

    def close(self):
        self._lines.close()
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, subject, body="", seconds=5):
        """The answer to a request; None: nobody listens."""
        self._asked += 1
        reply = f"_INBOX.e2e.{self._asked}"
        payload = body.encode()
        self._send(f"PUB {subject} {reply} {len(payload)}\r\n", payload)
        return self._answer(reply, seconds)

    def api(self, request, **body):
        """An answer of the API of JetStream, whatever it is."""
        text = json.dumps(body) if body else ""
        answer = self.ask(f"$JS.API.{request}", text)
        if answer is None:
            return {"error": {"description": "nobody listens"}}
        return json.loads(answer)

    def _answer(self, reply, seconds):
        self._socket.settimeout(seconds)
        while True:
            line = self._lines.readline().decode()
            if line.startswith("PING"):
                self._send("PONG\r\n")
            elif line.startswith("-ERR"):
                raise RuntimeError(line)
            elif line.startswith("MSG"):
                words = line.split()
                payload = self._lines.read(int(words[-1]) + 2)[:-2]
                if words[1] == reply:
                    return payload
            elif line.startswith("HMSG"):
                words = line.split()
                payload = self._lines.read(int(words[-1]) + 2)[:-2]
                if words[1] == reply:
                    headers = payload[:int(words[-2])]
                    return None if b" 503" in headers.split(b"\r\n")[0] \
                        else payload[int(words[-2]):]
            elif not line:
                raise ConnectionError("the server has closed the connection")

    def _first_line(self):
        """Byte by byte: TLS begins behind it."""
        line = b""
        while not line.endswith(b"\n"):
            byte = self._socket.recv(1)
            if not byte:
                raise ConnectionError("the server has closed the connection")
            line += byte
        return line

    def _send(self, text, payload=None):
        data = text.encode()
        if payload is not None:
            data += payload + b"\r\n"
        self._socket.sendall(data)


class NatsReader:
    """Reads whole streams, message by message.

    The order of a key is that of the stream, and keys do not wait for each
    other: a record's `partition` is its key.
    """

    def __init__(self, client):
        self._client = client

    def streams(self):
        answer = self._client.api("STREAM.NAMES")
        if "error" in answer:  # the cluster has no leader now
            raise ConnectionError(answer)
        return answer.get("streams") or []

    def read(self, stream):
        state = self._client.api(f"STREAM.INFO.{stream}")["state"]
        records = []
        for number in range(state["first_seq"], state["last_seq"] + 1):
            answer = self._client.api(f"STREAM.MSG.GET.{stream}", seq=number)
            if "message" in answer:
                records.append(_record(answer["message"]))
            elif answer.get("error", {}).get("code") != 404:
                raise ConnectionError(answer)
        return records

    def read_all(self, prefix=""):
        return [record for stream in self.streams()
                for record in self.read(stream)
                if record.topic.startswith(prefix)]


def read_along(client, subject):
    """Records as they are published; the first item, None, says that the
    subscription has begun."""
    # pylint: disable=protected-access
    client._send(f"SUB {subject} 2\r\n")
    client.api("INFO")
    client._socket.settimeout(None)
    yield None
    number = 0
    while True:
        line = client._lines.readline().decode()
        if not line:
            return
        if line.startswith("PING"):
            client._send("PONG\r\n")
        if line.startswith("HMSG"):
            words = line.split()
            payload = client._lines.read(int(words[-1]) + 2)[:-2]
            size = int(words[-2])
            number += 1
            yield _record_of(words[1], number, payload[:size], payload[size:])


def _record(message):
    return _record_of(message["subject"], message["seq"],
                      base64.b64decode(message.get("hdrs", "")),
                      base64.b64decode(message.get("data", "")))


def _record_of(subject, number, block, value):
    headers = parse_headers(block)
    named = dict(headers)
    if named.get("walpost-tombstone") == b"true":
        value = None
    key = named.get("walpost-key")
    return Record(subject, key, number,
                  int(named.get("walpost-timestamp", 0)), key, value, headers)


def parse_headers(block):
    """(name, value), in order; encoded words as the bytes that they stand
    for."""
    headers = []
    for line in block.split(b"\r\n")[1:]:
        if not line:
            continue
        name, _, value = line.partition(b": ")
        word = re.fullmatch(rb"=\?(?:UTF-8|binary)\?B\?(.*)\?=", value)
        headers.append((name.decode(),
                        base64.b64decode(word[1]) if word else value))
    return tuple(headers)
