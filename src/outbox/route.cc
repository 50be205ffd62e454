#include "outbox/route.h"

#include <algorithm>

#include "base/status_macros.h"

namespace walpost {
namespace {

// Empty: the key chooses the partition.
std::string PartitionColumn(const debezium::Options& options) {
  using debezium::Placement;
  if (options.runtime == debezium::Runtime::kServer) return "";
  const auto placed = std::ranges::find(
      options.placements, Placement::Place::kPartition, &Placement::place);
  return placed == options.placements.end() ? "" : placed->column;
}

}  // namespace

absl::StatusOr<Route> Route::Create(
    const RouteOptions& options, const std::string& topic,
    const std::optional<TopicCreation>& creation,
    const std::optional<std::string>& partition) {
  WALPOST_ASSIGN_OR_RETURN(
      TopicTemplate parsed,
      TopicTemplate::Parse(topic.empty() ? options.topic : topic,
                           options.names));
  Route route(std::move(parsed));
  route.position_header_ = options.position_header;
  route.creation_ = creation ? creation : options.create_topics;
  // The template's references come first: it indexes them as its own.
  route.references_ = route.topic_.references();
  for (const auto& [header, column] : options.headers) {
    route.headers_.push_back({header, route.Refer(column)});
  }
  const std::string& column = partition ? *partition : options.partition;
  if (!column.empty()) route.partition_ = route.Refer(column);
  return route;
}

size_t Route::Refer(const std::string& name) {
  const auto found = std::ranges::find(references_, name);
  const auto index = static_cast<size_t>(found - references_.begin());
  if (found == references_.end()) references_.push_back(name);
  return index;
}

absl::StatusOr<std::vector<Route>> Route::CreateAll(
    const OutboxOptions& options) {
  RouteOptions common = options.route;
  if (options.debezium) common.partition = PartitionColumn(*options.debezium);
  std::vector<Route> routes;
  for (const TableOptions& table : options.tables) {
    WALPOST_ASSIGN_OR_RETURN(
        Route route,
        Create(common, table.topic, table.create_topics, table.partition));
    route.source_ = table.recorded_name();
    route.table_ = table.name;
    route.claim_check_above_ = table.claim_check_above;
    routes.push_back(std::move(route));
  }
  WALPOST_ASSIGN_OR_RETURN(Route route, Create(common, options.messages.topic,
                                               options.messages.create_topics,
                                               options.messages.partition));
  route.source_ = options.messages.prefix;
  routes.push_back(std::move(route));
  return routes;
}

std::vector<std::vector<std::string>> ReferencesOf(
    std::span<const Route> routes) {
  std::vector<std::vector<std::string>> references;
  for (const Route& route : routes) references.push_back(route.references());
  return references;
}

}  // namespace walpost
