-- The action `http-request lua.latchkey <abilities>`: asks Latchkey whether the request is authenticated and has the
-- abilities, which a comma separates; `any` requires none. Rejects the request unless Latchkey accepts it.

local ADDRESS = os.getenv('LATCHKEY') or '127.0.0.1:3000'
-- Longer than Latchkey waits for its database.
local TIMEOUT_MS = 3000

local IDENTITY = {
  'x-latchkey-customer',
  'x-latchkey-email',
  'x-latchkey-token-id',
  'x-latchkey-token-name',
  'x-latchkey-abilities',
}

local function reject(txn, status, challenge)
  local reply = txn:reply({ status = status, headers = { ['cache-control'] = { 'no-store' } } })
  if challenge then
    reply:add_header('www-authenticate', challenge)
  end
  txn:done(reply)
end

-- Removes the identity that a client claims. Applications cannot tell X_Latchkey_Customer from X-Latchkey-Customer.
local function strip(txn)
  for name in pairs(txn.http:req_get_headers()) do
    if name:lower():match('^x[-_]latchkey') then
      txn.http:req_del_header(name)
    end
  end
end

local function query_for(abilities)
  if abilities == 'any' then
    return ''
  end
  return '?ability=' .. abilities:gsub(',', '&ability=')
end

local function authenticate(txn, abilities)
  strip(txn)
  local sent = txn.http:req_get_headers()['authorization'] or {}
  if sent[1] ~= nil then
    return reject(txn, 400)
  end
  local headers = { ['x-forwarded-for'] = { txn.f:src() } }
  if sent[0] ~= nil then
    headers['authorization'] = { sent[0] }
  end
  local asked, response = pcall(function()
    return core.httpclient():get({
      url = 'http://' .. ADDRESS .. '/forward-auth' .. query_for(abilities),
      headers = headers,
      timeout = TIMEOUT_MS,
    })
  end)
  if not asked or response == nil or response.status ~= 200 then
    local status = asked and response and response.status or 503
    local challenge = asked and response and response.headers and response.headers['www-authenticate']
    if status ~= 400 and status ~= 401 and status ~= 403 and status ~= 429 then
      status = 503
    end
    return reject(txn, status, challenge and challenge[0])
  end
  for _, name in ipairs(IDENTITY) do
    local values = response.headers[name]
    if values then
      txn.http:req_set_header(name, values[0])
    end
  end
  -- The application needs no token.
  txn.http:req_del_header('authorization')
end

core.register_action('latchkey', { 'http-req' }, authenticate, 1)
