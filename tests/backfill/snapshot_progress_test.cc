#include "backfill/snapshot_progress.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

SnapshotProgress MakeProgress() {
  SnapshotProgress progress;
  progress.begins_at = Lsn(0x154DB40);
  progress.tables_done = {"public.outbox", "b.outbox"};
  progress.rows_done = 300;
  progress.table = "c.outbox";
  progress.place.done = 17;
  progress.place.key = ScanCursor::Key{"\xff", std::nullopt, ""};
  progress.place.ties = {{17, 1}, {~uint64_t{0}, 3}};
  progress.order_columns = {"created_at", "shard", "id"};
  return progress;
}

TEST(SnapshotProgressTest, IsTheSameAfterwards) {
  const SnapshotProgress progress = MakeProgress();
  const auto decoded = DecodeSnapshotProgress(EncodeSnapshotProgress(progress));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->begins_at, progress.begins_at);
  EXPECT_EQ(decoded->tables_done, progress.tables_done);
  EXPECT_EQ(decoded->rows_done, progress.rows_done);
  EXPECT_EQ(decoded->table, progress.table);
  EXPECT_EQ(decoded->place.done, progress.place.done);
  EXPECT_EQ(decoded->place.key, progress.place.key);
  EXPECT_EQ(decoded->place.ties, progress.place.ties);
  EXPECT_EQ(decoded->order_columns, progress.order_columns);
}

TEST(SnapshotProgressTest, KnowsTheTablesThatAreDone) {
  EXPECT_TRUE(MakeProgress().IsDone("b.outbox"));
  EXPECT_FALSE(MakeProgress().IsDone("c.outbox"));
}

TEST(SnapshotProgressTest, WithoutARowThereIsNoPlace) {
  SnapshotProgress progress;
  progress.begins_at = Lsn(8);
  const auto decoded = DecodeSnapshotProgress(EncodeSnapshotProgress(progress));
  ASSERT_TRUE(decoded.ok());
  EXPECT_FALSE(decoded->place.key);
}

TEST(SnapshotProgressTest, FitsIntoARecordOfKafka) {
  SnapshotProgress progress = MakeProgress();
  progress.place.ties.clear();
  for (uint64_t i = 0; i < ScanCursor::kMaxTies; ++i) {
    progress.place.ties[~i] = 1;
  }
  const std::string bytes = EncodeSnapshotProgress(progress);
  EXPECT_LT(bytes.size(), 600'000u);
  const auto decoded = DecodeSnapshotProgress(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->place.ties, progress.place.ties);
  progress.place.ties[1] = 1'000'000;
  EXPECT_LT(EncodeSnapshotProgress(progress).size(), 600'000u);
}

TEST(SnapshotProgressTest, OtherBytesAreRefused) {
  const std::string bytes = EncodeSnapshotProgress(MakeProgress());
  const auto torn = DecodeSnapshotProgress(
      std::string_view(bytes).substr(0, bytes.size() - 1));
  EXPECT_TRUE(absl::IsDataLoss(torn.status()));
}

}  // namespace
}  // namespace walpost
