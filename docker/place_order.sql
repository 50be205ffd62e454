-- One order, as pgbench places them: the business row and its event in one
-- transaction. One in five is rolled back, and must never be seen in Kafka.

\set customer random(1, 20)
\set cents random(100, 9999)
\set outcome random(1, 5)

begin;
with placed as (
  insert into orders (customer, cents)
  values ('customer-' || :customer, :cents)
  returning *
)
insert into outbox (aggregate_type, aggregate_id, type, payload)
select 'order', id::text, 'OrderPlaced',
       json_build_object('event', 'OrderPlaced', 'orderId', id,
                         'customer', customer, 'cents', cents)
from placed;
\if :outcome = 1
rollback;
\else
commit;
\endif
