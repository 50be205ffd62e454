// ReleaseLedger: the parked events that the last Kafka transactions have sent.
//
//   transaction: events' records, and the ledger with these events
//   ──▶ committed ──▶ their rows are marked ──▶ next transaction
//
// If walpost crashes before the rows are marked, the ledger shows that they
// must not be sent again. An entry has a digest of the event: after a restore
// of the database, another event may stand at its place.
//
// Pure; a value.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "dead_letters/dead_letter.h"

namespace walpost {

class ReleaseLedger {
 public:
  // More than two transactions; older ones have been marked long since.
  static constexpr size_t kMaxEntries = 2'500;

  // "PLACE DIGEST". `place`: a word that names the row.
  static std::string EntryOf(std::string_view place, const DeadLetter& content);

  // Replaces the entries by those of Encode. kDataLoss: it is not such a text;
  // quotes the line.
  absl::Status Load(std::string_view text);
  // A line for each entry, the oldest first.
  std::string Encode() const;

  bool Has(const std::string& entry) const { return known_.contains(entry); }
  // Ignored if the entry is there already. Beyond kMaxEntries the oldest entry
  // is removed.
  void Add(std::string entry);

 private:
  std::deque<std::string> entries_;
  absl::flat_hash_set<std::string> known_;  // the same
};

}  // namespace walpost
