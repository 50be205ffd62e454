// Broker: one kind of brokers, as the relay and the verbs need them: how they
// are reached, the sinks that write to them, and what can be asked of them.
// One class per kind, each in its own file beside this one; sinks.cc chooses.
//
// Made for one use from a Config, which outlives it. What it makes keeps its
// own copy of the options.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/sink/sinks.h"
#include "config/config.h"
#include "delivery/record_sink.h"
#include "delivery/sink_findings.h"
#include "delivery/sink_knowledge.h"
#include "delivery/transactional_id.h"
#include "outbox/route.h"

namespace walpost {

class Broker {
 public:
  virtual ~Broker() = default;

  // The servers, as people read them.
  virtual std::string address() const = 0;
  // Lifetimes and errors as those of the functions of sinks.h with these
  // names.
  virtual absl::Status CheckOptions() const = 0;
  virtual SinkFactory Sinks(boost::asio::any_io_executor executor) const = 0;
  virtual std::unique_ptr<SinkKnowledge> Knowledge(
      boost::asio::any_io_executor executor) const = 0;
  virtual absl::StatusOr<SinkFindings> Check(
      const std::vector<Route>& routes,
      const std::optional<TransactionalIds>& transactional_ids) const = 0;

  virtual absl::StatusOr<std::string> ClusterId() const = 0;

  // What only some kinds have.
  //
  // Why events cannot be read back, and how a user sees them; empty: they can.
  virtual std::string_view why_unread() const { return ""; }
  // Requires that they can.
  virtual ConnectToRecords Records() const { return nullptr; }
  // For sinks with transactions.
  virtual RecordReader Reader() const { return nullptr; }
  virtual absl::StatusOr<std::map<std::string, std::string>> TopicIds(
      const std::set<std::string>& /*topics*/) const {
    return std::map<std::string, std::string>();
  }
};

std::unique_ptr<Broker> MakeKafkaBroker(const Config& config);
std::unique_ptr<Broker> MakeNatsBroker(const Config& config);
std::unique_ptr<Broker> MakeRabbitmqBroker(const Config& config);
std::unique_ptr<Broker> MakeRedisBroker(const Config& config);

}  // namespace walpost
