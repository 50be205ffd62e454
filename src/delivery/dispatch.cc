#include "delivery/dispatch.h"

#include <optional>

namespace walpost {

Dispatch::Outcome Dispatch::Send(const Event& event, Sequence sequence) {
  const absl::StatusOr<Record> record = builder_->Build(event, timeline_);
  if (!record.ok()) return Judge(record.status());
  absl::Status produced = sink_->Produce(*record, sequence);
  if (!produced.ok()) return Judge(std::move(produced));
  ++counters_.produced;
  counters_.value_bytes += record->value ? record->value->size() : 0;
  return {Verdict::kSent, absl::OkStatus(), record->size_bytes};
}

Dispatch::Outcome Dispatch::Judge(absl::Status reason) const {
  const Verdict verdict = JudgeError(reason, ordering_);
  return {verdict, std::move(reason), 0};
}

}  // namespace walpost
