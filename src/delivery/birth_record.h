// The birth record: that a slot was made, kept where a slot cannot get lost.
//
// A line in the comment of the publication:
//
//   walpost: slot orders born at 0/1A2B3C8 of system 7710532146069433627
//   timeline=1 from=745 at=2026-11-22T12:00:00Z coverage=... kafka=... gap=...
//
// (one line; the words with `=` are optional, in any order, and unknown ones
// are passed over). It is there when the slot is dropped, and it goes along
// when the database is copied, backed up or promoted. So a slot that is
// missing, and one that belongs to another cluster, are noticed without any
// checkpoint store, and a gap that was named stays named (P9).
//
// Pure; postgres/birth_record.h reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

struct BirthRecord {
  std::string slot;
  Lsn consistent_point;
  std::string system_identifier;
  uint32_t timeline = 0;  // of the server at that time; 0: not on record

  // The proof that retention asks for (P11): a row that was inserted by this
  // transaction (an xid8) or a later one, and at this time or later, came
  // through the slot, or was published when the slot was made. 0: no proof.
  uint64_t streamed_from = 0;
  WallTime born_at{};  // whole seconds

  // What the publication covered, as Coverage spells it; empty: not on record.
  std::string coverage;
  // The Kafka cluster that has the events; empty: not on record.
  std::string kafka_cluster;
  // The reason code of a gap that waits for an operator; empty: none.
  std::string gap;

  friend bool operator==(const BirthRecord&, const BirthRecord&) = default;
};

// Says of a record that everything from before the slot was published, too.
void NoteAllPublished(BirthRecord& record);
bool AllWasPublished(const BirthRecord& record);

// The record of `slot` in a comment, and a comment with `record` laid over it.
std::optional<BirthRecord> FindBirthRecord(std::string_view comment,
                                           std::string_view slot);
std::string WithBirthRecord(std::string_view comment,
                            const BirthRecord& record);

}  // namespace walpost
