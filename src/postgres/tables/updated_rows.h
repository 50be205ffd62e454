// Answers the UpdateDetector's questions: how many updates the server has
// counted, and whether the rows of published events are unchanged.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "health/published_sample.h"
#include "health/update_detector.h"
#include "outbox/options.h"
#include "postgres/connect/connection.h"

namespace walpost {

// Includes partitions; needs no right on the tables.
boost::asio::awaitable<absl::StatusOr<std::vector<UpdateDetector::Total>>>
ReadUpdateTotals(Connection& connection,
                 const std::vector<TableOptions>& tables);

// Reads the rows of `sample` in the open transaction of the connection. An
// error leaves the transaction to be rolled back.
boost::asio::awaitable<absl::StatusOr<UpdateDetector::Comparison>>
CompareWithSample(Connection& connection, const TableOptions& table,
                  size_t source, std::span<const std::string> references,
                  const PublishedSample& sample);

}  // namespace walpost
