// BirthRecord: proof that a slot was created, stored outside the slot.
//
// A line in the comment of the publication:
//
//   walpost: slot orders born at 0/1A2B3C8 of system 7710532146069433627
//   timeline=1 from=745 at=2026-11-22T12:00:00Z coverage=... kafka=...
//   parked=public.walpost_parked:16421 gap=...
//
// (one line; the words with `=` are optional, in any order, and unknown ones
// are skipped). It survives when the slot is dropped, and it is copied when the
// database is copied, backed up or promoted. So a missing slot, or a slot of
// another cluster, is noticed without a checkpoint store, and a gap that was
// reported stays on record (P9).
//
// Pure; postgres/birth_record.h reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/lsn.h"
#include "base/time.h"
#include "delivery/parked_table.h"

namespace walpost {

struct BirthRecord {
  std::string slot;
  Lsn consistent_point;
  std::string system_identifier;
  uint32_t timeline = 0;  // of the server then; 0: not on record

  // The proof that retention asks for (P11): a row came through the slot, or
  // was published when the slot was created, if this transaction (an xid8) or a
  // later one inserted it, and at this time or later. 0: no proof.
  uint64_t streamed_from = 0;
  WallTime born_at{};  // whole seconds

  // Coverage of the publication (Coverage::ToString); empty: not on record.
  std::string coverage;
  // Kafka cluster that has the events; empty: not on record.
  std::string kafka_cluster;
  ParkedTable parked_table;
  // Reason code of a gap that waits for an operator; empty: none.
  std::string gap;

  friend bool operator==(const BirthRecord&, const BirthRecord&) = default;
};

// Notes in a record that everything from before the slot was published, too.
void NoteAllPublished(BirthRecord& record);
bool AllWasPublished(const BirthRecord& record);

// Finds the record of `slot` in a comment; puts `record` into a comment. A
// record without a parked_table leaves that of an earlier one of its slot.
std::optional<BirthRecord> FindBirthRecord(std::string_view comment,
                                           std::string_view slot);
std::string WithBirthRecord(std::string_view comment,
                            const BirthRecord& record);

// Sets the parked_table of the slot's record; nullopt: there is no record.
std::optional<std::string> WithParkedTable(std::string_view comment,
                                           std::string_view slot,
                                           ParkedTable parked_table);

}  // namespace walpost
