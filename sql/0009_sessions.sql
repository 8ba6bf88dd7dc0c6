-- A customer may hold several login tokens, each in a slot of its own. The unique index on customer and slot replaces the one
-- on the customer alone and takes over its name, which processes of the version before require to be ready. Their logins
-- revoke every earlier login token and take slot 1, so they keep working.
--
-- On a large table, do this before the upgrade, outside a transaction: it blocks nothing for long, and the migration then only
-- replaces the index.
--   alter table login_tokens add column slot smallint not null default 1;
--   create unique index concurrently login_tokens_slot_key on login_tokens (customer_id, slot)
--     where name = 'login' and revoked_at is null;
alter table login_tokens
  -- The label that the client chose at the login; null for none, and for named tokens.
  add column if not exists device text,
  -- Only of unrevoked login tokens.
  add column if not exists slot smallint not null default 1;

-- The rows that exist have the default: not validating them avoids a scan under a lock.
alter table login_tokens add constraint login_tokens_slot_check check (slot between 1 and 100) not valid;

create unique index if not exists login_tokens_slot_key on login_tokens (customer_id, slot)
  where name = 'login' and revoked_at is null;

do $$
begin
  if exists (select from pg_index where indexrelid = 'login_tokens_slot_key'::regclass and not indisvalid) then
    raise exception 'the index login_tokens_slot_key is invalid: drop it and create it again';
  end if;
end
$$;

drop index if exists login_tokens_one_login_key;
alter index login_tokens_slot_key rename to login_tokens_one_login_key;
