#include "config/key_texts.h"

namespace walpost {
namespace {

using Reload = KeyText::Reload;

constexpr KeyText kTexts[] = {
    {"source", "", Reload::kNo,
     "where walpost reads events: `wal` (logical replication) or `polling` "
     "(the table itself: [polling.md](polling.md))"},
    {"sink", "", Reload::kNo,
     "the brokers that get the events: `kafka`, `nats` (JetStream: "
     "[nats.md](nats.md)), `rabbitmq` ([rabbitmq.md](rabbitmq.md)) or `redis` "
     "(Streams: [redis.md](redis.md)); each has a section of its own. What the "
     "others do not have is rejected by name: exactly once, checkpoints in "
     "Kafka, `create_topics`, partitions, `isolate_after`"},
    {"postgres.conninfo", "required", Reload::kCredentials,
     "any libpq conninfo or URI. Of several hosts and addresses, each one "
     "gets `connect_timeout` (5 s if absent or not positive), then the next "
     "is tried ([high-availability.md](high-availability.md#several-hosts))"},
    {"postgres.password_command", "`[]` (none)", Reload::kNo,
     "a program and its arguments, a list of words, run without a shell for "
     "each new connection; its output is the password "
     "([security.md](security.md#a-token-as-the-password))"},
    {"postgres.slot", "", Reload::kNo,
     "name of the slot. The databases of a server share the names of slots: "
     "a second one needs another. At most 63 letters; the sessions of a "
     "slot with more than 33 letters show a hash instead of its end "
     "(`walpost:production_eu_west_1_tea~3f2a91c0:...`)"},
    {"postgres.publication", "", Reload::kNo,
     "name of the publication, at most 63 letters"},
    {"postgres.create", "", Reload::kNo,
     "make slot and publication if they are missing at the first start. The "
     "role must own the publication (or create it), because the comment of "
     "the publication holds the birth record of the slot "
     "([wal.md](wal.md#the-birth-record)). With another role `run` does not "
     "start; let the owner run `walpost init --admin CONNINFO`, which makes "
     "both"},
    {"postgres.failover", "", Reload::kNo,
     "make the slot with FAILOVER (PostgreSQL 17 or newer)"},
    {"postgres.wal_budget", "the server's `max_slot_wal_keep_size`, or `16GiB`",
     Reload::kNo,
     "WAL that Postgres may keep for the slot: walpost warns at half of it, "
     "and is not ready at 80 %"},
    {"postgres.wal_sender_timeout", "", Reload::kNo,
     "`wal_sender_timeout` of walpost's own connection"},
    {"postgres.status_interval", "", Reload::kNo,
     "maximum time until a new confirmed LSN is reported to Postgres"},
    {"postgres.origin", "", Reload::kNo,
     "`any`: rows that arrive by replication are published by every node; "
     "`none`: transactions with a replication origin are skipped, and "
     "counted ([origins.md](origins.md))"},
    {"outbox.tables[].name", "", Reload::kNo,
     "schema.table. `*` stands for any characters of one identifier, as in "
     "`tenant_*.outbox`, and `\\*` for itself "
     "([tables.md](tables.md#many-tables-by-one-pattern)). With "
     "`outbox.messages.prefix` there is no default (see the warning below)"},
    {"outbox.tables[].formerly", "", Reload::kNo,
     "names that the table had before it was renamed, the oldest first "
     "([tables.md](tables.md#rename-a-table))"},
    {"outbox.tables[].columns.FIELD", "usual names", Reload::kNo,
     "a column, `{constant: text}` or `null`"},
    {"outbox.tables[].topic", "", Reload::kNo, "topic template of this table"},
    {"outbox.tables[].partition", "", Reload::kNo,
     "column with the partition; `null`: the key chooses it"},
    {"outbox.tables[].create_topics", "", Reload::kNo,
     "how its topics are created"},
    {"outbox.tables[].order_by",
     "polling: the id; else see [gaps.md](gaps.md#order-of-rows)", Reload::kNo,
     "column that orders rows that are read from the table: `source: polling`, "
     "`snapshot`, `recover`, `replay --from-table`. Polling publishes in this "
     "order; `cursor` needs an integer here with a unique index"},
    {"outbox.tables[].state.status", "", Reload::kNo,
     "column for the state of a row; without it a row is pending while "
     "`published_at` is null"},
    {"outbox.tables[].state.pending", "", Reload::kNo,
     "value of that column for a row to be sent; an enum must have it"},
    {"outbox.tables[].state.published", "", Reload::kNo,
     "value of that column for a row that was sent; an enum must have it"},
    {"outbox.tables[].state.processing", "", Reload::kNo,
     "value while a poller holds the row; `''`: the row stays `pending`"},
    {"outbox.tables[].state.failed", "", Reload::kNo,
     "value of a row that was given up; `''`: no row is ever given up"},
    {"outbox.tables[].state.published_at", "", Reload::kNo,
     "timestamp column: when the row was published"},
    {"outbox.tables[].state.locked_until", "", Reload::kNo,
     "timestamp column: when the lease ends"},
    {"outbox.tables[].state.heartbeat_at", "", Reload::kNo,
     "timestamp column, instead of `locked_until`: when the lease was last "
     "renewed"},
    {"outbox.tables[].state.attempts", "", Reload::kNo,
     "number column: how often the row was refused"},
    {"outbox.tables[].state.last_error", "", Reload::kNo,
     "text column: why the row was refused"},
    {"outbox.tables[].state.next_attempt_at", "", Reload::kNo,
     "timestamp column: earliest time of the next attempt"},
    {"outbox.tables[].state.transaction_id", "", Reload::kNo,
     "`xid8` column with `DEFAULT pg_current_xact_id()`: for `cursor`, and "
     "for `recover` to look only at rows that the checkpoint does not cover"},
    {"outbox.tables[].claim_check_above", "`0` (off)", Reload::kNo,
     "a payload of more bytes stays in its row "
     "([records.md](records.md#large-payloads))"},
    {"outbox.tables[].value.columns", "", Reload::kNo,
     "publish these columns as a JSON object instead of the payload; each "
     "at most once"},
    {"outbox.messages.prefix", "`''` (none)", Reload::kNo,
     "read transactional logical messages with this prefix"},
    {"outbox.messages.format", "", Reload::kNo,
     "`json`: an object with the fields; `payload`: the payload alone"},
    {"outbox.messages.columns.FIELD", "the field's name", Reload::kNo,
     "a JSON member, `{constant: text}` or `null`"},
    {"outbox.messages.topic", "", Reload::kNo, "topic template of messages"},
    {"outbox.messages.partition", "", Reload::kNo,
     "member with the partition; `null`: the key chooses it"},
    {"outbox.messages.create_topics", "", Reload::kNo,
     "how their topics are created"},
    {"polling.strategy", "", Reload::kNo,
     "`claim`: mark rows; `delete`: delete them; `cursor`: store the position"},
    {"polling.interval", "", Reload::kNo,
     "time between two polls of a table that had no rows to publish"},
    {"polling.batch_size", "", Reload::kNo, "maximum rows of one statement"},
    {"polling.notify", "`''` (none)", Reload::kNo,
     "LISTEN channel that wakes the poller before its interval"},
    {"polling.lease", "", Reload::kNo,
     "`claim` with a lease, `delete` with a lease table: after this time the "
     "rows of a crashed poller are available again"},
    {"polling.lease_table", "`''` (none)", Reload::kNo,
     "where `claim` and `delete` keep leases, in place of a column of the rows "
     "(`sql/leases.sql`): a row is written once"},
    {"polling.transaction_timeout", "", Reload::kNo,
     "`delete` and `claim` without a lease: maximum time that a transaction "
     "waits for Kafka; then acknowledged rows are committed and "
     "the other records are withdrawn"},
    {"polling.max_attempts", "", Reload::kNo,
     "refusals after which a row is failed; `0`: never failed"},
    {"polling.retry_backoff", "", Reload::kNo,
     "wait before a refused row is tried again, doubled each time, with "
     "full jitter"},
    {"polling.retry_backoff_max", "", Reload::kNo, "maximum of that wait"},
    {"polling.cursor_table", "", Reload::kNo,
     "where `cursor` stores its positions (`sql/cursor.sql`): made if missing"},
    {"route.topic", "", Reload::kNo,
     "fields or columns in braces, with functions: "
     "`\"{event_type|lower|replace:_:-|default:other}\"` (in quotes if it "
     "begins with a brace). A `\\` takes the meaning from a following `{`, "
     "`}`, `|`, `:` or `\\`: `'{type|replace:\\::-}'`. "
     "`match:PATTERN:REPLACEMENT` and `allow_empty` are described "
     "[below](#topics-by-a-regular-expression)"},
    {"route.partition", "– (the key chooses it)", Reload::kNo,
     "an integer column with the number of the record's partition. A row "
     "whose value is not the number of a partition cannot be delivered "
     "(`partition_illegal`, [dead-letters.md](dead-letters.md#classes)). "
     "The order of a key holds within a partition"},
    {"route.create_topics", "– (left to the brokers)", Reload::kNo,
     "walpost creates a topic that is missing, as this says "
     "([below](#topics-that-walpost-creates))"},
    {"route.headers", "", Reload::kNo,
     "headers of each record: a name, and the field or column with the "
     "value ([records.md](records.md#headers))"},
    {"route.position_header", "", Reload::kNo,
     "whether records carry `walpost-position`"},
    {"value.format", "", Reload::kNo,
     "`raw`, or `protobuf` (`proto/walpost/v1/envelope.proto`)"},
    {"records.profile", "", Reload::kNo,
     "`raw`: as [records.md](records.md) describes them; `debezium`: "
     "byte for byte as Debezium's outbox event router makes them "
     "([from-debezium.md](from-debezium.md)). The other keys of "
     "`records` are for `debezium`"},
    {"records.logical_name", "required with `debezium`", Reload::kNo,
     "`topic.prefix` of the connector: in a header of the context, and "
     "in names of schemas"},
    {"records.runtime", "", Reload::kNo,
     "what wrote the records until now: `connect` (Kafka Connect), or "
     "`server` (Debezium Server, which ignores partition and "
     "timestamp, and drops headers that are null)"},
    {"records.context_headers", "", Reload::kNo,
     "headers `__debezium.context.*` of streamed records: those of "
     "Debezium 3.4 and newer, of `3.2` (and 3.3), or `none` (older, or "
     "`extended.headers.enabled: false`)"},
    {"records.key_converter", "", Reload::kNo,
     "what makes the bytes of a key: `string`, `json` and "
     "`json_schemas` (JsonConverter with `schemas.enable` false and "
     "true), `bytes` (ByteArrayConverter, or BinaryDataConverter "
     "alone), or BinaryDataConverter with a delegate"},
    {"records.value_converter", "", Reload::kNo, "likewise of a value"},
    {"records.header_converter", "", Reload::kNo,
     "what makes the bytes of a header: `simple` "
     "(SimpleHeaderConverter), `string`, `json` or `json_schemas`"},
    {"records.json_decimals", "", Reload::kNo,
     "`decimal.format` of JsonConverter"},
    {"records.replace_null_with_default", "", Reload::kNo,
     "`replace.null.with.default` of JsonConverter"},
    {"records.binary", "", Reload::kNo, "`binary.handling.mode`"},
    {"records.decimal", "", Reload::kNo, "`decimal.handling.mode`"},
    {"records.time_precision", "", Reload::kNo, "`time.precision.mode`"},
    {"records.interval", "", Reload::kNo, "`interval.handling.mode`"},
    {"records.hstore", "", Reload::kNo, "`hstore.handling.mode`"},
    {"records.unknown_types", "", Reload::kNo, "`include.unknown.datatypes`"},
    {"records.placements", "`[]` (none)", Reload::kNo,
     "`table.fields.additional.placement`, as a list: `column:place` "
     "or `column:place:name` with `header`, `envelope` or `partition` "
     "as the place"},
    {"records.missing_columns", "", Reload::kNo,
     "`table.field.additional.missing`"},
    {"records.schema_version", "`''` (none)", Reload::kNo,
     "`table.field.event.schema.version`: a column"},
    {"records.tombstone_on_empty", "", Reload::kNo,
     "`route.tombstone.on.empty.payload`"},
    {"records.expand_json", "", Reload::kNo, "`table.expand.json.payload`"},
    {"records.json_nulls", "", Reload::kNo,
     "`table.json.payload.null.behavior`"},
    {"records.json_empty_arrays", "", Reload::kNo,
     "`table.json.payload.empty.array.behavior`"},
    {"records.message_nulls", "", Reload::kNo,
     "`fields.null.include` of DecodeLogicalDecodingMessageContent, "
     "for `outbox.messages`"},
    {"records.on_update", "", Reload::kNo,
     "`table.op.invalid.behavior`: an UPDATE of an outbox row is "
     "ignored, or stops the flow (`fatal`)"},
    {"kafka.brokers",
     "required for `run`, `check`, `verify`, `recover`, `replay`", Reload::kNo,
     "host:port, …"},
    {"kafka.token_command", "`[]` (none)", Reload::kNo,
     "a program and its arguments, a list of words, run without a shell "
     "before the last token expires; it prints a token for `sasl.mechanism: "
     "OAUTHBEARER` ([security.md](security.md#tokens-from-a-program))"},
    {"kafka.max_topics", "", Reload::kNo,
     "topics that a producer sends to before an event for a further one "
     "cannot be delivered (`too_many_topics`). The log warns at 80 %. What "
     "a topic costs: [limits.md](limits.md)"},
    {"kafka.properties", "", Reload::kCredentials,
     "passed to librdkafka ([below](#properties-of-kafka)). Records are not "
     "compressed unless `compression.type` is set: `lz4` costs half as much "
     "CPU again, and is useful if network or disk is scarce"},
    {"nats.servers", "required with `sink: nats`", Reload::kNo,
     "nats://host:port or tls://host:port, …; the port is 4222 if none is "
     "given. Servers that are not listed are not used"},
    {"nats.user", "`''` (none)", Reload::kCredentials,
     "with `nats.password`; at most one of `nats.user`, `nats.token` and "
     "`nats.credentials_file`"},
    {"nats.password", "`''` (none)", Reload::kCredentials, "of `nats.user`"},
    {"nats.token", "`''` (none)", Reload::kCredentials, "of the server"},
    {"nats.credentials_file", "`''` (none)", Reload::kNo,
     "a `.creds` file (JWT and seed), read again for each connection"},
    {"nats.tls.enabled", "", Reload::kNo,
     "whether connections use TLS; those to `tls://` do in any case. The "
     "certificate of the server and its name are verified"},
    {"nats.tls.ca_file", "`''` (those of the system)", Reload::kNo,
     "certificate authorities that walpost trusts"},
    {"nats.tls.certificate_file", "`''` (none)", Reload::kNo,
     "certificate of the client, with its chain"},
    {"nats.tls.key_file", "`''` (none)", Reload::kNo, "its key"},
    {"nats.domain", "`''` (none)", Reload::kNo,
     "domain of JetStream, if it is behind a leaf node"},
    {"nats.ack_timeout", "", Reload::kNo,
     "a message that is not acknowledged by then counts as not delivered: "
     "walpost connects again and sends it again"},
    {"nats.create_stream.name", "`''` (off)", Reload::kNo,
     "name of a stream that walpost creates if no stream takes the subject of "
     "an event, and `nats.create_stream.subjects` do"},
    {"nats.create_stream.subjects", "", Reload::kNo,
     "its subjects, with wildcards, as in `[outbox.>]`"},
    {"nats.create_stream.replicas", "", Reload::kNo,
     "servers that keep it; with fewer than 3 an acknowledged event is lost "
     "with one of them"},
    {"nats.create_stream.duplicate_window", "", Reload::kNo,
     "a message that is sent again within it is stored once"},
    {"rabbitmq.nodes", "required with `sink: rabbitmq`", Reload::kNo,
     "host:port, …: tried in turn. Without a port it is 5672, with TLS 5671 "
     "([rabbitmq.md](rabbitmq.md))"},
    {"rabbitmq.vhost", "", Reload::kNo, "the virtual host"},
    {"rabbitmq.user", "", Reload::kCredentials,
     "empty: the server takes the name in `rabbitmq.tls.certificate_file` "
     "(`EXTERNAL`)"},
    {"rabbitmq.password", "", Reload::kCredentials,
     "read again for each connection"},
    {"rabbitmq.tls.enabled", "", Reload::kNo,
     "the connection is encrypted, and the server's certificate verified"},
    {"rabbitmq.tls.ca_file", "`\"\"` (those of the system)", Reload::kNo,
     "certificates of the authorities that the server's must come from"},
    {"rabbitmq.tls.certificate_file", "`\"\"` (none)", Reload::kNo,
     "the certificate of walpost, with its chain, in PEM"},
    {"rabbitmq.tls.key_file", "`\"\"` (none)", Reload::kNo, "its key"},
    {"rabbitmq.tls.verify_host", "", Reload::kNo,
     "the server's certificate must have the name or address of the node"},
    {"rabbitmq.exchange", "`\"\"` (the default exchange)", Reload::kNo,
     "template: `{topic}` (of the record, made by `route.topic`), `{topic.1}` "
     "(its first word between dots), `{topic.2-}` (from its second word on), "
     "`{key}` or `{type}`. In the default exchange the routing key is the name "
     "of a queue"},
    {"rabbitmq.routing_key", "", Reload::kNo, "template, likewise"},
    {"rabbitmq.content_type", "", Reload::kNo,
     "property `content-type`, unless the record has a header of that name"},
    {"rabbitmq.create.exchange_type", "`\"\"` (not declared)", Reload::kNo,
     "`topic`, `direct`, `fanout`, `headers`, or `x-…` of a plugin: declares "
     "`rabbitmq.exchange`, durable, if it is missing"},
    {"rabbitmq.create.queue", "`\"\"` (none)", Reload::kNo,
     "declares this quorum queue if it is missing, and binds it to the "
     "exchange"},
    {"rabbitmq.create.binding_key", "", Reload::kNo,
     "of this binding: all routing keys of a `topic` exchange"},
    {"rabbitmq.heartbeat", "", Reload::kNo,
     "a server that has sent nothing for twice this time is given up"},
    {"rabbitmq.connect_timeout", "", Reload::kNo,
     "for a connection and its login, then the next node is tried"},
    {"rabbitmq.confirm_timeout", "", Reload::kNo,
     "a message that is not confirmed for this time is sent again on a new "
     "connection"},
    {"rabbitmq.max_message_bytes", "", Reload::kNo,
     "a larger payload cannot be delivered (`record_too_large`). Not more than "
     "`max_message_size` of the server, which does not tell it: 16 MiB since "
     "RabbitMQ 4.0, 128 MiB before"},
    {"redis.address", "required, or `sentinels` or `cluster`", Reload::kNo,
     "host:port of the Redis server ([redis.md](redis.md))"},
    {"redis.sentinels", "`[]`", Reload::kNo,
     "host:port of each Sentinel, in place of `redis.address`: they say which "
     "server is the master"},
    {"redis.master", "", Reload::kNo,
     "name that the Sentinels have for the servers, as in `mymaster`"},
    {"redis.cluster", "`[]`", Reload::kNo,
     "host:port of some nodes of a Redis Cluster, in place of `redis.address`: "
     "they say where each stream is ([redis.md](redis.md#redis-cluster))"},
    {"redis.user", "", Reload::kCredentials,
     "user of Redis' ACL; without it, the user `default`"},
    {"redis.password", "", Reload::kCredentials,
     "its password, best as `${env:NAME}` or `${file:PATH}`"},
    {"redis.sentinel_user", "", Reload::kCredentials, "user for the Sentinels"},
    {"redis.sentinel_password", "", Reload::kCredentials, "its password"},
    {"redis.tls.enabled", "", Reload::kNo,
     "TLS to servers and Sentinels; their certificates are verified"},
    {"redis.tls.ca_file", "the system's", Reload::kNo,
     "PEM file of the authorities that may have signed them"},
    {"redis.tls.certificate_file", "", Reload::kNo,
     "PEM file of a client certificate"},
    {"redis.tls.key_file", "", Reload::kNo, "PEM file of its key"},
    {"redis.tls.verify_host", "", Reload::kNo,
     "the certificate must be for the host that walpost connects to"},
    {"redis.database", "", Reload::kNo, "number for `SELECT`"},
    {"redis.durability", "", Reload::kNo,
     "when an entry is acknowledged: `fsync`, once it is in the synced "
     "append-only file (`appendfsync always`, or `WAITAOF` from Redis 7.2 on; "
     "walpost refuses a server without); or `memory` "
     "([redis.md](redis.md#what-an-acknowledgement-means))"},
    {"redis.replicas", "", Reload::kNo,
     "replicas that must have an entry, besides (`WAIT`)"},
    {"redis.max_entries", "`0` (all)", Reload::kNo,
     "entries that a stream keeps, approximately (`MAXLEN ~`); consumers that "
     "are further behind lose events"},
    {"redis.max_entry_bytes", "", Reload::kNo,
     "a larger record cannot be delivered (`record_too_large`)"},
    {"redis.create", "", Reload::kNo,
     "streams are created by their first entry; otherwise records wait until "
     "their stream exists"},
    {"redis.timeout", "", Reload::kNo,
     "without an answer for this long, the connection is given up, and the "
     "records are sent again"},
    {"delivery.max_in_flight_records", "", Reload::kNo,
     "maximum records without acknowledgement. `auto`: 2000, or 4 for each "
     "partition of the topics that records go to, at most 24000 (`source: "
     "polling`: 2000). Set a number only if a broker takes longer than 10 "
     "ms at the full rate, or to have fewer records sent twice after a crash"},
    {"delivery.max_in_flight_bytes", "", Reload::kNo,
     "maximum bytes of these records"},
    {"delivery.latency_target", "", Reload::kNo,
     "`source: wal`: the longest time that an event waits so that others share "
     "its request to the brokers. It waits only while events come so fast that "
     "some will, and for six times what an acknowledgement takes. `0ms`: "
     "never"},
    {"delivery.guarantee", "", Reload::kNo,
     "`exactly_once`: records and checkpoints are in Kafka transactions "
     "([exactly-once.md](exactly-once.md)). It sets `checkpoint.store: "
     "kafka`, and excludes `source: polling`"},
    {"delivery.transaction_interval", "", Reload::kNo,
     "`exactly_once`: a Kafka transaction is committed when it is this old; "
     "twenty times this while walpost catches up"},
    {"delivery.transaction_idle", "", Reload::kNo,
     "a Kafka transaction is also committed when no event has arrived for "
     "this time"},
    {"delivery.transaction_boundary", "", Reload::kNo,
     "where a Kafka transaction may end: behind any `event`, or `source`: "
     "only behind a transaction of Postgres, which is then whole"},
    {"delivery.max_transaction_records", "", Reload::kNo,
     "limit of a Kafka transaction: records"},
    {"delivery.max_transaction_bytes", "", Reload::kNo,
     "limit of a Kafka transaction: bytes"},
    {"delivery.transaction_timeout", "", Reload::kNo,
     "the brokers abort a Kafka transaction that is open for longer; at "
     "most their `transaction.max.timeout.ms`"},
    {"delivery.on_large_transaction", "", Reload::kNo,
     "with `source`, a transaction of Postgres that is beyond a limit: "
     "`split` it, or `stop` before it"},
    {"delivery.shutdown_timeout", "", Reload::kNo,
     "maximum time to drain after SIGTERM; the exit may take 3 s more"},
    {"on_error.CLASS", "", Reload::kNo,
     "events that cannot be delivered, by class of error: `stop`, "
     "`dead_letter`, `park` or `skip` ([dead-letters.md](dead-letters.md))"},
    {"parking.table", "", Reload::kNo,
     "where `park` stores events, and `dead_letter.store: postgres` dead "
     "letters (`sql/parked.sql`), in the source database: `run` makes it if "
     "it is missing and its role may; else `walpost check` has the SQL. "
     "Several instances may share it"},
    {"parking.max_keys", "", Reload::kNo,
     "the flow stops before an event that would hold up one key more"},
    {"parking.isolate_after", "`0s` (never)", Reload::kNo,
     "how long a topic may hold up the others while the brokers answer, "
     "before its events are stored there "
     "([dead-letters.md](dead-letters.md#isolated-topics)); at least `10s`"},
    {"parking.max_isolated_bytes", "", Reload::kNo,
     "the flow stops before an event beyond these bytes of events that wait "
     "for isolated topics"},
    {"parking.max_isolated_time", "", Reload::kNo,
     "the flow stops before an event of an isolated topic, if the oldest "
     "has waited for this long"},
    {"dead_letter.store", "", Reload::kNo,
     "place of dead letters: `kafka` (`broker`: the same, for any sink), or "
     "`postgres`, the table `parking.table` "
     "([dead-letters.md](dead-letters.md#dead-letters-in-postgres))"},
    {"dead_letter.topic", "", Reload::kNo,
     "with `store: kafka`: template for the topic of dead letters: fields "
     "of the event, `{class}`, `{source}`. A topic for each database"},
    {"dead_letter.create_topics", "– (left to the brokers)", Reload::kNo,
     "how topics of dead letters are created"},
    {"dead_letter.payload", "", Reload::kNo,
     "payload of a dead letter: `whole`, `cut` (4096 bytes) or `none`"},
    {"snapshot", "", Reload::kNo,
     "`initial`: before walpost streams from the slot for the first time, "
     "publish the rows that the outbox already has (header "
     "`walpost-snapshot`). The slot is the one that `walpost init` has "
     "made, or with `postgres.create` a new one. No effect on a slot that "
     "was streamed from ([first-start.md](first-start.md))"},
    {"checkpoint.store", "", Reload::kNo,
     "where walpost stores a separate resume point: `none` (the slot "
     "alone), `file`, `kafka` (a compacted topic), `postgres` (a table in "
     "the source database, which fails over with the data)"},
    {"checkpoint.path", "", Reload::kNo,
     "path for `file`; it must survive the process: do not use the file "
     "system of a container"},
    {"checkpoint.topic", "", Reload::kNo,
     "topic for `kafka`: one partition, `cleanup.policy=compact`; made if "
     "missing. Several instances may share it, also those of several "
     "clusters with one slot name "
     "([below](#one-checkpoint-topic-for-several-clusters))"},
    {"checkpoint.table", "", Reload::kNo,
     "table for `postgres` (`sql/checkpoint.sql`): `run` makes it if it is "
     "missing and its role may. Several instances may share it"},
    {"checkpoint.interval", "", Reload::kNo,
     "minimum time between two checkpoints: after a crash at most the "
     "events of this time are sent again"},
    {"replay.window", "`0` (off)", Reload::kNo,
     "WAL before the confirmed LSN that `walpost replay` can go back to (a "
     "size, `64KiB` or more). A second slot, `<slot>_guard`, keeps it (with "
     "a hash in the middle if `<slot>` has more than 57 letters). It counts "
     "in the WAL budget, and gets at most half of it"},
    {"replay.window_time", "`0s` (off)", Reload::kNo,
     "in addition to `replay.window`: keep the WAL that was confirmed "
     "within this time"},
    {"retention.keep", "`0s` (off)", Reload::kNo,
     "`run` deletes rows, and drops partitions, that are older than this "
     "and were provably sent: [retention.md](retention.md). Also the "
     "default of `walpost prune --older-than`"},
    {"retention.interval", "", Reload::kNo, "time from one pass to the next"},
    {"retention.batch_rows", "", Reload::kNo, "rows of one DELETE"},
    {"retention.pause", "", Reload::kNo, "pause between two DELETEs"},
    {"retention.partitions_ahead", "", Reload::kNo,
     "days for which partitions are made in advance, if the table has the "
     "function for it"},
    {"http.listen", "`''` (off)", Reload::kNo,
     "address:port of the HTTP server"},
    {"log.level", "", Reload::kYes, "`debug`, `info`, `warn`, `error`"},
    {"log.format", "", Reload::kYes,
     "`text`, or `json`: one object per line with `time`, `level`, `message` "
     "and fields ([logs.md](logs.md))"},
    {"log.keys", "", Reload::kYes,
     "JSON lines name the key (`aggregate_id`) of the event that they are "
     "about"},
    {"*.create_topics.partitions", "the brokers' default", Reload::kNo,
     "number of partitions of a topic that walpost creates"},
    {"*.create_topics.replication_factor", "the brokers' default", Reload::kNo,
     "number of its replicas"},
    {"*.create_topics.config", "", Reload::kNo,
     "its settings, such as `retention.ms`"},
};

}  // namespace

std::span<const KeyText> KeyTexts() { return kTexts; }

std::string GeneralPath(const KeyDescription& key) {
  const std::string& path = key.path;
  const std::string parent = path.substr(0, path.rfind('.'));
  if (parent == "on_error") return "on_error.CLASS";
  const size_t creation = path.find("create_topics.");
  if (creation != std::string::npos) return "*." + path.substr(creation);
  const bool is_field = key.kind == KeyDescription::Kind::kField;
  return PathInEachEntry(is_field ? parent + ".FIELD" : path);
}

}  // namespace walpost
