// MissingRows: which rows `walpost recover` publishes, and what it saw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "outbox/event.h"
#include "verify/known_events.h"

namespace walpost {

class MissingRows {
 public:
  // nullptr: nothing is compared.
  explicit MissingRows(std::unique_ptr<KnownEvents> known)
      : known_(std::move(known)) {}

  bool compares() const { return known_ != nullptr; }

  // Whether Kafka lacks the record of this row.
  absl::StatusOr<bool> IsMissing(const Event& event, std::string_view topic);

  // Rows without a record of their own were seen that are not missing by
  // IsMissing, since Kafka has their id.
  bool has_passed_over() const { return altered_ > 0; }

  // Lines about rows whose id alone would have told something else.
  std::string ToText() const;

 private:
  std::unique_ptr<KnownEvents> known_;
  uint64_t altered_ = 0;
  uint64_t same_id_ = 0;
  uint64_t twins_ = 0;
};

}  // namespace walpost
