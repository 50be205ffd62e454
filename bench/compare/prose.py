"""The parts of the report that no figure changes."""

CONDITIONS = """\
## Conditions

- One machine, loopback network. Each run has topics, slot, table and database
  (or copy of them) of its own; the order of contenders is shuffled in each round.
- The same bytes out of each: topic, key, value, header `id`; `walpost verify`
  compares every record with its row, and order per key. A run that lost,
  altered, doubled or reordered what it should not is void and counts nowhere;
  only a kill -9 may double. Of strategies that delete their rows the live
  scenarios count events. Ceilings do less than the job and are not judged, nor
  are `neighbour` and `insert`, where no relay has anything to do.
- PostgreSQL: `wal_level=logical`, `track_commit_timestamp=on`, {postgres_settings};
  the rest as it comes (synchronous_commit on).
- Kafka: one node, KRaft, 4 partitions per topic, LogAppendTime, JVM {broker_jvm}.
  acks=all and no compression for all.
- walpost: defaults, without its header `walpost-position`, which the others lack.
- walpost polling: `batch_size` 1,000, of `state` the column that marks, the lease
  and the transaction id, and the indexes that `walpost check` asks for.
- walpost, exactly once: the same with `delivery.guarantee: exactly_once` and
  `checkpoint.store: kafka`. Its records count when their transaction has ended,
  because consumers of committed records have them then.
- Debezium: Kafka Connect standalone, EventRouter, string converters, no extra
  headers. Defaults: JVM {debezium_defaults_jvm}. Tuned: JVM
  {debezium_tuned_jvm}, {debezium_tuned}; with the smaller heap that its name has,
  where it is there twice.
  Connect's producer is not idempotent; walpost's is.
- Naive poller: C++, SELECT … WHERE processed_at IS NULL ORDER BY seq LIMIT 1000,
  produce, wait for the acknowledgements, UPDATE … WHERE id = ANY(…); again at once
  after a full batch, else after its interval. Partial index for the SELECT.
- CPU time is that of the processes (/proc), peak memory the kernel's VmHWM of
  the relay's process.
"""

NOT_MEASURED = """\
## What this does not measure

- A network, or more than one broker: replication makes acknowledgements slower
  for everybody.
- Machines with a core for each process. Here they compete; rates show that
  competition as much as the contender. CPU-seconds show it least.
- Another machine: its ratios differ. On two cores of an Intel Xeon the same
  comparison of 23 November 2026 had 4.1 × for the drain beside tuned Debezium;
  the first line of the aims has the ratio here.
- A JVM that has run for an hour: its warm-up is a quarter of a backlog, or the
  seconds before a rate is measured.
- Debezium on distributed Connect, its exactly-once mode, Debezium Server, and
  what else they can do: other databases, formats, transformations.
- Long outages, bloat over days, vacuum under load; rows wider than 10 KB.
- The relay's side of TLS and of compression.
"""
