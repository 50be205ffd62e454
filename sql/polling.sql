-- An outbox for `source: polling`, strategy `claim`: the row says how far it is.
-- For a server that cannot have wal_level = logical; where it can, outbox.sql
-- and the WAL are faster and leave the table alone.
--
--   insert into public.outbox_events (aggregate_type, aggregate_id, type, payload)
--   values ('order', '4711', 'OrderPlaced', '{"total": "44.98"}');
--
-- May be run again: it changes nothing that exists.

create table if not exists public.outbox_events (
  -- Names the event for consumers that drop duplicates: header `id`.
  id uuid primary key default gen_random_uuid(),

  -- The order of an aggregate's events. A sequence and no clock: clocks of
  -- writers disagree, and a transaction's now() is when it began. Writers of
  -- one aggregate must queue for each other (a row lock on the aggregate, as
  -- they do anyway), so that its numbers are drawn in the order of commits.
  seq bigint not null generated always as identity,

  aggregate_type text not null,  -- decides the topic
  aggregate_id text,             -- the record key; NULL: no order
  type text,
  payload json,
  headers jsonb,
  created_at timestamptz not null default now(),

  -- pending -> processing -> published, or failed after polling.max_attempts.
  status text not null default 'pending'
    check (status in ('pending', 'processing', 'published', 'failed')),
  locked_until timestamptz,      -- until when `processing` holds
  attempts integer not null default 0,
  next_attempt_at timestamptz,
  last_error text,
  published_at timestamptz
) with (
  -- Every row is written three times; see to what is left behind early.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 10000
);

-- All of them hold only rows that are not published, so they stay small beside
-- any number of published ones.

-- The fetch: the next rows in order, and those that were passed over.
create index if not exists outbox_events_unpublished
  on public.outbox_events (seq)
  where status in ('pending', 'processing');

-- What is held, and when it comes back.
create index if not exists outbox_events_processing
  on public.outbox_events (locked_until)
  where status = 'processing';

-- What was refused and waits, with all that wait behind it.
create index if not exists outbox_events_retry
  on public.outbox_events (next_attempt_at)
  where status = 'pending' and next_attempt_at is not null;

-- What was given up: for the gauge, and for people.
create index if not exists outbox_events_failed
  on public.outbox_events (seq)
  where status = 'failed';
