create table shop_starts (started_at timestamptz not null default now());
