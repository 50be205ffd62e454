#include "redis/script_calls.h"

#include <openssl/sha.h>

#include <utility>

#include "fmt/format.h"
#include "redis/resp.h"
#include "walpost_redis_script.h"

namespace walpost {
namespace {

// EVAL, the script, the number of keys, the key.
constexpr size_t kArgumentsBefore = 4;

const std::string& Digest() {
  static const std::string digest = [] {
    unsigned char bytes[SHA_DIGEST_LENGTH];
    SHA1(reinterpret_cast<const unsigned char*>(
             kScript_append_entries_lua.data()),
         kScript_append_entries_lua.size(), bytes);
    std::string text;
    for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
  }();
  return digest;
}

}  // namespace

void ScriptCalls::Add(const EntryQueues::Batch& batch, const StreamTops& tops,
                      const RedisOptions& options, std::string& bytes) {
  BeginCommand(kArgumentsBefore + EntryQueues::ArgumentsOf(batch), bytes);
  if (std::exchange(is_known_, true)) {
    AddArgument("EVALSHA", bytes);
    AddArgument(Digest(), bytes);
  } else {
    AddArgument("EVAL", bytes);
    AddArgument(kScript_append_entries_lua, bytes);
  }
  AddArgument("1", bytes);
  AddArgument(batch.queue->stream, bytes);
  EntryQueues::AddArguments(batch, tops, options, bytes);
}

}  // namespace walpost
