-- Tokens that were imported from another system. Their `token_hash` covers the form and the ID in which clients present them.
--
-- On a large table, do this before the upgrade, outside a transaction: it blocks nothing for long, and the migration then has
-- nothing to build.
--   alter table login_tokens add column form text;
--   create index concurrently login_tokens_of_form_idx on login_tokens (form, id) where form is not null;
alter table login_tokens
  -- Null for Latchkey's own tokens.
  add column if not exists form text,
  -- The ID that clients present beside the secret, or null.
  add column if not exists external_id text;

-- For `token import --sync`, which compares all tokens of a form. It has no entry of an own token.
create index if not exists login_tokens_of_form_idx on login_tokens (form, id) where form is not null;

do $$
begin
  if exists (select from pg_index where indexrelid = 'login_tokens_of_form_idx'::regclass and not indisvalid) then
    raise exception 'the index login_tokens_of_form_idx is invalid: drop it and create it again';
  end if;
end
$$;
