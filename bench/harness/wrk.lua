-- The load for wrk (see Load in load.ts). Arguments: the file of plants, the token, the request, how many plants are stored,
-- a seed for each thread.

local threads = 0
function setup(thread)
  threads = threads + 1
  thread:set('number', threads)
end

local plants = {}
local method, path, stored, head, seeds

function init(args)
  for line in io.lines(args[1]) do
    plants[#plants + 1] = line .. '}'
  end
  method, path = args[3]:match('^(%u+) (.*)$')
  stored = tonumber(args[4])
  head = ' HTTP/1.1\r\nHost: ' .. wrk.host .. '\r\nAuthorization: Bearer ' .. args[2] .. '\r\n'
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
local function newId()
  local sign = random(2) == 1 and '-' or ''
  return format('%s%d%06d%06d', sign, random(1, 9223371), random(0, 999999), random(0, 999999))
end

local function value(name)
  if name == 'id' then return random(stored) end
  if name == 'tag' then return random(100) - 1 end
  return (requests - 1) * seeds + number
end

function request()
  requests = requests + 1
  if requests == (number == 1 and 2 or 1) then
    os.execute('sleep ' .. OPENING_SECONDS)
  end
  local start = method .. ' ' .. path:gsub('{(%a+)}', value) .. head
  if method == 'GET' or method == 'DELETE' then
    return start .. '\r\n'
  end
  local body = '{' .. (method == 'POST' and '"id":' .. newId() .. ',' or '') .. plants[random(#plants)]
  return start .. 'Content-Type: application/json\r\nContent-Length: ' .. #body .. '\r\n\r\n' .. body
end

-- One line of JSON for bench/load.ts.
function done(summary, latency)
  local errors = summary.errors
  io.write(format('\n{"answers":%d,"failures":%d,"seconds":%f,"p50":%f,"p99":%f}\n',
    summary.requests - errors.status,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout,
    summary.duration / 1e6 - OPENING_SECONDS, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
