-- Sends the requests of a file in turn, and prints the sums. wrk counts statuses of 400 and more as errors.
local list, at = {}, 0

function init()
  for text in io.open(os.getenv("BENCH_REQUESTS")):read("*a"):gmatch("[^\1]+") do
    list[#list + 1] = text
  end
end

function request()
  at = at % #list + 1
  return list[at]
end

function done(summary, latency)
  local e = summary.errors
  local status = e.status
  if tonumber(os.getenv("BENCH_STATUS")) >= 400 then status = summary.requests - status end
  io.write(string.format(
    'RESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"failed":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + status + e.timeout
  ))
end
