-- The effect of the example: what each customer has ordered.
create table if not exists customer_total (
  customer text primary key,
  orders bigint not null,
  amount numeric not null
);
