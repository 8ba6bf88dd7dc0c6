-- PostgreSQL does not authenticate notifications: every role that may connect can send one on a channel whose name it
-- knows. So changes and messages of instances use a channel with a secret name, which only the functions below read.
-- Every function finds Latchkey's tables whatever the search_path of its caller is.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Functions that run as their owner may not find those of strangers. A role that does not own the schema gets a warning
-- here, and the service names the statement when it starts.
do $$
begin
  execute format('revoke create on schema %I from public', current_schema());
end
$$;

create table latchkey_channel (
  is_only_row boolean primary key default true check (is_only_row),
  -- 128 random bits: each UUID has 122 from a cryptographic source.
  name text not null default
    'latchkey_' || left(encode(sha256((gen_random_uuid()::text || gen_random_uuid()::text)::bytea), 'hex'), 32)
);
insert into latchkey_channel default values;
-- Also from roles to which default privileges have granted it.
do $$
declare
  grantee text;
begin
  for grantee in
    select distinct case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end
      from pg_class, aclexplode(relacl) as acl
     where pg_class.oid = 'latchkey_channel'::regclass and acl.grantee <> relowner
  loop
    execute format('revoke all on latchkey_channel from %s', grantee);
  end loop;
end
$$;

-- Sends a message to every instance.
create function latchkey_say(payload text) returns void language plpgsql security definer set search_path from current as $$
declare
  channel text;
begin
  select name into strict channel from latchkey_channel;
  perform pg_notify(channel, payload);
  -- Instances of the earlier version listen on the channel `latchkey` only. They cannot decode version 2 of a heartbeat,
  -- so they use no cached validation, and wait for the longest lease before they acknowledge a revocation.
  if payload like '1 beat %' then
    perform pg_notify('latchkey', '2 beat ' || split_part(payload, ' ', 3));
  elsif payload = '1 forget' then
    perform pg_notify('latchkey', payload);
  end if;
end
$$;

-- Makes this connection receive the messages.
create function latchkey_listen() returns void language plpgsql security definer set search_path from current as $$
begin
  -- Otherwise LISTEN fails, and the server logs its text with the secret name.
  if pg_is_in_recovery() then
    raise exception 'a standby cannot listen' using errcode = 'read_only_sql_transaction';
  end if;
  execute format('listen %I', (select name from latchkey_channel));
end
$$;

create function latchkey_publish(kind text, changed text[]) returns void
language plpgsql security definer set search_path from current as $$
begin
  if cardinality(changed) > 100 then
    -- A payload has less than 8,000 bytes, and many entries cost an instance more than an empty cache.
    perform latchkey_say('1 forget');
  elsif cardinality(changed) > 0 then
    perform latchkey_say('1 ' || kind || ' ' || array_to_string(changed, ' '));
  end if;
end
$$;

-- Whether a cached validation may depend on the change. Expiry does not count: each use checks it by the application's
-- clock. Without its own search_path it is part of the query that calls it.
create function latchkey_is_token_changed(was login_tokens, became login_tokens) returns boolean language sql immutable as $$
  select was.revoked_at is null
     and (became.revoked_at, became.expires_at, became.abilities, became.name, became.token_hash, became.customer_id)
         is distinct from
         (was.revoked_at, was.expires_at, was.abilities, was.name, was.token_hash, was.customer_id)
$$;

create function latchkey_is_customer_changed(was customers, became customers) returns boolean language sql immutable as $$
  select (became.disabled_at, became.email, became.name) is distinct from (was.disabled_at, was.email, was.name)
$$;

create function latchkey_publish_updated_tokens() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform latchkey_publish('digests', array(
    select encode(was.token_hash, 'hex')
      from was left join became using (id)
     where latchkey_is_token_changed(was, became)
     limit 101));
  return null;
end
$$;

create function latchkey_publish_deleted_tokens() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform latchkey_publish('digests', array(
    select encode(token_hash, 'hex') from was where revoked_at is null limit 101));
  return null;
end
$$;

-- By the ID alone: a join with the tokens would miss those that a concurrent login adds.
create function latchkey_publish_updated_customers() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform latchkey_publish('customers', array(
    select was.id::text
      from was left join became using (id)
     where became.id is null or latchkey_is_customer_changed(was, became)
     limit 101));
  return null;
end
$$;

create function latchkey_publish_deleted_customers() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform latchkey_publish('customers', array(select id::text from was limit 101));
  return null;
end
$$;

create function latchkey_publish_truncation() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  perform latchkey_say('1 forget');
  return null;
end
$$;

create trigger publish_update after update on login_tokens
  referencing old table as was new table as became
  for each statement execute function latchkey_publish_updated_tokens();
create trigger publish_delete after delete on login_tokens
  referencing old table as was
  for each statement execute function latchkey_publish_deleted_tokens();
create trigger publish_truncate after truncate on login_tokens
  for each statement execute function latchkey_publish_truncation();

create trigger publish_update after update on customers
  referencing old table as was new table as became
  for each statement execute function latchkey_publish_updated_customers();
create trigger publish_delete after delete on customers
  referencing old table as was
  for each statement execute function latchkey_publish_deleted_customers();
create trigger publish_truncate after truncate on customers
  for each statement execute function latchkey_publish_truncation();

-- A subscriber of logical replication fires no triggers of statements for updates and deletions, only those of rows.
create function latchkey_publish_replicated_token() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if tg_op = 'DELETE' and old.revoked_at is null or tg_op = 'UPDATE' and latchkey_is_token_changed(old, new) then
    perform latchkey_publish('digests', array[encode(old.token_hash, 'hex')]);
  end if;
  return null;
end
$$;

create function latchkey_publish_replicated_customer() returns trigger
language plpgsql security definer set search_path from current as $$
begin
  if tg_op = 'DELETE' or latchkey_is_customer_changed(old, new) then
    perform latchkey_publish('customers', array[old.id::text]);
  end if;
  return null;
end
$$;

create trigger publish_replicated after update or delete on login_tokens
  for each row execute function latchkey_publish_replicated_token();
create trigger publish_replicated after update or delete on customers
  for each row execute function latchkey_publish_replicated_customer();

alter table login_tokens
  enable always trigger publish_update, enable always trigger publish_delete, enable always trigger publish_truncate,
  enable replica trigger publish_replicated;
alter table customers
  enable always trigger publish_update, enable always trigger publish_delete, enable always trigger publish_truncate,
  enable replica trigger publish_replicated;

-- The functions of the earlier triggers, which instances of the earlier version still need, also work for every caller
-- and every search_path. Their bodies stay as those instances expect them.
alter function latchkey_announce(text, text[]) security definer set search_path from current;
alter function latchkey_announce_updated_tokens() security definer set search_path from current;
alter function latchkey_announce_deleted_tokens() security definer set search_path from current;
alter function latchkey_announce_updated_customers() security definer set search_path from current;
alter function latchkey_announce_deleted_customers() security definer set search_path from current;
alter function latchkey_announce_truncation() security definer set search_path from current;

-- Those of triggers too: a stranger could attach them to a table of its own. A trigger fires without this privilege.
revoke execute on function
  latchkey_say(text), latchkey_listen(), latchkey_publish(text, text[]),
  latchkey_publish_updated_tokens(), latchkey_publish_deleted_tokens(), latchkey_publish_updated_customers(),
  latchkey_publish_deleted_customers(), latchkey_publish_truncation(), latchkey_publish_replicated_token(),
  latchkey_publish_replicated_customer(),
  latchkey_announce(text, text[]), latchkey_announce_updated_tokens(), latchkey_announce_deleted_tokens(),
  latchkey_announce_updated_customers(), latchkey_announce_deleted_customers(), latchkey_announce_truncation()
from public;

-- The role of the service, which counts attempts, sends and receives messages. Other writers only fire the triggers.
do $$
declare
  grantee text;
begin
  for grantee in
    select distinct case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end
      from pg_class, aclexplode(relacl) as acl
     where pg_class.oid = 'login_attempts'::regclass and acl.privilege_type = 'UPDATE' and acl.grantee <> relowner
  loop
    execute format('grant execute on function latchkey_say(text), latchkey_listen() to %s', grantee);
  end loop;
end
$$;
