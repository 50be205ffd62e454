// Whose backend may be terminated? Only that of an earlier run of this walpost.
#include "postgres/slot/slot_holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// No process has such an id.
constexpr char kDead[] = "walpost:orders:host:2000000000";

class SlotHolderTest : public ::testing::Test {
 protected:
  // The statement says of the holder: it creates the slot; it has not reported
  // for long; its backend is older than this process.
  struct Facts {
    bool is_creating = false;
    bool is_silent = false;
    bool is_older = false;
  };

  void Look(const std::string& user, const Facts& facts) {
    const auto text = [](bool fact) { return fact ? "t" : "f"; };
    Look({{"4711", user, text(facts.is_creating), std::nullopt,
           text(facts.is_silent), text(facts.is_older)}});
  }
  void Look(FakePostgres::Rows rows, milliseconds after = milliseconds(0)) {
    server_.Answer("pg_replication_slots s", std::move(rows));
    const MonotonicTime now = MonotonicTime(hours(1000)) + after;
    const absl::Status looked =
        Await(context_, holder_.Look(*connection_, now));
    ASSERT_TRUE(looked.ok()) << looked;
  }
  // A walpost of this slot that streams, with its last sign of life.
  static FakePostgres::Rows Streams(const std::string& reply,
                                    const std::string& pid = "4711") {
    return {{pid, "walpost:orders:other:9", "f", reply, "f", "f"}};
  }

  std::vector<std::string> Terminations() {
    server_.Answer("pg_terminate_backend", {{"t"}});
    Await(context_, [this]() -> boost::asio::awaitable<bool> {
      co_await holder_.EndDeadPredecessor(*connection_);
      co_return true;
    }());
    return server_.StatementsWith("pg_terminate_backend");
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  const std::string slot_ = "orders";
  const InstanceName name_{slot_, "host", 17};
  SlotHolder holder_{slot_, name_};
};

TEST_F(SlotHolderTest, AStreamThatAnEarlierRunLeftBehindIsTerminated) {
  Look(kDead, {.is_silent = true});
  EXPECT_THAT(Terminations(), ElementsAre(HasSubstr("(4711)")));
}

TEST_F(SlotHolderTest, ACreationThatAnEarlierRunLeftBehindIsTerminated) {
  Look(kDead, {.is_creating = true, .is_older = true});
  EXPECT_THAT(Terminations(), ElementsAre(HasSubstr("(4711)")));
  EXPECT_THAT(holder_.trouble(), HasSubstr("is being created by"));
}

// In another container, the id of a process that lives there means nothing.
TEST_F(SlotHolderTest, ACreationYoungerThanThisProcessIsNotTerminated) {
  Look(kDead, {.is_creating = true});
  EXPECT_THAT(Terminations(), IsEmpty());
}

TEST_F(SlotHolderTest, AStreamThatReportsIsNotTerminatedHoweverOldItIs) {
  Look(kDead, {.is_older = true});
  EXPECT_THAT(Terminations(), IsEmpty());
}

TEST_F(SlotHolderTest, ASilentStreamOfAnotherHostIsNotTerminated) {
  Look("walpost:orders:other:2000000000", {.is_silent = true});
  EXPECT_THAT(Terminations(), IsEmpty());
}

TEST_F(SlotHolderTest, P10AHolderThatIsFrozenIsNamed) {
  Look(Streams("12:00:00"));
  EXPECT_TRUE(holder_.is_walpost());
  EXPECT_EQ(holder_.user(), "walpost:orders:other:9");
  EXPECT_EQ(holder_.trouble(), "");
  EXPECT_EQ(holder_.doubt(), "");
  Look(Streams("12:00:00"), milliseconds(7'999));
  EXPECT_EQ(holder_.trouble(), "");
  Look(Streams("12:00:00"), seconds(8));
  EXPECT_THAT(holder_.trouble(), HasSubstr("has not reported for 8 s"));
  EXPECT_THAT(holder_.trouble(), HasSubstr("pg_terminate_backend(4711)"));
  Look(Streams("12:00:11"), seconds(11));
  EXPECT_EQ(holder_.trouble(), "") << "it has come back";
  Look(Streams("12:00:11"), seconds(18));
  EXPECT_EQ(holder_.trouble(), "") << "the time begins again";
}

// Its first sign of life may be old: it counts from when it was seen.
TEST_F(SlotHolderTest, P10AnotherBackendIsNotFrozenForThatOfTheOneBefore) {
  Look(Streams("12:00:00"));
  Look(Streams("12:00:00", "4712"), seconds(60));
  EXPECT_EQ(holder_.trouble(), "");
}

TEST_F(SlotHolderTest, AnotherProgramMayBeSilent) {
  const FakePostgres::Rows other = {
      {"4711", "debezium", "f", "12:00", "f", "f"}};
  Look(other);
  Look(other, seconds(60));
  EXPECT_FALSE(holder_.is_walpost());
  EXPECT_EQ(holder_.trouble(), "");
}

TEST_F(SlotHolderTest, NothingIsKnownOfAHolderThatHasGone) {
  Look("walpost:orders:other:9", {.is_creating = true});
  EXPECT_THAT(holder_.trouble(), HasSubstr("is being created by"));
  EXPECT_THAT(holder_.doubt(), HasSubstr("GRANT pg_read_all_stats"));
  Look(FakePostgres::Rows());
  EXPECT_EQ(holder_.user(), "");
  EXPECT_EQ(holder_.trouble(), "");
  EXPECT_EQ(holder_.doubt(), "");
  EXPECT_THAT(Terminations(), IsEmpty());
}

TEST_F(SlotHolderTest, WhoWasDeadIsNotEndedInPlaceOfTheNext) {
  Look(kDead, {.is_silent = true});
  Look(Streams("12:00:00"));
  EXPECT_THAT(Terminations(), IsEmpty());
}

}  // namespace
}  // namespace walpost
