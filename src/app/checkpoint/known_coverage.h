// Reads the recorded coverage of the tables that were streamed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "checkpoint/birth_record.h"
#include "config/config.h"

namespace walpost {

// The coverage (checkpoint/coverage.h) of the checkpoint, which has the tables
// that were streamed last, merged with that of the birth record. Errors come
// from the store. `config` and `birth` outlive the coroutine.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadKnownCoverage(
    boost::asio::any_io_executor executor, const Config& config,
    const std::optional<BirthRecord>& birth);

}  // namespace walpost
