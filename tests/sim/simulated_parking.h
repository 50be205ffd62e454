// SimulatedParking: what the app's ParkingKeeper does, a step at a time: stores
// parked events, and sends those that may go.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "delivery/pipeline.h"
#include "parking/parking_lot.h"
#include "session/relay_session.h"
#include "sim/simulated_brokers.h"
#include "sim/simulated_parked_table.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedParking {
 public:
  SimulatedParking(World& world, SimulatedParkedTable& table,
                   SimulatedBrokers& brokers, int relay, Pipeline& pipeline);
  ~SimulatedParking() { Abandon(); }
  SimulatedParking(const SimulatedParking&) = delete;
  SimulatedParking& operator=(const SimulatedParking&) = delete;

  // A stream begins at `from`.
  void Open(Lsn from);
  bool holds_keys() const { return !lot_.lanes().empty(); }
  void Step(RelaySession& session, RecordReports& reports);

 private:
  void Store(RelaySession& session, RecordReports& reports);
  void Read();
  void Apply();
  void FailSome();
  void Send();
  void TakeAnswers();
  void Abandon();
  void Lose(RelaySession& session);

  World& world_;
  SimulatedParkedTable& table_;
  SimulatedBrokers& brokers_;
  int relay_;
  Pipeline& pipeline_;
  ParkingLot lot_;
  uint64_t session_ = 0;

  std::optional<ParkedReading> reading_;  // not applied yet
  SimulatedParkedTable::Rows rows_;       // on their way
  size_t answered_ = 0;
  std::array<std::shared_ptr<Channel>, kPartitions> channels_;
};

}  // namespace walpost::sim
