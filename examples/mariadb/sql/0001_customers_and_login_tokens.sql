-- Times are milliseconds since the Unix epoch, ids are UUIDs that the application creates. MariaDB commits each statement, so
-- each can be repeated. The collation compares every character, also spaces at the end.

create table if not exists customers (
  id varchar(36) character set ascii collate ascii_bin primary key,
  -- As the operator stored it.
  email varchar(254) not null,
  -- The UTF-8 bytes of the e-mail with ASCII case folded by the application: the collations of MariaDB fold more.
  email_key varbinary(1016) not null,
  name text,
  -- A whole bcrypt hash, or null for a customer who cannot log in with a password.
  password_hash text,
  disabled_at bigint,
  created_at bigint not null,
  unique key customers_email_key (email_key)
) engine = innodb character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists login_tokens (
  id varchar(36) character set ascii collate ascii_bin primary key,
  customer_id varchar(36) character set ascii collate ascii_bin not null,
  -- `login` for the token of a login; any other name for a token of a bot or a script.
  name varchar(1000) not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash binary(32) not null,
  -- A JSON list of words like `orders:read`; `*` is everything, an empty list is nothing.
  abilities mediumtext not null check (json_type(abilities) = 'ARRAY'),
  created_at bigint not null,
  -- Null for a token that never expires. "Expired" is never stored.
  expires_at bigint,
  -- Null while the token is not revoked.
  revoked_at bigint,
  last_used_at bigint,
  -- One login token a customer, however many logins run at once: null values are not compared.
  login_of varchar(36) character set ascii collate ascii_bin
    as (if(name = 'login' and revoked_at is null, customer_id, null)) virtual,
  -- The first end of a token that has one.
  ended_at bigint as (least(ifnull(revoked_at, expires_at), ifnull(expires_at, revoked_at))) virtual,
  unique key login_tokens_token_hash_key (token_hash),
  unique key login_tokens_one_login_key (login_of),
  key login_tokens_customer_id_idx (customer_id),
  key login_tokens_ended_idx (ended_at),
  constraint login_tokens_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade
) engine = innodb character set utf8mb4 collate utf8mb4_nopad_bin;
