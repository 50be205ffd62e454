#include "delivery/record_sender.h"

#include <string>

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {

std::string_view IfLetterIsTooLarge(const absl::Status& error) {
  return ReasonCodeOf(error) == kReasonRecordTooLarge
             ? "; set dead_letter.payload: cut, or dead_letter.store: postgres"
             : "";
}

absl::Status WithoutDeadLetter(const absl::Status& reason,
                               const absl::Status& error) {
  return WithReasonCode(
      absl::InvalidArgumentError(
          fmt::format("{}; its dead letter cannot be delivered, either: {}{}",
                      std::string(reason.message()),
                      std::string(error.message()), IfLetterIsTooLarge(error))),
      ReasonCodeOf(reason));
}

RecordSender::Outcome RecordSender::Send(const Event& event,
                                         Sequence sequence) {
  Outcome outcome =
      Produce(builder_->Build(event, timeline_), event.source, sequence);
  sent_by_source_[event.source] += outcome.verdict == SendOutcome::kSent;
  return outcome;
}

RecordSender::Outcome RecordSender::SendDeadLetter(const Event& event,
                                                   const absl::Status& reason,
                                                   Sequence sequence) {
  Outcome outcome = Produce(builder_->BuildDeadLetter(event, reason, timeline_),
                            event.source, sequence);
  if (outcome.verdict == SendOutcome::kRefuse) {
    outcome.reason = WithoutDeadLetter(reason, outcome.reason);
  }
  return outcome;
}

RecordSender::Outcome RecordSender::Produce(
    const absl::StatusOr<Record>& record, size_t source, Sequence sequence) {
  if (!record.ok()) return Judge(record.status());
  absl::Status produced = sink_->Produce(*record, sequence);
  if (!produced.ok()) return Judge(std::move(produced));
  ++counters_.produced;
  counters_.claim_checks += record->has_claim_check;
  counters_.value_bytes += record->value ? record->value->size() : 0;
  return {SendOutcome::kSent, absl::OkStatus(), record->size_bytes,
          latencies_.LabelOf(source, record->topic)};
}

RecordSender::Outcome RecordSender::Judge(absl::Status reason) const {
  const SendOutcome verdict = JudgeError(reason, ordering_);
  return {verdict, std::move(reason), 0, LatencyLabel()};
}

}  // namespace walpost
