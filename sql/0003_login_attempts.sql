-- What the login throttle counts. Times are of the database's clock, which all instances share.

create table login_attempts (
  -- The SHA-256 of a kind and of whom it counts: an account and an address together, an address, or an account. No
  -- e-mail stands here, of a customer or of anybody else.
  key bytea primary key check (octet_length(key) = 32),
  -- Of an account: failures in a row. Of the others: failures in the window.
  failures integer not null default 0,
  -- Of an account: when the last failure was. Of the others: when the window began, which its first failure does.
  since timestamptz,
  -- Of an account and an address together, once they have logged in: when that was, and failures since then.
  succeeded_at timestamptz,
  failures_since_success integer not null default 0,
  -- When attempts that are not decided yet took their places.
  held timestamptz[] not null default '{}',
  -- From then on the row says nothing. A whole hour, so that few updates touch the index.
  forget_at timestamptz not null
) with (fillfactor = 60, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);

create index login_attempts_forget_at_idx on login_attempts (forget_at);

create function latchkey_hour_after(moment timestamptz) returns timestamptz language sql stable as $$
  select date_trunc('hour', moment) + interval '1 hour'
$$;

-- The row of a key, made and locked where asked for, with the places that are still held: after 15 seconds whoever took
-- one is taken for dead.
create function latchkey_login_attempts(wanted bytea, locks boolean) returns login_attempts language plpgsql as $$
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
    insert into login_attempts (key, forget_at) values (wanted, latchkey_hour_after(clock_timestamp()))
      on conflict do nothing;
  end loop;
  attempts.held := array(
    select place from unnest(attempts.held) as place where place > clock_timestamp() - interval '15 seconds');
  return attempts;
end
$$;

-- Takes a place, or tells why there is none. `kind` is taken (at `ms` of the epoch), wait (for an attempt that is not
-- decided yet), or refused by the limit `name`, until `ms` milliseconds have passed; of guesses with the pause. A limit
-- that is null is off. Everybody locks in the order account with address, address, account.
create function latchkey_take_login_place(
  pair_key bytea, address_key bytea, account_key bytea,
  account_limit integer, account_window interval,
  address_limit integer, address_window interval,
  guesses integer
) returns table (kind text, name text, ms double precision, pause_ms double precision) language plpgsql as $$
declare
  locks boolean;
  moment timestamptz;
  pair login_attempts;
  address login_attempts;
  account login_attempts;
  is_known boolean;
begin
  -- First without locks: those who are refused, which are most in a storm, write nothing and wait for nobody.
  foreach locks in array array[false, true] loop
    pair := latchkey_login_attempts(pair_key, locks);
    if address_limit is not null then
      address := latchkey_login_attempts(address_key, locks);
    end if;
    account := latchkey_login_attempts(account_key, locks);
    moment := date_trunc('milliseconds', clock_timestamp());
    if pair.since <= moment - account_window then pair.failures := 0; end if;
    if address.since <= moment - address_window then address.failures := 0; end if;
    if account.since <= moment - interval '30 days' then account.failures := 0; end if;

    if pair.failures >= account_limit then
      kind := 'refused';
      name := 'account';
      ms := latchkey_ms(pair.since + account_window - moment);
      return next;
      return;
    end if;
    if address.failures >= address_limit then
      kind := 'refused';
      name := 'address';
      ms := latchkey_ms(address.since + address_window - moment);
      return next;
      return;
    end if;
    -- Where the account has logged in lately, no stranger's guesses stand in its way.
    is_known := pair.succeeded_at > moment - interval '30 days'
      and pair.failures_since_success + cardinality(pair.held) < guesses;
    if is_known is not true and account.failures >= guesses then
      pause_ms := least(30000, 1000 * power(2, least(account.failures - guesses, 10)));
      ms := latchkey_ms(account.since - moment) + pause_ms;
      if ms > 0 or cardinality(account.held) > 0 then
        kind := 'refused';
        name := 'guesses';
        if ms <= 0 then ms := pause_ms; end if;
        return next;
        return;
      end if;
    end if;
    if pair.failures + cardinality(pair.held) >= account_limit
      or address.failures + cardinality(address.held) >= address_limit
      or is_known is not true and account.failures < guesses and account.failures + cardinality(account.held) >= guesses
    then
      kind := 'wait';
      return next;
      return;
    end if;
  end loop;

  -- A crash of the server may lose the last of this, which is worth no wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  update login_attempts set
    held = case key when pair_key then pair.held when address_key then address.held else account.held end || moment,
    forget_at = greatest(forget_at, latchkey_hour_after(moment + interval '15 seconds'))
  where key in (pair_key, account_key) or address_limit is not null and key = address_key;
  kind := 'taken';
  ms := latchkey_ms(moment - timestamptz 'epoch');
  return next;
end
$$;

create function latchkey_ms(duration interval) returns double precision language sql immutable as $$
  select date_part('epoch', duration) * 1000
$$;

-- Gives a place back: `outcome` is failed, succeeded, or undecided.
create function latchkey_settle_login_place(
  pair_key bytea, address_key bytea, account_key bytea,
  taken_at_ms double precision, outcome text,
  account_window interval, address_window interval
) returns void language plpgsql as $$
declare
  taken_at timestamptz := timestamptz 'epoch' + taken_at_ms * interval '1 millisecond';
  moment timestamptz;
  attempts login_attempts;
  place integer;
  window_of interval;
  wanted bytea;
begin
  perform set_config('synchronous_commit', 'off', true);
  foreach wanted in array array[pair_key, address_key, account_key] loop
    continue when wanted = address_key and address_window is null;
    attempts := latchkey_login_attempts(wanted, true);
    moment := date_trunc('milliseconds', clock_timestamp());
    place := array_position(attempts.held, taken_at);
    if place is not null then
      attempts.held := attempts.held[:place - 1] || attempts.held[place + 1:];
    end if;
    if wanted = account_key then
      if outcome = 'failed' then
        if attempts.since <= moment - interval '30 days' then attempts.failures := 0; end if;
        attempts.failures := attempts.failures + 1;
        attempts.since := moment;
        attempts.forget_at := latchkey_hour_after(moment + interval '30 days');
      elsif outcome = 'succeeded' then
        attempts.failures := 0;
        attempts.forget_at := latchkey_hour_after(moment + interval '15 seconds');
      end if;
    else
      window_of := case when wanted = pair_key then account_window else address_window end;
      if outcome = 'failed' then
        if attempts.since is null or attempts.failures = 0 or attempts.since <= moment - window_of then
          attempts.failures := 0;
          attempts.since := moment;
        end if;
        if window_of is not null then
          attempts.failures := attempts.failures + 1;
          attempts.forget_at := greatest(attempts.forget_at, latchkey_hour_after(attempts.since + window_of));
        end if;
        if attempts.succeeded_at is not null then
          attempts.failures_since_success := attempts.failures_since_success + 1;
        end if;
      elsif outcome = 'succeeded' and wanted = pair_key then
        attempts.failures := 0;
        attempts.succeeded_at := moment;
        attempts.failures_since_success := 0;
        attempts.forget_at := greatest(attempts.forget_at, latchkey_hour_after(moment + interval '30 days'));
      end if;
    end if;
    update login_attempts set
      failures = attempts.failures, since = attempts.since,
      succeeded_at = attempts.succeeded_at, failures_since_success = attempts.failures_since_success,
      held = attempts.held, forget_at = attempts.forget_at
    where key = wanted;
  end loop;
end
$$;
