// Parked events as the columns of sql/parked.sql.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dead_letters/dead_letter.h"
#include "outbox/position.h"
#include "parking/parked_event.h"

namespace walpost {

// 000000000154F6A8-0000000000000003: text order is the order of positions.
std::string SortableText(const Position& position);
// kDataLoss: it is not such a text; quotes it.
absl::StatusOr<Position> ParseSortableText(std::string_view text);

// kDataLoss: it is not a state; quotes it.
absl::StatusOr<ParkedState> ParseParkedState(std::string_view text);

// Column `event`: a walpost.v1.DeadLetter, without payload, topic, class and
// reason, which have columns of their own.
std::string EncodeParked(const DeadLetter& content);
// Adds to `content`. kDataLoss: it cannot be read.
absl::Status DecodeParked(std::string_view bytes, DeadLetter& content);

}  // namespace walpost
