#include "postgres/tables/updated_rows.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;

class UpdatedRowsTest : public ::testing::Test {
 protected:
  UpdatedRowsTest() : tables_(2) {
    tables_[0].name = "public.outbox";
    tables_[1].name = "app.outbox";
    tables_[1].columns.type.kind = FieldSource::Kind::kAbsent;
    server_.Answer("format_type(a.atttypid",
                   {{"0", "id", "20", "bigint", "", ""},
                    {"0", "aggregate_type", "25", "text", "", ""},
                    {"0", "aggregate_id", "25", "text", "", ""},
                    {"0", "payload", "25", "text", "", ""}});
    server_.Answer("a.attidentity", {{"id", "20", "t"}});
  }

  void Publish(const std::string& id, const std::string& payload) {
    Event event;
    event.source = 1;
    event.id = id;
    event.aggregate_type = "order";
    event.aggregate_id = "k";
    event.payload = payload;
    sample_.Note(event);
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  std::vector<TableOptions> tables_;
  PublishedSample sample_;
};

TEST_F(UpdatedRowsTest, OneStatementAsksAboutAllTablesAndPartitions) {
  server_.Answer(
      "pg_stat_get_tuples_updated",
      {{"0", "16385", "7"}, {"1", "16390", "0"}, {"1", "16395", "12"}});
  const auto totals = Await(context_, ReadUpdateTotals(*connection_, tables_));
  ASSERT_TRUE(totals.ok()) << totals.status();
  ASSERT_EQ(totals->size(), 3u);
  EXPECT_EQ((*totals)[2].source, 1u);
  EXPECT_EQ((*totals)[2].relation, 16395u);
  EXPECT_EQ((*totals)[2].updates, 12u);
  EXPECT_EQ(server_.StatementsWith("pg_stat_get_tuples_updated").size(), 1u);
}

TEST_F(UpdatedRowsTest, ARowThatIsNotAsPublishedIsDifferent) {
  Publish("1", "whole");
  Publish("2", "");
  server_.AnswerInTurn("FETCH", {{{"1", "order", "k", "whole"},
                                  {"2", "order", "k", "completed later"}},
                                 {}});
  const std::vector<std::string> references;
  const auto found = Await(context_, CompareWithSample(*connection_, tables_[1],
                                                       1, references, sample_));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, 2u);
  EXPECT_EQ(found->different, 1u);
}

TEST_F(UpdatedRowsTest, ATableThatCannotBeReadIsAnError) {
  Publish("1", "whole");
  server_.Fail("DECLARE", "42501", "permission denied for table outbox");
  const std::vector<std::string> references;
  const auto found = Await(context_, CompareWithSample(*connection_, tables_[1],
                                                       1, references, sample_));
  EXPECT_FALSE(found.ok());
}

}  // namespace
}  // namespace walpost
