-- Wakes a poller before its interval ends: polling.notify: outbox.
--
-- Once per statement and with the same payload each time, so that a transaction
-- sends one notification however many rows it inserts.
--
-- It has a price that no setting takes away: a transaction that has notified
-- holds one lock of the whole cluster while it commits, so busy writers queue
-- there. Where events are frequent a short polling.interval costs less.

create or replace function public.walpost_notify() returns trigger
language plpgsql as $$
begin
  notify outbox;
  return null;
end $$;

drop trigger if exists walpost_notify on public.outbox_events;
create trigger walpost_notify after insert on public.outbox_events
  for each statement execute function public.walpost_notify();
