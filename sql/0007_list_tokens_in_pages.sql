-- A customer's tokens in the order in which they are listed and deleted, a page at a time. On a large table, create it before
-- the upgrade with CREATE INDEX CONCURRENTLY: without it, this migration blocks logins while it builds the index.
create index if not exists login_tokens_of_customer_idx on login_tokens (customer_id, created_at, id);

do $$
begin
  if exists (
    select from pg_index where indexrelid = 'login_tokens_of_customer_idx'::regclass and not indisvalid
  ) then
    raise exception 'the index login_tokens_of_customer_idx is invalid: drop it and create it again';
  end if;
end
$$;

drop index if exists login_tokens_customer_id_idx;
