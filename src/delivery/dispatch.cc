#include "delivery/dispatch.h"

#include <string>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {

absl::Status WithoutDeadLetter(const absl::Status& reason,
                               const absl::Status& error) {
  return WithReasonCode(
      absl::InvalidArgumentError(fmt::format(
          "{}; its dead letter cannot be delivered, either: {}",
          std::string(reason.message()), std::string(error.message()))),
      ReasonCodeOf(reason));
}

Dispatch::Outcome Dispatch::Send(const Event& event, Sequence sequence) {
  return Produce(builder_->Build(event, timeline_), sequence);
}

Dispatch::Outcome Dispatch::SendDeadLetter(const Event& event,
                                           const absl::Status& reason,
                                           Sequence sequence) {
  Outcome outcome =
      Produce(builder_->BuildDeadLetter(event, reason, timeline_), sequence);
  if (outcome.verdict == Verdict::kRefuse) {
    outcome.reason = WithoutDeadLetter(reason, outcome.reason);
  }
  return outcome;
}

Dispatch::Outcome Dispatch::Produce(const absl::StatusOr<Record>& record,
                                    Sequence sequence) {
  if (!record.ok()) return Judge(record.status());
  absl::Status produced = sink_->Produce(*record, sequence);
  if (!produced.ok()) return Judge(std::move(produced));
  ++counters_.produced;
  counters_.claim_checks += record->has_claim_check;
  counters_.value_bytes += record->value ? record->value->size() : 0;
  return {Verdict::kSent, absl::OkStatus(), record->size_bytes};
}

Dispatch::Outcome Dispatch::Judge(absl::Status reason) const {
  const Verdict verdict = JudgeError(reason, ordering_);
  return {verdict, std::move(reason), 0};
}

}  // namespace walpost
