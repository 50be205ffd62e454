#include "retention/slot_proof.h"

#include <utility>

#include "base/status_macros.h"
#include "checkpoint/continuity.h"
#include "delivery/gap.h"
#include "fmt/format.h"
#include "outbox/row_origin.h"
#include "postgres/catalog/coverage_query.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kProofLimit{60};

}  // namespace

asio::awaitable<absl::Status> SlotProof::Look(Connection& connection) {
  proof_.Forget();
  std::optional<Checkpoint> checkpoint;
  if (load_checkpoint_) {
    LoadedCheckpoint loaded = co_await load_checkpoint_();
    if (!loaded.ok()) co_return loaded.status();
    checkpoint = *std::move(loaded);
  }
  if (checkpoint) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Diagnose(connection, checkpoint));
  }
  // Separately, because the record may belong to another system.
  co_return co_await LookAgain(connection);
}

asio::awaitable<absl::Status> SlotProof::LookAgain(Connection& connection) {
  proof_.Forget();
  co_return co_await Diagnose(connection, std::nullopt);
}

asio::awaitable<absl::Status> SlotProof::Diagnose(
    Connection& connection, std::optional<Checkpoint> checkpoint) {
  connection.set_deadline(Clock::now() + kProofLimit);
  GapQuestion question;
  question.slot = postgres_.slot;
  question.publication = postgres_.publication;
  question.tables = tables_;
  question.checkpoint = std::move(checkpoint);
  WALPOST_CO_ASSIGN_OR_RETURN(
      GapDiagnosis diagnosis,
      co_await DiagnoseGap(connection, std::move(question)));
  const bool is_latched = diagnosis.birth && !diagnosis.birth->gap.empty();
  if (diagnosis.gap == kGapSlotAdvanced && !is_latched && load_checkpoint_) {
    WALPOST_CO_RETURN_IF_ERROR(co_await CheckCheckpoint(diagnosis));
  } else if (diagnosis.kind == GapDiagnosis::Kind::kGap) {
    co_return NothingIsDeleted(diagnosis.gap, diagnosis.text);
  }
  if (!diagnosis.slot) {
    co_return absl::FailedPreconditionError(
        fmt::format("slot {} does not exist, so nothing is known to be "
                    "acknowledged: walpost check -c FILE says what to do",
                    postgres_.slot));
  }
  co_return co_await TakeRecord(connection, std::move(diagnosis.birth));
}

// DiagnoseGap prefers the checkpoint, which may be younger than the record. But
// the record is the proof.
asio::awaitable<absl::Status> SlotProof::TakeRecord(
    Connection& connection, std::optional<BirthRecord> record) {
  WALPOST_CO_ASSIGN_OR_RETURN(
      Coverage now,
      co_await ReadCoverage(connection, postgres_.publication, tables_));
  co_return proof_.Take(std::move(record), now, tables_);
}

// A running walpost may have moved the slot since the checkpoint was loaded. It
// writes the checkpoint first, so one that is loaded now is not behind.
asio::awaitable<absl::Status> SlotProof::CheckCheckpoint(
    GapDiagnosis diagnosis) {
  LoadedCheckpoint loaded = co_await load_checkpoint_();
  if (!loaded.ok()) co_return loaded.status();
  const std::optional<Checkpoint>& checkpoint = *loaded;
  if (!checkpoint ||
      checkpoint->confirmed < diagnosis.slot->confirmed_flush_lsn) {
    co_return NothingIsDeleted(diagnosis.gap, diagnosis.text);
  }
  if (checkpoint->gap.empty()) co_return absl::OkStatus();
  const size_t end = checkpoint->gap.find(' ');
  co_return NothingIsDeleted(checkpoint->gap.substr(0, end),
                             "the checkpoint has it on record");
}

std::string SlotProof::UnprovenReason(size_t table) const {
  if (proof_.Covers(table)) return "";
  if (!proof_.is_complete()) {
    return fmt::format(
        "it is not on record since when slot {} sends rows: run walpost init "
        "-c FILE --admin CONNINFO as the owner of publication {}; rows from "
        "before then need walpost prune -c FILE --assume-sent-before",
        postgres_.slot, postgres_.publication);
  }
  return fmt::format(
      "{} was added to outbox.tables after the birth of slot {} was put on "
      "record, and it is not known since when its rows are sent: as the owner "
      "of publication {} run {}, which puts it on record that Kafka has them; "
      "or walpost prune -c FILE --assume-sent-before",
      tables_[table].name, postgres_.slot, postgres_.publication,
      PublishMissingCommand(tables_[table].name));
}

std::string SlotProof::Covered(size_t table, const OutboxShape& shape,
                               const OutboxShape::Leaf& leaf,
                               const std::string& assumed_before,
                               OriginFilter origin) const {
  CoveredRule rule = proof_.RuleOf(table);
  rule.time_column = shape.time_column;
  rule.time_has_zone = shape.time_has_zone;
  rule.partition = leaf.is_partition ? leaf.oid : 0;
  rule.assumed_before = assumed_before;
  if (origin == OriginFilter::kNone) {
    rule.origin_is_unknown =
        fmt::format("({}) IS NULL", IsOfOtherOriginSql(leaf.name));
  }
  return CoveredSql(rule);
}

}  // namespace walpost
