// Checkpoint <-> bytes, as the file and the topic store them.
//
// A frame around a protobuf message; both are a published contract, described
// in proto/walpost/v1/checkpoint.proto.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"

namespace walpost {

// Far more than a checkpoint of ours has; longer input is rejected.
inline constexpr size_t kMaxCheckpointBytes = size_t{64} << 10;

std::string EncodeCheckpoint(const Checkpoint& checkpoint);

// kDataLoss says what is wrong: not a checkpoint, an unknown version, torn or
// corrupted.
absl::StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes);

}  // namespace walpost
