-- The consumer's side: effects once, though records may come twice.
--
-- Delivery is at least once: after a crash of walpost, of the consumer, or by a
-- rebalance, a record comes again. A consumer that writes to PostgreSQL claims
-- the event in the transaction of its effect, and does nothing when the claim
-- fails:
--
--   begin;
--   select public.claim_event('billing', '<header id of the record>');
--   -- true: write the effect.   false: it was written before, skip it.
--   commit;
--   -- only now commit the offset to Kafka.
--
-- Claim and effect commit together or not at all, so a crash in between leaves
-- neither, and the record that comes again finds the event unclaimed. What
-- cannot be rolled back (an e-mail, a call) is not made idempotent by this: let
-- the effect be a row that somebody else acts on. docs/consumers has
-- whole consumers.
--
-- This belongs in the database of the consumer. May be run again: it changes
-- nothing that is there, and replaces the functions.

create table if not exists public.processed_events (
  -- Consumers are independent: each claims an event for itself.
  consumer_name text not null,
  -- Header `id` of the record. Text, because a header is bytes; a uuid as it
  -- prints.
  event_id text not null,
  processed_at timestamptz not null default now(),
  primary key (consumer_name, event_id)
) with (
  -- As for the outbox: rows come and go, none is updated.
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000
);

-- For forgetting by age. BRIN, because rows come in the order of their time: a
-- few pages in all, and next to nothing at INSERT.
create index if not exists processed_events_processed_at
  on public.processed_events using brin (processed_at)
  with (pages_per_range = 16, autosummarize = on);

-- True when the event is claimed by this transaction, and its effect is to be
-- written now; false when that was done before.
--
-- Two transactions that claim the same event do not both get it: the second
-- waits on the unique index until the first has ended, and then is told false
-- (committed) or true (rolled back). So a consumer that was declared dead and
-- comes back does no harm.
create or replace function public.claim_event(
  consumer_name text,
  event_id text)
returns boolean
language plpgsql
set search_path = pg_catalog
as $function$
begin
  -- NULL would be equal to nothing, and the event claimed again and again.
  if consumer_name is null or event_id is null then
    raise exception 'claim_event: a consumer and an event id are needed'
      using errcode = 'null_value_not_allowed',
        hint = 'The event id is header "id" of the record.';
  end if;
  -- Not SELECT and then INSERT: two could find nothing.
  insert into public.processed_events as p (consumer_name, event_id)
  values (claim_event.consumer_name, claim_event.event_id)
  on conflict do nothing;
  return found;
end
$function$;

-- Forgets events that were processed before `older_than` ago, and returns how
-- many. What is forgotten is processed again if it comes again: keep them for
-- longer than records can come back, which is the retention of the topic, or
-- the oldest offset that anybody would reset this consumer to.
create or replace function public.forget_events(
  consumer_name text,
  older_than interval)
returns bigint
language sql
set search_path = pg_catalog
as $function$
  with forgotten as (
    delete from public.processed_events p
    where p.consumer_name = forget_events.consumer_name
      and p.processed_at < now() - forget_events.older_than
    returning 1)
  select count(*) from forgotten
$function$;

comment on table public.processed_events is
  'Events whose effects are written: a consumer claims each with claim_event() '
  'in the transaction of its effect.';
