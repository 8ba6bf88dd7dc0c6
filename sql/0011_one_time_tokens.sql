-- Single-use tokens that customers receive by mail, such as for a new password. At most one for each customer and purpose, so that
-- requests for mails cannot fill the table.
--
-- The reference locks `customers` against writes while it is created; no row is read.
create table one_time_tokens (
  customer_id uuid not null references customers on delete cascade,
  purpose text not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash bytea not null unique,
  expires_at timestamptz not null,
  primary key (customer_id, purpose)
);
