#include "checkpoint/continuity.h"

#include <algorithm>

#include "base/kafka_cluster.h"
#include "base/own_arguments.h"
#include "checkpoint/coverage.h"
#include "delivery/gap.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using Kind = Continuity::Kind;

// "committed after 0/1234" or, if that is not known, "committed since".
std::string Missing(const KnownSource& known, std::optional<Lsn> until) {
  const std::string from =
      known.confirmed.is_valid()
          ? fmt::format("after {}", known.confirmed.ToString())
          : "since walpost last ran";
  return fmt::format(
      "events committed {}{} may not have been published", from,
      until ? fmt::format(" and before {}", until->ToString()) : "");
}

Continuity ReportGap(std::string name, std::string text) {
  if (RestartsPositions(name)) text += fmt::format(". {}", kForgetPositions);
  return {Kind::kGap, std::move(name), std::move(text)};
}

bool CanBeContinued(const ObservedSource& observed) {
  return observed.slot && !observed.slot->is_lost;
}

Continuity OtherCluster(const KnownSource& known,
                        const ObservedSource& observed) {
  return ReportGap(
      kGapOtherCluster,
      fmt::format("the server is system {}, and what is known of the "
                  "slot belongs to system {}: correct "
                  "postgres.conninfo, or, when the database has moved "
                  "here for good, {}",
                  observed.system_identifier, known.system_identifier,
                  CanBeContinued(observed) ? kRecover : kRecoverSlot));
}

Continuity OlderTimeline(const KnownSource& known,
                         const ObservedSource& observed) {
  return ReportGap(
      kGapTimelineDiverged,
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
  // A slot that stands before the fork and before the confirmed LSN sends all
  // events that may be missing, whoever created it. Elsewhere only a failover
  // slot is known to have been kept: another instance may have moved it since.
  const bool is_older = observed.fork && stands <= *observed.fork;
  const bool is_behind_us =
      known.confirmed.is_valid() && stands <= known.confirmed;
  const bool may_be_newer =
      !observed.fork || known.by != KnownSource::By::kCheckpoint;
  const bool is_checkpoint = known.by == KnownSource::By::kCheckpoint;
  const bool kept = (is_older && (is_behind_us || is_checkpoint ||
                                  observed.slot->failover)) ||
                    (may_be_newer && observed.slot->failover);
  if (!kept) {
    return ReportGap(
        kGapSlotNotKept,
        fmt::format("{}, and slot {} was made there later: {}; {}. From "
                    "PostgreSQL 17 on, failover slots prevent this "
                    "(postgres.failover)",
                    event, slot, Missing(known, stands), kRecover));
  }
  if (known.by == KnownSource::By::kCheckpoint && stands > known.confirmed) {
    return ReportGap(
        kGapSlotAdvanced,
        fmt::format("{}, and its slot {} stands at {}, but nothing was "
                    "confirmed after {}: somebody else advanced it. "
                    "{}; {}",
                    event, slot, stands.ToString(), known.confirmed.ToString(),
                    Missing(known, stands), kRecover));
  }
  std::string text = fmt::format("{}: continuing where its slot {} stands, {}",
                                 event, slot, stands.ToString());
  if (observed.fork && known.confirmed > *observed.fork) {
    text += fmt::format(
        "; what committed between {} and {} was lost with the old primary, and "
        "its events are published all the same",
        observed.fork->ToString(), known.confirmed.ToString());
  }
  return {Kind::kFollowPromotion, "", std::move(text)};
}

}  // namespace

std::string DescribeInvalidation(std::string_view reason) {
  if (reason.empty()) return "the server removed WAL that it needed";
  std::string_view meaning = "see pg_replication_slots";
  if (reason == "wal_removed") {
    meaning =
        "the server removed WAL that it needed, because of "
        "max_slot_wal_keep_size";
  } else if (reason == "rows_removed") {
    meaning = "vacuum removed rows of the catalogs that it needed";
  } else if (reason == "wal_level_insufficient") {
    meaning = "wal_level of the primary was not logical";
  } else if (reason == "conflicting") {
    meaning =
        "it conflicted with the recovery of a standby: vacuum removed rows of "
        "the catalogs that it needed, or wal_level of the primary was not "
        "logical";
  } else if (reason == "idle_timeout") {
    meaning = "it was not used for longer than idle_replication_slot_timeout";
  }
  const std::string_view column =
      reason == "conflicting" ? "" : "invalidation_reason ";
  return fmt::format("the server invalidated it ({}{}): {}", column, reason,
                     meaning);
}

namespace {

// An id of brokers, as people say it.
std::string NameOfCluster(std::string_view id) {
  if (id == kUnnamedNats) return "NATS";
  if (id == kUnnamedRabbitmq) return "RabbitMQ";
  if (id == kUnnamedRedis) return "Redis";
  if (id == kUnnamedCluster) return "brokers without a cluster id";
  if (IsRabbitmqCluster(id)) {
    return fmt::format("cluster {} of RabbitMQ",
                       id.substr(kRabbitmqClusterPrefix.size()));
  }
  return fmt::format("cluster {}", id);
}

// What says where they are.
std::string_view AddressKeyOf(std::string_view id) {
  if (id == kUnnamedNats) return "nats.servers";
  if (id == kUnnamedRedis) return "redis.address";
  return IsRabbitmqCluster(id) ? "rabbitmq.nodes" : "kafka.brokers";
}

// True if brokers that reported no id may be those of `id`.
bool MayHaveId(std::string_view unnamed, std::string_view id) {
  if (IsUnnamedCluster(id)) return false;
  return unnamed ==
         (IsRabbitmqCluster(id) ? kUnnamedRabbitmq : kUnnamedCluster);
}

}  // namespace

std::optional<std::string> DescribeOtherBrokers(const std::string& known,
                                                const std::string& observed) {
  if (known.empty() || observed.empty() || known == observed) {
    return std::nullopt;
  }
  constexpr std::string_view kIfSame =
      "or, if they are the same brokers, walpost recover -c FILE --accept";
  constexpr std::string_view kIfNamedNow =
      "or, if the same brokers have got their name since (rabbitmqctl "
      "set_cluster_name), stop walpost, run walpost recover -c FILE --accept, "
      "and start it";
  const std::string now = NameOfCluster(observed);
  const std::string before = NameOfCluster(known);
  const std::string_view key = AddressKeyOf(observed);
  const bool is_rabbitmq = IsRabbitmqCluster(observed);
  if (MayHaveId(known, observed)) {
    return fmt::format(
        "the brokers are {}, and those that acknowledged the events before "
        "reported no cluster {}: it is not known whether they have them. "
        "Correct {}; {}",
        now, is_rabbitmq ? "name" : "id", key,
        is_rabbitmq ? kIfNamedNow : kIfSame);
  }
  if (MayHaveId(observed, known)) {
    return fmt::format(
        "the brokers report no cluster {}, and the events before were "
        "acknowledged by {}: it is not known whether these have them. Correct "
        "{}, or {}; {}",
        is_rabbitmq ? "name" : "id", before, key,
        is_rabbitmq ? "give the cluster its name again (rabbitmqctl "
                      "set_cluster_name NAME)"
                    : "the proxy that withholds the id",
        kIfSame);
  }
  return fmt::format(
      "the brokers are {}, and the events before were acknowledged by {}: what "
      "was published is not in these brokers. Correct sink or {}; or, when the "
      "brokers were replaced for good, {}",
      now, before, key, is_rabbitmq ? kRecoverUnread : kRecover);
}

namespace {

Continuity Advanced(const KnownSource& known, const ObservedSource& observed,
                    const std::string& slot) {
  return ReportGap(
      kGapSlotAdvanced,
      fmt::format("slot {} stands at {}, but nothing was confirmed "
                  "after {}: somebody else advanced or re-created it. "
                  "{}; {}",
                  slot, observed.slot->confirmed.ToString(),
                  known.confirmed.ToString(),
                  Missing(known, observed.slot->confirmed), kRecover));
}

// Rows of tables that earlier configurations did not have.
std::string DescribePassed(const std::vector<PassedTable>& passed,
                           const ObservedSource& observed, Lsn resumes_at) {
  std::string text;
  std::string commands;
  for (const PassedTable& table : passed) {
    const std::string from =
        table.since.is_valid()
            ? fmt::format("at {} or later and ", table.since.ToString())
            : "";
    text += fmt::format(
        "walpost has passed over rows of table {}, which was not in "
        "outbox.tables: rows committed {}before {} may not have been published",
        table.name, from, resumes_at.ToString());
    const auto rows = observed.unsent_rows.find(table.name);
    if (rows != observed.unsent_rows.end()) text += "; " + rows->second;
    text += ". ";
    commands += fmt::format("{}{}", commands.empty() ? "" : ", then ",
                            PublishMissingCommand(table.name));
  }
  return fmt::format(
      "{}To publish them, run {}: walpost then continues by itself. To "
      "continue without them, stop walpost and run walpost recover -c FILE "
      "--accept",
      text, commands);
}

// The slot is where it should be: does it send all events?
Continuity JudgeEvidence(const KnownSource& known,
                         const ObservedSource& observed) {
  const Coverage before = Coverage::Parse(known.coverage);
  const Coverage now = Coverage::Parse(observed.coverage);
  const std::string change =
      known.coverage.empty() ? "" : DescribeChange(before, now);
  if (!change.empty()) {
    return ReportGap(
        kGapCoverageChanged,
        fmt::format("{} since the last event was sent, and Postgres does not "
                    "send the rows that it did not cover meanwhile: {}. Run "
                    "walpost verify -c FILE to see which; {}",
                    change, Missing(known, observed.wal_end), kRecover));
  }
  if (const auto other =
          DescribeOtherBrokers(known.kafka_cluster, observed.kafka_cluster)) {
    return ReportGap(kGapKafkaReplaced, *other);
  }
  const Lsn resumes_at = std::max(observed.slot->confirmed, known.confirmed);
  const std::vector<PassedTable> passed = PassedTables(before, now, resumes_at);
  if (!passed.empty()) {
    return ReportGap(kGapTablePassedOver,
                     DescribePassed(passed, observed, resumes_at));
  }
  const bool has_new_owner = OwnerHasChanged(before, now);
  return {Kind::kGoOn, "",
          has_new_owner && !known.coverage.empty()
              ? "the publication has another owner than when the last event "
                "was sent; if it was altered before that, rows may not "
                "have been published: walpost verify -c FILE names them"
              : ""};
}

Continuity Judge(const KnownSource& known, const ObservedSource& observed,
                 const std::string& slot) {
  if (known.by == KnownSource::By::kNothing) return {};
  if (observed.system_identifier != known.system_identifier) {
    return OtherCluster(known, observed);
  }
  if (observed.timeline < known.timeline) return OlderTimeline(known, observed);
  const bool promoted =
      known.timeline != 0 && observed.timeline > known.timeline;
  if (!observed.slot) {
    return ReportGap(
        kGapSlotMissing,
        fmt::format("slot {} is missing{}: {}; {}{}", slot,
                    promoted ? ", since a standby was promoted" : "",
                    Missing(known, std::nullopt), kRecoverSlot,
                    promoted ? ". From PostgreSQL 17 on, failover slots "
                               "prevent this (postgres.failover)"
                             : ""));
  }
  if (observed.slot->is_lost) {
    return ReportGap(
        kGapSlotLost,
        fmt::format("slot {} is lost: {}. {}; {}", slot,
                    DescribeInvalidation(observed.slot->invalidation_reason),
                    Missing(known, std::nullopt), kRecoverSlot));
  }
  if (promoted) {
    const Continuity judged = AfterPromotion(known, observed, slot);
    if (judged.kind == Kind::kGap) return judged;
    const Continuity evidence = JudgeEvidence(known, observed);
    return evidence.kind == Kind::kGap ? evidence : judged;
  }
  if (!known.confirmed.is_valid()) return JudgeEvidence(known, observed);
  // This process does not know what another instance did with the slot
  // meanwhile, only that there was one. A checkpoint is written before the slot
  // moves, by every instance.
  const bool may_be_moved =
      known.by == KnownSource::By::kThisProcess && known.slot_was_shared;
  if (!may_be_moved && observed.slot->confirmed > known.confirmed) {
    return Advanced(known, observed, slot);
  }
  if (observed.wal_end.is_valid() && observed.wal_end < known.confirmed) {
    return ReportGap(
        kGapServerBehind,
        fmt::format("the server's WAL ends at {}, before {}, which was "
                    "confirmed: it was restored from a backup. Events are "
                    "published that the database does not have; {}",
                    observed.wal_end.ToString(), known.confirmed.ToString(),
                    kRecover));
  }
  return JudgeEvidence(known, observed);
}

}  // namespace

std::string PublishMissingCommand(const std::string& table) {
  return fmt::format("walpost replay -c FILE --from-table --table {} --missing",
                     ShellWord(table));
}

Continuity JudgeContinuity(const KnownSource& known,
                           const ObservedSource& observed,
                           const std::string& slot) {
  Continuity continuity = Judge(known, observed, slot);
  if (IsRabbitmqCluster(known.kafka_cluster) ||
      IsRabbitmqCluster(observed.kafka_cluster)) {
    continuity.text = ForUnreadBrokers(continuity.text);
  }
  return continuity;
}

}  // namespace walpost
