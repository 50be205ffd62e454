#include "app/checkpoint/known_coverage.h"

#include "app/checkpoint/checkpoint_service.h"
#include "base/status_macros.h"
#include "checkpoint/coverage.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<std::string>> ReadKnownCoverage(
    asio::any_io_executor executor, const Config& config,
    const std::optional<BirthRecord>& birth) {
  std::string known = birth ? CoverageOf(*birth, Announced::kNo) : "";
  WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<Checkpoint> loaded,
                              co_await ReadCheckpoint(executor, config));
  if (loaded && !loaded->coverage.empty()) {
    known = MergeCoverage(loaded->coverage, known);
  }
  co_return known;
}

}  // namespace walpost
