-- Appends a batch of records to one stream, in order, and stops at the first
-- that cannot be written: nothing behind it is (walpost, docs/redis.md).
--
-- KEYS[1]  the stream
-- ARGV     newest: id that the stream has reached before, or ''
--          max_entries: the stream is trimmed to about so many, or '0'
--          creation: '0' if a missing stream is not created
--          repeated: ids up to this one are appended at the end, or ''
--          then per record: id, or '' for the next one; number of arguments of
--          its fields; name, value, ...
-- Returns  {error, or ''; records that are in the stream; id of its newest
--          entry; records, counted from 0, whose id was not free; repeated}
--
-- An id that is refused, because the stream has passed it, was written before
-- if its entry is there and has the same fields, whatever the timeline. If it is not there, nobody
-- knows: the record is appended at the end, and so are those behind it that the
-- stream has passed, so that they are repeated in their order.
--
-- Numbers of 64 bits do not fit Lua's, so ids are compared as text.

local stream = KEYS[1]
local newest, max_entries, creation, repeated =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local function is_less(a, b)
  local a_time, a_sequence = string.match(a, '^(%d+)-(%d+)$')
  local b_time, b_sequence = string.match(b, '^(%d+)-(%d+)$')
  if a_time == b_time then a_time, b_time = a_sequence, b_sequence end
  if #a_time ~= #b_time then return #a_time < #b_time end
  return a_time < b_time
end

-- A position begins with a timeline of 8 digits, and an event that is sent again
-- after a promotion has the next one.
local function of_event(name, value)
  if name == 'header.walpost-position' then return string.sub(value, 9) end
  return value
end

-- By all fields: two relays may write to the stream, each with its own events.
local function is_same(fields, first, last)
  if #fields ~= last - first + 1 then return false end
  for i = 1, #fields, 2 do
    local name, value = ARGV[first + i - 1], ARGV[first + i]
    if fields[i] ~= name then return false end
    if of_event(name, fields[i + 1]) ~= of_event(name, value) then return false end
  end
  return true
end

local top = '0-0'
local info = redis.pcall('XINFO', 'STREAM', stream)
if not info.err then
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then top = info[i + 1] end
  end
elseif not string.find(info.err, 'no such key', 1, true) then
  return {info.err, 0, top, {}, repeated}
elseif newest == '' and creation == '0' then
  return {'MISSING', 0, top, {}, repeated}
end
if newest ~= '' and is_less(top, newest) then
  return {'BEHIND', 0, top, {}, repeated}
end

local function append(first, last)
  local next_id = string.match(top, '^%d+') .. '-*'
  return redis.pcall('XADD', stream, next_id, unpack(ARGV, first, last))
end

-- WAIT and WAITAOF wait for the last write of this connection, and an entry that
-- is found was written by another one. So the first of them is a write, too, which
-- changes nothing, and comes behind all entries that were there before.
local is_touched = false
local function touch()
  if is_touched then return top end
  is_touched = true
  local set = redis.pcall('XSETID', stream, top)
  return set.err and set or top
end

local done, displaced, at = 0, {}, 5
while at < #ARGV do
  local id = ARGV[at]
  local first = at + 2
  local last = at + 1 + tonumber(ARGV[at + 1])
  local added
  if id == '' then
    added = append(first, last)
  elseif repeated ~= '' and not is_less(repeated, id) then
    displaced[#displaced + 1] = done
    added = append(first, last)
  else
    added = redis.pcall('XADD', stream, id, unpack(ARGV, first, last))
    if type(added) == 'table' and
      string.find(added.err, 'equal or smaller', 1, true) then
      local found = redis.call('XRANGE', stream, id, id)[1]
      if found and is_same(found[2], first, last) then
        added = touch()
      else
        displaced[#displaced + 1] = done
        if repeated == '' then repeated = top end
        added = append(first, last)
      end
    end
  end
  if type(added) == 'table' then
    return {added.err, done, top, displaced, repeated}
  end
  top = added
  done = done + 1
  at = last + 1
end
if max_entries ~= '0' then
  redis.pcall('XTRIM', stream, 'MAXLEN', '~', max_entries)
end
return {'', done, top, displaced, repeated}
