// DeadLetterResender: retries or discards dead letters of topics.
//
//   TakeOver ──▶ Take, Take, ... ──▶ Finish
//                  └──▶ a transaction: the events' records, and the decisions
//                       about their dead letters
//
// An event and the decision about it become visible together: a crash in
// between leaves neither. A letter that cannot be delivered, or whose topic
// takes nothing, stays as it is (StoredBatch).
//
// Blocks: it runs a loop of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/stored/stored_event_sender.h"
#include "config/config.h"
#include "dead_letters/dead_letter.h"
#include "dead_letters/dead_letter_index.h"
#include "dead_letters/dead_letter_resolution.h"
#include "parking/parked_row.h"

namespace walpost {

class DeadLetterResender {
 public:
  struct Failure {
    LetterPlace place;
    absl::Status reason;
  };
  // Reads the topics again.
  using Reread = std::function<absl::StatusOr<DeadLetterIndex>()>;

  // `decision`: for each letter, but for the offset. `config` outlives this
  // object. kInvalidArgument: the routes are wrong.
  static absl::StatusOr<std::unique_ptr<DeadLetterResender>> Create(
      const Config& config, const DeadLetterResolution& decision,
      Reread reread);

  // Fences earlier commands, whose calls then fail (kAborted). So read the
  // letters after this call. kUnavailable: the brokers do not answer.
  // kFailedPrecondition: an operator must act.
  absl::Status TakeOver();
  // Takes a letter; its event may be sent later. The error ends the work.
  absl::Status Take(const LetterPlace& place, DeadLetter letter);
  absl::Status Finish();

  uint64_t settled() const { return settled_; }
  // Letters that stay as they are.
  const std::vector<Failure>& failed() const { return failed_; }

 private:
  class Decisions;

  DeadLetterResender(const DeadLetterResolution& decision, Reread reread)
      : decision_(decision), reread_(std::move(reread)) {}

  // Sends the first rows of waiting_.
  absl::Status SendSome();
  StoredEventSender::Result Send(std::vector<ParkedRow> rows);
  void Remove(const StoredEventSender::Result& result);
  absl::Status LeaveOutSettled();

  const DeadLetterResolution decision_;
  Reread reread_;
  boost::asio::io_context io_{1};
  std::vector<LetterPlace> places_;  // of rows, by their numbers
  std::vector<ParkedRow> waiting_;
  size_t waiting_bytes_ = 0;
  uint64_t settled_ = 0;
  std::vector<Failure> failed_;
  std::unique_ptr<StoredEventSender> sender_;  // uses what is above
};

}  // namespace walpost
