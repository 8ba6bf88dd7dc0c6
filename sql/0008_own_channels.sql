-- An acknowledgement concerns only the instance that asked for it. So each instance also listens on a channel of its own, and
-- its acknowledgements no longer reach all others: with n instances a revocation takes about 3n deliveries, not n².
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- As secret as the name of the channel of all: without it, the name of an instance does not suffice to compute this one.
create function latchkey_own_channel(instance text) returns text
language sql stable security definer set search_path from current as $$
  select 'latchkey_' || left(encode(sha256(convert_to(name || ' ' || instance, 'UTF8')), 'hex'), 32) from latchkey_channel
$$;

-- Sends a message of an instance to those that need it. The name of an instance with a channel of its own begins with @.
-- Instances of the earlier version have none, and send everything with `latchkey_say`.
create function latchkey_send(payload text) returns void language plpgsql security definer set search_path from current as $$
begin
  -- `1 seen <instance> <asker> <n>`
  if payload like '1 seen %' and split_part(payload, ' ', 4) like '@%' then
    perform pg_notify(latchkey_own_channel(split_part(payload, ' ', 4)), payload);
  else
    perform latchkey_say(payload);
  end if;
end
$$;

-- Makes this connection receive the messages for all instances and for this one.
create function latchkey_listen_as(instance text) returns void
language plpgsql security definer set search_path from current as $$
begin
  perform latchkey_listen();
  execute format('listen %I', latchkey_own_channel(instance));
end
$$;

revoke execute on function latchkey_own_channel(text), latchkey_send(text), latchkey_listen_as(text) from public;

-- The role of the service, as in 0005.
do $$
declare
  grantee text;
begin
  for grantee in
    select distinct case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end
      from pg_class, aclexplode(relacl) as acl
     where pg_class.oid = 'login_attempts'::regclass and acl.privilege_type = 'UPDATE' and acl.grantee <> relowner
  loop
    execute format('grant execute on function latchkey_send(text), latchkey_listen_as(text) to %s', grantee);
  end loop;
end
$$;
