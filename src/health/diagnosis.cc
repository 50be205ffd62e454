#include "health/diagnosis.h"

#include "base/reason_code.h"
#include "fmt/format.h"

namespace walpost {
namespace {

using std::chrono::seconds;

// A server answers a request at once.
constexpr seconds kSilentAfter{8};
// A record in flight for longer than this means that Kafka does not answer.
constexpr seconds kStuckAfter{8};
constexpr seconds kBehindAfter{2};

// Prefix of the application_name of every walpost instance.
constexpr std::string_view kOurName = "walpost:";

std::string Text(const absl::Status& status) {
  return std::string(status.message());
}

int64_t Seconds(std::chrono::milliseconds duration) {
  return std::chrono::duration_cast<seconds>(duration).count();
}

Diagnosis Stuck(std::string reason, std::string code = "") {
  return {RelayState::kStuck, std::move(reason), std::move(code)};
}

std::string InBrackets(const std::string& code) {
  return code.empty() ? "" : fmt::format(" [{}]", code);
}

// " (id 7, key order-1)"
std::string NamesOf(const Stoppage& stoppage) {
  std::string names;
  for (const auto& [name, value] :
       {std::pair("id", &stoppage.event_id), std::pair("key", &stoppage.key)}) {
    if (value->empty()) continue;
    names += fmt::format("{}{} {}", names.empty() ? " (" : ", ", name, *value);
  }
  return names.empty() ? "" : names + ")";
}

std::string RemedyOf(const Stoppage& stoppage) {
  if (!stoppage.is_in_stream) return "Fix the cause: the row is tried again";
  const std::string position = ToString(stoppage.position);
  std::string remedy =
      "Fix the cause and restart walpost, or decide about this event: ";
  if (!stoppage.is_of_dead_letter) {
    remedy += fmt::format("walpost dead-letter -c FILE {} --why REASON, or ",
                          position);
  }
  return remedy + fmt::format("walpost skip -c FILE {} --why REASON", position);
}

Diagnosis OfStoppage(const Stoppage& stoppage) {
  const std::string code = ReasonCodeOf(stoppage.reason);
  return Stuck(
      fmt::format("the event at {}{} cannot be delivered{}: {}. Nothing after "
                  "it is published, and nothing is confirmed past it. {}",
                  ToString(stoppage.position), NamesOf(stoppage),
                  InBrackets(code), Text(stoppage.reason), RemedyOf(stoppage)),
      code);
}

Diagnosis WithoutStream(const RelaySigns& signs) {
  const std::string reason = Text(signs.trouble);
  if (signs.cursor_is_in_use) return {RelayState::kStandby, reason};
  const RelayState not_yet =
      signs.has_streamed ? RelayState::kStuck : RelayState::kStarting;
  if (!signs.slot_creation.empty()) return {not_yet, signs.slot_creation};
  if (signs.slot_is_in_use && !signs.slot_user_trouble.empty()) {
    return {not_yet, signs.slot_user_trouble};
  }
  if (signs.slot_is_in_use) {
    // An unknown user is assumed to be a walpost instance.
    const std::string user = signs.slot_user.value_or("");
    if (user.empty() || user.starts_with(kOurName)) {
      return {RelayState::kStandby,
              fmt::format("slot {} is in use by {}{}{}", signs.slot,
                          user.empty() ? "another walpost" : user,
                          signs.slot_user_doubt.empty() ? "" : "; ",
                          signs.slot_user_doubt)};
    }
    return Stuck(fmt::format(
        "slot {} is in use by '{}', which is not a walpost instance: stop it, "
        "or set another postgres.slot",
        signs.slot, user));
  }
  if (signs.trouble_is_poison) {
    return Stuck(fmt::format(
        "{}. This happens at {} each time, so it is not tried again: fix the "
        "cause, then restart walpost",
        reason, signs.confirmed.ToString()));
  }
  const std::string code = ReasonCodeOf(signs.trouble);
  if (!code.empty()) return Stuck(fmt::format("[{}] {}", code, reason), code);
  const bool may_pass =
      !signs.has_streamed && absl::IsUnavailable(signs.trouble);
  return {may_pass ? RelayState::kStarting : RelayState::kStuck, reason};
}

// Describes a start without any problem so far.
std::string Awaited(const RelaySigns& signs) {
  if (!signs.snapshot_progress.empty()) return signs.snapshot_progress;
  if (signs.is_streaming) {
    return fmt::format("waiting for a Kafka broker at {}{}{}", signs.brokers,
                       signs.broker_trouble.empty() ? "" : ": ",
                       signs.broker_trouble);
  }
  if (!signs.slot_creation.empty()) return signs.slot_creation;
  if (signs.awaited.empty()) return "";
  return fmt::format("waiting for {}", signs.awaited);
}

Diagnosis OfSilence(const RelaySigns& signs) {
  if (!signs.unanswered_table.empty()) {
    return Stuck(fmt::format(
        "table {}: Postgres has not answered a statement for {} s: is it "
        "frozen, the table locked, or the network cut?",
        signs.unanswered_table, Seconds(signs.server_silent_for)));
  }
  return Stuck(fmt::format(
      "Postgres has sent nothing for {} s although it was asked; is the "
      "walsender of slot {} frozen, or the network cut?",
      Seconds(signs.server_silent_for), signs.slot));
}

Diagnosis OfNoBroker(const RelaySigns& signs) {
  // Nobody else speaks to the brokers meanwhile.
  if (!signs.unread_checkpoint.empty()) {
    return Stuck(fmt::format(
        "checkpoint {}: it could not be read to its end for {} s: is a Kafka "
        "broker reachable at {}? An open transaction of another producer hides "
        "the end, too, until the brokers abort it",
        signs.unread_checkpoint, Seconds(signs.brokers_unreachable_for),
        signs.brokers));
  }
  return Stuck(
      fmt::format("no Kafka broker is reachable at {}: {}", signs.brokers,
                  signs.broker_trouble.empty()
                      ? "is kafka.brokers right, and are the brokers up?"
                      : signs.broker_trouble));
}

Diagnosis OfBrokers(const RelaySigns& signs) {
  const bool is_unreachable = signs.brokers_unreachable_for > kStuckAfter;
  const bool acknowledges = signs.unacknowledged_for <= kStuckAfter;
  // Silent brokers cannot report an unknown topic either.
  const bool is_undecided = acknowledges || !signs.homeless_topic.empty();
  if (is_unreachable && signs.brokers_are_connected && is_undecided) {
    return Stuck(fmt::format(
        "the Kafka brokers at {} have answered nothing for {} s, although "
        "they are connected: are they frozen or overloaded, or is the network "
        "cut?",
        signs.brokers, Seconds(signs.brokers_unreachable_for)));
  }
  if (is_unreachable && !signs.brokers_are_connected) {
    return OfNoBroker(signs);
  }
  if (!signs.homeless_topic.empty()) {
    return Stuck(fmt::format(
        "the brokers have not reported topic {}, and records for it have "
        "waited for {} s: create the topic, or let the brokers do it "
        "(auto.create.topics.enable); are the brokers at {} reachable?",
        signs.homeless_topic, Seconds(signs.unacknowledged_for),
        signs.brokers));
  }
  return Stuck(fmt::format(
      "Kafka has not acknowledged the oldest record for {} s ({} in flight); "
      "are the brokers at {} reachable{}, and is min.insync.replicas met?",
      Seconds(signs.unacknowledged_for), signs.in_flight_records, signs.brokers,
      signs.in_transactions
          ? ", also the leaders of __transaction_state, which coordinate "
            "transactions"
          : ""));
}

std::string HiddenText(const RelaySigns& signs) {
  return fmt::format(
      "consumers that read committed records have got nothing of {} on for {} "
      "s: a transaction is open there. If kafka-transactions.sh list shows "
      "whose it is, stop that program. If the brokers have lost track of it: "
      "kafka-transactions.sh abort with this --topic, --partition and "
      "--start-offset; then run walpost verify -c FILE",
      signs.hidden_records, Seconds(signs.hidden_for));
}

std::string ParkingText(const ParkingReport& parking) {
  std::string text;
  if (!parking.topics.empty()) {
    text = fmt::format(
        "{} topics are isolated, because they take no records: {}. {} events "
        "wait for them. ",
        parking.topics.size(), fmt::join(parking.topics, ", "),
        parking.isolated_events);
  }
  if (parking.keys > 0) {
    text += fmt::format(
        "{} keys are parked: {} events cannot be delivered, and {} wait behind "
        "them. ",
        parking.keys, parking.dead, parking.events - parking.dead);
  }
  if (!parking.held_up.empty()) {
    text += fmt::format("What an operator has released waits: {}. ",
                        parking.held_up);
  }
  text += "All others are published. ";
  text += parking.keys > 0
              ? "walpost parked -c FILE list shows why"
              : "the log and Kafka's tools show what is wrong with a topic";
  return text;
}

Diagnosis Degraded(const RelaySigns& signs) {
  std::string text;
  if (!signs.hidden_records.empty()) text = HiddenText(signs);
  if (!signs.parking.empty()) {
    text += (text.empty() ? "" : ". ") + ParkingText(signs.parking);
  }
  return {RelayState::kDegraded, std::move(text)};
}

}  // namespace

Diagnosis Diagnose(const RelaySigns& signs) {
  if (signs.draining) return {RelayState::kDraining, ""};
  if (signs.stoppage) return OfStoppage(*signs.stoppage);
  if (signs.held && absl::IsUnavailable(*signs.held)) {
    return Stuck(Text(*signs.held));
  }
  if (!signs.trouble.ok()) return WithoutStream(signs);
  if (!signs.publication_trouble.empty()) {
    return Stuck(signs.publication_trouble);
  }
  if (signs.checkpoint_failing_for > kStuckAfter) {
    return Stuck(fmt::format(
        "no checkpoint can be written, so nothing is confirmed, "
        "and Postgres keeps {} MiB of WAL for slot {}: {}",
        signs.retained_wal_bytes >> 20, signs.slot, signs.checkpoint_trouble));
  }
  const bool brokers_answer = signs.brokers_unreachable_for <= kStuckAfter;
  if (signs.committing_for > kStuckAfter && brokers_answer) {
    return Stuck(fmt::format(
        "the brokers have not committed a transaction for {} s, so nothing is "
        "confirmed: is the leader of a partition of __transaction_state "
        "available, and has it enough replicas (min.insync.replicas)?",
        signs.committing_for.count() / 1000));
  }
  if (signs.server_silent_for > kSilentAfter) return OfSilence(signs);
  if (signs.server_held_back_for > kStuckAfter) {
    return Stuck(fmt::format(
        "Postgres sends nothing before its standbys have it: {}. Bring that "
        "standby back, or take its slot out of synchronized_standby_slots",
        signs.server_held_back_by));
  }
  if (!brokers_answer || signs.unacknowledged_for > kStuckAfter) {
    return OfBrokers(signs);
  }
  if (!signs.is_streaming || !signs.brokers_were_reached) {
    return {RelayState::kStarting, Awaited(signs)};
  }
  if (signs.wal_budget_level == WalBudget::Level::kAtRisk) {
    return {RelayState::kAtRisk,
            fmt::format("Postgres keeps {} MiB of WAL for slot {}, of {} MiB "
                        "that it may: find out what holds walpost up, or raise "
                        "max_slot_wal_keep_size",
                        signs.retained_wal_bytes >> 20, signs.slot,
                        signs.wal_budget_bytes >> 20)};
  }
  if (!signs.parking.empty() || !signs.hidden_records.empty()) {
    return Degraded(signs);
  }
  return {signs.oldest_in_flight > kBehindAfter ? RelayState::kCatchingUp
                                                : RelayState::kStreaming,
          ""};
}

}  // namespace walpost
