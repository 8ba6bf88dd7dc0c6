-- Times are milliseconds of the application's clock, ids are UUIDs that the application makes.

create table customers (
  id uuid primary key,
  -- As the operator stored it, white space at the ends removed; compared by the index below.
  email text not null check (char_length(email) between 1 and 254),
  name text,
  -- A whole bcrypt hash, or null for a customer who cannot log in with a password.
  password_hash text,
  -- Null for a customer who may log in and whose tokens count.
  disabled_at timestamptz,
  created_at timestamptz not null,
  -- For people and exports: nothing decides by it.
  updated_at timestamptz not null default now()
);

-- The collation "C" folds ASCII letters only: a Kelvin sign is not a k, a dotless i is not an i.
create unique index customers_email_key on customers (lower(email collate "C"));

create table login_tokens (
  id uuid primary key,
  customer_id uuid not null references customers (id) on delete cascade,
  -- `login` for the token of a login; any other name is of a token made for a bot or a script.
  name text not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- Words like `orders:read`; `*` is everything, an empty list is nothing.
  abilities text[] not null,
  created_at timestamptz not null,
  -- Fixed when the token is made; null for a token that never expires. "Expired" is never stored.
  expires_at timestamptz,
  -- Null while the token is not revoked; once set it stays.
  revoked_at timestamptz,
  -- When the token was last accepted, written now and then; null before the first time.
  last_used_at timestamptz
);

create index login_tokens_customer_id_idx on login_tokens (customer_id);

-- One login token a customer, however many logins run at once.
create unique index login_tokens_one_login_key on login_tokens (customer_id)
  where name = 'login' and revoked_at is null;
