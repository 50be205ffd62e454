-- The publication that walpost's slot reads through. Run it before the slot is
-- made: a slot older than its publication fails for good (PostgreSQL 17 and
-- older) or skips events without an error (18).
--
-- May be run again: it adds the table if it is missing, and changes no setting
-- of a publication that exists, but warns of those that lose or multiply
-- events. Run it as the owner of the table, with CREATE on the database.
--
--   publish = 'insert': an event is an INSERT. Updates and deletes are
--   housekeeping; left out here they are not even sent. It also frees the table
--   from having a replica identity.
--
--   publish_via_partition_root: rows come under the name of the table, not of a
--   day's partition; new partitions need no change here. No effect on a table
--   without partitions.
--
--   publish_generated_columns (PostgreSQL 18): set it to stored if a generated
--   column is mapped; earlier servers do not send such columns.
--
--   No row filter and no column list: either is a way to lose events that
--   nothing reports.

do $block$
declare
  publication pg_publication;
begin
  select * into publication from pg_publication where pubname = 'walpost';
  if not found then
    create publication walpost for table public.outbox
      with (publish = 'insert', publish_via_partition_root = true);
    return;
  end if;
  if not publication.puballtables
     and not exists (select from pg_publication_rel
                     where prpubid = publication.oid
                       and prrelid = 'public.outbox'::regclass) then
    alter publication walpost add table public.outbox;
  end if;
  if not publication.pubinsert then
    raise warning
      'publication walpost does not publish inserts: no event will arrive'
      using hint = 'alter publication walpost set (publish = ''insert'');';
  end if;
  if not publication.pubviaroot then
    raise warning
      'publication walpost publishes partitions under their own names'
      using hint = 'alter publication walpost '
        'set (publish_via_partition_root = true);';
  end if;
end
$block$;
