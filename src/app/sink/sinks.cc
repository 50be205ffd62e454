#include "app/sink/sinks.h"

#include <utility>

#include "app/sink/broker.h"
#include "fmt/format.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// The one place that chooses.
std::unique_ptr<Broker> BrokerOf(const Config& config) {
  switch (config.sink) {
    case SinkKind::kNats:
      return MakeNatsBroker(config);
    case SinkKind::kRabbitmq:
      return MakeRabbitmqBroker(config);
    case SinkKind::kRedis:
      return MakeRedisBroker(config);
    case SinkKind::kKafka:
      break;
  }
  return MakeKafkaBroker(config);
}

}  // namespace

std::string SinkAddress(const Config& config) {
  return BrokerOf(config)->address();
}

absl::Status RequireSink(const Config& config) {
  if (!SinkAddress(config).empty()) return absl::OkStatus();
  const SinkWords words = WordsOf(config.sink);
  return absl::InvalidArgumentError(
      fmt::format("{} is missing: how to reach {}, as in {}", words.address_key,
                  words.name, words.example));
}

absl::Status RequireReadableSink(const Config& config, std::string_view verb,
                                 std::string_view instead) {
  const std::string_view why = BrokerOf(config)->why_unread();
  if (why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} reads back what was sent, and with sink: {} it cannot: {}{}{}", verb,
      NameIn(kSinkKinds, config.sink), why, instead.empty() ? "" : ". ",
      instead));
}

absl::Status RequireKafka(const Config& config, std::string_view verb,
                          std::string_view instead) {
  if (config.sink == SinkKind::kKafka) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{} reads Kafka, and sink is {}{}{}", verb,
      NameIn(kSinkKinds, config.sink), instead.empty() ? "" : ". ", instead));
}

ConnectToRecords RecordsOf(const Config& config) {
  return BrokerOf(config)->Records();
}

absl::Status CheckSinkOptions(const Config& config) {
  return BrokerOf(config)->CheckOptions();
}

SinkFactory MakeSinks(asio::any_io_executor executor, const Config& config) {
  return BrokerOf(config)->Sinks(std::move(executor));
}

std::unique_ptr<SinkKnowledge> MakeSinkKnowledge(asio::any_io_executor executor,
                                                 const Config& config) {
  return BrokerOf(config)->Knowledge(std::move(executor));
}

RecordReader MakeRecordReader(const Config& config) {
  return BrokerOf(config)->Reader();
}

absl::StatusOr<SinkFindings> CheckSink(
    const Config& config, const std::vector<Route>& routes,
    const std::optional<TransactionalIds>& transactional_ids) {
  auto found = BrokerOf(config)->Check(routes, transactional_ids);
  if (!found.ok() || !found->answers || config.sink == SinkKind::kKafka) {
    return found;
  }
  found->findings.push_back(
      {Severity::kNote, FindingId("publish_rights_not_tested"),
       SinkAddress(config),
       fmt::format("whether the user may write is not tested: {} tells it only "
                   "when something is written",
                   WordsOf(config.sink).name),
       ""});
  return found;
}

absl::StatusOr<std::string> FindClusterId(const Config& config) {
  return BrokerOf(config)->ClusterId();
}

absl::StatusOr<std::map<std::string, std::string>> FindTopicIds(
    const Config& config, const std::set<std::string>& topics) {
  return BrokerOf(config)->TopicIds(topics);
}

}  // namespace walpost
