// SimulatedParkedTable: the table of parked events, which outlives processes
// and crashes; and the operator who decides about them.
//
// One session at a time may write: whoever opens it ends the earlier one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parking/ordering_key.h"
#include "parking/parked_keys.h"
#include "sim/checker.h"
#include "sim/world.h"

namespace walpost::sim {

class SimulatedParkedTable {
 public:
  struct Row {
    uint64_t event;
    int key;
    ParkedState state;
    std::string topic;  // that it waits for; empty: for its key
    std::string digest;
    uint64_t number = 0;  // its primary key
    DeadLetter content = {};
  };
  using Rows = std::vector<std::pair<Position, Row>>;

  // Whether any event waits for a key, and for a topic.
  struct Held {
    bool keys = true;
    bool topics = true;
  };

  SimulatedParkedTable(World& world, Checker& checker)
      : world_(world), checker_(checker) {}

  bool is_used = false;
  bool has_topics = false;   // topics may be isolated
  bool has_letters = false;  // what is dead holds up nothing

  const std::map<Position, Row>& rows() const { return rows_; }

  uint64_t Open() { return ++session_; }
  bool IsOpen(uint64_t session) const { return session == session_; }

  ParkedSoFar Load(Lsn from) const;
  // Keeps what is there.
  void Insert(const ParkedEvent& event);

  // ---- Release.

  // Up to `limit` rows that may be sent, in order, none after `through`: of
  // those that wait for `topic`, or if that is empty, for a key. None behind a
  // dead one, nor behind one of the same key that waits for the other cause.
  Rows NextToSend(const std::string& topic, size_t limit,
                  const Position& through, const Held& held) const;
  // What waits, and which keys have all of it among those that are leaving.
  ParkedReading Read(const Rows& leaving) const;
  // Dead letters that are to be sent.
  Rows LettersToSend(size_t limit) const;
  // Any row waits for a topic.
  bool HasTopics() const;
  // Rows that wait for the topic, but for those whose key is parked.
  size_t CountFree(const std::string& topic) const;
  void Release(const Position& position);
  void Fail(const Position& position);

  // The operator retries or discards a dead event or letter.
  void Decide();
  // Nothing waits, and no letter is open.
  bool IsDrained() const;

  static std::string LaneOfKey(int key) {
    return LaneOf(LaneScope::kKey, std::nullopt, std::to_string(key));
  }

 private:
  static bool IsLetter(const Row& row) {
    return row.state >= ParkedState::kLetter;
  }
  static bool Waits(const Row& row) {
    return row.state != ParkedState::kReleased &&
           row.state != ParkedState::kDiscarded && !IsLetter(row);
  }

  World& world_;
  Checker& checker_;
  uint64_t session_ = 0;
  std::map<Position, Row> rows_;
};

}  // namespace walpost::sim
