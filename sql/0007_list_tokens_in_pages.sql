-- A customer's tokens in the order in which they are listed and deleted, a page at a time. On a large table, create it before
-- the upgrade with CREATE INDEX CONCURRENTLY: without it, this migration blocks logins while it builds the index.
create index if not exists login_tokens_of_customer_idx on login_tokens (customer_id, created_at, id);
drop index if exists login_tokens_customer_id_idx;
