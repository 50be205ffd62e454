-- Wakes walpost at each commit that inserts into the outbox, for source:
-- polling. Without it a new event waits for the next look at the table.
--
-- What it costs: NOTIFY takes a lock on the whole cluster at COMMIT, from
-- before the commit record is written until after. Transactions that notify
-- commit one at a time, in every database of the server, and the flush of each
-- is waited for by the next: a few thousand commits a second, on a disk that
-- flushes quickly, is all there is. Transactions that insert no event are not
-- affected. So take it where an event now and then should go out at once, and
-- leave it out where events come by the hundred a second: there a short
-- interval finds work at every look.
--
-- A notification is lost when nobody listens (walpost restarts, the connection
-- breaks). It only ever saves a wait; the interval finds the row all the same.
--
-- May be run again: it replaces function and trigger. Run it as the owner of the
-- table.

create or replace function public.outbox_notify()
returns trigger
language plpgsql
set search_path = pg_catalog
as $function$
begin
  -- A constant payload: PostgreSQL folds equal notifications of a transaction
  -- into one, so a thousand inserts wake walpost once. It reads the table
  -- anyway; ids in the payload would only fill the queue.
  perform pg_notify('walpost_outbox', '');
  return null;
end
$function$;

-- For each statement, not for each row: a COPY of a million rows calls it once.
drop trigger if exists outbox_notify on public.outbox;
create trigger outbox_notify
  after insert on public.outbox
  for each statement execute function public.outbox_notify();
