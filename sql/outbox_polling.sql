-- The outbox for source: polling, where wal_level = logical cannot be had: the
-- table of outbox.sql, plus a state for each row and indexes that find the
-- pending ones among millions that were published.
--
--   insert into public.outbox (aggregate_type, aggregate_id, type, payload)
--   values ('order', '4711', 'OrderPlaced', '{"total": "44.98"}');
--
-- May be run again: it changes nothing that exists. Run it as the owner of the
-- service's schema. Columns and checks without a comment are those of
-- outbox.sql, where their reasons stand.

create table if not exists public.outbox (
  id uuid not null default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id text,
  type text,
  payload json,
  headers jsonb,
  created_at timestamptz not null default now(),

  -- The order of an aggregate's events. Not created_at: clocks go back, and two
  -- events of a transaction have the same. Numbers are drawn at INSERT, so they
  -- are in order for an aggregate only if its writers wait for each other: lock
  -- the business row first (an UPDATE of it does).
  sequence bigint not null generated always as identity,

  -- pending -> published, or failed after too many attempts; processing in
  -- between where leases are in locked_until.
  status text not null default 'pending',

  -- How often it was tried, when it may be tried again, and what went wrong.
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  last_error text,

  -- While processing: whose lease has run out may be claimed by another. Not
  -- used with polling.lease_table, which is faster.
  locked_until timestamptz,

  published_at timestamptz,

  primary key (id),
  constraint outbox_status_check check (
    status in ('pending', 'processing', 'published', 'failed')),
  constraint outbox_aggregate_type_check check (
    length(aggregate_type) between 1 and 236
    and aggregate_type !~ '[^A-Za-z0-9._-]'),
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
  -- Each row is written again when it is marked, and when it is claimed. Its dead
  -- versions lie where the next look at the table passes; clean up early, and
  -- by number, since the table may be large and its pending part small.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000
);

-- What is to come, in order: a poller walks it from the left and stops at its
-- limit. Partial, so its size is that of the backlog and not of the table; not
-- even held or failed rows are in its way. It covers the count of pending rows.
create index if not exists outbox_pending
  on public.outbox (sequence)
  where status = 'pending';

-- What some poller holds, and until when: the rows of these aggregates wait,
-- and leases that have ended are found. As many entries as are in flight.
create index if not exists outbox_claimed
  on public.outbox (locked_until)
  where status = 'processing' or locked_until is not null;

-- What was refused and waits for its next attempt; its aggregates wait as well.
create index if not exists outbox_waiting
  on public.outbox (next_attempt_at)
  where next_attempt_at is not null;

-- What was given up: counted every few seconds, and looked for by people.
create index if not exists outbox_failed
  on public.outbox (sequence)
  where status = 'failed';

-- What may be deleted, oldest first, for walpost prune. Failed and pending rows
-- are not in it.
create index if not exists outbox_published
  on public.outbox (published_at)
  where status = 'published';

comment on table public.outbox is
  'Events to publish: inserted with the change they tell of, read by walpost, '
  'which keeps their state in status. Delete published rows only.';
