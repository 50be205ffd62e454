// Transactional ids of a relay. By them the instance that takes over the slot
// fences earlier instances.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"

namespace walpost {

inline std::string RelayTransactionalId(std::string_view system_identifier,
                                        std::string_view slot) {
  return fmt::format("walpost-{}-{}", system_identifier, slot);
}

// Senders beside the stream: of the initial snapshot, of parked events, of dead
// letters that are retried, and of events that waited for their topic.
inline constexpr std::string_view kSnapshotSender = "snapshot";
inline constexpr std::string_view kReleasedSender = "released";
inline constexpr std::string_view kRetriedSender = "retried";
inline std::string SenderTo(std::string_view topic) {
  return fmt::format("{}-{}", kReleasedSender, topic);
}

// Each sender has an id of its own.
inline std::string SenderTransactionalId(std::string_view relay_id,
                                         std::string_view sender) {
  return fmt::format("{}-{}", relay_id, sender);
}

// All transactional ids of a relay. `relay` is a prefix of the others.
struct TransactionalIds {
  std::string relay;  // empty: not known
  std::vector<std::string> senders = {};
};

}  // namespace walpost
