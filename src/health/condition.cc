#include "health/condition.h"

#include <optional>
#include <utility>

#include "base/error_source.h"
#include "base/reason_code.h"
#include "delivery/send_outcome.h"
#include "fmt/format.h"
#include "health/condition_maker.h"
#include "health/event_conditions.h"

namespace walpost {
namespace {

using std::chrono::seconds;

// A server answers a request at once.
constexpr seconds kSilentAfter{8};
// The session beside the stream reports every two seconds.
constexpr seconds kUnseenAfter{8};

// Prefix of the application_name of every walpost instance.
constexpr std::string_view kOurName = "walpost:";

// ---- What needs an operator.

Found OfGap(const RelaySigns& signs) {
  if (!signs.gap) return std::nullopt;
  const auto& [code, text] = *signs.gap;
  return Stuck(Permanence::kOperator, Part::kSlot,
               fmt::format("[{}] {}", code, text),
               Shorten(fmt::format("[{}] {}", code, text)), code);
}

Found OfPublication(const RelaySigns& signs) {
  if (signs.publication_trouble.empty()) return std::nullopt;
  return Stuck(Permanence::kOperator, Part::kPublication,
               signs.publication_trouble, Shorten(signs.publication_trouble));
}

Part PartOf(const absl::Status& trouble) {
  return IsFromKafka(trouble) ? Part::kSink : Part::kSource;
}

bool IsForeign(const RelaySigns& signs) {
  const std::string user = signs.slot_user.value_or("");
  // An unknown user is assumed to be a walpost instance.
  return signs.slot_is_in_use && !user.empty() && !user.starts_with(kOurName);
}

// These pass when a producer or a connection is replaced, or tried again.
bool MayPass(const absl::Status& trouble) {
  switch (trouble.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return true;
    default:
      return false;
  }
}

Condition Failed(const RelaySigns& signs, std::string reason,
                 std::string code = "") {
  std::string brief = Shorten(reason);
  return Stuck(Permanence::kOperator, PartOf(signs.trouble), std::move(reason),
               std::move(brief), std::move(code));
}

// There is no stream, and another attempt fails, too.
Found OfFailure(const RelaySigns& signs) {
  if (signs.trouble.ok() || signs.cursor_is_in_use) return std::nullopt;
  if (!signs.slot_creation.empty()) return std::nullopt;  // a later attempt
  const std::string reason = Text(signs.trouble);
  if (IsForeign(signs) && signs.slot_user_trouble.empty()) {
    return Failed(signs, fmt::format("slot {} is in use by '{}', which is not "
                                     "a walpost instance: stop it, or set "
                                     "another postgres.slot",
                                     signs.slot, *signs.slot_user));
  }
  if (signs.slot_is_in_use) return std::nullopt;
  if (signs.trouble_is_poison) {
    return Failed(
        signs, fmt::format("{}. This happens at {} each time, so it is not "
                           "tried again: fix the cause, then restart walpost",
                           reason, signs.confirmed.ToString()));
  }
  const std::string code = ReasonCodeOf(signs.trouble);
  if (code == kReasonFenced) return std::nullopt;
  if (!code.empty()) {
    return Failed(signs, fmt::format("[{}] {}", code, reason), code);
  }
  if (MayPass(signs.trouble)) return std::nullopt;
  return Failed(signs, reason);
}

Condition OfCheckpoint(const RelaySigns& signs, Permanence permanence) {
  const std::string what = fmt::format(
      "no checkpoint can be written, so nothing is confirmed, and Postgres "
      "keeps {} MiB of WAL for slot {}",
      signs.retained_wal_bytes >> 20, signs.slot);
  return Stuck(permanence, Part::kStore,
               fmt::format("{}: {}", what, Text(signs.checkpoint_trouble)),
               what);
}

bool HasNoCheckpoint(const RelaySigns& signs) {
  return !signs.is_behind_another() &&
         signs.checkpoint_failing_for > kStuckAfter;
}

Found OfForbiddenCheckpoint(const RelaySigns& signs) {
  if (!HasNoCheckpoint(signs) || MayPass(signs.checkpoint_trouble)) {
    return std::nullopt;
  }
  return OfCheckpoint(signs, Permanence::kOperator);
}

// The state is that of the WAL budget, once that is nearly exhausted.
Found OfPause(const RelaySigns& signs) {
  if (!signs.pause || signs.is_behind_another()) return std::nullopt;
  const std::string what =
      fmt::format("{}{}", signs.paused_tables, DescribePause(*signs.pause));
  std::string kept;
  if (!signs.slot.empty()) {
    kept = fmt::format(
        ". Meanwhile Postgres keeps the WAL for slot {}: {} MiB of {} MiB that "
        "it may",
        signs.slot, signs.retained_wal_bytes >> 20,
        signs.wal_budget_bytes >> 20);
  }
  const bool is_at_risk = signs.wal_budget_level == WalBudget::Level::kAtRisk;
  return Condition{
      is_at_risk ? RelayState::kAtRisk : RelayState::kPaused,
      Permanence::kOperator, is_at_risk ? Part::kWal : Part::kPause,
      fmt::format("{}{}{}. To go on: walpost resume -c FILE{}",
                  is_at_risk ? "paused " : "", what, kept,
                  is_at_risk ? ", or raise max_slot_wal_keep_size" : ""),
      Shorten("paused " + what)};
}

// ---- Outages: of Postgres, of Kafka, of a store.

RelayState NotYet(const RelaySigns& signs) {
  return signs.has_streamed ? RelayState::kStuck : RelayState::kStarting;
}

Condition NoStream(const RelaySigns& signs, RelayState state,
                   std::string reason, std::string code = "") {
  std::string brief = Shorten(reason);
  return {state,
          Permanence::kMayPass,
          PartOf(signs.trouble),
          std::move(reason),
          std::move(brief),
          std::move(code)};
}

// There is no stream; another attempt may succeed.
Found OfLostStream(const RelaySigns& signs, bool is_from_kafka) {
  if (signs.trouble.ok() || signs.cursor_is_in_use) return std::nullopt;
  const bool is_creating = !signs.slot_creation.empty();
  const bool is_of_kafka = IsFromKafka(signs.trouble) && !is_creating;
  if (is_of_kafka != is_from_kafka) return std::nullopt;
  if (is_creating) return NoStream(signs, NotYet(signs), signs.slot_creation);
  if (signs.slot_is_in_use && !signs.slot_user_trouble.empty()) {
    return NoStream(signs, NotYet(signs), signs.slot_user_trouble);
  }
  if (signs.slot_is_in_use || OfFailure(signs)) return std::nullopt;
  const std::string code = ReasonCodeOf(signs.trouble);
  const std::string reason = Text(signs.trouble);
  if (!code.empty()) {
    return NoStream(signs, RelayState::kStuck,
                    fmt::format("[{}] {}", code, reason), code);
  }
  const bool is_first = absl::IsUnavailable(signs.trouble);
  return NoStream(signs, is_first ? NotYet(signs) : RelayState::kStuck, reason);
}

Found OfLostSource(const RelaySigns& signs) {
  return OfLostStream(signs, /*is_from_kafka=*/false);
}

Found OfSilence(const RelaySigns& signs) {
  if (signs.server_silent_for <= kSilentAfter) return std::nullopt;
  if (!signs.unanswered_table.empty()) {
    const std::string what =
        fmt::format("table {}: Postgres has not answered a statement for {} s",
                    signs.unanswered_table, Seconds(signs.server_silent_for));
    return Outage(
        Part::kSource,
        what + ": is it frozen, the table locked, or the network cut?", what);
  }
  const std::string what =
      fmt::format("Postgres has sent nothing for {} s although it was asked",
                  Seconds(signs.server_silent_for));
  return Outage(Part::kSource,
                fmt::format("{}; is the walsender of slot {} frozen, or the "
                            "network cut?",
                            what, signs.slot),
                what);
}

Found OfStandbys(const RelaySigns& signs) {
  if (signs.server_held_back_for <= kStuckAfter) return std::nullopt;
  return Outage(
      Part::kSource,
      fmt::format("Postgres sends nothing before its standbys have it: {}. "
                  "Bring that standby back, or take its slot out of "
                  "synchronized_standby_slots",
                  signs.server_held_back_by),
      "Postgres sends nothing before its standbys have it");
}

bool BrokersAnswer(const RelaySigns& signs) {
  return signs.brokers_unreachable_for <= kStuckAfter;
}

Found OfNoBroker(const RelaySigns& signs) {
  if (BrokersAnswer(signs)) return std::nullopt;
  if (signs.brokers_are_connected && signs.broker_trouble.empty()) {
    const std::string what = fmt::format(
        "the {} at {} have answered nothing for {} s", signs.sink.servers,
        signs.brokers, Seconds(signs.brokers_unreachable_for));
    return Outage(Part::kSink,
                  what +
                      ", although they are connected: are they frozen or "
                      "overloaded, or is the network cut?",
                  what);
  }
  // Some answer, and records wait for another one.
  const std::string what =
      signs.brokers_are_connected
          ? fmt::format("one of the {} at {} is not reachable",
                        signs.sink.servers, signs.brokers)
          : fmt::format("no {} is reachable at {}", signs.sink.server,
                        signs.brokers);
  return Outage(
      Part::kSink,
      fmt::format("{}: {}", what,
                  signs.broker_trouble.empty()
                      ? fmt::format("is {} right, and are the servers up?",
                                    signs.sink.address_key)
                      : signs.broker_trouble),
      what);
}

// Nobody else speaks to the brokers meanwhile.
Found OfUnreadCheckpoint(const RelaySigns& signs) {
  if (signs.checkpoint_unread_for <= kStuckAfter) return std::nullopt;
  const std::string what = fmt::format(
      "checkpoint {}: it could not be read to its end for {} s",
      signs.unread_checkpoint, Seconds(signs.checkpoint_unread_for));
  return Outage(
      Part::kSink,
      fmt::format("{}: is a Kafka broker reachable at {}? An open transaction "
                  "of another producer also hides the end, until the brokers "
                  "abort it",
                  what, signs.brokers),
      what);
}

Found OfLostSink(const RelaySigns& signs) {
  return OfLostStream(signs, /*is_from_kafka=*/true);
}

Found OfFailingCheckpoint(const RelaySigns& signs) {
  if (!HasNoCheckpoint(signs)) return std::nullopt;
  if (!MayPass(signs.checkpoint_trouble)) return std::nullopt;
  return OfCheckpoint(signs, Permanence::kMayPass);
}

Found OfHeld(const RelaySigns& signs) {
  if (!signs.held || !IsOfTopic(*signs.held)) return std::nullopt;
  const std::string reason = Text(*signs.held);
  return Outage(Part::kSink, reason, Shorten(reason));
}

// Without a stream, nothing is owed to Kafka.
bool IsFlowing(const RelaySigns& signs) { return signs.trouble.ok(); }

Found OfCommit(const RelaySigns& signs) {
  if (!IsFlowing(signs) || signs.committing_for <= kStuckAfter) {
    return std::nullopt;
  }
  const std::string what = fmt::format(
      "the brokers have not committed a transaction for {} s, so nothing is "
      "confirmed",
      Seconds(signs.committing_for));
  return Outage(
      Part::kSink,
      what +
          ": is the leader of a partition of __transaction_state available, "
          "and has it enough replicas (min.insync.replicas)?",
      what);
}

Found OfTopic(const RelaySigns& signs) {
  if (!IsFlowing(signs) || signs.unacknowledged_for <= kStuckAfter ||
      signs.unknown_topic.empty()) {
    return std::nullopt;
  }
  const std::string what = fmt::format(
      "the brokers have not reported {} {}, and records for it have waited "
      "for {} s",
      signs.sink.place, signs.unknown_topic, Seconds(signs.unacknowledged_for));
  return Outage(
      Part::kSink,
      fmt::format("{}: {}{}; are the {} at {} reachable?", what,
                  signs.topic_refusal.empty() ? "" : signs.topic_refusal + "; ",
                  fmt::format(fmt::runtime(signs.sink.how_to_make),
                              signs.brokers, signs.unknown_topic),
                  signs.sink.servers, signs.brokers),
      what);
}

Found OfRecord(const RelaySigns& signs) {
  if (!IsFlowing(signs) || signs.unacknowledged_for <= kStuckAfter) {
    return std::nullopt;
  }
  const std::string what = fmt::format(
      "{} has not acknowledged the oldest record for {} s ({} in flight)",
      signs.sink.name, Seconds(signs.unacknowledged_for),
      signs.in_flight_records);
  const std::string& why =
      signs.broker_trouble.empty() ? signs.sink_delay : signs.broker_trouble;
  return Outage(
      Part::kSink,
      fmt::format(
          "{}; {}are the {} at {} reachable{}, and {}?", what,
          why.empty() ? "" : why + "; ", signs.sink.servers, signs.brokers,
          signs.in_transactions
              ? ", also the leaders of __transaction_state, which coordinate "
                "transactions"
              : "",
          signs.sink.durable),
      what);
}

// Describes a start without any problem so far.
std::string Awaited(const RelaySigns& signs) {
  if (!signs.snapshot_progress.empty()) return signs.snapshot_progress;
  if (signs.is_streaming) {
    return fmt::format("waiting for a {} at {}{}{}", signs.sink.server,
                       signs.brokers, signs.broker_trouble.empty() ? "" : ": ",
                       signs.broker_trouble);
  }
  if (!signs.slot_creation.empty()) return signs.slot_creation;
  if (signs.awaited.empty()) return "";
  return fmt::format("waiting for {}", signs.awaited);
}

Found OfStart(const RelaySigns& signs) {
  const bool has_begun = signs.is_streaming && signs.brokers_were_reached;
  if (!signs.trouble.ok() || has_begun) return std::nullopt;
  return Condition{RelayState::kStarting, Permanence::kMayPass, Part::kSource,
                   Awaited(signs), ""};
}

Found OfWalBudget(const RelaySigns& signs) {
  if (signs.wal_budget_level != WalBudget::Level::kAtRisk) return std::nullopt;
  const std::string what = fmt::format(
      "Postgres keeps {} MiB of WAL for slot {}, of {} MiB that it may",
      signs.retained_wal_bytes >> 20, signs.slot, signs.wal_budget_bytes >> 20);
  Condition found{RelayState::kAtRisk, Permanence::kMayPass, Part::kWal,
                  what +
                      ": find out what holds walpost up, or raise "
                      "max_slot_wal_keep_size",
                  what};
  found.is_note = !signs.is_streaming || !signs.trouble.ok();
  return found;
}

// ---- Nothing is wrong with the flow.

Found OfOtherInstance(const RelaySigns& signs) {
  if (!signs.is_behind_another()) return std::nullopt;
  std::string reason = Text(signs.trouble);
  if (signs.slot_is_in_use) {
    const std::string user = signs.slot_user.value_or("");
    reason = fmt::format("slot {} is in use by {}{}{}", signs.slot,
                         user.empty() ? "another walpost" : user,
                         signs.slot_user_doubt.empty() ? "" : "; ",
                         signs.slot_user_doubt);
  }
  return Condition{RelayState::kStandby, Permanence::kInformation,
                   Part::kSource, std::move(reason), ""};
}

Found OfHiddenRecords(const RelaySigns& signs) {
  if (signs.hidden_records.empty()) return std::nullopt;
  return Degraded(
      Part::kSink,
      fmt::format(
          "consumers that read committed records have got nothing of {} on for "
          "{} s: a transaction is open there. If kafka-transactions.sh list "
          "shows whose it is, stop that program. If the brokers have lost "
          "track of it: kafka-transactions.sh abort with this --topic, "
          "--partition and --start-offset; then run walpost verify -c FILE",
          signs.hidden_records, Seconds(signs.hidden_for)));
}

Found OfUnseen(const RelaySigns& signs) {
  if (signs.unseen_for <= kUnseenAfter) return std::nullopt;
  return Degraded(
      Part::kWal,
      fmt::format(
          "cannot read the WAL status of slot {}, the publication and the "
          "decisions of operators: {}",
          signs.slot, signs.unseen_because));
}

// The order of severity.
constexpr Found (*kBySeverity[])(const RelaySigns&) = {
    OfGap,
    OfPublication,
    OfStoppage,
    OfFailure,
    OfForbiddenCheckpoint,
    OfPause,
    OfLostSource,
    OfSilence,
    OfStandbys,
    OfUnstoredEvents,
    OfNoBroker,
    OfUnreadCheckpoint,
    OfLostSink,
    OfFailingCheckpoint,
    OfHeld,
    OfCommit,
    OfTopic,
    OfRecord,
    OfStart,
    OfWalBudget,
    OfOtherInstance,
    OfHiddenRecords,
    OfParking,
    OfUnreadParkingTable,
    OfUnseen,
};

}  // namespace

std::vector<Condition> ConditionsOf(const RelaySigns& signs) {
  std::vector<Condition> conditions;
  for (const auto find : kBySeverity) {
    if (Found found = find(signs)) conditions.push_back(*std::move(found));
  }
  return conditions;
}

}  // namespace walpost
