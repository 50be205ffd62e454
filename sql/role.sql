-- The role that walpost connects as, with no more than it needs. Run it as an
-- administrator, in the database of the outbox. May be run again.
--
-- It has no password yet. Give it one outside of any file, for instance with
-- \password walpost in psql, or let pg_hba.conf say how it logs in.

do $block$
begin
  if not exists (select from pg_roles where rolname = 'walpost') then
    -- Sessions beside the stream, which itself does not count: of run one to
    -- look at the slot, one of the guard slot, one of the checkpoint, two of
    -- retention, and with source: polling one for each table; as many of a
    -- standby; one each of check, verify and tail; and ghosts of a lost network,
    -- which the server keeps for a while. A loop gone mad meets this limit, not
    -- the service.
    create role walpost login connection limit 20;
  end if;

  -- REPLICATION is the one privilege that a slot needs; the stream then carries
  -- all that is published, without any grant on the tables. Think of it as the
  -- right to read every change in the database, and guard the password so.
  --
  -- Amazon RDS and Aurora have the role rds_replication instead (and the
  -- parameter rds.logical_replication = 1 for wal_level). Elsewhere it is the
  -- attribute, given by: the cloudsqlsuperuser of Google Cloud SQL (flag
  -- cloudsql.logical_decoding = on), the administrator of Azure Flexible Server
  -- (wal_level = logical), the owner of a Neon or Supabase project. With a
  -- pooler in front, walpost needs the direct address.
  if exists (select from pg_roles where rolname = 'rds_replication') then
    grant rds_replication to walpost;
  elsif not (select rolreplication from pg_roles where rolname = 'walpost') then
    alter role walpost replication;
  end if;
end
$block$;

-- Nothing else: walpost init --admin gives the rest, for what is configured.
-- By hand: publishing needs no right on the table. To let walpost read the table
-- itself (to compare it with Kafka, to replay events from it), grant:
--
--   grant usage on schema public to walpost;
--   grant select on public.outbox to walpost;
--
-- To let it delete old rows (walpost prune, retention.keep), besides:
--
--   grant delete on public.outbox to walpost;
--
-- To let it poll the table (source: polling), besides:
--
--   grant update on public.outbox to walpost;  -- strategy claim, delete
--   grant delete on public.outbox to walpost;  -- strategy delete
--
-- and for strategy cursor: cursor.sql.
--
-- To let it end at once what a walpost left behind that died together with its
-- network (else its slot is free after wal_sender_timeout):
--
--   grant pg_read_all_stats to walpost;
--
-- To let it keep its checkpoint here (checkpoint.store: postgres): checkpoint.sql.
--
-- To let it make the publication (postgres.create), it would have to own the
-- table: run publication.sql as the owner instead.
--
-- pg_hba.conf: a logical stream is a connection to its database. The keyword
-- "replication" there means physical standbys, and does not match it:
--
--   hostssl  shop  walpost  10.0.0.0/16  scram-sha-256
