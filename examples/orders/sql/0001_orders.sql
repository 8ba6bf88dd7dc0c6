-- Times are milliseconds of the application's clock, ids are UUIDs that the application makes.

create table orders (
  id uuid primary key,
  -- A customer of Latchkey. No foreign key: an order outlives the account that placed it, and customers may be stored
  -- in another database than orders.
  customer_id uuid not null,
  sku text not null,
  quantity integer not null check (quantity between 1 and 9999),
  note text,
  placed_at timestamptz not null
);

-- The order of the list: a page is read from it, however far back it begins.
create index orders_of_customer_idx on orders (customer_id, placed_at desc, id desc);
