-- Single-use tokens that customers receive by mail, such as for a new password. At most one for each customer and purpose, so that
-- requests for mails cannot fill the table.
--
-- The reference locks `customers` against writes while it is created; no row is read.
create table one_time_tokens (
  customer_id uuid not null references customers on delete cascade,
  purpose text not null,
  -- The SHA-256 of the whole token; the token itself is stored nowhere.
  token_hash bytea not null unique,
  expires_at timestamptz not null,
  primary key (customer_id, purpose)
);

-- Every role that counts attempts serves, and so stores, uses and replaces these tokens.
do $$
declare
  grantee text;
begin
  for grantee in
    select case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end
      from pg_class, aclexplode(relacl) as acl
     where pg_class.oid = 'login_attempts'::regclass and acl.privilege_type = 'UPDATE'
  loop
    execute format('grant select, insert, update, delete on one_time_tokens to %s', grantee);
  end loop;
end
$$;
