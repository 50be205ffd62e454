// Parked events as an operator sees and settles them, beside the instance that
// has the slot.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "dead_letters/dead_letter.h"
#include "parking/parked_event.h"
#include "postgres/connection.h"
#include "postgres/parking_sql.h"

namespace walpost {

struct ParkedEntry {
  ParkedPlace place;
  ParkedState state = ParkedState::kDead;
  DeadLetter content;  // without its payload
  // It waits for this topic, which is isolated; empty: it does not.
  std::string isolated_topic;
  size_t payload_bytes = 0;
  // What an operator has decided; nullopt: nothing yet.
  std::optional<WallTime> decided_at;
  std::string decided_by;
  std::string decided_why;
};

class ParkedList {
 public:
  // The connection outlives this object.
  ParkedList(Connection& connection, std::string table, std::string slot);

  // Nothing is parked if there is no table. kDataLoss: a row cannot be read.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> Read(
      ParkingSql::Settled settled);
  // Likewise dead letters.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ReadLetters(
      ParkingSql::Settled settled);
  boost::asio::awaitable<absl::StatusOr<OwnValue>> ReadPayload(
      ParkedPlace place);
  // Decides about dead events: kRetry or kDiscarded; or about dead letters:
  // kLetterRetry or kLetterDiscarded. Returns those that were still undecided.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedPlace>>> Decide(
      std::vector<ParkedPlace> places, ParkedState state, std::string by,
      std::string why);
  // The states of those that still exist.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedState>>> States(
      std::vector<ParkedPlace> places);

 private:
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ReadAll(
      std::string sql);

  Connection& connection_;
  std::string table_;
  ParkingSql sql_;
};

}  // namespace walpost
