// DeadLetterResender: retries or discards dead letters.
//
//   Take, Take, ... ──▶ a transaction: the events' records, and the decisions
//                       about their dead letters
//
// An event and the decision about it become visible together: a crash in
// between leaves neither. If the brokers reject a record, the letters of its
// transaction are sent one by one, and the rejected one stays as it is. If they
// answer, but a topic takes nothing, the letters of this topic stay.
//
// Blocks, as the writer does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "dead_letters/dead_letter.h"
#include "dead_letters/dead_letter_index.h"
#include "dead_letters/dead_letter_resolution.h"
#include "dead_letters/letter_event.h"
#include "kafka/producer/transactional_writer.h"
#include "outbox/record_builder.h"

namespace walpost {

class DeadLetterResender {
 public:
  struct Failure {
    LetterPlace place;
    absl::Status reason;
  };

  // `decision`: for each letter, but for the offset. `writer`: nullptr for a
  // dry run, which only builds the records. Both and `config` outlive this
  // object. kInvalidArgument: the routes are wrong.
  static absl::StatusOr<std::unique_ptr<DeadLetterResender>> Create(
      const Config& config, const DeadLetterResolution& decision,
      TransactionalWriter* writer);

  // Takes a letter; its event may be sent later. The error ends the work:
  // kAborted, if another command has taken over.
  absl::Status Take(const LetterPlace& place, DeadLetter letter);
  absl::Status Finish();

  uint64_t settled() const { return settled_; }
  // Letters that stay as they are.
  const std::vector<Failure>& failed() const { return failed_; }

 private:
  struct Letter {
    LetterPlace place;
    DeadLetter content;
  };

  DeadLetterResender(const Config& config, const DeadLetterResolution& decision,
                     TransactionalWriter* writer,
                     std::unique_ptr<RecordBuilder> builder);

  absl::Status Settle(std::span<const Letter> letters);
  absl::Status SettleOne(const Letter& letter);
  bool GiveUpTopic(std::vector<Letter>& letters, const absl::Status& reason);
  absl::Status WriteAll(std::span<const Letter> letters);
  absl::Status Write(const Letter& letter);
  absl::StatusOr<Record> Build(const DeadLetter& letter);

  DeadLetterResolution decision_;
  TransactionalWriter* writer_;
  std::unique_ptr<RecordBuilder> builder_;
  LetterEvent event_;
  std::vector<Letter> waiting_;
  size_t waiting_bytes_ = 0;
  std::string topic_at_fault_;  // of the last transaction; empty: none
  uint64_t settled_ = 0;
  std::vector<Failure> failed_;
};

}  // namespace walpost
