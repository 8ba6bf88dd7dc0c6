-- The two roles of Latchkey: latchkey_owner applies the migrations, latchkey serves and runs commands. Run this as a superuser in
-- Latchkey's database, before or after the first migration. It can be repeated. New roles have no password and cannot log in yet:
-- set one with passwords.sql, or with \password in psql.

do $$
begin
  if to_regrole('latchkey_owner') is null then create role latchkey_owner login; end if;
  if to_regrole('latchkey') is null then create role latchkey login; end if;
  -- Any role that connects could fill the notification queue.
  execute format('revoke connect, temporary on database %I from public', current_database());
  execute format('grant connect, temporary on database %I to latchkey_owner, latchkey', current_database());
  -- Of several lists of migrations, that of the database's owner counts.
  execute format('alter database %I owner to latchkey_owner', current_database());
end
$$;

revoke create on schema public from public;
grant usage, create on schema public to latchkey_owner;
grant usage on schema public to latchkey;

-- The tables and functions of later migrations.
alter default privileges for role latchkey_owner in schema public grant select, insert, update, delete on tables to latchkey;
alter default privileges for role latchkey_owner in schema public grant usage on sequences to latchkey;
alter default privileges for role latchkey_owner in schema public grant execute on functions to latchkey;

-- The tables and functions that exist.
do $$
declare
  item text;
begin
  for item in
    select oid::regclass from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r'
       and (relname in ('customers', 'login_tokens', 'one_time_tokens', 'login_attempts', 'login_attempts_secret') or starts_with(relname, 'latchkey_'))
  loop
    execute format('alter table %s owner to latchkey_owner', item);
    execute format('grant select, insert, update, delete on %s to latchkey', item);
  end loop;
  for item in
    select oid::regprocedure from pg_proc
     where pronamespace = 'public'::regnamespace and starts_with(proname, 'latchkey_')
  loop
    execute format('alter function %s owner to latchkey_owner', item);
    execute format('grant execute on function %s to latchkey', item);
  end loop;
  for item in
    select oid::regclass from pg_class
     where relnamespace = 'public'::regnamespace
       and relname in ('latchkey_migrations', 'login_attempts_secret')
  loop
    execute format('revoke insert, update, delete on %s from latchkey', item);
  end loop;
  -- Functions of the owner use it.
  if to_regclass('public.latchkey_channel') is not null then
    revoke all on public.latchkey_channel from latchkey;
  end if;
end
$$;
