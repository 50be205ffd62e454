// Checkpoint <-> bytes, as the file and the topic keep them.
//
// A frame around a protobuf message; both are a published contract, described
// in proto/walpost/v1/checkpoint.proto.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "delivery/checkpoint.h"

namespace walpost {

// Far more than any of ours has. What is longer is none.
inline constexpr size_t kMaxCheckpointBytes = size_t{64} << 10;

std::string EncodeCheckpoint(const Checkpoint& checkpoint);

// kDataLoss says what is wrong: no checkpoint at all, of a version that this
// walpost does not know, torn or corrupted.
absl::StatusOr<Checkpoint> DecodeCheckpoint(std::string_view bytes);

}  // namespace walpost
