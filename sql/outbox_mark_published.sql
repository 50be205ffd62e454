-- From source: wal to source: polling: marks the rows that the WAL has taken to
-- Kafka already, so that a poller does not send all of the table once more.
--
--   call public.outbox_mark_published('walpost');  -- the slot; while walpost
--                                                  -- streams from it
--
-- Rows that are seen in the table are marked when the slot has confirmed all
-- that was in the WAL when they were seen. A transaction can be seen only when
-- its commit is in the WAL, and an LSN is confirmed only when the brokers have
-- acknowledged what lies before it; so a marked row is in Kafka. Call it as often
-- as you like: what was committed since the last call is what a poller repeats.
--
-- It is for the table of outbox_polling.sql; where table and columns have other
-- names, change the two statements that name them. Run the file as the owner of
-- the table; the procedure may be dropped afterwards.

create or replace procedure public.outbox_mark_published(slot name)
language plpgsql
as $procedure$
declare
  goal pg_lsn;
  confirmed pg_lsn;
begin
  create temporary table if not exists seen_in_outbox (id uuid primary key);
  truncate seen_in_outbox;
  insert into seen_in_outbox
    select id from public.outbox where status = 'pending';
  goal := pg_current_wal_insert_lsn();
  loop
    -- Each look in a transaction of its own, so that no snapshot is held while
    -- Kafka is waited for.
    commit;
    select confirmed_flush_lsn into confirmed
      from pg_replication_slots where slot_name = slot;
    if not found then
      raise exception 'there is no slot %', slot
        using hint = 'Call it while walpost streams from the slot.';
    end if;
    exit when confirmed >= goal;
    perform pg_sleep(0.1);
  end loop;
  update public.outbox set status = 'published', published_at = now()
    from seen_in_outbox
    where outbox.id = seen_in_outbox.id and outbox.status = 'pending';
end
$procedure$;
