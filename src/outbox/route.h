// Route: topic and headers of one source's events, compiled from the
// configuration: the topic template and the headers made from columns; and
// which payloads stay behind.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/event.h"
#include "outbox/options.h"
#include "outbox/topic_template.h"

namespace walpost {

class Route {
 public:
  // `topic`, `creation` and `partition` override the route's own, unless empty.
  // kInvalidArgument: the template does not parse.
  static absl::StatusOr<Route> Create(
      const RouteOptions& options, const std::string& topic,
      const std::optional<TopicCreation>& creation = std::nullopt,
      const std::optional<std::string>& partition = std::nullopt);

  // One route per source: the tables in order, then the messages.
  static absl::StatusOr<std::vector<Route>> CreateAll(
      const OutboxOptions& options);

  // Names whose values Event::references must contain, in this order.
  const std::vector<std::string>& references() const { return references_; }

  const TopicTemplate& topic() const { return topic_; }

  struct Header {
    std::string name;
    size_t reference;  // index into references()
  };
  const std::vector<Header>& headers() const { return headers_; }

  // Index into references(); nullopt: the key chooses the partition.
  const std::optional<size_t>& partition() const { return partition_; }

  bool has_position_header() const { return position_header_; }

  // True if the event's payload stays in its row (claim_check.h). An event
  // without an id has nothing to be found by.
  bool NeedsClaimCheck(const Event& event) const {
    return claim_check_above_ > 0 && event.payload && event.id &&
           event.payload->size() > claim_check_above_;
  }
  // Where its events come from, as they are on record: schema.table
  // (TableOptions::recorded_name), or the prefix of the messages.
  const std::string& source() const { return source_; }
  // The table as it is called now; empty: they are messages.
  const std::string& table() const { return table_; }

  // How to create its topics; nullptr: they are not created.
  const TopicCreation* creation() const {
    return creation_ ? &*creation_ : nullptr;
  }

 private:
  // Index of a reference, which is added if it is missing.
  size_t Refer(const std::string& name);

  explicit Route(TopicTemplate topic) : topic_(std::move(topic)) {}

  TopicTemplate topic_;
  std::vector<std::string> references_;
  std::vector<Header> headers_;
  std::optional<size_t> partition_;
  bool position_header_ = true;
  std::string source_;
  std::string table_;
  size_t claim_check_above_ = 0;
  std::optional<TopicCreation> creation_;
};

// The references of each route, in the same order.
std::vector<std::vector<std::string>> ReferencesOf(
    std::span<const Route> routes);

}  // namespace walpost
