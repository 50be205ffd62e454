#include "retention/record_proof.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/time/time.h"
#include "base/reason_code.h"
#include "checkpoint/continuity.h"
#include "delivery/gap.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string ToText(WallTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixMicros(time.time_since_epoch().count()),
                          absl::UTCTimeZone());
}

constexpr Lsn kAnywhere(std::numeric_limits<uint64_t>::max());

// A table that was added later is not proven by the birth of the slot.
CoveredRule FencesOf(const BirthRecord& record, const Coverage& known,
                     const Coverage& now, const std::string& name) {
  CoveredRule rule;
  const auto table =
      std::ranges::find(now.tables, name, &Coverage::Table::name);
  if (table == now.tables.end() ||
      !AddedTables(known, Coverage{"", {*table}}).empty()) {
    return rule;
  }
  const Coverage born = Coverage::Parse(record.coverage);
  if (AddedTables(born, Coverage{"", {*table}}).empty()) {
    rule.streamed_from = record.streamed_from;
    rule.born_at = record.born_at;
  } else if (const AddedTable* added = FindAdded(record, name)) {
    rule.streamed_from = added->from_transaction;
    rule.born_at = added->sent_since.value_or(WallTime());
  }
  return rule;
}

}  // namespace

absl::Status NothingIsDeleted(const std::string& gap, const std::string& text) {
  return WithReasonCode(
      absl::FailedPreconditionError(fmt::format(
          "nothing is deleted because of a gap ({}): {}", gap, text)),
      gap);
}

absl::Status RecordProof::Take(std::optional<BirthRecord> record,
                               const Coverage& now,
                               std::span<const TableOptions> tables) {
  Forget();
  if (record && !record->gap.empty()) {
    return NothingIsDeleted(record->gap, "the birth record has it");
  }
  const bool is_known = record && !record->coverage.empty();
  const Coverage known =
      Coverage::Parse(is_known ? CoverageOf(*record, Announced::kNo) : "");
  const std::string change = is_known ? DescribeChange(known, now) : "";
  if (!change.empty()) {
    return NothingIsDeleted(
        kGapCoverageChanged,
        fmt::format("{} since the birth of slot {} was put on record: rows "
                    "that were committed meanwhile may not have been sent; {}",
                    change, record->slot, kRecover));
  }
  const std::vector<PassedTable> passed = PassedTables(known, now, kAnywhere);
  if (!passed.empty()) {
    return NothingIsDeleted(
        kGapTablePassedOver,
        fmt::format("walpost has passed over rows of table {}; run {}",
                    passed.front().name,
                    PublishMissingCommand(passed.front().name)));
  }
  for (const TableOptions& table : tables) {
    rules_.push_back(is_known ? FencesOf(*record, known, now, table.name)
                              : CoveredRule());
  }
  record_ = std::move(record);
  return absl::OkStatus();
}

bool RecordProof::is_complete() const {
  return record_ && record_->streamed_from > 0 && !record_->coverage.empty();
}

std::string RecordProof::Since(size_t table) const {
  if (!Covers(table)) return "";
  return fmt::format(
      "slot {} is known to send rows since transaction {} and {}",
      record_->slot, rules_[table].streamed_from,
      ToText(rules_[table].born_at));
}

CoveredRule RecordProof::RuleOf(size_t table) const {
  return table < rules_.size() ? rules_[table] : CoveredRule();
}

}  // namespace walpost
