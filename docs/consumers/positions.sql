-- Repeats told by position instead of by id: one row for each partition.
--
--   begin;
--   select public.advance_position('billing', '<topic>', <partition>,
--                                  '<header walpost-position of the record>');
--   -- true: write the effect.   false: it was written before, skip it.
--   commit;
--
-- docs/consume.md says what this does not recognise. May be run again.

create table if not exists public.stream_position (
  consumer_name text not null,
  topic text not null,
  partition integer not null,
  -- Collation C compares bytes, as the header is made for.
  position text collate "C" not null,
  primary key (consumer_name, topic, partition)
);

-- True when the position is later than the last one of this partition, which it
-- then replaces, in the transaction of the caller. Of two transactions, the
-- second waits for the first.
create or replace function public.advance_position(
  consumer_name text,
  topic text,
  partition integer,
  "position" text)
returns boolean
language plpgsql
set search_path = pg_catalog
as $function$
begin
  -- begin: advance
  insert into public.stream_position as p
  values (advance_position.consumer_name, advance_position.topic,
          advance_position.partition, advance_position."position")
  on conflict on constraint stream_position_pkey do update
    set "position" = excluded."position"
    where p."position" < excluded."position";
  return found;
  -- end: advance
end
$function$;
