// SimulatedReplay: one process of walpost replay. ReplayFlow and RangeBackfill
// decide, as in the app's Replay, and ChooseReplayRange as in its ReplaySource;
// what is simulated is beside them: the slots, the connection, the producer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "backfill/range_backfill.h"
#include "backfill/replay_flow.h"
#include "delivery/sender.h"
#include "outbox/events_on_record.h"
#include "session/wal_stream.h"
#include "sim/replay_checker.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_postgres.h"
#include "sim/simulated_producer.h"
#include "sim/simulated_reader.h"
#include "sim/simulated_replay_window.h"
#include "sim/world.h"

namespace walpost::sim {

// Events that something was decided about, also by their ids.
struct SimulatedRecords {
  EventsOnRecord events;
  std::set<uint64_t> ids;
};

class SimulatedReplay {
 public:
  struct Place {
    const SimulatedPostgres& server;
    SimulatedReplayWindow& window;
    SimulatedBrokers& brokers;
    ReplayChecker& checker;
    std::function<SimulatedRecords()> read_records;
  };

  // `run` distinguishes the processes. `place` outlives them.
  SimulatedReplay(World& world, const Place& place, ReplayChecker::Order order,
                  int run);
  SimulatedReplay(const SimulatedReplay&) = delete;
  SimulatedReplay& operator=(const SimulatedReplay&) = delete;

  // Takes a step of the present action. False: the process has ended.
  bool Turn();
  // A record is sent; an answer of the brokers arrives.
  void Send();
  void Report();
  // The other loop: offers held records again.
  void Watch();

  void Stop();
  // The server shuts down, as ShutdownMonitor sees it.
  void LeaveStream();
  void FailSink();
  // The brokers have not answered for too long.
  void GiveBrokersUp() { silence_ = absl::UnavailableError("silence"); }
  // It takes no turn, and nothing is sent or reported, until Resume.
  void Suspend();
  void Resume();
  bool is_suspended() const { return suspended_at_.has_value(); }

  const ReplayChecker::Order& order() const { return order_; }
  const ReplayFlow& flow() const { return flow_; }

 private:
  void CarryOut(ReplayFlow::Do next);
  void Open();
  absl::Status ReadOnRecord();
  void Begin();
  void StartSink();
  void Stream();
  bool CloseSink();
  void End();
  bool IsLate() const;

  World& world_;
  const Place& place_;
  ReplayChecker::Order order_;
  int run_;

  RangeBackfill backfill_;
  ReplayFlow flow_;
  Sender sender_;
  // Of the round.
  std::optional<WalStream> stream_;
  std::optional<SimulatedReader> reader_;
  std::unique_ptr<SimulatedProducer> producer_;
  std::optional<EventsOnRecord> on_record_;
  absl::Status silence_;

  std::optional<MonotonicTime> close_by_;
  std::optional<MonotonicTime> stop_by_;
  std::optional<MonotonicTime> suspended_at_;
  MonotonicTime::duration slept_{};  // since it was told to stop
};

}  // namespace walpost::sim
