-- The table of polling.lease_table: which rows of a polled table are held, by
-- which walpost, and until when. For polling.strategy claim and delete. walpost
-- init makes it; where it does not run, run this, and grant (with walpost's role):
--
--   grant select, insert, update, delete on public.walpost_leases to walpost;
--
-- May be run again: changes nothing that is there. Make it while no walpost polls:
-- whoever finds it empty takes every row for free.

-- A walpost holds the rows of an aggregate by the hash of its name; a row without
-- an aggregate by that of its id. Up to 200 hashes are a piece, so that a version
-- of it lies beside the one before, in the same page, and none out of line.
create table if not exists public.walpost_leases (
  outbox_table regclass not null,
  -- One running walpost.
  holder text not null,
  piece integer not null,
  -- Then the rows are anybody's.
  until timestamptz not null,
  keys bigint[] not null,
  primary key (outbox_table, holder, piece)
) with (
  fillfactor = 10,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 1000
);
