-- One request again and again, or one for each token of a file in turn; the sums go to standard output.
local method = os.getenv("LOAD_METHOD")
local tokens = os.getenv("LOAD_TOKENS")
local list = {}

wrk.method = method
if os.getenv("LOAD_TOKEN") then wrk.headers["Authorization"] = "Bearer " .. os.getenv("LOAD_TOKEN") end

if tokens then
  local at = 0

  function init()
    for token in io.lines(tokens) do
      list[#list + 1] = wrk.format(method, nil, { ["Host"] = wrk.host, ["Authorization"] = "Bearer " .. token })
    end
  end

  function request()
    at = at % #list + 1
    return list[at]
  end
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'RESULT {"requests":%d,"bytes":%.0f,"microseconds":%d,"p50":%d,"p99":%d,"failed":%d}\n',
    summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout
  ))
end
