// MissingRows: the rows that Kafka lacks, for `walpost recover` and `replay
// --missing`, with counts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/progress_line.h"
#include "config/config.h"
#include "outbox/event.h"
#include "verify/published_event_index.h"

namespace walpost {

class MissingRows {
 public:
  // Whether rows whose records were deleted also count as missing.
  enum class Expired { kNotMissing, kMissing };

  // nullptr: do not compare.
  explicit MissingRows(std::unique_ptr<PublishedEventIndex> known,
                       Expired expired = Expired::kNotMissing)
      : known_(std::move(known)), expired_(expired) {}

  // False: every row is missing.
  bool compares() const { return known_ != nullptr; }

  // True if Kafka lacks the record of this row.
  absl::StatusOr<bool> IsMissing(const Event& event, std::string_view topic);

  // True if there were rows without a record of their own that IsMissing did
  // not report, because Kafka has their id.
  bool has_passed_over() const { return altered_ > 0; }

  // Lines about rows that would have been judged differently by id alone.
  std::string ToText() const;

 private:
  std::unique_ptr<PublishedEventIndex> known_;
  Expired expired_;
  uint64_t altered_ = 0;
  uint64_t deleted_ = 0;
  uint64_t same_id_ = 0;
  uint64_t twins_ = 0;
};

// Reads the records to compare rows of `outbox` with. Sets `end` to the end
// that failed.
absl::StatusOr<MissingRows> ReadPublished(
    const Config& config, const OutboxOptions& outbox, ConfirmedBy confirmed_by,
    MissingRows::Expired expired, const std::string& work_directory,
    ProgressLine& progress, ExitCode& end);

}  // namespace walpost
