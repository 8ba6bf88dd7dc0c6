-- Guesses from strangers, who are the addresses that have not logged in to an account, have a token bucket for each account.
-- The keys of `login_attempts` are hashed with a secret, and are deleted with their customer.

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Without this secret, a reader of `login_attempts` cannot test which addresses and e-mails the keys are of.
create table login_attempts_secret (
  only_row boolean primary key default true check (only_row),
  secret bytea not null check (octet_length(secret) = 32)
);
insert into login_attempts_secret (secret)
  select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- Every role that counts attempts needs the secret.
do $$
declare
  grantee text;
begin
  for grantee in
    select case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end
      from pg_class, aclexplode(relacl) as acl
     where pg_class.oid = 'login_attempts'::regclass and acl.privilege_type = 'UPDATE'
  loop
    execute format('grant select on login_attempts_secret to %s', grantee);
  end loop;
end
$$;

-- Default privileges may have granted the changes of these tables to the role of the service, which needs none of them.
do $$
declare
  item record;
begin
  for item in
    select distinct pg_class.oid::regclass as name,
           case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end as grantee
      from pg_class, aclexplode(relacl) as acl
     where pg_class.oid in (to_regclass('login_attempts_secret'), to_regclass('latchkey_migrations'))
       and acl.grantee <> relowner
  loop
    execute format('revoke insert, update, delete, truncate on %s from %s', item.name, item.grantee);
  end loop;
end
$$;

-- Rows under keys without the secret would never be found again.
truncate login_attempts;
alter table login_attempts
  -- Of an account: when the token bucket of its guesses is full again. Each failure of a stranger moves it by one pause.
  add column full_at timestamptz;

drop function latchkey_login_attempts(bytea, boolean);
drop function latchkey_hour_after(timestamptz);
drop function latchkey_ms(interval);

-- The stored keys of account and address together, of the address, and of the account. The first and the last share their
-- first half, so that one range contains all rows of an account; the account's own row is the last of the range.
create function latchkey_login_keys(pair_key bytea, address_key bytea, account_key bytea) returns bytea[]
language plpgsql stable set search_path from current as $$
declare
  -- Without a secret attempts are counted all the same.
  secret bytea := coalesce((select login_attempts_secret.secret from login_attempts_secret), '');
  head bytea := substr(sha256(secret || account_key), 1, 16);
begin
  return array[
    head || substr(sha256(secret || pair_key), 1, 16),
    sha256(secret || address_key),
    head || decode(repeat('ff', 16), 'hex')];
end
$$;

-- The row of a key, created and locked if `locks`, with the slots that are still held: one that is not released within 15
-- seconds has expired.
create function latchkey_login_row(wanted bytea, locks boolean) returns login_attempts
language plpgsql set search_path from current as $$
declare
  attempts login_attempts;
begin
  loop
    if locks then
      select * into attempts from login_attempts where key = wanted for update;
    else
      select * into attempts from login_attempts where key = wanted;
    end if;
    exit when found;
    if not locks then
      attempts.failures := 0;
      attempts.held := '{}';
      return attempts;
    end if;
    insert into login_attempts (key, forget_at)
      values (wanted, date_trunc('hour', clock_timestamp()) + interval '1 hour')
      on conflict do nothing;
  end loop;
  attempts.held := array(
    select slot from unnest(attempts.held) as slot where slot > clock_timestamp() - interval '15 seconds');
  return attempts;
end
$$;

-- Acquires a slot, or returns why there is none. `kind` is taken (at `ms` of the epoch), wait (for an undecided attempt), or
-- refused by the limit `name` for `ms` milliseconds. A limit that is null is off. Callers lock rows in the order pair,
-- address, account.
create function latchkey_take_login_slot(
  pair_key bytea, address_key bytea, account_key bytea,
  account_limit integer, account_window interval,
  address_limit integer, address_window interval,
  guess_burst integer, guess_pause interval
) returns table (kind text, name text, ms double precision, is_known boolean)
language plpgsql set search_path from current as $$
declare
  keys bytea[] := latchkey_login_keys(pair_key, address_key, account_key);
  locks boolean;
  moment timestamptz;
  pair login_attempts;
  address login_attempts;
  account login_attempts;
  -- The time until the bucket is full, and the time at which it is empty.
  charged interval;
  capacity interval := guess_burst * guess_pause;
begin
  -- First without locks: refused attempts, which are most in a storm, write nothing and wait for no lock.
  foreach locks in array array[false, true] loop
    pair := latchkey_login_row(keys[1], locks);
    if address_limit is not null then
      address := latchkey_login_row(keys[2], locks);
    end if;
    is_known := coalesce(
      pair.succeeded_at > clock_timestamp() - interval '30 days'
        and pair.failures_since_success + cardinality(pair.held) < guess_burst,
      false);
    if not is_known then
      account := latchkey_login_row(keys[3], locks);
    end if;
    moment := date_trunc('milliseconds', clock_timestamp());
    if pair.since <= moment - account_window then pair.failures := 0; end if;
    if address.since <= moment - address_window then address.failures := 0; end if;

    kind := 'refused';
    if pair.failures >= account_limit then
      name := 'account';
      ms := 1000 * date_part('epoch', pair.since + account_window - moment);
      return next;
      return;
    end if;
    if address.failures >= address_limit then
      name := 'address';
      ms := 1000 * date_part('epoch', address.since + address_window - moment);
      return next;
      return;
    end if;
    if not is_known then
      charged := greatest(account.full_at - moment, interval '0');
      if charged + guess_pause > capacity
        -- The last guess is not waited for while it is undecided.
        or cardinality(account.held) > 0 and charged + 2 * guess_pause > capacity
      then
        name := 'guesses';
        ms := 1000 * date_part('epoch',
          case when charged + guess_pause > capacity then charged + guess_pause - capacity else guess_pause end);
        return next;
        return;
      end if;
    end if;
    if pair.failures + cardinality(pair.held) >= account_limit
      or address.failures + cardinality(address.held) >= address_limit
      or not is_known and charged + (cardinality(account.held) + 1) * guess_pause > capacity
    then
      kind := 'wait';
      return next;
      return;
    end if;
  end loop;

  -- A crash of the server may lose the last of this, which is worth no wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  update login_attempts set
    held = case key when keys[1] then pair.held when keys[2] then address.held else account.held end || moment,
    forget_at = greatest(forget_at, date_trunc('hour', moment + interval '15 seconds') + interval '1 hour')
  where key = keys[1]
    or address_limit is not null and key = keys[2]
    or not is_known and key = keys[3];
  kind := 'taken';
  ms := 1000 * date_part('epoch', moment);
  return next;
end
$$;

-- Releases a slot: `outcome` is failed, succeeded, or undecided.
create function latchkey_settle_login_slot(
  pair_key bytea, address_key bytea, account_key bytea,
  taken_at_ms double precision, was_known boolean, outcome text,
  account_window interval, address_window interval, guess_pause interval
) returns void language plpgsql set search_path from current as $$
declare
  keys bytea[] := latchkey_login_keys(pair_key, address_key, account_key);
  taken_at timestamptz := timestamptz 'epoch' + taken_at_ms * interval '1 millisecond';
  moment timestamptz;
  attempts login_attempts;
  slot integer;
  window_of interval;
begin
  perform set_config('synchronous_commit', 'off', true);
  for kind in 1..3 loop
    continue when kind = 2 and address_window is null or kind = 3 and was_known;
    attempts := latchkey_login_row(keys[kind], true);
    moment := date_trunc('milliseconds', clock_timestamp());
    slot := array_position(attempts.held, taken_at);
    if slot is not null then
      attempts.held := attempts.held[:slot - 1] || attempts.held[slot + 1:];
    end if;
    if kind = 3 then
      if outcome = 'failed' then
        attempts.full_at := greatest(attempts.full_at, moment) + guess_pause;
        attempts.forget_at := greatest(
          attempts.forget_at, date_trunc('hour', attempts.full_at) + interval '1 hour');
      end if;
    elsif outcome = 'failed' then
      window_of := case kind when 1 then account_window else address_window end;
      if attempts.since is null or attempts.failures = 0 or attempts.since <= moment - window_of then
        attempts.failures := 0;
        attempts.since := moment;
      end if;
      if window_of is not null then
        attempts.failures := attempts.failures + 1;
        attempts.forget_at := greatest(
          attempts.forget_at, date_trunc('hour', attempts.since + window_of) + interval '1 hour');
      end if;
      if attempts.succeeded_at is not null then
        attempts.failures_since_success := attempts.failures_since_success + 1;
      end if;
    elsif outcome = 'succeeded' and kind = 1 then
      attempts.failures := 0;
      attempts.succeeded_at := moment;
      attempts.failures_since_success := 0;
      attempts.forget_at := greatest(
        attempts.forget_at, date_trunc('hour', moment + interval '30 days') + interval '1 hour');
    end if;
    update login_attempts set
      failures = attempts.failures, since = attempts.since, full_at = attempts.full_at,
      succeeded_at = attempts.succeeded_at, failures_since_success = attempts.failures_since_success,
      held = attempts.held, forget_at = attempts.forget_at
    where key = keys[kind];
  end loop;
end
$$;

-- The functions of the version before, for its processes that still run. The longest pause counts for every failure, because
-- those processes do not pass theirs: at most 100 guesses an hour.
create or replace function latchkey_take_login_place(
  pair_key bytea, address_key bytea, account_key bytea,
  account_limit integer, account_window interval,
  address_limit integer, address_window interval,
  guesses integer
) returns table (kind text, name text, ms double precision, pause_ms double precision)
language sql set search_path from current as $$
  select slot.kind, slot.name, slot.ms, 1000 * date_part('epoch', pause)
    from (select interval '1 hour' / (100 - least(guesses, 40))) as refill (pause),
         latchkey_take_login_slot(
           pair_key, address_key, account_key, account_limit, account_window, address_limit, address_window,
           least(guesses, 40), pause) as slot
$$;

create or replace function latchkey_settle_login_place(
  pair_key bytea, address_key bytea, account_key bytea,
  taken_at_ms double precision, outcome text,
  account_window interval, address_window interval
) returns void language sql set search_path from current as $$
  select latchkey_settle_login_slot(
    pair_key, address_key, account_key, taken_at_ms, false, outcome, account_window, address_window, interval '60 seconds')
$$;

-- Deletes the attempts at the accounts of deleted customers. It runs as its owner, because a program that deletes customers
-- may have no privilege here.
create function latchkey_forget_login_attempts() returns trigger
language plpgsql security definer set search_path from current as $$
declare
  account_row bytea;
begin
  for account_row in
    select (latchkey_login_keys('', '', sha256(
             convert_to('account', 'UTF8') || '\x00'::bytea || convert_to(lower(email collate "C"), 'UTF8'))))[3]
      from gone
  loop
    -- The account's own row last, as a login locks it.
    delete from login_attempts where key >= substr(account_row, 1, 16) and key < account_row;
    delete from login_attempts where key = account_row;
  end loop;
  return null;
end
$$;
revoke execute on function latchkey_forget_login_attempts() from public;

create trigger forget_login_attempts after delete on customers referencing old table as gone
  for each statement execute function latchkey_forget_login_attempts();
