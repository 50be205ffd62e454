// Continuity: decides whether the server continues where we left off, or
// whether there is a gap.
//
// Checked at the start and on every reconnect, before anything is streamed:
// earlier knowledge (birth record, checkpoint, memory of this process) against
// the server now. Promise P9: a gap has a name and a range as exact as
// possible, and nothing continues until an operator has acted.
//
// The gaps: delivery/gap.h. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/lsn.h"

namespace walpost {

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
    std::string invalidation_reason = {};
  };
  std::string system_identifier;
  uint32_t timeline = 0;
  Lsn wal_end;
  std::optional<Slot> slot;
  // LSN where the known timeline was left; nullopt: not known, or never left.
  std::optional<Lsn> fork;
  std::string coverage = {};
  std::string kafka_cluster = {};  // empty: not known yet
  // By table: how many of its rows the slot does not send, for people.
  std::map<std::string, std::string> unsent_rows = {};
  bool may_write_record = true;  // the role owns the publication
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
  // what happened. kGoOn: a change that an operator should know; mostly empty.
  std::string text;
};

// Why a slot is lost. `reason`: invalidation_reason of pg_replication_slots (17
// and newer), or "conflicting" (16); empty: the server gives none.
std::string DescribeInvalidation(std::string_view reason);

// Describes a change of the brokers, by their ids (kafka_cluster.h); empty: not
// known. nullopt: they are the same, or it is not known.
std::optional<std::string> DescribeOtherBrokers(const std::string& known,
                                                const std::string& observed);

// The command that publishes what Kafka lacks of a table.
std::string PublishMissingCommand(const std::string& table);

Continuity JudgeContinuity(const KnownSource& known,
                           const ObservedSource& observed,
                           const std::string& slot);

}  // namespace walpost
