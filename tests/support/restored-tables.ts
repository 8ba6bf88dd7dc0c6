/**
 * Does what `pg_restore --clean` of a backup without tokens does to the table, in one transaction: it drops the
 * triggers, removes the rows, and creates the triggers again.
 */
export const RESTORE_WITHOUT_TOKENS = `
  begin;
  drop trigger publish_update on login_tokens;
  drop trigger publish_delete on login_tokens;
  drop trigger publish_truncate on login_tokens;
  delete from login_tokens;
  create trigger publish_update after update on login_tokens
    referencing old table as was new table as became
    for each statement execute function latchkey_publish_updated_tokens();
  create trigger publish_delete after delete on login_tokens
    referencing old table as was
    for each statement execute function latchkey_publish_deleted_tokens();
  create trigger publish_truncate after truncate on login_tokens
    for each statement execute function latchkey_publish_truncation();
  alter table login_tokens enable always trigger publish_update, enable always trigger publish_delete,
    enable always trigger publish_truncate;
  commit`
