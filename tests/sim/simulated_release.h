// SimulatedRelease: a batch of parked events on its way to the brokers, by a
// producer of its own.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "sim/simulated_brokers.h"
#include "sim/simulated_parked_table.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedRelease {
 public:
  SimulatedRelease(World& world, SimulatedParkedTable& table,
                   SimulatedBrokers& brokers, int relay)
      : world_(world), table_(table), brokers_(brokers), relay_(relay) {}
  ~SimulatedRelease() { Abandon(); }
  SimulatedRelease(const SimulatedRelease&) = delete;
  SimulatedRelease& operator=(const SimulatedRelease&) = delete;

  void Send(SimulatedParkedTable::Rows rows);
  bool is_sending() const { return !rows_.empty(); }
  const SimulatedParkedTable::Rows& rows() const { return rows_; }
  // Marks the rows that are written. True: all of them are.
  bool TakeAnswers();
  // What is on its way may still arrive.
  void Abandon();

 private:
  World& world_;
  SimulatedParkedTable& table_;
  SimulatedBrokers& brokers_;
  int relay_;
  SimulatedParkedTable::Rows rows_;
  size_t answered_ = 0;
  std::array<std::shared_ptr<Channel>, kPartitions> channels_;
};

}  // namespace walpost::sim
