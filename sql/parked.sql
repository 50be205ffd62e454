-- The table of parked events (on_error: park) and of dead letters
-- (dead_letter.store: postgres). walpost makes it by itself where
-- it may create tables; where it may not, run this as the owner of the schema,
-- and grant (with walpost's role):
--
--   grant select, insert, update, delete on public.walpost_parked to walpost;
--
-- May be run again: adds what is missing, and changes nothing that is there.

-- One row per event that waits for an operator (dead), behind such an event, or
-- for its topic (waiting); and per dead letter. Decide with `walpost parked` and
-- `walpost dead-letters`, not with SQL: they check what they change. To look at
-- it:
--
--   select position, state, convert_from(aggregate_id, 'UTF8') as key,
--          error_class, reason, convert_from(payload, 'UTF8') as payload
--     from public.walpost_parked where state in ('dead', 'waiting', 'retry')
--    order by position;
create table if not exists public.walpost_parked (
  slot text not null,
  -- Of the cluster that wrote the event; another one after pg_upgrade.
  system_identifier text not null,
  -- LSN of the commit and ordinal, so that text order is the order of events.
  position text collate "C" not null,
  -- dead, waiting; retry: an operator wants it sent; released: it was sent;
  -- discarded. dead_letter; dead_letter_retry: an operator wants it sent;
  -- dead_letter_retried: it was sent; dead_letter_discarded.
  state text not null,
  -- The event's columns, as they are. The key is empty if there is none.
  aggregate_type bytea,
  aggregate_id bytea not null,
  payload bytea,
  -- The rest of it: walpost.v1.DeadLetter (proto/walpost/v1/dead_letter.proto).
  event bytea not null,
  error_class text not null,
  reason text not null,
  committed_at timestamptz not null,
  -- The isolated topic that it waits for (parking.isolate_after). Of a dead
  -- letter: the topic that it would have; null: none can be made.
  topic text,
  parked_at timestamptz not null default now(),
  decided_at timestamptz,
  decided_by text,
  decided_why text,
  primary key (slot, system_identifier, position)
);

-- In the order in which a topic gets them.
create index if not exists walpost_parked_topic on public.walpost_parked
  (slot, topic, system_identifier, position) where topic is not null;

-- Few rows are dead, and many may wait behind them.
create index if not exists walpost_parked_dead on public.walpost_parked (slot)
  where state = 'dead';

-- For queries: further columns of dead letters, as they are. Null in the rows of
-- parked events.
alter table public.walpost_parked
  add column if not exists id bytea,
  add column if not exists type bytea,
  add column if not exists headers bytea;

-- Few dead letters are to be sent, and many may be there.
create index if not exists walpost_parked_retry on public.walpost_parked (slot)
  where state = 'dead_letter_retry';
