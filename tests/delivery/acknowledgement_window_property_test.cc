// The window under random orders, beside a model too simple to be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "delivery/acknowledgement_window.h"
#include "support/random_seed.h"

namespace walpost {
namespace {

// Everything that was ever added, in stream order, kept for good.
class NaiveWindow {
 public:
  void Add(Sequence sequence, Position position, size_t size_bytes) {
    stream_.push_back({sequence, position, size_bytes, Lsn(), false});
  }

  void AddBoundary(Lsn lsn) {
    if (lsn <= Received()) return;
    stream_.push_back({0, {}, 0, lsn, true});
  }

  void Acknowledge(Sequence sequence) {
    for (Item& item : stream_) {
      if (!item.lsn.is_valid() && item.sequence == sequence) item.done = true;
    }
  }

  // The newest boundary before which every record is acknowledged.
  Lsn Confirmed() const {
    Lsn confirmed = confirmed_before_;
    for (const Item& item : stream_) {
      if (!item.done) break;
      if (item.lsn.is_valid()) confirmed = item.lsn;
    }
    return confirmed;
  }

  Lsn Received() const {
    Lsn received = confirmed_before_;
    for (const Item& item : stream_) received = std::max(received, item.lsn);
    return received;
  }

  std::vector<Sequence> Unacknowledged() const {
    std::vector<Sequence> sequences;
    for (const Item& item : stream_) {
      if (!item.done) sequences.push_back(item.sequence);
    }
    return sequences;
  }

  size_t Bytes() const {
    size_t bytes = 0;
    for (const Item& item : stream_) bytes += item.done ? 0 : item.size_bytes;
    return bytes;
  }

  std::vector<EventIdentity> Clear() {
    const auto hole = std::ranges::find(stream_, false, &Item::done);
    std::vector<EventIdentity> out_of_turn;
    for (auto item = hole; item != stream_.end(); ++item) {
      if (item->done && !item->lsn.is_valid()) {
        out_of_turn.push_back({item->position});
      }
    }
    confirmed_before_ = Confirmed();
    for (auto item = stream_.begin(); item != hole; ++item) {
      if (!item->lsn.is_valid()) covered_ = item->position;
    }
    stream_.clear();
    return out_of_turn;
  }

  // The last event that need not be produced again.
  Position Covered() const {
    Position covered = covered_;
    for (const Item& item : stream_) {
      if (!item.lsn.is_valid()) covered = item.position;
    }
    return covered;
  }

 private:
  struct Item {
    Sequence sequence;
    Position position;
    size_t size_bytes;
    Lsn lsn;  // of a boundary
    bool done;
  };

  std::vector<Item> stream_;
  Lsn confirmed_before_;
  Position covered_;
};

class WindowSimulation {
 public:
  explicit WindowSimulation(uint64_t seed) : random_(seed) {
    AcknowledgementWindow::Options options;
    options.max_records = random_.Between(1, 40);
    options.max_bytes = random_.Between(1, 2'000);
    options_ = options;
    window_ = AcknowledgementWindow(options);
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      Step();
      ASSERT_NO_FATAL_FAILURE(Check()) << "after step " << i;
    }
  }

 private:
  void Step() {
    const uint64_t draw = random_.Below(100);
    if (draw < 40) {
      AddRecord();
    } else if (draw < 60) {
      EndTransactionOrKeepalive();
    } else if (draw < 98) {
      AcknowledgeAny();
    } else {
      Lose();
    }
  }

  void AddRecord() {
    if (!window_.HasCapacity()) return;
    if (!in_transaction_) {
      lsn_ += random_.Below(3);  // 0: right behind the last commit record
      commit_lsn_ = lsn_++;
      ordinal_ = 0;
      in_transaction_ = true;
    }
    const Position position{Lsn(commit_lsn_), ++ordinal_};
    const size_t size = random_.Below(300);
    const Sequence sequence = window_.Add({position, WallTime(), size});
    model_.Add(sequence, position, size);
  }

  void EndTransactionOrKeepalive() {
    in_transaction_ = false;
    // At times one that is not news.
    const Lsn lsn(random_.OneIn(5) ? random_.Between(1, lsn_) : ++lsn_);
    seen_boundaries_.insert(lsn);
    window_.AddWatermark(lsn.value());
    model_.AddBoundary(lsn);
  }

  void AcknowledgeAny() {
    const std::vector<Sequence> open = model_.Unacknowledged();
    Sequence sequence = random_.Below(window_.next_sequence() + 2);
    if (!open.empty() && !random_.OneIn(10)) {
      sequence = open[random_.Below(open.size())];
    }
    const bool known = std::ranges::find(open, sequence) != open.end();
    EXPECT_EQ(window_.Acknowledge(sequence) != nullptr, known);
    if (known) model_.Acknowledge(sequence);
  }

  // The stream starts over at the confirmed LSN. Here, what comes next is
  // simply newer.
  void Lose() {
    EXPECT_EQ(window_.Clear(), model_.Clear());
    in_transaction_ = false;
    ++lsn_;
  }

  void Check() {
    const std::vector<Sequence> open = model_.Unacknowledged();
    const Lsn confirmed(window_.passed_watermark());
    // P2: never past an unacknowledged event, never back, and always the end
    // of something that was seen.
    ASSERT_EQ(confirmed, model_.Confirmed());
    ASSERT_GE(confirmed, last_confirmed_);
    ASSERT_TRUE(!confirmed.is_valid() || seen_boundaries_.contains(confirmed));
    if (window_.oldest() != nullptr) {
      ASSERT_LE(confirmed, window_.oldest()->position.commit_lsn);
    }
    last_confirmed_ = confirmed;

    ASSERT_EQ(Lsn(window_.newest_watermark()), model_.Received());
    ASSERT_EQ(window_.in_flight_records(), open.size());
    ASSERT_EQ(window_.in_flight_bytes(), model_.Bytes());
    ASSERT_EQ(window_.empty(), open.empty());
    ASSERT_EQ(window_.oldest(),
              open.empty() ? nullptr : window_.Find(open.front()));
    for (const Sequence sequence : open) {
      ASSERT_NE(window_.Find(sequence), nullptr);
    }
    ASSERT_TRUE(window_.Covers(model_.Covered()));
    ASSERT_FALSE(window_.Covers(
        {model_.Covered().commit_lsn, model_.Covered().ordinal + 1}));
    // P6.
    ASSERT_LE(window_.in_flight_records(), options_.max_records);
    ASSERT_TRUE(window_.HasCapacity() || !window_.empty());
  }

  testing::Random random_;
  AcknowledgementWindow::Options options_;
  AcknowledgementWindow window_{AcknowledgementWindow::Options()};
  NaiveWindow model_;
  std::set<Lsn> seen_boundaries_;
  Lsn last_confirmed_;

  bool in_transaction_ = false;
  uint64_t lsn_ = 100;
  uint64_t commit_lsn_ = 0;
  uint64_t ordinal_ = 0;
};

TEST(AcknowledgementWindowPropertyTest,
     P2ConfirmedIsTheNewestBoundaryBeforeWhichAllIsAcknowledged) {
  for (const uint64_t seed : testing::RandomSeeds(60)) {
    SCOPED_TRACE(testing::ReplayWith(seed));
    WindowSimulation simulation(seed);
    simulation.Run(600);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace walpost
