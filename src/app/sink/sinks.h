// The sinks of the configured brokers. Only this factory knows of which kind
// they are.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/topic_record.h"
#include "config/config.h"
#include "delivery/record_sink.h"
#include "delivery/sink_knowledge.h"

namespace walpost {

// The error of a SinkFactory, if the configuration of the sink is wrong.
absl::Status CheckSinkOptions(const Config& config);

// Sinks that share nothing. Everything runs on `executor`.
SinkFactory MakeSinks(boost::asio::any_io_executor executor,
                      const Config& config);
std::unique_ptr<SinkKnowledge> MakeSinkKnowledge(
    boost::asio::any_io_executor executor, const Config& config);

// Reads a record that a transaction of a sink has written; empty: there is
// none. Blocks for up to 30 s, for a helper thread; owns all that it uses.
//
// kUnavailable: try again. kCancelled: asked to stop. kFailedPrecondition: an
// operator must act.
using RecordReader = std::function<absl::StatusOr<std::string>(
    const TopicRecord& record, std::stop_token stop)>;
RecordReader MakeRecordReader(const Config& config);

}  // namespace walpost
