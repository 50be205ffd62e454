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
    server_.Answer("pg_replication_slots s",
                   {{"4711", user, text(facts.is_creating), std::nullopt,
                     text(facts.is_silent), text(facts.is_older)}});
    const absl::Status looked = Await(context_, holder_.Look(*connection_));
    ASSERT_TRUE(looked.ok()) << looked;
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

}  // namespace
}  // namespace walpost
