-- The table of polling.strategy: cursor. walpost makes it by itself where it may
-- create tables; where it may not, run this, and grant (with walpost's role):
--
--   grant select, insert, update on public.walpost_cursor to walpost;
--
-- May be run again: changes nothing that is there.

-- One row per polled table. The rows of transactions from `window_from` up to,
-- but without, `window_to` are being published in the order of the table's
-- order_by; `last_place` is the last of them that is in Kafka.
create table if not exists public.walpost_cursor (
  outbox_table text primary key,
  -- Of the cluster that the transaction ids belong to.
  system_identifier text not null,
  window_from xid8 not null,
  window_to xid8 not null,
  last_place bigint,
  -- The highest place that was ever published, for a restore elsewhere.
  highest_place bigint,
  -- Rows up to this place came from another cluster, and are done.
  floor_place bigint,
  updated_at timestamptz not null default now()
) with (fillfactor = 10);
