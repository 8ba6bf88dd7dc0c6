-- Single-use tokens that customers receive by mail: at most one for each customer and purpose.
create table one_time_tokens (
  customer_id text not null references customers on delete cascade,
  purpose text not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash blob not null unique,
  expires_at integer not null,
  primary key (customer_id, purpose)
) strict;
