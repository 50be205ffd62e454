// RowsInFlight: the rows that a poller holds, and the result of each.
//
//   Add ──▶ in flight ──▶ acknowledged, set aside, refused or returned
//                                                      ──▶ TakeFinished
//
// A row that is `set aside` has a dead letter, or is skipped; a `refused` row
// cannot be delivered as it is; a `returned` row was not delivered, but is not
// the cause.
//
// Pure. Owned by a poller; filled by PollingSender.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "base/time.h"

namespace walpost {

class RowsInFlight {
 public:
  struct Row {
    std::string id;
    uint64_t attempts = 0;  // rejections so far
    MonotonicTime sent_at{};
  };
  struct RejectedRow {
    Row row;
    absl::Status reason;
  };
  struct Finished {
    std::vector<Row> acknowledged;
    std::vector<RejectedRow> set_aside;
    std::vector<RejectedRow> refused;
    std::vector<Row> returned;
  };

  void Add(uint64_t key, Row row) { in_flight_.emplace(key, std::move(row)); }

  void OnAcknowledged(uint64_t key) {
    finished_.acknowledged.push_back(Take(key));
  }
  void OnRefused(uint64_t key, absl::Status reason) {
    finished_.refused.push_back({Take(key), std::move(reason)});
  }
  void OnSetAside(uint64_t key, absl::Status reason) {
    Divert(Take(key), std::move(reason));
  }
  void OnReturned(uint64_t key) { finished_.returned.push_back(Take(key)); }

  // For rows that never reached a producer.
  void Divert(Row row, absl::Status reason) {
    finished_.set_aside.push_back({std::move(row), std::move(reason)});
  }
  void Refuse(Row row, absl::Status reason) {
    finished_.refused.push_back({std::move(row), std::move(reason)});
  }
  // Adds a row of a TakeFinished again, because its result could not be stored.
  void AddAcknowledged(Row row) {
    finished_.acknowledged.push_back(std::move(row));
  }
  void Return(Row row) { finished_.returned.push_back(std::move(row)); }

  size_t in_flight() const { return in_flight_.size(); }
  size_t finished() const {
    return finished_.acknowledged.size() + finished_.set_aside.size() +
           finished_.refused.size() + finished_.returned.size();
  }
  bool empty() const { return in_flight() + finished() == 0; }

  // A row in flight.
  const Row& Find(uint64_t key) const;

  // True if every row in flight is one of these.
  bool IsInFlightWithin(const absl::flat_hash_set<std::string>& ids) const;

  // When the last of the rows in flight was sent.
  MonotonicTime last_sent() const;

  // Ids of all rows that are held.
  std::vector<std::string> Ids() const;

  // Hands the finished rows over to the caller.
  Finished TakeFinished();

 private:
  Row Take(uint64_t key);

  absl::flat_hash_map<uint64_t, Row> in_flight_;
  Finished finished_;
};

std::vector<std::string> IdsOf(const std::vector<RowsInFlight::Row>& rows);
void AddIds(const std::vector<RowsInFlight::RejectedRow>& refusals,
            std::vector<std::string>& ids);

}  // namespace walpost
