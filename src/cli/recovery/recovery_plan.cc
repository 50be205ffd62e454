#include "cli/recovery/recovery_plan.h"

#include "base/status_macros.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "outbox/numbering.h"
#include "postgres/catalog/transaction_id_column.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Kind = GapDiagnosis::Kind;

// True if only events that the slot would have delivered are missing: the
// checkpoint's horizon tells where they begin. Other gaps may concern earlier
// rows: the server or Kafka was replaced, or rows were skipped.
bool HorizonHolds(const GapDiagnosis& diagnosis) {
  return diagnosis.kind != Kind::kGap || diagnosis.gap == kGapSlotMissing ||
         diagnosis.gap == kGapSlotLost || diagnosis.gap == kGapSlotAdvanced;
}

asio::awaitable<absl::StatusOr<RecoveryRange>> FindRange(
    asio::any_io_executor executor, const Config& config,
    const SlotInspection& inspection, const RecoveryOptions& wish) {
  RecoveryRange range;
  if (wish.accept) {
    range.text = "no rows are looked at";
  } else if (!wish.since.empty()) {
    range.text = fmt::format("all rows since {}", wish.since);
  } else if (wish.all) {
    range.text = "all rows";
  } else if (!HasTransactionIds(config.outbox)) {
    range.text = "all rows: no table has outbox.tables.state.transaction_id";
  } else if (inspection.diagnosis.has_unsettled_table) {
    range.text =
        "all rows: rows of a table that was not in outbox.tables before may "
        "not have been delivered";
  } else if (!HorizonHolds(inspection.diagnosis)) {
    range.text = fmt::format(
        "all rows: after {} the checkpoint does not say which were delivered",
        inspection.diagnosis.gap);
  } else {
    SlotRecovery founder(executor, config);
    WALPOST_CO_RETURN_IF_ERROR(co_await founder.Connect());
    WALPOST_CO_ASSIGN_OR_RETURN(const RecoveryServer server,
                                co_await founder.LookAtServer());
    range = ChooseRecoveryRange(
        inspection.checkpoint,
        NumberingOf(config.outbox, config.postgres.publication), server);
  }
  co_return range;
}

std::string DescribeGap(const GapDiagnosis& diagnosis) {
  switch (diagnosis.kind) {
    case Kind::kNone:
      return "none is diagnosed";
    case Kind::kNothingKnown:
      return "not known: neither a birth record nor a checkpoint of the slot";
    case Kind::kGap:
      return fmt::format("{}: {}", diagnosis.gap, diagnosis.text);
  }
  return "";
}

std::string DescribeSlot(const SlotInspection& inspection,
                         const Config& config) {
  const std::string& name = config.postgres.slot;
  if (!inspection.diagnosis.slot) {
    return fmt::format("slot {} does not exist", name);
  }
  return fmt::format(
      "slot {} stands at {}, {} bytes before the end of the WAL ({})", name,
      inspection.diagnosis.slot->confirmed_flush_lsn.ToString(),
      inspection.pending_bytes, inspection.wal_end.ToString());
}

// Rows that are still in the table are compared with Kafka.
std::string DescribeLoss(const SlotInspection& inspection, const Config& config,
                         const RecoveryOptions& wish) {
  if (wish.accept) {
    return "events of the gap: they are neither looked for nor published, and "
           "retention has no proof that earlier rows were sent";
  }
  std::string text = "rows that were deleted since";
  const bool may_keep = inspection.diagnosis.kind == Kind::kGap && !wish.force;
  if (inspection.diagnosis.slot && may_keep) {
    text =
        "rows that were deleted since; if the slot has them it is kept, and "
        "sends them";
  } else if (inspection.diagnosis.slot) {
    text = fmt::format(
        "{} bytes of WAL in the slot: rows in it that were "
        "deleted since",
        inspection.pending_bytes);
  }
  if (!config.outbox.messages.enabled()) return text;
  return fmt::format("{}, and {}, which cannot be recovered", text,
                     inspection.pending_messages.empty()
                         ? "logical messages"
                         : inspection.pending_messages);
}

}  // namespace

asio::awaitable<absl::StatusOr<RecoveryPlan>> MakeRecoveryPlan(
    asio::any_io_executor executor, const Config& config, SeenBrokers brokers,
    const RecoveryOptions& wish) {
  absl::StatusOr<SlotInspection> inspection = co_await InspectSlot(
      executor, config, std::move(brokers), InspectPending::kYes);
  if (!inspection.ok()) co_return inspection.status();
  RecoveryPlan plan;
  plan.inspection = *std::move(inspection);
  if (plan.inspection.is_in_use()) co_return SlotIsInUse(config);
  WALPOST_CO_ASSIGN_OR_RETURN(
      RecoveryRange range,
      co_await FindRange(executor, config, plan.inspection, wish));
  plan.range = std::move(range);
  co_return plan;
}

std::string Describe(const RecoveryPlan& plan, const Config& config,
                     const RecoveryOptions& wish) {
  std::string text =
      fmt::format("gap: {}\nrange: {}\n",
                  DescribeGap(plan.inspection.diagnosis), plan.range.text);
  text += DescribeSlot(plan.inspection, config) + "\n";
  text +=
      fmt::format("{}: {}\n", wish.dry_run ? "would be given up" : "given up",
                  DescribeLoss(plan.inspection, config, wish));
  return text;
}

absl::Status CheckPlan(const RecoveryPlan& plan, const Config& config,
                       const RecoveryOptions& wish) {
  const GapDiagnosis& diagnosis = plan.inspection.diagnosis;
  const std::string& slot = config.postgres.slot;
  if (diagnosis.kind == Kind::kGap) return absl::OkStatus();
  if (wish.accept) {
    return absl::FailedPreconditionError(fmt::format(
        "no gap of slot {} is known, so there is none to accept: run walpost "
        "run",
        slot));
  }
  if (wish.dry_run || wish.force) return absl::OkStatus();
  if (diagnosis.kind == Kind::kNothingKnown) {
    return absl::FailedPreconditionError(fmt::format(
        "nothing is on record of slot {}: for a first start run walpost init "
        "-c FILE --admin CONNINFO and walpost run. If walpost has used the "
        "slot before and "
        "events are missing: walpost recover -c FILE --force",
        slot));
  }
  return absl::FailedPreconditionError(fmt::format(
      "slot {} is in order: walpost run delivers what is pending in it, and "
      "recover would give that up. Rows that verify reports as missing: "
      "walpost replay -c FILE --from-table --ids FILE. If walpost cannot get "
      "past an event that can never be decoded, or to replace the slot all the "
      "same: walpost recover -c FILE --force",
      slot));
}

SlotRecovery::Founding FoundingOf(const RecoveryPlan& plan,
                                  const RecoveryOptions& wish,
                                  const MissingRows& missing) {
  SlotRecovery::Founding founding;
  founding.kafka_cluster = plan.inspection.kafka_cluster;
  founding.known_coverage = plan.inspection.diagnosis.known_coverage;
  if (missing.has_passed_over()) {
    founding.all_published = false;
    return founding;
  }
  founding.all_published =
      wish.since.empty() && plan.range.from_transaction == 0;
  const std::optional<BirthRecord>& birth = plan.inspection.diagnosis.birth;
  // Earlier transactions were delivered, as far back as the old slot goes.
  if (!founding.all_published && wish.since.empty()) founding.before = birth;
  return founding;
}

absl::Status SlotIsInUse(const Config& config) {
  return absl::FailedPreconditionError(fmt::format(
      "slot {} is in use: stop walpost first", config.postgres.slot));
}

}  // namespace walpost
