// What `walpost check` says of a polled table: its order.
#include "polling/polling_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/fake_postgres.h"
#include "support/finding_text.h"
#include "support/polled_table_answers.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using testing::Await;
using ::testing::Contains;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using namespace testing::polling;  // the words of the statements

const std::optional<std::string> kNull;

class PollingCheckTest : public ::testing::Test {
 protected:
  PollingCheckTest() {
    polling_.strategy = PollingOptions::Strategy::kDelete;
    testing::AnswerPolledTable(server_);
  }

  std::vector<std::string> Check(const std::string& order_oid,
                                 bool has_aggregate = false) {
    FakePostgres::Rows columns = {
        {"0", "id", "25", "text", "", kNull},
        {"0", "seq", order_oid, "type", "", kNull},
        {"0", "aggregate_type", "25", "text", "", kNull},
        {"0", "payload", "25", "text", "", kNull}};
    if (has_aggregate) {
      columns.push_back({"0", "aggregate_id", "25", "text", "", kNull});
    }
    server_.Answer(kColumns, columns);
    const OutboxOptions outbox = testing::PolledOutbox();
    const std::vector<std::string> references = {"aggregate_type"};
    PollingCheck check(*connection_, polling_, outbox.tables[0], references);
    const auto found = Await(context_, check.Run());
    EXPECT_TRUE(found.ok()) << found.status();
    return testing::TextsOf(found.value_or(Findings()));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  PollingOptions polling_;
};

TEST_F(PollingCheckTest, TheOrderIsThatOfASequence) {
  constexpr char kOrder[] = "is published in the order of column seq";
  EXPECT_THAT(Check("20"), Not(Contains(HasSubstr(kOrder))));
  EXPECT_THAT(Check("1184"),
              Contains(AllOf(StartsWith("warning order_by_not_sequence "),
                             HasSubstr("clocks of writers disagree"))));
  EXPECT_THAT(Check("25"), Not(Contains(HasSubstr(kOrder))))
      << "there are no aggregates";
  EXPECT_THAT(Check("25", true), Contains(HasSubstr("events is arbitrary")));
  EXPECT_THAT(Check("20", true), Not(Contains(HasSubstr(kOrder))));
}

}  // namespace
}  // namespace walpost
