"""A Kafka transaction of another program, which stays open."""

import ctypes

_LIBRARY = "librdkafka.so.1"
_PRODUCER = 0
# Tags of rd_kafka_producev.
_END, _TOPIC, _PARTITION, _VALUE, _KEY, _FLAGS, _HEADER = 0, 1, 3, 4, 5, 7, 9
_COPY = 2
_ANY_PARTITION = -1


class OpenTransaction:
    """Records in a transaction; commit() or abort() ends it.

    Consumers that read committed records only get nothing from behind the first
    record until then.
    """

    def __init__(self, bootstrap, name):
        self._kafka = ctypes.CDLL(_LIBRARY)
        for function in ("rd_kafka_new", "rd_kafka_conf_new",
                         "rd_kafka_init_transactions",
                         "rd_kafka_begin_transaction",
                         "rd_kafka_commit_transaction",
                         "rd_kafka_abort_transaction"):
            getattr(self._kafka, function).restype = ctypes.c_void_p
        self._kafka.rd_kafka_error_string.restype = ctypes.c_char_p
        conf = ctypes.c_void_p(self._kafka.rd_kafka_conf_new())
        for key, value in (("bootstrap.servers", bootstrap),
                           ("transactional.id", name),
                           ("transaction.timeout.ms", "300000"),
                           ("partitioner", "murmur2_random")):
            self._kafka.rd_kafka_conf_set(conf, key.encode(), value.encode(),
                                          None, ctypes.c_size_t(0))
        self._client = ctypes.c_void_p(self._kafka.rd_kafka_new(
            _PRODUCER, conf, None, ctypes.c_size_t(0)))
        self._call("init_transactions", 30_000)
        self._call("begin_transaction")

    def produce(self, topic, key, value, partition=_ANY_PARTITION, **headers):
        """Returns when the record is in the log."""
        words = [_TOPIC, topic.encode(), _PARTITION, partition, _FLAGS, _COPY,
                 *_sized(_KEY, key), *_sized(_VALUE, value)]
        for name, text in headers.items():
            words += [_HEADER, name.replace("_", "-").encode(),
                      *_sized(None, text)]
        assert self._kafka.rd_kafka_producev(self._client,
                                             *_arguments(words), _END) == 0
        assert self._kafka.rd_kafka_flush(self._client, 30_000) == 0
        return self

    def commit(self):
        self._call("commit_transaction", 30_000)
        self._kafka.rd_kafka_destroy(self._client)

    def abort(self):
        self._call("abort_transaction", 30_000)
        self._kafka.rd_kafka_destroy(self._client)

    def _call(self, function, *words):
        error = getattr(self._kafka, "rd_kafka_" + function)(self._client,
                                                            *words)
        assert error is None, self._kafka.rd_kafka_error_string(
            ctypes.c_void_p(error))


def _sized(tag, text):
    data = text.encode()
    return ([] if tag is None else [tag]) + [data, len(data)]


def _arguments(words):
    """Numbers as wide as the widest that the function takes."""
    return [ctypes.c_ssize_t(word) if isinstance(word, int) else
            ctypes.c_char_p(word) for word in words]
