// BackfillBrokers: the partitions that rows of a table are written to, the
// transactions and the ledger, and what is promised about them.
//
//   P1  a row from before the slot is not in Kafka, although the record says
//       that all are, or the snapshot does not come to an end
//   P3  rows of a key come in another order than that of the scan
//   P5  a row is sent again by a process that knows that it is done; in
//       transactions: a row is there twice, or comes with the stream, too
//   P8  a row that cannot be delivered is passed, or a good one set aside
//   P10 an end that takes too long
//   paused: a row is sent although the process has seen the pause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "delivery/acknowledgement_window.h"
#include "delivery/error_actions.h"
#include "sim/finding.h"
#include "sim/simulated_coordinator.h"
#include "sim/simulated_table.h"
#include "sim/world.h"

namespace walpost::sim {

// The records of one producer, on their way.
struct RowProducer {
  struct Request {
    Sequence sequence;
    TableRow row;  // as it was read
    bool is_letter;
  };
  enum class Answer { kWritten, kTooLarge, kNotWritten };
  static constexpr size_t kPartitions = 2;

  uint64_t number;
  SimulatedTable::Slot slot;  // that its rows are published for
  bool is_abandoned = false;
  std::array<std::deque<Request>, kPartitions> requests;
  std::array<bool, kPartitions> is_refused{};
  std::deque<std::pair<Request, Answer>> answers;
};

class BackfillBrokers {
 public:
  BackfillBrokers(World& world, const SimulatedTable& table,
                  bool has_transactions, ErrorActions on_error);

  bool has_transactions() const { return coordinator_.is_used; }
  SimulatedCoordinator& coordinator() { return coordinator_; }
  std::string& ledger() { return ledger_; }
  std::shared_ptr<RowProducer> Open(const SimulatedTable::Slot& slot);
  // A request of a random producer arrives, or a commit.
  void Step();
  // Rows that have a dead letter, whatever the slot.
  const std::set<uint64_t>& letters() const { return letters_; }

  // ---- What walpost does.

  void OnProduced(bool may_send);
  // It leaves the row out.
  void OnSkipped(uint64_t row) { skipped_.insert(row); }
  // It sends the row, although it knows that the row is done.
  void OnSentAgain(uint64_t row) { Find("P5", "row {} is sent again", row); }
  // It puts on record that all rows from before the slot are published.
  void OnRecord();
  void OnLateEnd() { Find("P10", "it does not end", 0); }
  void OnHang() { Find("P1", "it hangs", 0); }

  const std::optional<Finding>& finding() const { return finding_; }

 private:
  void Write(RowProducer& producer, size_t partition);
  void OnWritten(const SimulatedTable::Slot& slot,
                 const RowProducer::Request& request);
  bool IsPublished(const TableRow& row) const;
  void Find(const char* promise, const char* text, uint64_t row);

  World& world_;
  const SimulatedTable& table_;
  ErrorActions on_error_;
  SimulatedCoordinator coordinator_;
  std::string ledger_;
  std::vector<std::shared_ptr<RowProducer>> producers_;
  std::map<uint64_t, SimulatedTable::Slot> slots_;  // by producer
  // In transactions, by producer and row.
  std::map<std::pair<uint64_t, uint64_t>, RowProducer::Request> sent_;
  uint64_t numbers_ = 0;

  // Slot and row.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> written_;
  std::set<uint64_t> letters_;
  std::set<uint64_t> skipped_;
  // By slot, table and key: the last place of a row that was new.
  std::map<std::tuple<uint64_t, size_t, int>, int> places_;
  std::optional<Finding> finding_;
};

}  // namespace walpost::sim
