-- The effect of the example: an invoice for each order. No key hides that an event
-- has had its effect twice.
create table if not exists invoice (
  id bigint generated always as identity primary key,
  order_id bigint not null,
  customer text not null,
  cents bigint not null
);

create or replace view customer_total as
select customer, count(*) as orders, sum(cents)::bigint as cents
from invoice group by customer;
