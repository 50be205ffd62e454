// SimulatedSource: the part between the replication connection and the real
// Pipeline, modelled on src/postgres/wal_source.cc and source_setup.cc.
//
// A turn has three steps, so that anything may happen between two of them:
//
//   check that we were not suspended ─▶ take frames ─▶ send feedback ─┐
//      ▲                                                              │
//      └──────────────────────────────────────────────────────────────┘
#pragma once

#include <memory>
#include <optional>

#include "checkpoint/source_memory.h"
#include "delivery/pipeline.h"
#include "postgres/feedback_schedule.h"
#include "postgres/suspension_watch.h"
#include "sim/checker.h"
#include "sim/simulated_server.h"
#include "sim/world.h"
#include "support/message_feed.h"

namespace walpost::sim {

class SimulatedSource {
 public:
  // For one process; all arguments outlive it.
  SimulatedSource(World& world, SimulatedServer& server, Checker& checker,
                  int relay, const OutboxOptions& options, Pipeline& pipeline);
  ~SimulatedSource() { Close(); }
  SimulatedSource(const SimulatedSource&) = delete;
  SimulatedSource& operator=(const SimulatedSource&) = delete;

  // See WalSource::Open.
  absl::Status Open();
  // Takes one step; returns how the stream ended, if so. See WalSource::Stream.
  std::optional<absl::Status> Step();

  void Drain(MonotonicTime deadline);
  void Abandon() { is_abandoned_ = true; }
  bool TakeStartOver() { return memory_.TakeStartOver(); }
  void Latch(const Gap& gap);
  // See PublicationWatch and Relay::FindGap.
  void WatchPublication();
  bool is_open() const { return connection_ != nullptr; }
  // The WAL that the pipeline's LSNs belong to; 0: not known.
  uint32_t lsn_history() const {
    return pipeline_.is_history_settled() ? lsn_history_ : 0;
  }

 private:
  enum class Next { kCheck, kTake, kTell };

  absl::Status Continue();
  absl::Status Begin();
  void NoteGap();
  Lsn Confirmable() const;
  void BeginStream();
  absl::Status Check();
  absl::Status TakeFrames();
  void Handle(const SimulatedWalsender::Frame& frame);
  void Deliver();
  // True if a drain is finished.
  bool Tell();
  void Close();

  World& world_;
  SimulatedServer& server_;
  Checker& checker_;
  int relay_;
  const OutboxOptions& options_;
  Pipeline& pipeline_;

  SourceMemory memory_;
  Lsn slot_;  // its position when the stream began
  uint32_t lsn_history_ = 0;

  // For this connection. Shared: both ends hold it.
  std::shared_ptr<SimulatedWalsender> connection_;
  std::optional<testing::MessageFeed> feed_;
  FeedbackSchedule feedback_;
  SuspensionWatch suspension_watch_;
  Next next_ = Next::kCheck;
  bool is_held_ = false;
  bool is_abandoned_ = false;
  std::optional<Gap> found_gap_;  // while it streams
  std::optional<MonotonicTime> drain_deadline_;
};

}  // namespace walpost::sim
