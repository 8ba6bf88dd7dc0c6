-- Times are milliseconds since the Unix epoch, ids are UUIDs that the application makes.

create table customers (
  id text primary key,
  -- As the operator stored it, white space at the ends removed; compared by the index below.
  email text not null,
  name text,
  -- A whole bcrypt hash, or null for a customer who cannot log in with a password.
  password_hash text,
  -- Null for a customer who may log in and whose tokens count.
  disabled_at integer,
  created_at integer not null
) strict;

-- SQLite's lower() folds ASCII letters only, and its texts are in the order of their bytes.
create unique index customers_email_key on customers (lower(email));

create table login_tokens (
  id text primary key,
  customer_id text not null references customers (id) on delete cascade,
  -- `login` for the token of a login; any other name is of a token made for a bot or a script.
  name text not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash blob not null unique check (length(token_hash) = 32),
  -- A JSON list of words like `orders:read`; `*` is everything, an empty list is nothing.
  abilities text not null check (json_type(abilities) = 'array'),
  created_at integer not null,
  -- Fixed when the token is made; null for a token that never expires. "Expired" is never stored.
  expires_at integer,
  -- Null while the token is not revoked; once set it stays.
  revoked_at integer,
  -- When the token was last accepted, written now and then; null before the first time.
  last_used_at integer
) strict;

create index login_tokens_customer_id_idx on login_tokens (customer_id);

-- What prunes looks for: the first end of each token that has one.
create index login_tokens_ended_idx
  on login_tokens (min(ifnull(revoked_at, expires_at), ifnull(expires_at, revoked_at)));

-- One login token a customer, however many logins run at once.
create unique index login_tokens_one_login_key on login_tokens (customer_id)
  where name = 'login' and revoked_at is null;
