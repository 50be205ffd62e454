// SendOutcome: what becomes of an event that did not go out. One table for
// every source.
//
//   error                WAL, snapshot, recover, replay   polling
//   kResourceExhausted   hold                             hold
//   kUnavailable         hold                             refuse
//   kAborted             replace the sink                 replace the sink
//   kInvalidArgument     refuse                           refuse
//   any other            refuse                           replace the sink
//
// A source with an order stops before a refused event: nothing that follows may
// overtake it. A polled row has no such followers: its refusal is marked in the
// row, and an unknown topic affects only its own rows. What an operator
// must settle (any other) concerns all rows.
//
// A batch that the brokers reject is not judged here: BatchBisector finds the
// record in it that is the cause.
#pragma once

#include "absl/status/status.h"

namespace walpost {

enum class SendOutcome {
  kSent,
  kBackpressure,  // nothing is wrong with the event: offer it again later
  kReplaceSink,   // nothing is wrong with the event: a new sink may take it
  kRefuse,        // the event cannot go out as it is
};

// How the events of a source follow each other.
enum class Ordering {
  kByPosition,
  kByRow,  // no order but that of the aggregates, which the poller keeps
};

// `error`: of the mapping, the building or the sink (RecordSink::Produce, with
// its codes), or of a report. Ok: kSent.
SendOutcome JudgeError(const absl::Status& error, Ordering ordering);

}  // namespace walpost
