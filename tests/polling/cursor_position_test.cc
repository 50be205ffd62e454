#include "polling/cursor_position.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "support/random_seed.h"

namespace walpost {
namespace {

struct Row {
  uint64_t transaction;
  int64_t place;
  int aggregate;
  bool committed = false;
};

// The rows that a fetch with this position gives, as CursorSql asks for them.
std::vector<Row> Fetch(const std::vector<Row>& rows,
                       const CursorPosition& position) {
  std::vector<Row> found;
  for (const Row& row : rows) {
    if (row.committed && row.transaction >= position.window_from &&
        row.transaction < position.window_to &&
        (!position.last_place || row.place > *position.last_place)) {
      found.push_back(row);
    }
  }
  std::ranges::sort(found, {}, &Row::place);
  return found;
}

// Transactions take sequence numbers and commit in any order, except that
// writers of one aggregate queue for each other. The cursor polls in between.
TEST(CursorPositionTest, LosesNoLateCommitAndKeepsTheOrderOfAnAggregate) {
  const uint64_t seed = testing::RandomSeeds(1).front();
  SCOPED_TRACE(testing::ReplayWith(seed));
  std::minstd_rand random(seed);
  size_t lost_by_naive = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::vector<Row> rows;
    std::vector<size_t> open;  // transactions, by their first row
    uint64_t next_transaction = 1;
    int64_t next_place = 1;
    CursorPosition position;
    int64_t naive = 0;  // remembers the highest id that it has seen
    std::set<int64_t> seen_by_naive;
    std::vector<Row> published;
    const auto poll = [&] {
      uint64_t xmin = next_transaction;
      for (const size_t row : open) {
        xmin = std::min(xmin, rows[row].transaction);
      }
      if (!position.has_window()) position.Open(xmin);
      const std::vector<Row> found = Fetch(rows, position);
      for (size_t i = 0; i < found.size() && i < 2; ++i) {
        published.push_back(found[i]);
        position.OnPublished(found[i].place);
      }
      if (found.size() <= 2) position.OnWindowDone();
      int64_t highest = naive;
      for (const Row& row : rows) {
        if (!row.committed || row.place <= naive) continue;
        seen_by_naive.insert(row.place);
        highest = std::max(highest, row.place);
      }
      naive = highest;
    };
    for (int step = 0; step < 30; ++step) {
      const int aggregate = static_cast<int>(random() % 3);
      const bool is_busy = std::ranges::any_of(
          open, [&](size_t row) { return rows[row].aggregate == aggregate; });
      if (random() % 3 == 0) {
        poll();
      } else if (random() % 2 == 0 && !is_busy) {
        open.push_back(rows.size());
        rows.push_back({next_transaction++, next_place++, aggregate});
      } else if (!open.empty()) {
        const size_t which = random() % open.size();
        rows[open[which]].committed = true;
        open.erase(open.begin() + static_cast<ptrdiff_t>(which));
      }
    }
    for (const size_t row : open) rows[row].committed = true;
    open.clear();
    for (int i = 0; i < 60; ++i) poll();
    ASSERT_EQ(published.size(), rows.size()) << "round " << round;
    int64_t last[3] = {0, 0, 0};
    for (const Row& row : published) {
      ASSERT_LT(last[row.aggregate], row.place) << "round " << round;
      last[row.aggregate] = row.place;
    }
    lost_by_naive += rows.size() - seen_by_naive.size();
  }
  EXPECT_GT(lost_by_naive, 0u);
}

TEST(CursorPositionTest, AnotherClusterOrATimeToComeIsForeign) {
  CursorPosition position;
  EXPECT_FALSE(position.IsForeign("1", 700));
  position.system_identifier = "1";
  position.window_from = position.window_to = 5'000;
  EXPECT_FALSE(position.IsForeign("1", 5'000));
  EXPECT_TRUE(position.IsForeign("2", 5'000));
  EXPECT_TRUE(position.IsForeign("1", 4'999));
  position.Adopt("2", 700, 42);
  EXPECT_FALSE(position.IsForeign("2", 700));
  EXPECT_FALSE(position.has_window());
  EXPECT_EQ(position.floor_place, 42);
}

TEST(CursorPositionTest, TheHighestPlaceOutlivesItsWindow) {
  CursorPosition position;
  position.Open(10);
  position.OnPublished(7);
  position.OnWindowDone();
  EXPECT_FALSE(position.last_place) << "the next one may have lower places";
  EXPECT_EQ(position.window_from, 10u);
  position.Open(20);
  position.OnPublished(5);
  EXPECT_EQ(position.last_place, 5);
  EXPECT_EQ(position.highest_place, 7);
}

}  // namespace
}  // namespace walpost
