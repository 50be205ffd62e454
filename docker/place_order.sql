-- One order, as pgbench places them: the business row and its event in one
-- transaction. One in five is rolled back, and must never be seen in Kafka.

\set customer random(1, 20)
\set cents random(100, 9999)
\set outcome random(1, 5)

begin;
with placed as (
  insert into orders (customer, item, cents)
  values ('customer-' || :customer, 'tea', :cents)
  returning *
)
insert into outbox (aggregate_type, aggregate_id, type, payload)
select 'order', customer, 'OrderPlaced',
       json_build_object('order', id, 'item', item, 'amount', cents / 100.0)
from placed;
\if :outcome = 1
rollback;
\else
commit;
\endif
