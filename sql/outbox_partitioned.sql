-- The outbox of outbox.sql with one partition per day: old events leave by DROP
-- TABLE, which costs nothing and leaves no dead rows, instead of by DELETE.
--
-- May be run again: it changes nothing that exists, and makes the partitions of
-- the coming days. Run it as the owner of the service's schema. Where a plain
-- public.outbox exists already it fails, and changes nothing.
--
-- Columns and checks are those of outbox.sql, where the reasons stand. What
-- differs has its reason here.

create table if not exists public.outbox (
  id uuid not null default gen_random_uuid(),
  aggregate_type text not null,
  aggregate_id text,
  type text,
  payload json,
  headers jsonb,

  -- The partition key. Never update it: moving a row to another partition is an
  -- insert in the WAL, and publishes the event again.
  created_at timestamptz not null default now(),

  -- A partitioned table's primary key must hold the partition key: so the same
  -- id can be stored twice if its two created_at differ. Consumers drop
  -- duplicates by id all the same.
  primary key (id, created_at),

  constraint outbox_aggregate_type_check check (
    length(aggregate_type) between 1 and 236
    and aggregate_type !~ '[^A-Za-z0-9._-]'),
  constraint outbox_aggregate_id_check check (
    octet_length(aggregate_id) <= 1024),
  constraint outbox_type_check check (
    octet_length(type) <= 255),
  constraint outbox_payload_check check (
    octet_length(payload::text) <= 900000),
  constraint outbox_headers_check check (
    jsonb_typeof(headers) = 'object'
    and octet_length(headers::text) <= 16384)
) partition by range (created_at);

comment on table public.outbox is
  'Events to publish: inserted with the change they tell of, read from the WAL '
  'by walpost. walpost prune drops days that were sent.';

-- Takes the rows of days that nobody made a partition for: an outbox must never
-- refuse an event for want of one. Normally empty.
create table if not exists public.outbox_default
  partition of public.outbox default;

-- Makes the partitions of today and the next `days` days (UTC) where they are
-- missing, and returns how many it made. Call it daily, with days to spare,
-- from cron or pg_cron:
--
--   select public.outbox_add_partitions(7);
--
-- or let walpost do it (retention.keep, docs/retention.md), which also drops the
-- days that were sent.
--
-- To drop a day by hand:
--
--   drop table public.outbox_p20260131;
--
-- A row that walpost has not read yet is published all the same, as long as its
-- slot lives: the WAL has it. If the slot is lost, walpost recover can no longer
-- find it.
create or replace function public.outbox_add_partitions(days integer default 7)
returns integer
language plpgsql
-- Days are days of UTC, whoever calls.
set timezone = 'UTC'
-- Attaching locks the default partition for a moment. Rather fail, and be called
-- again, than wait for a long transaction with inserts waiting behind.
set lock_timeout = '5s'
as $function$
declare
  day date;
  name text;
  made integer := 0;
begin
  if days is null or days not between 0 and 366 then
    raise exception 'days must be between 0 and 366, is %', days
      using errcode = 'invalid_parameter_value';
  end if;
  -- One caller at a time; the lock ends with the transaction.
  perform pg_advisory_xact_lock(hashtextextended('public.outbox', 0));
  for offset_days in 0 .. days loop
    day := current_date + offset_days;
    name := 'public.outbox_p' || to_char(day, 'YYYYMMDD');
    continue when to_regclass(name) is not null;
    -- Its rows could only be moved by inserting them again, which would publish
    -- them again. So that day stays where it is.
    if exists (select from public.outbox_default
               where created_at >= day and created_at < day + 1) then
      raise warning
        'public.outbox_default holds rows of %: no partition for that day', day
        using hint = 'They are published as usual. Make partitions earlier; '
          'delete these rows when they are old.';
      continue;
    end if;
    -- Made first and attached then: unlike CREATE TABLE ... PARTITION OF, this
    -- does not lock the outbox against inserts.
    execute 'create table ' || name || ' (like public.outbox including all)';
    execute format(
      'alter table public.outbox attach partition %s '
      'for values from (%L) to (%L)', name, day, day + 1);
    made := made + 1;
  end loop;
  return made;
end
$function$;

comment on function public.outbox_add_partitions(integer) is
  'Makes the missing partitions of public.outbox for today and the coming days '
  '(UTC).';

select public.outbox_add_partitions(7);
