// The statements of a store; a real server is in tests/e2e.
#include "postgres/checkpoint/checkpoint_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "postgres/checkpoint/checkpoint_sql.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Nobody listens there.
constexpr char kUnreachable[] = "host=127.0.0.1 port=1 dbname=d user=u";

TEST(CheckpointTableTest, WithoutAServerItIsUnavailable) {
  boost::asio::io_context io(1);
  const ServerOptions server{kUnreachable, {}};
  CheckpointTable store(io.get_executor(), server, "walpost", "a.b");
  std::vector<absl::Status> results;
  store.Load([&](auto loaded) { results.push_back(loaded.status()); });
  io.run();
  store.Save(Checkpoint(),
             [&](absl::Status saved) { results.push_back(std::move(saved)); });
  io.restart();
  io.run();
  ASSERT_EQ(results.size(), 2u);
  for (const absl::Status& status : results) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("table a.b"));
  }
}

TEST(CheckpointTableTest, CallsNobodyBackAfterItsEnd) {
  boost::asio::io_context io(1);
  auto store = std::make_unique<CheckpointTable>(
      io.get_executor(), ServerOptions{kUnreachable, {}}, "walpost", "a.b");
  bool called = false;
  store->Load([&](const auto&) { called = true; });
  store.reset();
  io.run();
  EXPECT_FALSE(called);
}

constexpr char kFind[] = "to_regclass(";
constexpr char kLoad[] = "SELECT slot, system_identifier";
constexpr char kSave[] = "INSERT INTO \"app\".\"checkpoint\"";

class CheckpointTableSessionTest : public ::testing::Test {
 protected:
  CheckpointTableSessionTest() {
    server_.Answer(kFind, {{"t", "t"}});
    server_.Answer(kLoad, {Row()});
    server_.Answer(kSave, {{"t"}});
  }

  // In the order of the statement.
  static FakePostgres::Row Row() {
    return {"orders", "77",        "3",         "0/100", "0/200", "0/190",
            "5",      "11",        "745",       "60",    "70",    "744",
            "80",     "16388:690", "cluster-1", "",      "t=abc"};
  }

  absl::StatusOr<std::optional<Checkpoint>> Load() {
    std::optional<absl::StatusOr<std::optional<Checkpoint>>> result;
    store_.Load([&](auto loaded) { result = std::move(loaded); });
    context_.restart();
    while (!result && context_.run_one() > 0) continue;
    return *std::move(result);
  }

  absl::Status Save() {
    Checkpoint checkpoint;
    checkpoint.slot = "orders";
    std::optional<absl::Status> result;
    store_.Save(checkpoint,
                [&](absl::Status saved) { result = std::move(saved); });
    context_.restart();
    while (!result && context_.run_one() > 0) continue;
    return *std::move(result);
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  CheckpointTable store_{context_.get_executor(), server_.options(), "orders",
                         "app.checkpoint"};
};

TEST_F(CheckpointTableSessionTest, LoadsEveryColumnIntoItsOwnField) {
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_TRUE(loaded->has_value());
  const Checkpoint& checkpoint = **loaded;
  EXPECT_EQ(checkpoint.slot, "orders");
  EXPECT_EQ(checkpoint.system_identifier, "77");
  EXPECT_EQ(checkpoint.timeline, 3u);
  EXPECT_EQ(checkpoint.birth, Lsn(0x100));
  EXPECT_EQ(checkpoint.confirmed, Lsn(0x200));
  EXPECT_EQ(checkpoint.position, (Position{Lsn(0x190), 5}));
  EXPECT_EQ(checkpoint.numbering, 11u);
  EXPECT_EQ(checkpoint.horizon.transaction_id, 745u);
  EXPECT_EQ(checkpoint.horizon.server_started_at.time_since_epoch().count(),
            60);
  EXPECT_EQ(checkpoint.written_at.time_since_epoch().count(), 70);
  EXPECT_EQ(checkpoint.commit_xid, Xid(744));
  EXPECT_EQ(checkpoint.commit_time.time_since_epoch().count(), 80);
  EXPECT_EQ(checkpoint.coverage, "16388:690");
  EXPECT_EQ(checkpoint.kafka_cluster, "cluster-1");
  EXPECT_EQ(checkpoint.gap, "");
  EXPECT_EQ(checkpoint.kafka_topics, "t=abc");
}

TEST_F(CheckpointTableSessionTest, WithoutARowNoneWasSaved) {
  server_.Answer(kLoad, {});
  const auto loaded = Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE(loaded->has_value());
}

TEST_F(CheckpointTableSessionTest, ARowThatCannotBeReadIsNotTakenForNone) {
  FakePostgres::Row row = Row();
  row[4] = "nonsense";
  server_.Answer(kLoad, {row});
  const absl::Status status = Load().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("its confirmed is 'nonsense'"));
}

// The condition of the statement keeps a later one.
TEST_F(CheckpointTableSessionTest, SaysWhenALaterCheckpointWasKept) {
  EXPECT_TRUE(Save().ok());
  server_.Answer(kSave, {});
  EXPECT_TRUE(absl::IsAborted(Save()));
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(CheckpointTableSessionTest, ASaveIsDurableWhateverTheServersDefault) {
  ASSERT_TRUE(Save().ok());
  EXPECT_THAT(server_.startup(), HasSubstr("-c synchronous_commit=on"));
}

TEST_F(CheckpointTableSessionTest, MakesTheTableOrItsNewColumnsOnce) {
  server_.AnswerInTurn(kFind, {{{"f", "f"}}});
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(
      server_.statements(),
      ElementsAre(HasSubstr(kFind), StartsWith("create table if not exists"),
                  StartsWith(kLoad), StartsWith(kLoad)));
}

TEST_F(CheckpointTableSessionTest, ATableOfAnOlderReleaseGetsItsNewColumns) {
  server_.AnswerInTurn(kFind, {{{"t", "f"}}});
  ASSERT_TRUE(Load().ok());
  EXPECT_THAT(server_.statements()[1], StartsWith("ALTER TABLE"));
}

TEST_F(CheckpointTableSessionTest, AfterAnErrorItConnectsAgain) {
  server_.Fail(kSave, "57P01", "terminating connection");
  EXPECT_TRUE(absl::IsUnavailable(Save()));
  server_.Answer(kSave, {{"t"}});
  EXPECT_TRUE(Save().ok());
  EXPECT_EQ(server_.connections(), 2u);
}

TEST_F(CheckpointTableSessionTest, AMissingRightIsNamedWithItsGrant) {
  server_.Fail(kLoad, "42501", "permission denied");
  const absl::Status status = Load().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("GRANT SELECT, INSERT, UPDATE ON \"app\".\"checkpoint\" "
                "TO \"u\""));
}

}  // namespace
}  // namespace walpost
