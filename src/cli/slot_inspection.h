// SlotInspection: what is known of the slot, before a verb does anything to it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "config/config.h"
#include "delivery/checkpoint.h"
#include "postgres/gap_diagnosis.h"

namespace walpost {

struct SlotInspection {
  GapDiagnosis diagnosis;
  // As the store answered. It is not asked while the slot is in use: a running
  // walpost has it, and its content moves.
  absl::StatusOr<std::optional<Checkpoint>> checkpoint =
      std::optional<Checkpoint>();
  std::string kafka_cluster;
  Lsn wal_end;
  uint64_t pending_bytes = 0;  // of WAL, from where the slot stands
  // Logical messages in it: how many, or why that is not known; empty: they
  // are not configured, or there is no slot.
  std::string pending_messages;

  bool is_in_use() const {
    return diagnosis.slot.has_value() && diagnosis.slot->active;
  }
};

// kYes takes a role that may replicate, and an error of a store that does not
// answer (kUnavailable) is one of InspectSlot.
enum class InspectPending { kNo, kYes };

// `kafka_cluster`: of the brokers; empty: not known. kUnavailable: Postgres or
// the checkpoint store cannot be reached.
boost::asio::awaitable<absl::StatusOr<SlotInspection>> InspectSlot(
    boost::asio::any_io_executor executor, const Config& config,
    std::string kafka_cluster, InspectPending pending);

}  // namespace walpost
