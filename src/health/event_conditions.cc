#include "health/event_conditions.h"

#include <string>
#include <utility>

#include "base/reason_code.h"
#include "fmt/ranges.h"
#include "health/condition_maker.h"

namespace walpost {
namespace {

// " of table public.outbox (id 7, key order-1)"
std::string NamesOf(const BlockedEvent& stoppage) {
  const std::string table =
      stoppage.table.empty() ? "" : " of table " + stoppage.table;
  std::string names;
  for (const auto& [name, value] :
       {std::pair("id", &stoppage.event_id), std::pair("key", &stoppage.key)}) {
    if (value->empty()) continue;
    names += fmt::format("{}{} {}", names.empty() ? " (" : ", ", name, *value);
  }
  return table + (names.empty() ? "" : names + ")");
}

std::string RemedyOf(const BlockedEvent& stoppage) {
  if (!stoppage.is_in_stream()) return "Fix the cause: the row is tried again";
  const std::string position = ToString(stoppage.position);
  if (ReasonCodeOf(stoppage.reason) == kReasonTableUnsuitable) {
    return fmt::format(
        "Map the columns as they are now, and restart walpost. If the table "
        "has those of the configuration again, the row was written while it "
        "had others, and its table alone has it: walpost skip -c FILE {} --why "
        "REASON; then, behind later events of its key, walpost replay -c FILE "
        "--from-table --missing",
        position);
  }
  std::string remedy =
      "Fix the cause and restart walpost, or decide about this event: ";
  if (!stoppage.is_of_dead_letter) {
    remedy += fmt::format("walpost dead-letter -c FILE {} --why REASON, or ",
                          position);
  }
  return remedy + fmt::format("walpost skip -c FILE {} --why REASON", position);
}

bool IsUnanswered(const ParkingReport& parking) {
  return parking.unanswered_for > kStuckAfter;
}

std::string NoAnswer(const ParkingReport& parking) {
  return fmt::format("table {} of parked events has not answered for {} s",
                     parking.table, Seconds(parking.unanswered_for));
}

std::string_view WhyNoAnswer(const ParkingReport& parking) {
  if (!parking.waits_for.empty()) return parking.waits_for;
  return "is the server overloaded, or its disk full?";
}

}  // namespace

Found OfStoppage(const RelaySigns& signs) {
  if (!signs.stoppage) return std::nullopt;
  const BlockedEvent& stoppage = *signs.stoppage;
  const std::string code = ReasonCodeOf(stoppage.reason);
  const std::string event = stoppage.is_in_stream()
                                ? "event at " + ToString(stoppage.position)
                                : "row";
  const std::string what = fmt::format("the {}{} cannot be delivered{}", event,
                                       NamesOf(stoppage), InBrackets(code));
  return Stuck(Permanence::kOperator, Part::kEvent,
               fmt::format("{}: {}. Nothing after it is published, and nothing "
                           "is confirmed past it. {}",
                           what, Text(stoppage.reason), RemedyOf(stoppage)),
               Shorten(what), code);
}

Found OfParking(const RelaySigns& signs) {
  const ParkingReport& parking = signs.parking;
  if (parking.empty()) return std::nullopt;
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
  return Degraded(Part::kEvent, std::move(text));
}

std::optional<Condition> OfUnstoredEvents(const RelaySigns& signs) {
  const ParkingReport& parking = signs.parking;
  if (!IsUnanswered(parking) || parking.unstored == 0) return std::nullopt;
  std::string what = fmt::format("{}, and {} events wait to be stored",
                                 NoAnswer(parking), parking.unstored);
  std::string reason = fmt::format("{}: {}", what, WhyNoAnswer(parking));
  return Outage(Part::kSource, std::move(reason), std::move(what));
}

std::optional<Condition> OfUnreadParkingTable(const RelaySigns& signs) {
  const ParkingReport& parking = signs.parking;
  if (!IsUnanswered(parking) || parking.unstored > 0) return std::nullopt;
  return Degraded(Part::kEvent, fmt::format("{}: {}", NoAnswer(parking),
                                            WhyNoAnswer(parking)));
}

}  // namespace walpost
