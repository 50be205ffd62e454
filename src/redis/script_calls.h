// ScriptCalls: calls of append_entries.lua, by its digest once the server knows
// it.
//
// Pure. One for each connection.
#pragma once

#include <string>

#include "redis/entry_queues.h"
#include "redis/options.h"
#include "redis/stream_tops.h"

namespace walpost {

class ScriptCalls {
 public:
  // Appends a call for a batch. Those that are sent with the first call need
  // not have its text.
  void Add(const EntryQueues::Batch& batch, const StreamTops& tops,
           const RedisOptions& options, std::string& bytes);
  // The server has forgotten it (NOSCRIPT).
  void Forget() { is_known_ = false; }

 private:
  bool is_known_ = false;
};

}  // namespace walpost
