#include "retention/slot_proof.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "base/reason_code.h"
#include "delivery/continuity.h"
#include "delivery/coverage.h"
#include "fmt/format.h"
#include "postgres/coverage_query.h"
#include "retention/prune_sql.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kStatementLimit{60};

absl::Status Gap(const std::string& code, const std::string& text) {
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "nothing is deleted because of a gap ({}): {}", code, text)),
      code);
}

std::string ToText(WallTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixMicros(time.time_since_epoch().count()),
                          absl::UTCTimeZone());
}

}  // namespace

asio::awaitable<absl::Status> SlotProof::Look(Connection& connection) {
  birth_.reset();
  std::optional<Checkpoint> checkpoint;
  if (load_checkpoint_) {
    LoadedCheckpoint loaded = co_await load_checkpoint_();
    if (!loaded.ok()) co_return loaded.status();
    checkpoint = *std::move(loaded);
  }
  if (checkpoint) {
    const absl::Status status = co_await Diagnose(connection, checkpoint);
    if (!status.ok()) co_return status;
  }
  // The record by itself: it may belong to another system than the checkpoint.
  co_return co_await LookAgain(connection);
}

asio::awaitable<absl::Status> SlotProof::LookAgain(Connection& connection) {
  birth_.reset();
  co_return co_await Diagnose(connection, std::nullopt);
}

asio::awaitable<absl::Status> SlotProof::Diagnose(
    Connection& connection, std::optional<Checkpoint> checkpoint) {
  connection.set_deadline(Clock::now() + kStatementLimit);
  GapQuestion question;
  question.slot = postgres_.slot;
  question.publication = postgres_.publication;
  question.tables = tables_;
  question.checkpoint = std::move(checkpoint);
  absl::StatusOr<GapDiagnosis> diagnosis =
      co_await DiagnoseGap(connection, std::move(question));
  if (!diagnosis.ok()) co_return diagnosis.status();
  const bool is_latched = diagnosis->birth && !diagnosis->birth->gap.empty();
  if (diagnosis->gap == kGapSlotAdvanced && !is_latched && load_checkpoint_) {
    const absl::Status status = co_await CheckCheckpoint(*diagnosis);
    if (!status.ok()) co_return status;
  } else if (diagnosis->kind == GapDiagnosis::Kind::kGap) {
    co_return Gap(diagnosis->gap, diagnosis->text);
  }
  if (!diagnosis->slot) {
    co_return absl::FailedPreconditionError(
        fmt::format("slot {} does not exist, so nothing is known to be "
                    "acknowledged: walpost check says what to do",
                    postgres_.slot));
  }
  birth_ = std::move(diagnosis->birth);
  const absl::Status compared = co_await CompareCoverage(connection);
  if (!compared.ok()) birth_.reset();
  co_return compared;
}

// A walpost that runs may have moved the slot since the checkpoint was loaded.
// It writes the checkpoint first: one that is loaded now is not behind.
asio::awaitable<absl::Status> SlotProof::CheckCheckpoint(
    GapDiagnosis diagnosis) {
  LoadedCheckpoint loaded = co_await load_checkpoint_();
  if (!loaded.ok()) co_return loaded.status();
  const std::optional<Checkpoint>& checkpoint = *loaded;
  if (!checkpoint ||
      checkpoint->confirmed < diagnosis.slot->confirmed_flush_lsn) {
    co_return Gap(diagnosis.gap, diagnosis.text);
  }
  if (checkpoint->gap.empty()) co_return absl::OkStatus();
  const size_t end = checkpoint->gap.find(' ');
  co_return Gap(checkpoint->gap.substr(0, end),
                "the checkpoint has it on record");
}

// DiagnoseGap prefers what the checkpoint has, which may be younger than the
// record; it is the record that proves.
asio::awaitable<absl::Status> SlotProof::CompareCoverage(
    Connection& connection) {
  is_on_record_.assign(tables_.size(), false);
  if (!birth_ || birth_->coverage.empty()) co_return absl::OkStatus();
  absl::StatusOr<Coverage> now =
      co_await ReadCoverage(connection, postgres_.publication, tables_);
  if (!now.ok()) co_return now.status();
  const Coverage known = Coverage::Parse(birth_->coverage);
  const std::string change = DescribeChange(known, *now);
  if (!change.empty()) {
    co_return Gap(kGapCoverageChanged,
                  fmt::format("{} since the birth of slot {} was put on "
                              "record: rows that were committed meanwhile may "
                              "not have been sent; {}",
                              change, postgres_.slot, kRecover));
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    is_on_record_[i] =
        std::ranges::find(known.tables, tables_[i].name,
                          &Coverage::Table::name) != known.tables.end();
  }
  co_return absl::OkStatus();
}

std::string SlotProof::Doubt(size_t table) const {
  if (!birth_ || birth_->streamed_from == 0 || birth_->coverage.empty()) {
    return fmt::format(
        "it is not on record since when slot {} sends rows: run walpost init "
        "as the owner of publication {}; rows from before then need walpost "
        "prune --assume-sent-before",
        postgres_.slot, postgres_.publication);
  }
  if (is_on_record_[table]) return "";
  return fmt::format(
      "{} was added to outbox.tables after the birth of slot {} was put on "
      "record, and it is not known since when its rows are sent: walpost "
      "verify says whether Kafka has them, then walpost prune "
      "--assume-sent-before",
      tables_[table].name, postgres_.slot);
}

std::string SlotProof::Since() const {
  return birth_ ? fmt::format(
                      "slot {} is known to send rows since transaction "
                      "{} and {}",
                      postgres_.slot, birth_->streamed_from,
                      ToText(birth_->born_at))
                : "";
}

std::string SlotProof::Covered(size_t table, const OutboxShape& shape,
                               const OutboxShape::Leaf& leaf,
                               const std::string& assumed_before) const {
  CoveredRule rule;
  if (Doubt(table).empty()) {
    rule.streamed_from = birth_->streamed_from;
    rule.born_at = birth_->born_at;
  }
  rule.time_column = shape.time_column;
  rule.time_has_zone = shape.time_has_zone;
  rule.partition = leaf.is_partition ? leaf.oid : 0;
  rule.assumed_before = assumed_before;
  return CoveredSql(rule);
}

}  // namespace walpost
