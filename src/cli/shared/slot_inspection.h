// SlotInspection: facts about the slot, before a verb changes it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "postgres/slot/gap_diagnosis.h"

namespace walpost {

struct SlotInspection {
  GapDiagnosis diagnosis;
  // Answer of the store. It is not asked while the slot is in use: then a
  // running walpost uses it, and its content changes.
  absl::StatusOr<std::optional<Checkpoint>> checkpoint =
      std::optional<Checkpoint>();
  std::string kafka_cluster;
  Lsn wal_end;
  uint64_t pending_bytes = 0;  // of WAL, from the slot's position
  // Their logical messages: the number, or why it is not known; empty: they are
  // not configured, or there is no slot.
  std::string pending_messages;

  bool is_in_use() const {
    return diagnosis.slot.has_value() && diagnosis.slot->active;
  }
};

// The brokers, to compare them with what is known of the slot.
struct SeenBrokers {
  std::string cluster;  // its id; empty: not known
  // They were asked, and did not answer: a checkpoint in them is not read.
  bool are_silent = false;
  // The present ids of these topics, as far as they are known.
  using TopicIdsOf =
      std::function<absl::StatusOr<std::map<std::string, std::string>>(
          const std::set<std::string>& topics)>;
  TopicIdsOf topic_ids;  // absent: not compared
};

// kYes needs a role that may replicate; if a store does not answer
// (kUnavailable), InspectSlot fails.
enum class InspectPending { kNo, kYes };

// kUnavailable: Postgres, the checkpoint store or the brokers are unreachable.
boost::asio::awaitable<absl::StatusOr<SlotInspection>> InspectSlot(
    boost::asio::any_io_executor executor, const Config& config,
    SeenBrokers brokers, InspectPending pending);

}  // namespace walpost
