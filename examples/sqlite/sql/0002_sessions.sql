-- A customer may hold several login tokens, each in a slot of its own.
-- The label that the client chose at the login.
alter table login_tokens add column device text;
-- Only of unrevoked login tokens.
alter table login_tokens add column slot integer not null default 1 check (slot between 1 and 100);

create unique index login_tokens_slot_key on login_tokens (customer_id, slot)
  where name = 'login' and revoked_at is null;
drop index login_tokens_one_login_key;
