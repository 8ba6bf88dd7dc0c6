-- Every change that could make a validation kept by an instance wrong is announced on the channel `latchkey`, in the
-- transaction that makes it: whoever makes it, and in the order of the commits. The first word is the version of the
-- format. Nothing is said of rows that no instance can hold as valid, nor of columns that no answer is made from.

create function latchkey_announce(kind text, changed text[]) returns void language plpgsql as $$
begin
  if cardinality(changed) > 100 then
    -- A payload has less than 8,000 bytes, and each entry that is named costs every instance more than forgetting all.
    perform pg_notify('latchkey', '1 forget');
  elsif cardinality(changed) > 0 then
    perform pg_notify('latchkey', '1 ' || kind || ' ' || array_to_string(changed, ' '));
  end if;
end
$$;

-- Whether an instance can hold a token of this state as valid. The hour stands for clocks that differ: what expired
-- earlier is held by nobody, so that pruning says nothing.
create function latchkey_can_be_held(revoked_at timestamptz, expires_at timestamptz) returns boolean
language sql stable as $$
  select revoked_at is null and (expires_at is null or expires_at > now() - interval '1 hour')
$$;

-- By the digest, which is what instances know a token by.
create function latchkey_announce_updated_tokens() returns trigger language plpgsql as $$
begin
  perform latchkey_announce('digests', array(
    select encode(was.token_hash, 'hex')
      from was left join became using (id)
     where latchkey_can_be_held(was.revoked_at, was.expires_at)
       and (became.revoked_at, became.expires_at, became.abilities, became.name, became.token_hash, became.customer_id)
           is distinct from
           (was.revoked_at, was.expires_at, was.abilities, was.name, was.token_hash, was.customer_id)
     limit 101));
  return null;
end
$$;

create function latchkey_announce_deleted_tokens() returns trigger language plpgsql as $$
begin
  perform latchkey_announce('digests', array(
    select encode(was.token_hash, 'hex')
      from was
     where latchkey_can_be_held(was.revoked_at, was.expires_at)
     limit 101));
  return null;
end
$$;

-- By the id alone: a join with the tokens would miss those that a concurrent login is adding.
create function latchkey_announce_updated_customers() returns trigger language plpgsql as $$
begin
  perform latchkey_announce('customers', array(
    select was.id::text
      from was left join became using (id)
     where became.id is null
        or (became.disabled_at, became.email, became.name)
           is distinct from (was.disabled_at, was.email, was.name)
     limit 101));
  return null;
end
$$;

create function latchkey_announce_deleted_customers() returns trigger language plpgsql as $$
begin
  perform latchkey_announce('customers', array(select was.id::text from was limit 101));
  return null;
end
$$;

create function latchkey_announce_truncation() returns trigger language plpgsql as $$
begin
  perform pg_notify('latchkey', '1 forget');
  return null;
end
$$;

create trigger announce_update after update on login_tokens
  referencing old table as was new table as became
  for each statement execute function latchkey_announce_updated_tokens();
create trigger announce_delete after delete on login_tokens
  referencing old table as was
  for each statement execute function latchkey_announce_deleted_tokens();
create trigger announce_truncate after truncate on login_tokens
  for each statement execute function latchkey_announce_truncation();

create trigger announce_update after update on customers
  referencing old table as was new table as became
  for each statement execute function latchkey_announce_updated_customers();
create trigger announce_delete after delete on customers
  referencing old table as was
  for each statement execute function latchkey_announce_deleted_customers();
create trigger announce_truncate after truncate on customers
  for each statement execute function latchkey_announce_truncation();

-- Also for changes that arrive by replication or by a session that switches triggers off.
alter table login_tokens enable always trigger announce_update;
alter table login_tokens enable always trigger announce_delete;
alter table login_tokens enable always trigger announce_truncate;
alter table customers enable always trigger announce_update;
alter table customers enable always trigger announce_delete;
alter table customers enable always trigger announce_truncate;
