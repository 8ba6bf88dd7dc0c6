-- Acquires or releases a slot. Redis runs nothing else meanwhile, so that parallel attempts count like sequential ones.
-- KEYS: account and address together, the address, the account. ARGV: the limits; `take`, `forget` or an outcome; with an outcome,
-- when the slot was acquired, and whether it is known. Times are milliseconds of the clock of the server.
local SLOT_MS, KNOWN_MS = 15000, 30 * 86400000
local NOTHING = '{"failures":0,"since":0,"failuresSinceSuccess":0,"succeeded":0,"full":0,"epoch":0,"held":[]}'
local limits, task = cjson.decode(ARGV[1]), ARGV[2]
local windows = { limits.account.windowMs, limits.address.windowMs, 0 }
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function read(index)
  local counts = cjson.decode(redis.call('get', KEYS[index]) or NOTHING)
  if now >= counts.since + windows[index] then counts.failures = 0 end
  while #counts.held > 0 and now >= counts.held[1] + SLOT_MS do table.remove(counts.held, 1) end
  return counts
end
local pair, address, account = read(1), read(2), read(3)
-- The epoch of an account is when its failures were forgotten.
local REMEMBER_MS = math.max(KNOWN_MS, limits.account.windowMs)
if task == 'forget' then
  account.full, account.epoch = 0, now
  redis.call('set', KEYS[3], cjson.encode(account), 'pxat', now + REMEMBER_MS)
  return '{}'
end
if account.epoch > pair.epoch then
  pair.failures, pair.since, pair.failuresSinceSuccess, pair.epoch = 0, 0, 0, account.epoch
end

local function refused(name, failures, windowMs, retryAfterMs)
  local limit = { name = name, failures = failures, windowMs = windowMs, retryAfterMs = retryAfterMs }
  return cjson.encode({ kind = 'refused', limit = limit })
end

-- The time until the bucket of guesses has this number of tokens; not positive when it has them.
local function missing(tokens)
  return math.max(0, account.full - now) + (tokens - limits.burst) * limits.pauseMs
end

local known = ARGV[4] == 'true'
if task == 'take' then
  for index, name in ipairs({ 'account', 'address' }) do
    local counts, limit = ({ pair, address })[index], limits[name]
    if counts.failures >= limit.failures then
      return refused(name, limit.failures, limit.windowMs, counts.since + limit.windowMs - now)
    end
  end
  known = now < pair.succeeded + KNOWN_MS and pair.failuresSinceSuccess + #pair.held < limits.burst
  if not known and missing(1) > 0 then return refused('guesses', 1, limits.pauseMs, missing(1)) end
  -- The last guess is not waited for while it is undecided.
  if not known and #account.held > 0 and missing(2) > 0 then
    return refused('guesses', 1, limits.pauseMs, limits.pauseMs)
  end
  local most = math.max(
    pair.failures + #pair.held - limits.account.failures, address.failures + #address.held - limits.address.failures)
  if most >= 0 or (not known and missing(#account.held + 1) > 0) then return '{"kind":"wait","forMs":25}' end
elseif task == 'failed' then
  account.full = math.max(account.full, now) + limits.pauseMs
end

for index, counts in ipairs(known and { pair, address } or { pair, address, account }) do
  for at, taken in ipairs(counts.held) do
    if taken == tonumber(ARGV[3]) then table.remove(counts.held, at) break end
  end
  if task == 'take' then table.insert(counts.held, now) end
  if task == 'failed' then
    if counts.failures == 0 then counts.since = now end
    counts.failures, counts.failuresSinceSuccess = counts.failures + 1, counts.failuresSinceSuccess + 1
  elseif task == 'succeeded' and index == 1 then
    counts.failures, counts.since, counts.failuresSinceSuccess, counts.succeeded = 0, 0, 0, now
  end
  local slot, window = (counts.held[#counts.held] or 0) + SLOT_MS, counts.since + windows[index]
  local expires = math.max(now + 1, slot, window, counts.full, counts.succeeded + KNOWN_MS,
    counts.epoch > 0 and counts.epoch + REMEMBER_MS or 0)
  redis.call('set', KEYS[index], cjson.encode(counts), 'pxat', expires)
end
return cjson.encode({ kind = 'taken', slot = { takenAtMs = now, isKnown = known } })
