-- The load for wrk (see Load in load.ts). Arguments: the file of plants, the token, the kind of request, how many plants
-- there are to read, a seed per thread.

local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set('number', threads)
end

local plants = {}
local head, put, kind, stored, get, seeds

function init(args)
  for line in io.lines(args[1]) do
    plants[#plants + 1] = ',' .. line .. '}'
  end
  put = ' HTTP/1.1\r\nHost: ' .. wrk.host .. '\r\nAuthorization: Bearer ' .. args[2]
    .. '\r\nContent-Type: application/json\r\nContent-Length: '
  head = 'POST /plants' .. put
  kind, stored = args[3], tonumber(args[4])
  get = ' HTTP/1.1\r\nHost: ' .. wrk.host .. '\r\nAuthorization: Bearer ' .. args[2] .. '\r\n\r\n'
  -- One for each thread. A thread has variables of its own: what setup has counted is not among them.
  seeds = #args - 4
  math.randomseed(tonumber(args[4 + number]))
end

local random, format = math.random, string.format

-- Node accepts one connection in each turn of its event loop: under load the last of hundreds would wait for seconds.
-- So the load begins when all have been opened, and this time does not count. wrk asks its first thread for a request
-- before that, to see whether it is one.
local OPENING_SECONDS = 0.5
local requests = 0

-- A double cannot hold an int64, so the id is put together from groups of its digits; the first group ends one below
-- that of 2^63, and starts at 1 because JSON numbers do not begin with 0.
function request()
  requests = requests + 1
  if requests == (number == 1 and 2 or 1) then
    os.execute('sleep ' .. OPENING_SECONDS)
  end
  if kind == 'plant' then
    return 'GET /plants/' .. random(stored) .. get
  elseif kind == 'page' then
    return 'GET /plants?limit=100&after=' .. random(stored) .. get
  elseif kind == 'taggedPage' then
    return 'GET /plants?limit=100&after=' .. random(stored) .. '&tag=tag+' .. random(100) - 1 .. get
  end
  if kind == 'delete' then
    return 'DELETE /plants/' .. (requests - 1) * seeds + number .. get
  end
  if kind == 'change' then
    local body = '{' .. string.sub(plants[random(#plants)], 2)
    return 'PUT /plants/' .. (requests - 1) * seeds + number .. put .. #body .. '\r\n\r\n' .. body
  end
  if kind == 'replay' then
    local id = random(stored)
    local body = '{"id":' .. id .. ',"name":"Plant number ' .. id .. '"}'
    return head .. #body .. '\r\n\r\n' .. body
  end
  local sign = random(2) == 1 and '-' or ''
  local id = format('%s%d%06d%06d', sign, random(1, 9223371), random(0, 999999), random(0, 999999))
  local body = '{"id":' .. id .. plants[random(#plants)]
  return head .. #body .. '\r\n\r\n' .. body
end

-- One line of JSON for bench/load.ts.
function done(summary, latency)
  local errors = summary.errors
  io.write(format('\n{"answers":%d,"failures":%d,"seconds":%f,"p50":%f,"p99":%f}\n',
    summary.requests - errors.status,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6 - OPENING_SECONDS, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
