// Continuity: does the server continue where we left off, or is there a gap?
//
// Checked at the start and on every reconnect, before anything is streamed:
// earlier knowledge (birth record, checkpoint, memory of this process) against
// the server now. Promise P9: a gap has a name and a range as exact as
// possible, and nothing continues until an operator has acted.
//
//   other_cluster      another system identifier
//   timeline_diverged  the server is on an older timeline than we were
//   slot_missing       dropped, or a promotion without it
//   slot_lost          invalidated: the WAL that it needed was removed
//   slot_not_kept      a promotion, and the slot there is not the one we had
//   slot_advanced      somebody else moved or re-created it
//   server_behind      restored from a backup: WAL ends before a confirmed LSN
//   wal_forked         restored, too, and written past it since (HistoryCheck)
//   coverage_changed   the publication may not have sent everything (Coverage)
//   kafka_replaced     another Kafka cluster, or topics created again
//
// The names are reason codes (base/reason_code.h). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/lsn.h"

namespace walpost {

inline constexpr char kGapOtherCluster[] = "other_cluster";
inline constexpr char kGapTimelineDiverged[] = "timeline_diverged";
inline constexpr char kGapSlotMissing[] = "slot_missing";
inline constexpr char kGapSlotLost[] = "slot_lost";
inline constexpr char kGapSlotNotKept[] = "slot_not_kept";
inline constexpr char kGapSlotAdvanced[] = "slot_advanced";
inline constexpr char kGapServerBehind[] = "server_behind";
inline constexpr char kGapWalForked[] = "wal_forked";
inline constexpr char kGapCoverageChanged[] = "coverage_changed";
inline constexpr char kGapKafkaReplaced[] = "kafka_replaced";

// The operator's remedy for a gap.
inline constexpr char kRecover[] =
    "stop walpost, run walpost recover --dry-run to see what is missing, then "
    "walpost recover to publish it (or walpost recover --accept to go on "
    "without "
    "it)";

// The remedy if there is no slot to continue with.
inline constexpr char kRecoverSlot[] =
    "stop walpost, run walpost recover --dry-run to see what is missing, then "
    "walpost recover to publish it and make a new slot (or walpost init "
    "--fresh to begin a new one without it; with a checkpoint store, remove "
    "the checkpoint of the old one as well)";

// Knowledge about the source from before.
struct KnownSource {
  // kBirthRecord: a slot existed once, but its progress is not known.
  enum class By { kNothing, kBirthRecord, kCheckpoint, kThisProcess };
  By by = By::kNothing;
  std::string system_identifier;
  uint32_t timeline = 0;  // 0: not known
  Lsn birth;
  Lsn confirmed;  // 0/0: not known
  // Another instance has used the slot since this process streamed.
  bool slot_was_shared = false;
  // Coverage of the publication (coverage.h); empty: not known.
  std::string coverage = {};
  // Kafka cluster that has the events; empty: not known.
  std::string kafka_cluster = {};
};

// State of the server now.
struct ObservedSource {
  struct Slot {
    Lsn confirmed;
    bool is_lost = false;
    bool failover = false;
  };
  std::string system_identifier;
  uint32_t timeline = 0;
  Lsn wal_end;
  std::optional<Slot> slot;
  // LSN where the known timeline was left; nullopt: not known, or never left.
  std::optional<Lsn> fork;
  std::string coverage = {};
  std::string kafka_cluster = {};  // empty: not known yet
};

struct Continuity {
  enum class Kind {
    kFirstStart,       // nothing is known: start at the slot's position
    kGoOn,             // continue at the known position
    kFollowPromotion,  // continue at the slot's position; known LSNs are void
    kGap,
  };
  Kind kind = Kind::kFirstStart;
  std::string gap;  // its name
  // kGap: what is missing, and the command that fixes it. kFollowPromotion:
  // what happened.
  std::string text;
};

// Describes a change of the Kafka cluster; empty names are not known. nullopt:
// it is the same cluster, or it is not known.
std::optional<std::string> DescribeOtherKafka(const std::string& known,
                                              const std::string& observed);

Continuity JudgeContinuity(const KnownSource& known,
                           const ObservedSource& observed,
                           const std::string& slot);

}  // namespace walpost
