-- A customer may hold several login tokens, each in a slot of its own. MariaDB commits each statement, so each can be repeated.

alter table login_tokens
  -- The label that the client chose at the login.
  add column if not exists device varchar(200),
  -- Only of unrevoked login tokens.
  add column if not exists slot smallint not null default 1 check (slot between 1 and 100);

alter table login_tokens add unique key if not exists login_tokens_slot_key (login_of, slot);

alter table login_tokens drop key if exists login_tokens_one_login_key;
