-- The outbox without a table: an event as a logical message, which is in the
-- WAL and nowhere else. Half the WAL of a table row, nothing to vacuum or to
-- clean.
--
--   select public.outbox_emit(
--     'order', '4711', 'OrderPlaced', '{"total": "44.98"}');
--
-- Part of the caller's transaction, like an INSERT: rolled back, it was never
-- there. In a statement that is sent anyway it costs no round trip; one event
-- for each row:
--
--   insert into orders (id, total) values ($1, $2)
--   returning public.outbox_emit('order', id::text, 'OrderPlaced', $3::json);
--
-- walpost publishes it when configured with
--
--   outbox: {messages: {prefix: outbox}}
--
-- or, beside a table, which then has to be listed:
--
--   outbox: {tables: [{name: public.outbox}], messages: {prefix: outbox}}
--
-- What it costs: there is no row to read again. If the slot is lost, the events
-- not yet published are lost, and nothing in SQL can name them. If you cannot
-- accept that, insert into the table of outbox.sql.
--
-- Needs PostgreSQL 14, where pgoutput learned to send messages, and a
-- publication (publication.sql, or an empty one: create publication walpost;).
-- May be run again: it replaces the function.

-- Parameters as the columns in outbox.sql. Returns the id of the event, which
-- is worth a line in the caller's log.
--
-- payload is JSON in any of its types: an untyped literal or a text, a json, a
-- jsonb. Three functions, since PostgreSQL casts none of them to another by
-- itself in a call; the first does the work.
create or replace function public.outbox_emit(
  aggregate_type text,
  aggregate_id text,
  type text,
  payload text,
  headers jsonb default null,
  id uuid default gen_random_uuid())
returns uuid
language plpgsql
-- No name in here is ever looked up in a schema of the caller's choice.
set search_path = pg_catalog
as $function$
declare
  violated text;
begin
  -- The checks of public.outbox, for the reasons given there; and its SQLSTATE.
  violated := case
    when aggregate_type is null
      or length(aggregate_type) not between 1 and 236
      or aggregate_type ~ '[^A-Za-z0-9._-]'
      then 'aggregate_type: 1 to 236 characters of A-Z a-z 0-9 . _ -'
    when octet_length(aggregate_id) > 1024
      then 'aggregate_id: at most 1024 bytes'
    when octet_length(type) > 255
      then 'type: at most 255 bytes'
    when octet_length(payload) > 900000
      then 'payload: at most 900000 bytes'
    when jsonb_typeof(headers) <> 'object'
      or octet_length(headers::text) > 16384
      then 'headers: a JSON object of at most 16384 bytes'
    when id is null
      then 'id: not null'
  end;
  if violated is not null then
    raise exception 'outbox_emit: this event could not be delivered'
      using errcode = 'check_violation', detail = violated;
  end if;
  -- Half of a surrogate pair (an emoji that was cut in two) is JSON to json, but
  -- not to jsonb, to walpost, or to many consumers: 22P02 here. jsonb does not
  -- take \u0000 either, which is sent as it is. In another encoding jsonb also
  -- refuses whole pairs: what is left when they and escaped backslashes are
  -- taken out is half of one.
  if payload ~* '\\ud[89a-f]' then
    if getdatabaseencoding() = 'UTF8' then
      perform replace(payload, '\u0000', '\u0001')::jsonb;
    elsif regexp_replace(payload,
        '\\[^u]|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}', '', 'gi')
        ~* '\\ud[89a-f]' then
      raise exception 'outbox_emit: this event could not be delivered'
        using errcode = 'invalid_text_representation',
          detail = 'payload: half of a Unicode surrogate pair';
    end if;
  end if;
  -- The prefix tells walpost's messages from those of others. As json, the
  -- payload goes into the object byte by byte, or is refused here. The server
  -- recodes no message: it is UTF-8 in a database of any encoding, or is refused.
  perform pg_logical_emit_message(
    true, 'outbox',
    convert_to(json_build_object(
      'id', id,
      'aggregate_type', aggregate_type,
      'aggregate_id', aggregate_id,
      'type', type,
      'payload', payload::json,
      'headers', headers)::text, 'UTF8'));
  return id;
end
$function$;

create or replace function public.outbox_emit(
  aggregate_type text,
  aggregate_id text,
  type text,
  payload json,
  headers jsonb default null,
  id uuid default gen_random_uuid())
returns uuid
language sql
as $function$
  select public.outbox_emit(
    aggregate_type, aggregate_id, type, payload::text, headers, id)
$function$;

create or replace function public.outbox_emit(
  aggregate_type text,
  aggregate_id text,
  type text,
  payload jsonb,
  headers jsonb default null,
  id uuid default gen_random_uuid())
returns uuid
language sql
as $function$
  select public.outbox_emit(
    aggregate_type, aggregate_id, type, payload::text, headers, id)
$function$;

comment on function public.outbox_emit(text, text, text, text, jsonb, uuid) is
  'Publishes an event through the WAL alone, when the transaction commits. '
  'Lost with the slot: see outbox_emit.sql.';
