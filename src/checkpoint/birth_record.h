// BirthRecord: proof that a slot was created, stored outside the slot.
//
// A line in the comment of the publication:
//
//   walpost: slot orders born at 0/1A2B3C8 of system 7710532146069433627
//   timeline=1 from=745 at=2026-11-22T12:00:00Z coverage=... kafka=...
//   added=public.more=16400.r16410:900@0/1A2B400@912@2026-11-23T12:00:00Z,...
//   parked=public.walpost_parked:16421 gap=...
//
// (one line; the words with `=` are optional, in any order, and unknown ones
// are skipped). It survives when the slot is dropped, and it is copied when the
// database is copied, backed up or promoted. So a missing slot, or a slot of
// another cluster, is noticed without a checkpoint store, and a gap that was
// reported stays on record (P9).
//
// Pure; postgres/slot/birth_record.h reads and writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lsn.h"
#include "base/time.h"
#include "delivery/parked_table.h"

namespace walpost {

// A table that was added to outbox.tables after the slot was created. Older
// releases do not know this word of the record, so they have no proof for the
// table's rows.
struct AddedTable {
  std::string name;        // schema.table
  std::string definition;  // as in Coverage; marked if it was left out since
  // Rows of this transaction (an xid8) and later ones are sent, or still wait
  // to be sent; `since` is the slot's position at that time.
  uint64_t from_transaction = 0;
  Lsn since;
  // Likewise rows of this time and later, in whole seconds: the proof that
  // retention asks for. nullopt: `walpost init` has announced the table, and no
  // walpost has put on record that it has taken it up.
  std::optional<WallTime> sent_since = std::nullopt;

  bool is_taken_up() const { return sent_since.has_value(); }

  friend bool operator==(const AddedTable&, const AddedTable&) = default;
};

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

  // Coverage of the publication (Coverage::ToString) for the tables since the
  // birth; empty: not on record.
  std::string coverage;
  // nullopt: an older release wrote it, and did not keep later tables.
  std::optional<std::vector<AddedTable>> added = std::nullopt;
  // Kafka cluster that has the events; empty: not on record.
  std::string kafka_cluster;
  ParkedTable parked_table;
  // Each dead_letter.topic with which the slot was used: letters may be there.
  std::vector<std::string> letter_topics = {};
  // Reason code of a gap that waits for an operator; empty: none.
  std::string gap;

  friend bool operator==(const BirthRecord&, const BirthRecord&) = default;
};

// The coverage on record, with the tables that were added. `Announced`: whether
// those that no walpost has taken up count.
enum class Announced { kNo, kYes };
std::string CoverageOf(const BirthRecord& record, Announced announced);
// nullptr: the table was not added, or not put on record.
const AddedTable* FindAdded(const BirthRecord& record, std::string_view name);

// `record` begins now, and everything that the slot of `before` had to send was
// published. So the proof of each table reaches back as far as in `before`.
void ContinueProof(BirthRecord& record, const BirthRecord& before);

// Notes in a record that everything from before the slot was also published.
void NoteAllPublished(BirthRecord& record);
bool AllWasPublished(const BirthRecord& record);

// Finds the record of `slot` in a comment; puts `record` into a comment. A
// record without a parked_table, or without letter_topics, leaves those of an
// earlier one of its slot.
std::optional<BirthRecord> FindBirthRecord(std::string_view comment,
                                           std::string_view slot);
std::string WithBirthRecord(std::string_view comment,
                            const BirthRecord& record);

// Sets the parked_table of the slot's record; nullopt: there is no record.
std::optional<std::string> WithParkedTable(std::string_view comment,
                                           std::string_view slot,
                                           ParkedTable parked_table);
// Adds a topic of dead letters to the slot's record; nullopt: there is no
// record, or it has the topic already.
std::optional<std::string> WithLetterTopic(std::string_view comment,
                                           std::string_view slot,
                                           const std::string& topic);

}  // namespace walpost
