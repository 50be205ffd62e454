// ReplayFlow: decides the course of `walpost replay` from the WAL: what comes
// first, when another round begins, and when it is over.
//
//   kOpen ─▶ kReadOnRecord ─▶ kBegin ─▶ kStartSink ─▶ kStream ─▶ kWait ─▶ kEnd
//     ▲        (the first round only)       ▲            └────┬────┘
//     └──────────────────────── kCloseSink ◀─ the sink has failed
//
// A record that the brokers reject ends a round: the next one, with another
// sink and another source, does what on_error says, and goes on. There are
// rounds for as long as each brings an event further (sink_rounds.h). Other
// errors that starting over would fix (a lost connection, an unusable sink) end
// it: resume() says where the next replay continues.
//
// Call Next, carry it out, and say with one of the other members what has
// become of it. Pure: time comes in as a parameter. Owned by Replay; use once.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "backfill/range_backfill.h"
#include "backfill/sink_rounds.h"
#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/replay_range.h"

namespace walpost {

class ReplayFlow {
 public:
  enum class Do {
    kOpen,          // a new source, for request(): OnOpened
    kReadOnRecord,  // which events something was decided about
    kBegin,         // the RangeBackfill, for range()
    kStartSink,     // unless in a dry run
    kStream,        // the events of the source: OnStreamed
    kWait,          // a moment, for acknowledgements
    kCloseSink,     // after at most SinkRounds::kGrace
    kEnd,           // gives up what is in flight; status()
  };

  // `backfill` outlives this object.
  ReplayFlow(ReplayRequest request, RangeBackfill& backfill)
      : request_(std::move(request)), backfill_(backfill) {}

  Do Next(MonotonicTime now);
  // The result of Next, without a member of its own.
  void On(const absl::Status& status);
  void OnOpened(const ReplayRange& range);
  // kOk: the end of the range was handed in (`reached_end`), or Stop was
  // called.
  void OnStreamed(const absl::Status& status, bool reached_end);

  // The owner also stops the source. Then what is in flight is waited for, at
  // most until `deadline`.
  void Stop(MonotonicTime deadline) { stop_deadline_ = deadline; }
  // The server is shutting down, which is why Stop is called.
  void OnServerTrouble(absl::Status trouble) {
    server_trouble_ = std::move(trouble);
  }

  // For kOpen: the whole range, or what is left of it.
  const ReplayRequest& request() const { return request_; }
  // The whole range, once it is known.
  const ReplayRange& range() const { return range_; }
  bool is_open() const { return is_open_; }

  // For kEnd. Errors are those of the actions, and of RangeBackfill::Health.
  // Ok: the range is done, or Stop was called.
  const absl::Status& status() const { return status_; }
  // True if every event of the range is done.
  bool is_complete() const { return reached_end_ && backfill_.IsDrained(); }
  // LSN of the range before which every event is done.
  Lsn resume() const { return std::max(range_.from, backfill_.resume()); }

 private:
  void Await(MonotonicTime now);
  void EndRound(const absl::Status& status);
  void OnSinkClosed();
  void End(const absl::Status& status);

  ReplayRequest request_;
  RangeBackfill& backfill_;
  SinkRounds rounds_;
  Do next_ = Do::kOpen;
  ReplayRange range_;
  bool is_open_ = false;
  bool reached_end_ = false;  // in this round
  std::optional<MonotonicTime> stop_deadline_;
  absl::Status server_trouble_;
  absl::Status status_;
};

}  // namespace walpost
