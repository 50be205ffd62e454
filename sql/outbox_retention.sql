-- The index by which walpost prune finds the old rows of the table of
-- outbox.sql. Without it each batch would read the whole table, which it
-- refuses above 64 MiB. Not in outbox.sql, since every INSERT pays for it and
-- who drops partitions instead (outbox_partitioned.sql) has no use for it.
--
-- A table that is in use already: CREATE INDEX CONCURRENTLY, by hand.
-- May be run again: changes nothing that is there.

create index if not exists outbox_created_at on public.outbox (created_at);
