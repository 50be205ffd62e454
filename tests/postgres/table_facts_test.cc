#include "postgres/catalog/table_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;

constexpr char kRelations[] = "CASE WHEN c.relkind = 'r'";
constexpr char kForeign[] = "WHERE c.relkind = 'f'";
constexpr char kPublished[] = "pg_publication_tables WHERE pubname";
constexpr char kColumns[] = "format_type(a.atttypid";
const std::optional<std::string> kNull;

class TableFactsTest : public ::testing::Test {
 protected:
  TableFactsTest() : tables_(3) {
    tables_[0].name = "a.outbox";
    tables_[1].name = "gone.outbox";
    tables_[2].name = "b.outbox";
    server_.Answer(kRelations, {{"0", "r", kNull, kNull, "f", "a.outbox"},
                                {"2", "p", kNull, "b.child", "t", "b.outbox"}});
    server_.Answer(kForeign, {{"2", "b.cold", "b.outbox"}});
    server_.Answer(kPublished, {{"b.outbox", "{id}", "(id > 0)"},
                                {"c.other", "{id}", kNull}});
    server_.Answer(kColumns, {{"0", "id", "20", "bigint", "", kNull},
                              {"0", "sum", "23", "integer", "s", "(1 + 1)"},
                              {"2", "id", "2950", "uuid", "", kNull}});
  }

  absl::StatusOr<std::vector<TableFacts>> Read(std::string publication) {
    return Await(context_,
                 ReadTableFacts(*connection_, std::move(publication), tables_));
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  std::vector<TableOptions> tables_;
};

TEST_F(TableFactsTest, EachTableHasItsOwnWhateverIsMissing) {
  const auto facts = Read("walpost");
  ASSERT_TRUE(facts.ok()) << facts.status();
  ASSERT_EQ(facts->size(), 3u);
  const TableFacts& plain = (*facts)[0];
  EXPECT_EQ(plain.kind, "r");
  EXPECT_FALSE(plain.is_published);
  ASSERT_EQ(plain.columns.size(), 2u);
  EXPECT_EQ(plain.columns[1].type, "integer");
  EXPECT_EQ(plain.columns[1].generated, TableColumn::Generated::kStored);
  EXPECT_EQ((*facts)[1].kind, "");
  EXPECT_TRUE((*facts)[1].columns.empty());
  const TableFacts& parent = (*facts)[2];
  EXPECT_EQ(parent.kind, "p");
  EXPECT_EQ(parent.child, "b.child");
  EXPECT_TRUE(parent.published.has_list);
  EXPECT_TRUE(parent.is_published);
  EXPECT_EQ(parent.published.filter, "(id > 0)");
  EXPECT_EQ(parent.published.publication, "walpost");
  ASSERT_EQ(parent.foreign.size(), 1u);
  EXPECT_EQ(parent.foreign[0].name, "b.cold");
  ASSERT_EQ(parent.columns.size(), 1u);
  EXPECT_EQ(parent.columns[0].schema.type_oid, 2950u);
}

TEST_F(TableFactsTest, AsksNoMoreStatementsForMoreTables) {
  ASSERT_TRUE(Read("walpost").ok());
  const size_t before = server_.statements().size();
  tables_.resize(1'000, tables_[0]);
  ASSERT_TRUE(Read("walpost").ok());
  EXPECT_EQ(server_.statements().size(), 2 * before);
}

TEST_F(TableFactsTest, WithoutAPublicationNothingIsAskedAboutIt) {
  ASSERT_TRUE(Read("").ok());
  for (const std::string& statement : server_.statements()) {
    EXPECT_EQ(statement.find(kPublished), std::string::npos);
  }
}

TEST_F(TableFactsTest, TheDigestIsOneStatementAboutEverything) {
  server_.Answer("hashtextextended", {{"1 2 3"}});
  const auto digest =
      Await(context_, ReadTableDigest(*connection_, "walpost", tables_));
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(*digest, "1 2 3");
  ASSERT_EQ(server_.statements().size(), 1u);
  for (const char* part : {kRelations, kForeign, kPublished, kColumns,
                           "LEFT JOIN tables wanted", "SELECT p.* FROM"}) {
    EXPECT_THAT(server_.statements()[0], HasSubstr(part));
  }
}

}  // namespace
}  // namespace walpost
