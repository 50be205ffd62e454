// SendOutcome: the next step for an event that was not sent. One table for
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
// row, and an unknown topic affects only its own rows. Any other error needs an
// operator, and concerns all rows.
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

// `error` comes from mapping the event, from building its record, from the sink
// (with the codes of RecordSink::Produce), or from a report. Ok: kSent.
SendOutcome JudgeError(const absl::Status& error, Ordering ordering);

// True for an error of the sink that concerns one topic only: records for
// others may go.
bool IsOfTopic(const absl::Status& error);

}  // namespace walpost
