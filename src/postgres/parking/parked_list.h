// Lists parked events for an operator, and records decisions about them, beside
// the instance that has the slot.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "dead_letters/dead_letter.h"
#include "parking/parked_event.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/parking/parking_sql.h"

namespace walpost {

struct ParkedEntry {
  ParkedNumber number = 0;
  std::string system_identifier;
  std::string position;  // SortableText
  std::string digest;    // outbox/event_digest.h; empty: an old row of no use
  ParkedState state = ParkedState::kDead;
  DeadLetter content;  // without its payload
  // The isolated topic for which it waits; empty: none.
  std::string isolated_topic;
  size_t payload_bytes = 0;
  // Time of an operator's decision; nullopt: none yet.
  std::optional<WallTime> decided_at;
  std::string decided_by;
  std::string decided_why;
  // True if it was being sent when it was discarded, so that Kafka may have it.
  bool may_be_sent = false;
};

class ParkedList {
 public:
  // The session of a verb that reads or decides.
  static ConnectionOptions Session(const WalSourceOptions& postgres,
                                   std::string_view verb);

  // The connection outlives the list. `if_unknown`: the table is missing, and
  // nothing is on record about the slot. kFailedPrecondition: the table that
  // the slot has used is missing, or is another one.
  enum class IfUnknown { kRefuse, kEmpty };
  static boost::asio::awaitable<absl::StatusOr<ParkedList>> Open(
      Connection& connection, const WalSourceOptions& postgres,
      std::string table, IfUnknown if_unknown = IfUnknown::kRefuse);

  // Nothing is parked if the slot has not used a table yet. kDataLoss: a row
  // cannot be read.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> Read(
      ParkingSql::Settled settled);
  // The same for dead letters.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ReadLetters(
      ParkingSql::Settled settled);
  boost::asio::awaitable<absl::StatusOr<OwnValue>> ReadPayload(
      ParkedNumber row);
  // Decides about dead events: kRetry or kDiscarded; or about dead letters:
  // kLetterRetry or kLetterDiscarded. An event that is to be sent can be
  // discarded until it is sent. Returns the events for which this decision now
  // holds.
  struct Decided {
    std::vector<ParkedNumber> rows;
    size_t sending = 0;  // of these: may be in Kafka, or get there
  };
  boost::asio::awaitable<absl::StatusOr<Decided>> Decide(
      std::vector<ParkedNumber> rows, ParkedState state, std::string by,
      std::string why);
  // The states of those that still exist.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedState>>> States(
      std::vector<ParkedNumber> rows);

 private:
  ParkedList(Connection& connection, ParkingNames names, bool exists);

  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ReadAll(
      std::string sql);
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Execute(std::string sql);

  Connection* connection_;
  std::string table_;
  bool exists_;
  ParkingSql sql_;
};

}  // namespace walpost
