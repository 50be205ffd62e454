// RecordSink: takes records and reports acknowledgements.
//
// The contract between the pipeline and a producer:
//
//  - Produce returning OK means *accepted*, not durable. For every accepted
//    record exactly one of RecordReports' functions is called later, never from
//    within Produce, on the same thread, in any order.
//  - Records of one partition reach the brokers in the order of Produce, or not
//    at all: if one cannot be written, none behind it is (gapless).
//  - After a sink has failed for good, it reports what it can and accepts
//    nothing more. Its owner destroys it and starts a new one.
#pragma once

#include "absl/status/status.h"
#include "base/time.h"
#include "delivery/acknowledgement_window.h"
#include "outbox/record.h"

namespace walpost {

class RecordSink {
 public:
  virtual ~RecordSink() = default;

  // Copies the parts of `record` that it needs before it returns.
  //
  // kResourceExhausted: full; offer the record again after the next report.
  // kUnavailable: not now (an unknown topic); offer it again later.
  // kInvalidArgument: this record can never be delivered as it is.
  // kAborted: the sink has failed; a new one may deliver the record.
  // kFailedPrecondition: an operator must act (authorization).
  virtual absl::Status Produce(const Record& record, Sequence sequence) = 0;
};

class RecordReports {
 public:
  virtual ~RecordReports() = default;

  // Durable at the brokers, as acks=all means it.
  virtual void OnAcknowledged(Sequence sequence, WallTime now) = 0;

  // Not written, or not known. The codes are those of Produce.
  virtual void OnNotDelivered(Sequence sequence, const absl::Status& error) = 0;

  // The sink failed as a whole: it must be replaced.
  virtual void OnSinkFailed(const absl::Status& error) = 0;
};

}  // namespace walpost
