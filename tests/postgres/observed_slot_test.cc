// Looks at a slot and its server: each value in its place, each error told.
#include "postgres/slot/observed_slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "postgres/slot/slot_holder.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;

constexpr char kIdentify[] = "IDENTIFY_SYSTEM";
constexpr char kSlot[] = "pg_replication_slots slot";
constexpr char kComments[] = "obj_description";
constexpr char kControl[] = "pg_control_system";
constexpr char kCreation[] = "confirmed_flush_lsn IS NULL";
constexpr char kBlockers[] = "pg_blocking_pids";
const std::optional<std::string> kNull;

class ObservedSlotTest : public ::testing::Test {
 protected:
  ObservedSlotTest() {
    postgres_.slot = "orders";
    postgres_.publication = "outbox";
    server_.Answer(kIdentify, {{"77", "3", "0/500", "d"}});
    server_.Answer(kSlot, {{"pgoutput", "extended", "t", "0/100", "0/200", "t",
                            "f", "d", "d", "logical", "why"}});
    server_.Answer(kComments, {{Comment("77")}});
    server_.Answer(kControl, {{"77"}});
  }

  static std::string Comment(const std::string& system) {
    BirthRecord record;
    record.slot = "orders";
    record.system_identifier = system;
    record.consistent_point = Lsn(0x150);
    return WithBirthRecord("", record);
  }

  absl::StatusOr<ObservedSlot> Look() {
    return Await(context_, LookAtSlot(*connection_, postgres_));
  }
  absl::StatusOr<SourceIdentity> Identify() {
    return Await(context_,
                 IdentifySource(context_.get_executor(), server_.options(),
                                "outbox", "orders"));
  }
  absl::StatusOr<std::string> Creation() {
    return Await(context_, DescribeSlotCreation(*connection_, "orders"));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  WalSourceOptions postgres_;
};

TEST_F(ObservedSlotTest, HasTheServerTheSlotAndTheRecord) {
  const auto sight = Look();
  ASSERT_TRUE(sight.ok()) << sight.status();
  EXPECT_EQ(sight->system_identifier, "77");
  EXPECT_EQ(sight->timeline, 3u);
  ASSERT_TRUE(sight->slot.has_value());
  EXPECT_EQ(sight->slot->wal_status, "extended");
  EXPECT_TRUE(sight->slot->active);
  EXPECT_EQ(sight->slot->restart_lsn, Lsn(0x100));
  EXPECT_EQ(sight->slot->confirmed_flush_lsn, Lsn(0x200));
  EXPECT_TRUE(sight->slot->failover);
  EXPECT_FALSE(sight->slot->two_phase);
  EXPECT_EQ(sight->slot->invalidation_reason, "why");
  ASSERT_TRUE(sight->birth.has_value());
  EXPECT_EQ(sight->birth->consistent_point, Lsn(0x150));
}

TEST_F(ObservedSlotTest, P9AnErrorIsNoMissingSlot) {
  for (const char* words : {kIdentify, kSlot, kComments}) {
    server_.Fail(words, "57014", "canceled");
    EXPECT_FALSE(Look().ok()) << words;
    server_.Answer(words, {});
    if (std::string(words) == kIdentify) {
      server_.Answer(words, {{"77", "3", "0/500", "d"}});
    }
  }
  const auto sight = Look();
  ASSERT_TRUE(sight.ok()) << sight.status();
  EXPECT_FALSE(sight->slot.has_value());
  EXPECT_FALSE(sight->birth.has_value());
}

TEST_F(ObservedSlotTest, P9TheIdentityHasARecordOnlyOfThisCluster) {
  auto identity = Identify();
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->system_identifier, "77");
  EXPECT_TRUE(identity->has_birth_record);
  server_.Answer(kComments, {{Comment("78")}});
  EXPECT_FALSE(Identify()->has_birth_record);
  server_.Answer(kComments, {{""}});
  EXPECT_FALSE(Identify()->has_birth_record);
}

TEST_F(ObservedSlotTest, P9WithoutAnAnswerThereIsNoIdentity) {
  server_.Fail(kComments, "57014", "canceled");
  EXPECT_FALSE(Identify().ok());
  server_.Fail(kControl, "42501", "permission denied");
  EXPECT_FALSE(Identify().ok());
  server_.Drop(kControl);
  EXPECT_TRUE(absl::IsUnavailable(Identify().status()));
  server_.Refuse("57P03", "the database system is shutting down");
  EXPECT_FALSE(Identify().ok());
}

TEST_F(ObservedSlotTest, ASlotThatIsBeingCreatedNamesWhatItWaitsFor) {
  server_.Answer(kCreation, {{"orders", "42", "walpost:orders"}});
  server_.Answer(kBlockers, {{"43", "alice", "active", "7", kNull}});
  const auto text = Creation();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("slot orders is being created by walpost:orders "
                               "(pid 42), which waits for transactions"));
  EXPECT_THAT(*text, HasSubstr("pid 43, role alice, active, its transaction "
                               "began 7 s ago, to be ended with SELECT "
                               "pg_terminate_backend(43);"));
  EXPECT_THAT(server_.StatementsWith(kCreation)[0],
              HasSubstr("starts_with(a.application_name, 'walpost:orders:'"));
  server_.Answer(kBlockers, {});
  EXPECT_EQ(*Creation(),
            "slot orders is being created by walpost:orders (pid 42)");
  server_.Fail(kBlockers, "57014", "canceled");
  EXPECT_FALSE(Creation().ok());
  server_.Answer(kCreation, {});
  EXPECT_EQ(*Creation(), "");
}

}  // namespace
}  // namespace walpost
