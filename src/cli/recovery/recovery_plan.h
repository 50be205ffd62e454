// RecoveryPlan: the findings of `walpost recover`, what it would do, and what
// it would give up. Made and shown before anything is read or changed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/backfill/slot_recovery.h"
#include "checkpoint/recovery_range.h"
#include "cli/recovery/missing_rows.h"
#include "cli/shared/slot_inspection.h"
#include "config/config.h"

namespace walpost {

// Options of the command line.
struct RecoveryOptions {
  std::string since;
  bool all = false;
  bool dry_run = false;
  bool accept = false;
  bool force = false;
};

struct RecoveryPlan {
  SlotInspection inspection;
  RecoveryRange range;
};

// kFailedPrecondition: the slot is in use.
boost::asio::awaitable<absl::StatusOr<RecoveryPlan>> MakeRecoveryPlan(
    boost::asio::any_io_executor executor, const Config& config,
    SeenBrokers brokers, const RecoveryOptions& wish);

// Describes gap, range, slot and loss in several lines.
std::string Describe(const RecoveryPlan& plan, const Config& config,
                     const RecoveryOptions& wish);

// kFailedPrecondition: no gap is diagnosed; names the remedy.
absl::Status CheckPlan(const RecoveryPlan& plan, const Config& config,
                       const RecoveryOptions& wish);

// Facts to record after the plan was carried out, with what it skipped.
SlotRecovery::Founding FoundingOf(const RecoveryPlan& plan,
                                  const RecoveryOptions& wish,
                                  const MissingRows& missing);

absl::Status SlotIsInUse(const Config& config);

}  // namespace walpost
