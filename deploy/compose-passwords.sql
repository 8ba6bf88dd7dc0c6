-- Sets the passwords of the roles of roles.sql to those in the secrets of compose.yaml. psql runs it in the container of the
-- database: at its first start, and at a rotation.
\set owner_password `cut -d: -f3 /run/secrets/owner-url | cut -d@ -f1`
\set service_password `cut -d: -f3 /run/secrets/service-url | cut -d@ -f1`
alter role latchkey_owner password :'owner_password';
alter role latchkey password :'service_password';
