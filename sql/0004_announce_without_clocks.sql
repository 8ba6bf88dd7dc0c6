-- Whether a change of a token is announced no longer depends on the clock of the database server: `expires_at` is of the
-- application's clock, and the two may differ by any amount. Every token that is not revoked may be cached somewhere.

create or replace function latchkey_announce_updated_tokens() returns trigger language plpgsql as $$
begin
  perform latchkey_announce('digests', array(
    select encode(was.token_hash, 'hex')
      from was left join became using (id)
     where was.revoked_at is null
       and (became.revoked_at, became.expires_at, became.abilities, became.name, became.token_hash, became.customer_id)
           is distinct from
           (was.revoked_at, was.expires_at, was.abilities, was.name, was.token_hash, was.customer_id)
     limit 101));
  return null;
end
$$;

create or replace function latchkey_announce_deleted_tokens() returns trigger language plpgsql as $$
begin
  perform latchkey_announce('digests', array(
    select encode(was.token_hash, 'hex')
      from was
     where was.revoked_at is null
     limit 101));
  return null;
end
$$;

drop function latchkey_can_be_held(timestamptz, timestamptz);
