// DeliveryChecker: is told what producers take and what becomes of it at the
// brokers, and compares that with what was promised.
//
// A producer is of a `sender`: a relay, or a run of walpost replay.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/simulated_postgres.h"

namespace walpost::sim {

class DeliveryChecker {
 public:
  virtual ~DeliveryChecker() = default;

  virtual const SimulatedPostgres& server() const = 0;

  // ---- Called for a producer.

  // A record of the event was taken, or acknowledged.
  virtual void OnHandedOver(int sender, uint64_t id, bool is_dead_letter) = 0;
  virtual void OnAcknowledged(int sender, uint64_t id, bool is_dead_letter) = 0;
  // A record went beside another one, to a producer for lone records; or one is
  // withdrawn beside another.
  virtual void OnCompany(int sender) = 0;
  // A transaction is to be committed, although records of it are in flight.
  virtual void OnEarlyCommit() = 0;

  // ---- Called for the brokers.

  // `is_late`: its producer was given up.
  virtual void OnWritten(int sender, uint64_t producer, size_t partition,
                         uint64_t id, bool is_late) = 0;
  // Where the event was written: in its topic, or as a dead letter.
  virtual void OnPlace(uint64_t id, bool is_dead_letter, bool is_released) = 0;
  // A transaction with the event was committed.
  virtual void OnCommitted(uint64_t id) = 0;
};

}  // namespace walpost::sim
