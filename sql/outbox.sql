-- The outbox: a service inserts one row here in the transaction that changes
-- its business rows; walpost reads the row from the WAL once that is committed.
--
--   insert into public.outbox (aggregate_type, aggregate_id, type, payload)
--   values ('order', '42', 'OrderPlaced',
--           '{"orderId": 42, "customer": "alice", "cents": 1250}');
--
-- May be run again: it changes nothing that exists. Run it as the owner of the
-- service's schema. For a table that is cleaned by dropping days instead of by
-- DELETE, run outbox_partitioned.sql in its place.

create table if not exists public.outbox (
  -- Names the event for consumers that drop duplicates: header `id`. Given by
  -- the application or made here; no sequence, since all events of all writers
  -- would queue for one and its order is not the order of commits. The primary
  -- key stops an application's retry from storing the event twice, and finds
  -- events for replay. From PostgreSQL 18 on, uuidv7() as the default keeps its
  -- index smaller and warmer.
  id uuid not null default gen_random_uuid(),

  -- Decides the topic: outbox.event.<aggregate_type>.
  aggregate_type text not null,

  -- The record key, hence the unit of order: events of one aggregate_id stay in
  -- the order of their commits. NULL: no key, any partition, no order. Text,
  -- because a key is bytes; a number or a uuid is stored as it prints.
  aggregate_id text,

  -- What happened, for consumers that tell events apart. Not in the record
  -- unless it is configured as a header, or value.format is protobuf.
  type text,

  -- The record value. json, not jsonb: the bytes that were inserted are the
  -- bytes that are published (key order, spaces and number forms included),
  -- INSERT is a third cheaper and the WAL sender, the bottleneck of a busy
  -- outbox, a quarter faster, since nothing is parsed apart and printed again.
  -- A jsonb value can be inserted as it is. NULL publishes a record without a
  -- value: a tombstone, where the topic is compacted.
  payload json,

  -- An object; each member becomes one record header, such as traceparent.
  -- jsonb, because it allows no name twice.
  headers jsonb,

  -- When the transaction began, for people and for cleaning up. Not an order:
  -- walpost publishes in the order of commits, whatever this says.
  created_at timestamptz not null default now(),

  primary key (id),

  -- What follows stops at INSERT, in the face of its author, what no broker
  -- would take: found later, it would hold up every event behind it.

  -- Kafka's alphabet for topic names and its 249 characters, 13 of which are
  -- `outbox.event.`. Another route.topic may want another limit. Two plain
  -- tests: one pattern with {1,236} takes 30 times as long.
  constraint outbox_aggregate_type_check check (
    length(aggregate_type) between 1 and 236
    and aggregate_type !~ '[^A-Za-z0-9._-]'),

  -- The largest record comes out under 1,000,000 bytes in either value format,
  -- a little under the limits of walpost and of the brokers. To raise payload's,
  -- raise message.max.bytes on both sides first, or set claim_check_above.
  constraint outbox_aggregate_id_check check (
    octet_length(aggregate_id) <= 1024),
  constraint outbox_type_check check (
    octet_length(type) <= 255),
  constraint outbox_payload_check check (
    octet_length(payload::text) <= 900000),
  constraint outbox_headers_check check (
    jsonb_typeof(headers) = 'object'
    and octet_length(headers::text) <= 16384)
) with (
  -- Rows come and go; none is updated. The defaults wait until a fifth of the
  -- table is dead, and then work in one long run. These begin after a fixed
  -- number of rows, so the table stays near the size of what it holds.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000
);

comment on table public.outbox is
  'Events to publish: inserted with the change they tell of, read from the WAL '
  'by walpost. walpost prune deletes old rows that were sent.';
