// SimulatedBackfill: a process that takes the initial snapshot. SnapshotFlow
// and TableBackfill decide, as in the app's InitialSnapshot and TablePublisher;
// what is simulated is beside them: the session, the scan, the producer.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backfill/snapshot_flow.h"
#include "backfill/table_backfill.h"
#include "delivery/record_sink.h"
#include "delivery/sender.h"
#include "sim/backfill_brokers.h"
#include "sim/simulated_table.h"
#include "sim/world.h"
#include "support/rows.h"

namespace walpost::sim {

class SimulatedBackfill {
 public:
  SimulatedBackfill(World& world, SimulatedTable& table,
                    BackfillBrokers& brokers, ErrorActions on_error,
                    int instance);
  ~SimulatedBackfill();
  SimulatedBackfill(const SimulatedBackfill&) = delete;
  SimulatedBackfill& operator=(const SimulatedBackfill&) = delete;

  // Takes a step of what the flow is at.
  void Turn(bool may_send);
  // An answer of the brokers arrives.
  void Report();
  // The server ends its session. It notices when it reads on.
  void LoseSession();
  void FailSink();
  void Stop();

  // The stream begins: nothing is left to do.
  bool is_through() const { return flow_.is_done(); }
  bool has_ended() const { return has_ended_; }
  // It waits for an operator.
  bool is_stuck() const { return is_stuck_; }

 private:
  class Sink final : public RecordSink {
   public:
    explicit Sink(SimulatedBackfill& owner) : owner_(owner) {}
    absl::Status Produce(const Record& record, Sequence sequence) override;

   private:
    SimulatedBackfill& owner_;
  };
  // What lives as long as a slot.
  struct Run {
    Run(SimulatedBackfill& owner, const SimulatedTable::Slot& slot);

    SimulatedTable::Slot slot;
    Sink sink;
    OutboxOptions outbox;
    Sender sender;
    TableBackfill rows;
    std::shared_ptr<RowProducer> producer;
    bool has_begun = false;  // its round
    absl::Status trouble;    // of the sink: silence, a commit that failed
  };

  bool CarryOut();
  void Open();
  void Begin();
  void Prepare();
  void Survey();
  void ReadOnRecord();
  void Publish();
  void OpenLedger();
  void OpenTable();
  void Read();
  void Commit();
  void EndRound();
  void OpenSink();
  void CloseSink();
  void Record();
  void Return();
  void Known();
  bool sink_failed() const;
  absl::Status Connected() const;
  Event EventOf(const TableRow& row);

  World& world_;
  SimulatedTable& table_;
  BackfillBrokers& brokers_;
  ErrorActions on_error_;
  int instance_;

  SnapshotFlow flow_;
  uint64_t session_ = 0;  // 0: none
  bool is_lost_ = false;
  SlotHistory history_ = SlotHistory::kNone;
  SimulatedTable::Slot seen_;
  uint64_t made_ = 0;  // the slot that this process has made
  std::vector<TableRow> shown_;
  uint64_t visible_before_ = 0;
  std::optional<Run> run_;
  std::vector<TableRow> scan_;
  size_t next_row_ = 0;
  size_t portion_end_ = 0;
  std::optional<testing::OwnedRow> row_;
  std::map<uint64_t, TableRow> read_;  // by id
  std::shared_ptr<SimulatedCoordinator::Commit> commit_;
  bool may_send_ = true;

  // Records in flight, in their order, and rows that it knows are done.
  struct Sent {
    Sequence sequence;
    uint64_t row;
    bool is_acknowledged;
  };
  std::deque<Sent> in_flight_;
  std::set<uint64_t> known_;

  std::deque<testing::OwnedRow> mapped_;  // what events are views of
  std::unique_ptr<TableMapper> mapper_;
  uint64_t turns_since_stop_ = 0;
  bool is_stopping_ = false;
  bool is_stuck_ = false;
  bool has_ended_ = false;
};

}  // namespace walpost::sim
