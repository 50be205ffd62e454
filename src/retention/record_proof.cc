#include "retention/record_proof.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "base/reason_code.h"
#include "delivery/gap.h"
#include "fmt/format.h"

namespace walpost {
namespace {

std::string ToText(WallTime time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixMicros(time.time_since_epoch().count()),
                          absl::UTCTimeZone());
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
  is_on_record_.assign(tables.size(), false);
  if (record && !record->gap.empty()) {
    return NothingIsDeleted(record->gap, "the birth record has it");
  }
  const Coverage known = Coverage::Parse(record ? record->coverage : "");
  const bool is_known = record && !record->coverage.empty();
  const std::string change = is_known ? DescribeChange(known, now) : "";
  if (!change.empty()) {
    return NothingIsDeleted(
        kGapCoverageChanged,
        fmt::format("{} since the birth of slot {} was put on record: rows "
                    "that were committed meanwhile may not have been sent; {}",
                    change, record->slot, kRecover));
  }
  for (size_t i = 0; is_known && i < tables.size(); ++i) {
    is_on_record_[i] =
        std::ranges::find(known.tables, tables[i].name,
                          &Coverage::Table::name) != known.tables.end();
  }
  record_ = std::move(record);
  return absl::OkStatus();
}

bool RecordProof::is_complete() const {
  return record_ && record_->streamed_from > 0 && !record_->coverage.empty();
}

bool RecordProof::Covers(size_t table) const {
  return is_complete() && is_on_record_[table];
}

std::string RecordProof::Since() const {
  if (!record_) return "";
  return fmt::format(
      "slot {} is known to send rows since transaction {} and {}",
      record_->slot, record_->streamed_from, ToText(record_->born_at));
}

CoveredRule RecordProof::RuleOf(size_t table) const {
  CoveredRule rule;
  if (!Covers(table)) return rule;
  rule.streamed_from = record_->streamed_from;
  rule.born_at = record_->born_at;
  return rule;
}

}  // namespace walpost
