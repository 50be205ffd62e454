// The ceiling of Redis Streams: hiredis, with pipelines of XADD.
#include <hiredis/hiredis.h>

#include <algorithm>

#include "programs/client_only.h"

namespace walpost::bench {
namespace {

void Publish(const Arguments& arguments) {
  redisContext* redis = redisConnect(arguments.host.c_str(), arguments.port);
  Require(redis != nullptr && redis->err == 0, "no connection");
  constexpr int64_t kPipeline = kWindow;
  for (int64_t begin = 0; begin < arguments.records; begin += kPipeline) {
    const int64_t end = std::min(begin + kPipeline, arguments.records);
    for (int64_t n = begin; n < end; ++n) {
      const std::string value = ValueOf(n);
      redisAppendCommand(redis, "XADD %s %lld-1 id %s key %s payload %b",
                         kPlace, static_cast<long long>(n + 1), IdOf(n).c_str(),
                         KeyOf(n).c_str(), value.data(), value.size());
    }
    for (int64_t n = begin; n < end; ++n) {
      void* reply = nullptr;
      Require(redisGetReply(redis, &reply) == REDIS_OK, "no reply");
      Require(static_cast<redisReply*>(reply)->type == REDIS_REPLY_STRING,
              "an error");
      freeReplyObject(reply);
    }
  }
  redisFree(redis);
}

}  // namespace
}  // namespace walpost::bench

int main(int count, char** words) {
  walpost::bench::Publish(walpost::bench::Parse(count, words));
}
