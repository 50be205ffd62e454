// TransactionalRelease: sends parked events in Kafka transactions.
//
//   Open: fence who did it before ──▶ read the ledger
//   Send: begin ──▶ events, and the ledger with them ──▶ commit
//
// Rows that were read before it was open may have been sent in between, and
// the ledger may not have them any more. Whoever takes over ends the session
// that reads rows, and only then fences. So rows that were read since it is
// open are either unsent, or it is fenced. The call of Send that opens it sends
// nothing.
//
// An event whose row is not marked although it was committed, because of a
// crash, is in the ledger (parking/release_ledger.h), and is not sent again.
// The ledger is a record in the checkpoint topic, with a key of its own. So
// whoever sends parked events must have the slot and its parked table.
//
// Blocks for up to a minute: for a helper thread. Owns all that it uses, so
// that nobody has to wait for it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "dead_letters/letter_event.h"
#include "kafka/checkpoint/topic_record.h"
#include "kafka/producer/transactional_writer.h"
#include "kafka/topics/offset_regression_detector.h"
#include "outbox/record_builder.h"
#include "parking/release_ledger.h"
#include "postgres/parking/parking_table.h"

namespace walpost {

class TransactionalRelease {
 public:
  struct Options {
    ProducerOptions kafka;
    OutboxOptions outbox;
    std::string topic;  // of the ledger: that of the checkpoints
    std::string slot;
    std::string system_identifier;
    std::string sender;  // kafka/client/transactional_id.h
    // The topic that nobody else writes to; empty: none.
    std::string own_topic = {};
  };
  struct Result {
    size_t sent = 0;  // all rows, or the first ones, known from the ledger
    // Why the next row cannot be sent, or with topic_at_fault each row for this
    // topic; ok: they may be, later.
    absl::Status failed;
    // It takes nothing, or nothing now, and the brokers answer.
    std::string topic_at_fault;
    // Why the rest was not sent, if it is not the next row's fault alone.
    absl::Status trouble;
    bool one_is_at_fault = false;  // of the rest: send them one by one
    // It is open since this call: nothing was sent.
    bool must_read_again = false;
    // The acknowledged offsets of own_topic, with the earlier ones.
    PartitionOffsets offsets;
  };

  TransactionalRelease(Options options, std::unique_ptr<RecordBuilder> builder);

  // `topics_fail`: rows that the brokers do not take, although they answer,
  // have failed, for whatever reason. `known`: acknowledged offsets of
  // own_topic. If one is given again, nothing is sent: `trouble` is a gap.
  Result Send(const std::vector<ParkedRow>& rows, bool topics_fail,
              const PartitionOffsets& known);

 private:
  Result SendRest(const std::vector<ParkedRow>& rows, bool topics_fail);
  std::string TransactionalId() const;
  TopicRecord LedgerRecord() const;
  bool is_open() const;
  absl::Status Open();
  absl::Status ReadLedger();
  absl::Status Commit(std::span<const ParkedRow> rows,
                      std::span<const std::string> entries, bool& is_ended,
                      std::string& failed_topic);
  absl::Status WriteEvent(const ParkedRow& row);
  absl::Status WriteLedger(const ReleaseLedger& ledger);
  absl::StatusOr<Record> Build(const ParkedRow& row);

  Options options_;
  std::unique_ptr<RecordBuilder> builder_;
  LetterEvent event_;
  PartitionOffsets offsets_;                     // of own_topic
  std::unique_ptr<TransactionalWriter> writer_;  // nullptr: not open
  ReleaseLedger inherited_;                      // as it was when opened
  ReleaseLedger ledger_;                         // as committed last
};

}  // namespace walpost
