#include "retention/cursor_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;

constexpr char kLoad[] = "FROM \"app\".\"cursor\"";
constexpr char kNow[] = "pg_control_system";
const std::optional<std::string> kNull;

class CursorGateTest : public ::testing::Test {
 protected:
  CursorGateTest() {
    table_.name = "public.outbox";
    table_.state.transaction_id = "tx";
    server_.Answer("format_type(a.atttypid", {{"0", "id", "20", "", "", ""},
                                              {"0", "tx", "5069", "", "", ""}});
    server_.Answer(kLoad, {{"77", "10", "20", "7", "40", kNull}});
    server_.Answer(kNow, {{"77", "500", "600", kNull}});
  }

  absl::StatusOr<std::string> Read() {
    return Await(context_, ReadPassedSql(*connection_, table_, "app.cursor"));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  TableOptions table_;
};

TEST_F(CursorGateTest, P11RowsThatTheStoredPositionHasPassedWereSent) {
  const auto sent = Read();
  ASSERT_TRUE(sent.ok()) << sent.status();
  EXPECT_EQ(*sent,
            "NOT (o.\"tx\" >= '10'::xid8 AND (o.\"tx\" >= '20'::xid8 OR "
            "o.\"id\" > 7))");
}

TEST_F(CursorGateTest, P11WithoutAPositionNoRowWasSent) {
  server_.Answer(kLoad, {});
  EXPECT_EQ(*Read(), "false");
}

TEST_F(CursorGateTest, P11WithoutACursorTableNothingIsKnown) {
  server_.Fail(kLoad, "42P01", "relation does not exist");
  EXPECT_TRUE(absl::IsFailedPrecondition(Read().status()));
}

// Its transaction ids say nothing about rows of this one.
TEST_F(CursorGateTest, P11APositionOfAnotherClusterProvesNothing) {
  server_.Answer(kNow, {{"78", "500", "600", kNull}});
  const absl::Status status = Read().status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cluster 77"));
  server_.Answer(kNow, {{"77", "9", "12", kNull}});
  EXPECT_TRUE(absl::IsUnavailable(Read().status())) << "ids to come";
}

}  // namespace
}  // namespace walpost
