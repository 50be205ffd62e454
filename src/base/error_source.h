// Marks whether an error of `run` comes from Postgres or Kafka, for its exit
// code. Unmarked errors are those of Postgres.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace walpost {

inline constexpr char kErrorSourceUrl[] = "walpost/error_source";

inline absl::Status FromKafka(absl::Status status) {
  if (!status.ok()) status.SetPayload(kErrorSourceUrl, absl::Cord("kafka"));
  return status;
}

inline bool IsFromKafka(const absl::Status& status) {
  return status.GetPayload(kErrorSourceUrl).has_value();
}

}  // namespace walpost
