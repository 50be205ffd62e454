-- A service's own table, and the demo's password for walpost. Run by the
-- postgres container after the files of sql/.

create table if not exists public.orders (
  id bigint generated always as identity primary key,
  customer text not null,
  cents integer not null
);

alter role walpost password 'walpost';
