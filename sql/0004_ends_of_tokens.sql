-- Pruning goes by the moment at which a token ended: `least` ignores nulls, so one that never ends has none. The column
-- `last_used_at` stands in no index: a touch changes no index either.
create index login_tokens_ended_at_idx on login_tokens (least(revoked_at, expires_at));
