#include "delivery/continuity.h"

#include "fmt/format.h"

namespace walpost {
namespace {

using Kind = Continuity::Kind;

// "committed after 0/1234" or, when that is not known, "committed since".
std::string Missing(const KnownSource& known, std::optional<Lsn> until) {
  const std::string from =
      known.confirmed.is_valid()
          ? fmt::format("after {}", known.confirmed.ToString())
          : "since walpost last ran";
  return fmt::format(
      "events committed {}{} may be missing in Kafka", from,
      until ? fmt::format(" and before {}", until->ToString()) : "");
}

Continuity Gap(std::string name, std::string text) {
  return {Kind::kGap, std::move(name), std::move(text)};
}

Continuity OtherCluster(const KnownSource& known,
                        const ObservedSource& observed) {
  return Gap(kGapOtherCluster,
             fmt::format("the server is system {}, and what is known of the "
                         "slot belongs to system {}: correct "
                         "postgres.conninfo, or, when the database has moved "
                         "here for good, {}",
                         observed.system_identifier, known.system_identifier,
                         kRecover));
}

Continuity OlderTimeline(const KnownSource& known,
                         const ObservedSource& observed) {
  return Gap(kGapTimelineDiverged,
             fmt::format("the server is on timeline {}, and was on timeline {} "
                         "before: it is an old primary, or restored. Correct "
                         "postgres.conninfo; or {}",
                         observed.timeline, known.timeline, kRecover));
}

Continuity AfterPromotion(const KnownSource& known,
                          const ObservedSource& observed,
                          const std::string& slot) {
  const Lsn stands = observed.slot->confirmed;
  const std::string event =
      fmt::format("a standby was promoted (timeline {}, before {})",
                  observed.timeline, known.timeline);
  // Made before the WAL forked; or kept through the promotion, where the fork
  // is not known, or another instance may have come further than we know.
  const bool is_older = observed.fork && stands <= *observed.fork;
  const bool may_be_newer =
      !observed.fork || known.by == KnownSource::By::kThisProcess;
  const bool kept = is_older || (may_be_newer && observed.slot->failover);
  if (!kept) {
    return Gap(kGapSlotNotKept,
               fmt::format("{}, and slot {} was made there later: {}; {}. From "
                           "PostgreSQL 17 on, failover slots prevent this "
                           "(postgres.failover)",
                           event, slot, Missing(known, stands), kRecover));
  }
  if (known.by == KnownSource::By::kCheckpoint && stands > known.confirmed) {
    return Gap(
        kGapSlotAdvanced,
        fmt::format("{}, and its slot {} stands at {}, but nothing was "
                    "confirmed after {}: somebody else advanced it. "
                    "{}; {}",
                    event, slot, stands.ToString(), known.confirmed.ToString(),
                    Missing(known, stands), kRecover));
  }
  std::string text =
      fmt::format("{}: going on from where its slot {} stands, {}", event, slot,
                  stands.ToString());
  if (observed.fork && known.confirmed > *observed.fork) {
    text += fmt::format(
        "; what committed between {} and {} was lost with the old primary, and "
        "its events are in Kafka all the same",
        observed.fork->ToString(), known.confirmed.ToString());
  }
  return {Kind::kFollowPromotion, "", std::move(text)};
}

}  // namespace

Continuity JudgeContinuity(const KnownSource& known,
                           const ObservedSource& observed,
                           const std::string& slot) {
  if (known.by == KnownSource::By::kNothing) return {};
  if (observed.system_identifier != known.system_identifier) {
    return OtherCluster(known, observed);
  }
  if (observed.timeline < known.timeline) return OlderTimeline(known, observed);
  const bool promoted =
      known.timeline != 0 && observed.timeline > known.timeline;
  if (!observed.slot) {
    return Gap(kGapSlotMissing,
               fmt::format("slot {} is not there any more{}: {}; {}{}", slot,
                           promoted ? ", since a standby was promoted" : "",
                           Missing(known, std::nullopt), kRecover,
                           promoted ? ". From PostgreSQL 17 on, failover slots "
                                      "prevent this (postgres.failover)"
                                    : ""));
  }
  if (observed.slot->is_lost) {
    return Gap(kGapSlotLost,
               fmt::format("slot {} is lost: the server removed WAL that it "
                           "needed. {}; {}",
                           slot, Missing(known, std::nullopt), kRecover));
  }
  if (promoted) return AfterPromotion(known, observed, slot);
  if (!known.confirmed.is_valid()) return {Kind::kGoOn, "", ""};
  // This process cannot know what another instance did with the slot meanwhile;
  // a checkpoint is written before the slot moves, by whichever instance.
  if (known.by == KnownSource::By::kCheckpoint &&
      observed.slot->confirmed > known.confirmed) {
    return Gap(kGapSlotAdvanced,
               fmt::format("slot {} stands at {}, but nothing was confirmed "
                           "after {}: somebody else advanced or re-created it. "
                           "{}; {}",
                           slot, observed.slot->confirmed.ToString(),
                           known.confirmed.ToString(),
                           Missing(known, observed.slot->confirmed), kRecover));
  }
  if (observed.wal_end.is_valid() && observed.wal_end < known.confirmed) {
    return Gap(kGapServerBehind,
               fmt::format("the server's WAL ends at {}, before {}, which was "
                           "confirmed: it was restored from a backup. Events "
                           "are in Kafka that the database does not have; {}",
                           observed.wal_end.ToString(),
                           known.confirmed.ToString(), kRecover));
  }
  return {Kind::kGoOn, "", ""};
}

}  // namespace walpost
