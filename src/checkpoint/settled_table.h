// SettledTable: an operator has published what Kafka lacked of a table, so rows
// of it that walpost has passed over are no gap any more.
//
// The checkpoint and the birth record then have the table as one that is sent.
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/coverage.h"

namespace walpost {

struct SettledTable {
  Coverage::Table table;  // as it is now
  // The proof for retention: Kafka has rows of this transaction (an xid8) and
  // later ones, and of this time and later.
  uint64_t published_from = 0;
  WallTime published_since{};
  Lsn at;  // where the slot stands
};

// True if the record does not let a stream have the table: its rows were passed
// over, it was left out, or it is new.
bool IsUnsettled(const std::string& coverage, const Coverage::Table& table);

// A coverage on record, with the table settled.
std::string Settle(const std::string& coverage, const SettledTable& settled);
BirthRecord Settle(BirthRecord record, const SettledTable& settled);

}  // namespace walpost
