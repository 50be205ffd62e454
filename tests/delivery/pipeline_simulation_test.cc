// The promises of docs/delivery.md, held against a server, brokers and
// processes that fail at any point. One seed gives one history.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "delivery/pipeline.h"
#include "support/message_feed.h"
#include "support/random_seed.h"
#include "support/simulated_kafka.h"
#include "support/simulated_postgres.h"

namespace walpost {
namespace {

using testing::Random;
using testing::SimulatedBrokers;
using testing::SimulatedEvent;
using testing::SimulatedPostgres;
using testing::SimulatedProducer;

constexpr uint64_t kTransactions = 120;

enum class Trouble {
  kNone,
  kUndeliverable,  // one event cannot be mapped
  kRefused,        // one record is refused by the brokers
};

class Simulation {
 public:
  Simulation(uint64_t seed, Trouble trouble) : random_(seed) {
    options_.tables.resize(1);
    options_.messages.prefix = "outbox";
    if (trouble != Trouble::kNone) bad_event_ = random_.Between(20, 200);
    if (trouble == Trouble::kUndeliverable) server_.Poison(bad_event_);
    if (trouble == Trouble::kRefused) refused_event_ = bad_event_;
    StartProcess();
  }

  void Run() {
    for (int step = 0; step < 6'000; ++step) {
      Step(/*calm=*/false);
      ASSERT_NO_FATAL_FAILURE(Check()) << "after step " << step;
    }
    // From here on nothing breaks, and it must come to an end.
    for (int step = 0; step < 20'000 && !IsThrough(); ++step) {
      Step(/*calm=*/true);
      ASSERT_NO_FATAL_FAILURE(Check()) << "in calm step " << step;
    }
    ASSERT_TRUE(IsThrough()) << "it hangs";
    CheckEnd();
  }

 private:
  // ---- What happens.

  void Step(bool calm) {
    const uint64_t draw = random_.Below(1'000);
    if (draw < 400) {
      ReadOne();
    } else if (draw < 600) {
      producer_->WriteOne(*pipeline_);
    } else if (draw < 800) {
      const uint64_t event = producer_->AcknowledgeOne(*pipeline_);
      if (event != UINT64_MAX) acknowledged_.insert(event);
    } else if (draw < 850) {
      if (committed_ < kTransactions) {
        ++committed_;
        server_.CommitTransaction();
      }
    } else if (draw < 900) {
      server_.OnFeedback(pipeline_->confirmed());
    } else if (draw < 940) {
      pipeline_->RetryHeld();
    } else if (draw < 970) {
      if (pipeline_->sink_failure()) ReplaceProducer();
    } else if (!calm) {
      Break();
    }
  }

  void Break() {
    switch (random_.Below(8)) {
      case 0:
        return StartProcess();  // kill -9
      case 1:
        server_.Crash();
        return Connect();
      case 2:
      case 3:
        return producer_->Fail(*pipeline_);
      default:
        return Connect();
    }
  }

  void StartProcess() {
    AcknowledgementWindow::Options limits;
    limits.max_records = random_.Between(1, 60);
    limits.max_bytes = random_.Between(1'000, 40'000);
    pipeline_ = std::make_unique<Pipeline>(
        RecordBuilder::Create(options_).value(), limits);
    acknowledged_.clear();
    boundaries_.clear();
    last_confirmed_ = Lsn();
    StartProducer();
    Connect();
  }

  void StartProducer() {
    producer_ = std::make_unique<SimulatedProducer>(brokers_, random_);
    producer_->Refuse(refused_event_);
    pipeline_->SetSink(producer_.get());
  }

  void ReplaceProducer() {
    producer_->Purge(*pipeline_);
    pipeline_->SetSink(nullptr);
    pipeline_->Rewind();
    StartProducer();
    Connect();
  }

  void Connect() {
    feed_.emplace(options_);
    stream_.emplace(server_, random_, pipeline_->confirmed());
    is_held_ = false;
  }

  // As WalSource does it.
  void ReadOne() {
    if (is_held_) return Deliver();
    if (!pipeline_->CanTake()) return;
    const SimulatedPostgres::Stream::Item item = stream_->Next();
    if (const auto* wal_end = std::get_if<Lsn>(&item)) {
      if (feed_->assembler().in_transaction()) return;
      boundaries_.insert(*wal_end);
      pipeline_->OnKeepalive(*wal_end);
    } else if (const auto* message = std::get_if<std::string>(&item)) {
      const absl::Status status = feed_->Feed(*message);
      ASSERT_TRUE(status.ok()) << status;
      Deliver();
    }
  }

  void Deliver() {
    const Step_& step = feed_->step();
    is_held_ = false;
    switch (step.kind) {
      case Step_::Kind::kNothing:
        return;
      case Step_::Kind::kEvent:
        is_held_ = pipeline_->OnEvent(step.event) == Pipeline::Offer::kHold;
        return CheckProduced();
      case Step_::Kind::kUndeliverable:
        is_held_ = pipeline_->OnUndeliverable(step.event, step.error) ==
                   Pipeline::Offer::kHold;
        return;
      case Step_::Kind::kTransactionEnd:
        boundaries_.insert(step.end_lsn);
        return pipeline_->OnTransactionEnd(step.end_lsn);
    }
  }

  // ---- What must hold.

  // P5: nothing that this process knows to be acknowledged goes out again.
  void CheckProduced() {
    for (const uint64_t event : producer_->TakeProduced()) {
      EXPECT_FALSE(acknowledged_.contains(event)) << event;
    }
  }

  void Check() {
    CheckConfirmed();
    for (size_t i = 0; i < SimulatedBrokers::kPartitions; ++i) {
      CheckOrder(i);
    }
  }

  void CheckConfirmed() {
    const Lsn confirmed = pipeline_->confirmed();
    // P2: never back, and always something that was seen.
    ASSERT_GE(confirmed, last_confirmed_);
    ASSERT_TRUE(!confirmed.is_valid() || boundaries_.contains(confirmed));
    last_confirmed_ = confirmed;
    // P1 and P2: what the server will not send again is in Kafka.
    const uint64_t gone = server_.EventsBefore(confirmed);
    for (; checked_ < gone; ++checked_) {
      ASSERT_TRUE(brokers_.Has(checked_)) << "lost: event " << checked_;
    }
    // P8: nothing is confirmed past what stops the flow.
    ASSERT_LE(gone, bad_event_);
  }

  // P3: of each key, either the next event or an older one, from where a run
  // begins again.
  void CheckOrder(size_t partition) {
    const auto& records = brokers_.partition(partition);
    for (; order_checked_[partition] < records.size();
         ++order_checked_[partition]) {
      const auto& record = records[order_checked_[partition]];
      const SimulatedEvent& event = server_.events()[record.event];
      std::optional<uint64_t>& last = last_of_key_[record.key];
      ASSERT_LE(event.number_in_key, last ? *last + 1 : 0)
          << "event " << event.number << " of key " << event.key
          << " came before its turn";
      last = event.number_in_key;
      ASSERT_NE(event.number, bad_event_);
    }
  }

  bool IsThrough() const {
    if (!producer_->is_idle() || producer_->has_failed()) return false;
    if (pipeline_->stoppage()) return true;
    return committed_ == kTransactions && stream_->IsThrough() && !is_held_ &&
           pipeline_->window().empty();
  }

  void CheckEnd() {
    const uint64_t all =
        std::min<uint64_t>(server_.events().size(), bad_event_);
    for (uint64_t event = 0; event < all; ++event) {
      ASSERT_TRUE(brokers_.Has(event)) << "P1: lost: event " << event;
    }
    const bool stops = bad_event_ < server_.events().size();
    ASSERT_EQ(pipeline_->stoppage().has_value(), stops);
    if (!stops) {
      EXPECT_GE(pipeline_->confirmed(), server_.EndOf(kTransactions - 1));
    } else if (refused_event_ == bad_event_) {
      EXPECT_EQ(pipeline_->stoppage()->event_id,
                "id-" + std::to_string(bad_event_));
    }
  }

  using Step_ = walpost::Step;

  Random random_;
  OutboxOptions options_;
  SimulatedPostgres server_{random_};
  SimulatedBrokers brokers_;
  uint64_t committed_ = 0;
  uint64_t bad_event_ = UINT64_MAX;
  uint64_t refused_event_ = UINT64_MAX;

  // Of this process.
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<SimulatedProducer> producer_;
  std::set<uint64_t> acknowledged_;
  std::set<Lsn> boundaries_;
  Lsn last_confirmed_;

  // Of this connection.
  std::optional<testing::MessageFeed> feed_;
  std::optional<SimulatedPostgres::Stream> stream_;
  bool is_held_ = false;

  // How far the checks have come.
  uint64_t checked_ = 0;
  size_t order_checked_[SimulatedBrokers::kPartitions] = {};
  std::optional<uint64_t> last_of_key_[SimulatedPostgres::kKeys];
};

void RunSimulations(size_t count, Trouble trouble) {
  for (const uint64_t seed : testing::RandomSeeds(count)) {
    SCOPED_TRACE(testing::ReplayWith(seed));
    Simulation(seed, trouble).Run();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(PipelineSimulationTest, P1P2P3P5HoldWhateverFails) {
  RunSimulations(40, Trouble::kNone);
}

TEST(PipelineSimulationTest, P8AnUndeliverableEventIsNeverPassed) {
  RunSimulations(15, Trouble::kUndeliverable);
}

TEST(PipelineSimulationTest, P8ARefusedRecordIsNeverPassed) {
  RunSimulations(15, Trouble::kRefused);
}

}  // namespace
}  // namespace walpost
