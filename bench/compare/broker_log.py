"""How many records the broker has, and when it appended them: from its files.

The broker is ours, so its log lies beside us. Reading the headers of its
batches costs nobody a request, is the same for every contender, and gives the
broker's own clock (topics have message.timestamp.type=LogAppendTime).

A batch (magic 2) begins like this; only what is used has a name:

    0  base offset   int64       17  crc              4 bytes
    8  length        int32       21  attributes       int16
   12  leader epoch  int32       23  last offset delta .. max timestamp at 35
   16  magic         int8        57  record count     int32
"""

import struct

_HEADER = struct.Struct(">qii b I h i q q q h i i")
_CONTROL = 0x20


class BrokerLog:
    """The partitions of all topics whose names begin with `prefix`.

    `read()` takes in what was appended since; then `records` counts all
    records, `first_ms` and `last_ms` are when the first and the last batch
    were appended (milliseconds since 1970), None while there is none, and
    `marked_ms` when the end of a transaction was last written: its records can
    be read from then on.
    """

    def __init__(self, data_directory, prefix):
        self._data = data_directory
        self._prefix = prefix
        self._read_up_to = {}  # bytes, by segment
        self.records = 0
        self.first_ms = None
        self.last_ms = None
        self.marked_ms = None

    def read(self):
        """Returns `records`."""
        for segment in self._data.glob(f"{self._prefix}*/*.log"):
            self._read_segment(segment)
        return self.records

    def _read_segment(self, segment):
        position = self._read_up_to.get(segment, 0)
        size = segment.stat().st_size
        if size == position:
            return
        with open(segment, "rb") as log:
            while position + _HEADER.size <= size:
                log.seek(position)
                header = _HEADER.unpack(log.read(_HEADER.size))
                _, length, _, magic, _, attributes, *_ = header
                end = position + 12 + length
                if magic != 2 or end > size:
                    break  # not all of it is there yet
                position = end
                if attributes & _CONTROL:
                    self.marked_ms = max(self.marked_ms or 0, header[8])
                else:
                    self._add(header[-1], header[8])
        self._read_up_to[segment] = position

    def _add(self, count, appended_ms):
        self.records += count
        if self.first_ms is None:
            self.first_ms = appended_ms
        self.first_ms = min(self.first_ms, appended_ms)
        self.last_ms = max(self.last_ms or 0, appended_ms)
