-- Orders and their events in SQL.
--
-- PGHOST, PGPORT, PGDATABASE and PGUSER say where the database is. It needs
-- sql/outbox.sql and docs/producers/schema.sql.

-- begin: place
begin;
insert into orders (customer, cents) values ('alice', 1250)
returning id as order_id \gset
insert into outbox (aggregate_type, aggregate_id, type, payload, headers)
values ('order', :'order_id', 'OrderPlaced',
        json_build_object('event', 'OrderPlaced', 'orderId', :order_id,
                          'customer', 'alice', 'cents', 1250),
        '{"traceparent":
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}');
commit;
-- end: place

-- Bytes of a serializer: 0, four bytes of the schema's id, the Avro body.
begin;
insert into outbox_avro (aggregate_type, aggregate_id, payload)
values ('order', :'order_id', '\x0000000007020a616c696365c413');
commit;

-- Two events of one key: inserted, and so published, in this order.
begin;
update orders set state = 'completed' where id = :order_id;
insert into outbox (aggregate_type, aggregate_id, type, payload)
select 'order', :'order_id', happened,
       json_build_object('event', happened, 'orderId', :order_id)
from unnest(array['OrderPaid', 'OrderShipped']) with ordinality e (happened, n)
order by n;
commit;

-- Rolled back: no order, no event.
begin;
insert into orders (customer, cents) values ('nobody', 1);
insert into outbox (aggregate_type, aggregate_id, payload)
values ('order', 'nobody', '{}');
rollback;
