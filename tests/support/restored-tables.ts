/**
 * Does what `pg_restore --clean` of a backup without tokens does to the table, in one transaction: it drops the
 * triggers, removes the rows, and creates the triggers again.
 */
export const RESTORE_WITHOUT_TOKENS = `
  begin;
  drop trigger announce_update on login_tokens;
  drop trigger announce_delete on login_tokens;
  drop trigger announce_truncate on login_tokens;
  delete from login_tokens;
  create trigger announce_update after update on login_tokens
    referencing old table as was new table as became
    for each statement execute function latchkey_announce_updated_tokens();
  create trigger announce_delete after delete on login_tokens
    referencing old table as was
    for each statement execute function latchkey_announce_deleted_tokens();
  create trigger announce_truncate after truncate on login_tokens
    for each statement execute function latchkey_announce_truncation();
  alter table login_tokens enable always trigger announce_update, enable always trigger announce_delete,
    enable always trigger announce_truncate;
  commit`
