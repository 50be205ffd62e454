// RecordUpdate: a birth record that a stream begins with, brought up to date.
//
// It vouches for the rows of its tables, so tables that are left out are marked
// before anything is streamed without them, and tables that came later are
// added with a proof of their own. Without a checkpoint store it is all that
// the next start knows. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/coverage.h"

namespace walpost {

// Rows of this transaction (an xid8) and later ones, and of this time and
// later, are sent from now on.
struct RecordFence {
  uint64_t transaction = 0;
  WallTime time{};
};

// State of the stream that begins.
struct StreamState {
  uint32_t timeline = 0;
  std::string kafka_cluster;     // empty: not known
  std::string coverage;          // with tables that are left out (TakeUp)
  Coverage listed;               // the tables of the configuration
  Lsn slot;                      // its position
  bool record_is_alone = false;  // there is no checkpoint store
  bool may_write_record = true;  // our role owns the publication
};

struct RecordUpdate {
  BirthRecord record;
  // What would go wrong without the update: the old record would vouch for rows
  // that are skipped from now on, or a new table would not be on record. May be
  // empty.
  std::string consequence;
};

// nullopt: nothing is to be written.
std::optional<RecordUpdate> UpdateRecord(const BirthRecord& before,
                                         const StreamState& state,
                                         const RecordFence& fence);

}  // namespace walpost
