// Gap: events may not have been published, and nothing sends them without an
// operator.
//
//   other_cluster      another system identifier
//   timeline_diverged  the server is on an older timeline than we were
//   slot_missing       dropped, or a promotion without it
//   slot_lost          invalidated: the WAL that it needed was removed
//   slot_not_kept      a promotion, and the slot there is not the one we had
//   slot_advanced      somebody else moved or re-created it
//   server_behind      restored from a backup: WAL ends before a confirmed LSN
//   wal_forked         restored, and has written past it since
//                      (WalContinuityCheck)
//   coverage_changed   the publication may not have sent everything (Coverage)
//   kafka_replaced     other brokers, or topics (streams) created again
//   table_passed_over  the table was not in the configuration of walpost
//   publication_missing
//                      rows were committed while there was no publication
//
// The names are reason codes (base/reason_code.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

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
inline constexpr char kGapTablePassedOver[] = "table_passed_over";

// The operator's remedy for a gap.
inline constexpr char kRecover[] =
    "stop walpost, run walpost recover -c FILE --dry-run to see what is "
    "missing, then walpost recover -c FILE to publish it (or walpost recover "
    "-c FILE --accept to continue without it)";

// The remedy if there is no slot to continue with.
inline constexpr char kRecoverSlot[] =
    "stop walpost, run walpost recover -c FILE --dry-run to see what is "
    "missing, then walpost recover -c FILE to publish it and make a new slot "
    "(or walpost init -c FILE --fresh to begin a new one without it; with a "
    "checkpoint store, remove the checkpoint of the old one as well)";

// The same for brokers that are not read back (RabbitMQ): it is not known which
// rows are missing.
inline constexpr char kRecoverUnread[] =
    "stop walpost, then run walpost recover -c FILE --since TIME (1h: an hour "
    "ago) to publish all rows of that time again and make a new slot, or "
    "walpost recover -c FILE --accept to continue without them";
inline constexpr char kRecoverSlotUnread[] =
    "stop walpost, then run walpost recover -c FILE --since TIME (1h: an hour "
    "ago) to publish all rows of that time again and make a new slot (or "
    "walpost init -c FILE --fresh to begin a new one without them; with a "
    "checkpoint store, remove the checkpoint of the old one as well)";

// What consumers must do if positions may begin again lower.
inline constexpr char kForgetPositions[] =
    "Consumers that keep the last walpost-position of each partition must "
    "forget it before walpost streams: positions may begin again lower here, "
    "and they would drop new records (docs/moving.md)";

struct Gap {
  std::string code;  // a reason code (continuity.h)
  std::string text;  // the known details, and what to do

  friend bool operator==(const Gap&, const Gap&) = default;
};

// `text` with the remedies above for brokers that are not read back.
std::string ForUnreadBrokers(std::string_view text);

// True if a reason code is that of a gap.
bool IsGap(std::string_view reason_code);

// True if positions behind the gap may be lower than those before it: another
// cluster, an older timeline, or WAL that is written a second time.
bool RestartsPositions(std::string_view reason_code);

// The gap that a status reports; nullopt: none.
std::optional<Gap> GapOf(const absl::Status& status);
// kFailedPrecondition, with the reason code.
absl::Status StatusOfGap(const Gap& gap);

// Text for a checkpoint: the code, a space, the text.
std::string ToText(const Gap& gap);
// Parses the text of a checkpoint or a birth record; it may be the code alone.
std::optional<Gap> ParseGap(std::string_view text);

}  // namespace walpost
