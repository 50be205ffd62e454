// Makes the sinks of the configured brokers, and answers questions of verbs
// about these brokers. Only this factory knows of which kind they are.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/topic_record.h"
#include "config/config.h"
#include "delivery/record_sink.h"
#include "delivery/sink_findings.h"
#include "delivery/sink_knowledge.h"
#include "delivery/transactional_id.h"
#include "outbox/route.h"
#include "verify/published_records.h"

namespace walpost {

// The servers of the sink, as people read them; empty: none are configured.
std::string SinkAddress(const Config& config);

// kInvalidArgument: how to reach the brokers is missing; names the key.
absl::Status RequireSink(const Config& config);

// For verbs that read back what was sent. kInvalidArgument: these brokers do
// not give it back. `instead`: what to do in place of the verb; may be empty.
absl::Status RequireReadableSink(const Config& config, std::string_view verb,
                                 std::string_view instead = "");

// For verbs that read topics and settings of Kafka. kInvalidArgument: the sink
// is another one. `instead`: as above.
absl::Status RequireKafka(const Config& config, std::string_view verb,
                          std::string_view instead = "");

// Reads back what was sent. Requires RequireReadableSink.
ConnectToRecords RecordsOf(const Config& config);

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

// The brokers' answers about the topics of `routes`, which are those of
// config.outbox. `transactional_ids`: nullopt: walpost writes no transactions.
// A running instance with these ids is not disturbed.
//
// Blocks for some 5 s per request. Brokers that cannot be reached are a
// finding. kInvalidArgument, kFailedPrecondition: see CheckSinkOptions.
// kUnavailable: an answer did not come.
absl::StatusOr<SinkFindings> CheckSink(
    const Config& config, const std::vector<Route>& routes,
    const std::optional<TransactionalIds>& transactional_ids);

// The id of the brokers' cluster (kafka_cluster.h). Blocks for up to 10 s.
// kUnavailable: no answer.
absl::StatusOr<std::string> FindClusterId(const Config& config);

// topic -> id, of those of `topics` that exist and have one. Blocks for up to
// 10 s. kUnavailable: no answer.
absl::StatusOr<std::map<std::string, std::string>> FindTopicIds(
    const Config& config, const std::set<std::string>& topics);

}  // namespace walpost
