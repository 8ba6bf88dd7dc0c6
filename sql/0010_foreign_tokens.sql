-- Tokens that were imported from another system. Their `token_hash` covers the form and the ID in which clients present them.
alter table login_tokens
  -- Null for Latchkey's own tokens.
  add column form text,
  -- The ID that clients present beside the secret, or null.
  add column external_id text;

-- For `token import --sync`, which compares all tokens of a form. It has no entry of an own token.
create index if not exists login_tokens_of_form_idx on login_tokens (form, id) where form is not null;
