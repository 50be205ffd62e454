// Creates the sinks that write to Redis Streams. The only header of redis/ that
// the relay's factory needs for them (app/sink/sinks.h).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "delivery/record_sink.h"
#include "delivery/sink_findings.h"
#include "delivery/sink_knowledge.h"
#include "redis/options.h"

namespace walpost {

// kInvalidArgument: a key is missing or wrong; names it.
absl::Status CheckRedisOptions(const RedisOptions& options);

// Sinks that share nothing. Everything runs on `executor`.
SinkFactory RedisSinks(boost::asio::any_io_executor executor,
                       RedisOptions options);
std::unique_ptr<SinkKnowledge> MakeRedisKnowledge(
    boost::asio::any_io_executor executor, RedisOptions options);

// What the server says about itself and about these streams. A server that
// cannot be reached is a finding. Blocks for up to `timeout`.
absl::StatusOr<SinkFindings> CheckRedis(const RedisOptions& options,
                                        const std::vector<std::string>& streams,
                                        std::chrono::milliseconds timeout);

}  // namespace walpost
