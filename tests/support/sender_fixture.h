// SenderFixture: a Sender of WAL events into a MemorySink, for the tests of
// what it does with those that cannot be delivered.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "delivery/wal_progress.h"
#include "support/memory_sink.h"

namespace walpost::testing {

class SenderFixture : public ::testing::Test {
 protected:
  using Offer = Sender::Offer;

  // `outbox` beside one table; the topic of an event is "t.<type>".
  explicit SenderFixture(OutboxOptions outbox = {},
                         AcknowledgementWindow::Options limits = {})
      : sender_(MakeBuilder(std::move(outbox)), limits) {
    sender_.SetSink(&sink_);
  }

  static Position At(uint64_t commit_lsn, uint64_t ordinal = 1) {
    return {Lsn(commit_lsn), ordinal};
  }

  static absl::Status TooLarge() {
    return Undeliverable(kReasonRecordTooLarge, "too large");
  }

  // `type` "a b" makes no legal topic, "" no topic at all.
  Offer OfferEvent(Position position, const std::string& type = "order",
                   const std::string& id = "id",
                   const std::string& value = "v") {
    const std::vector<Value> references = {type};
    Event event;
    event.position = position;
    event.id = id;
    event.aggregate_id = "k";
    event.payload = value;
    event.references = references;
    return progress_.OnEvent(event, absl::OkStatus());
  }

  // As the owner does when the sink is lost.
  void ReplaceSink(MemorySink& next) {
    sender_.SetSink(nullptr);
    sender_.Rewind();
    sender_.SetSink(&next);
  }

  MemorySink sink_;
  Sender sender_;
  WalProgress progress_{sender_};

 private:
  static std::unique_ptr<RecordBuilder> MakeBuilder(OutboxOptions outbox) {
    outbox.tables.resize(1);
    outbox.route.topic = "t.{aggregate_type}";
    return RecordBuilder::Create(outbox).value();
  }
};

}  // namespace walpost::testing
