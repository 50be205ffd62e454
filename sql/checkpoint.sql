-- The table of checkpoint.store: postgres. walpost makes it by itself where it
-- may create tables; where it may not, run this as the owner of the schema, and
-- grant (with walpost's role):
--
--   grant select, insert, update on public.walpost_checkpoint to walpost;
--
-- May be run again: changes nothing that is there.

-- One row per slot: walposts of one database share the table. It is an ordinary,
-- logged table, so that a promoted standby and a restored backup bring along
-- what belongs to their WAL. Columns and what they mean: as the fields of
-- proto/walpost/v1/checkpoint.proto.
create table if not exists public.walpost_checkpoint (
  slot text primary key,
  -- Of the cluster; text, for it is an identity and not a number. A table that
  -- was copied to another cluster tells by it.
  system_identifier text not null,
  timeline bigint not null,
  birth pg_lsn not null,
  confirmed pg_lsn not null,
  commit_lsn pg_lsn not null,
  ordinal bigint not null,
  numbering bigint not null default 0,
  transaction_horizon xid8 not null default '0',
  server_started_at timestamptz not null default 'epoch',
  commit_xid bigint not null default 0,
  commit_time timestamptz not null default 'epoch',
  coverage text not null default '',
  kafka_cluster text not null default '',
  gap text not null default '',
  kafka_topics text not null default '',
  -- For people, by the clock of walpost.
  written_at timestamptz not null
) with (
  -- The row is updated up to five times a second (checkpoint.interval), for years. With a page that is
  -- nearly empty, and no index on what changes, the new version goes beside the
  -- old one (a HOT update) and the next one takes its place: no index entry, no
  -- bloat, nothing for vacuum to do.
  fillfactor = 10
);
