-- Single-use tokens that customers receive by mail: at most one for each customer and purpose.
create table if not exists one_time_tokens (
  customer_id varchar(36) character set ascii collate ascii_bin not null,
  purpose varchar(100) character set ascii collate ascii_nopad_bin not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash binary(32) not null,
  expires_at bigint not null,
  primary key (customer_id, purpose),
  unique key one_time_tokens_token_hash_key (token_hash),
  constraint one_time_tokens_customer_id_fkey foreign key (customer_id) references customers (id) on delete cascade
) engine = innodb character set utf8mb4 collate utf8mb4_nopad_bin;
