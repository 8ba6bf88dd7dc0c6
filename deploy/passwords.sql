-- Sets the passwords of the roles of roles.sql from two environment variables of psql (version 15 or newer).
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
alter role latchkey_owner password :'owner_password';
alter role latchkey password :'service_password';
