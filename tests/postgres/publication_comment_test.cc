// The comment that has walpost's records: nobody's change is lost, and nobody
// is locked out afterwards.
#include "postgres/catalog/publication_comment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/each_statement.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using testing::FakePostgres;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kLock[] = "SELECT pg_advisory_lock";
constexpr char kUnlock[] = "SELECT pg_advisory_unlock";
constexpr char kRead[] = "obj_description";
constexpr char kWrite[] = "COMMENT ON";

class PublicationCommentTest : public ::testing::Test {
 protected:
  PublicationCommentTest() {
    server_.Answer(kLock, {{""}});
    server_.Answer(kUnlock, {{"t"}});
    server_.Answer(kRead, {{"theirs"}});
  }

  static absl::StatusOr<std::string> AddOurs(std::string_view comment) {
    return std::string(comment) + " 'ours'";
  }
  absl::Status Change(CommentChange change = AddOurs) {
    return Await(context_, ChangePublicationComment(*connection_, "out\"box",
                                                    std::move(change)));
  }
  absl::Status ChangeTable(CommentChange change = AddOurs) {
    return Await(context_, ChangeTableComment(*connection_, "app.outbox",
                                              std::move(change)));
  }
  bool IsLocked() const {
    return server_.StatementsWith(kLock).size() !=
           server_.StatementsWith(kUnlock).size();
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
};

TEST_F(PublicationCommentTest, AChangeIsOfWhatIsThereUnderALock) {
  ASSERT_TRUE(Change().ok());
  EXPECT_THAT(
      server_.statements(),
      ElementsAre(HasSubstr(kLock), HasSubstr(kRead),
                  "COMMENT ON PUBLICATION \"out\"\"box\" IS 'theirs ''ours'''",
                  HasSubstr(kUnlock)));
  const std::string lock = server_.StatementsWith(kLock)[0];
  EXPECT_THAT(lock, HasSubstr("'walpost comment ' || 'out\"box'"));
  EXPECT_EQ(server_.StatementsWith(kUnlock)[0].substr(26), lock.substr(24))
      << "it is the same lock";
}

TEST_F(PublicationCommentTest, ATableHasACommentOfItsOwn) {
  ASSERT_TRUE(ChangeTable().ok());
  EXPECT_THAT(server_.StatementsWith(kWrite),
              ElementsAre("COMMENT ON TABLE \"app\".\"outbox\" IS 'theirs "
                          "''ours'''"));
  EXPECT_THAT(server_.StatementsWith(kLock)[0], HasSubstr("'app.outbox'"));
}

// The session lives on, and would lock out all others.
TEST_F(PublicationCommentTest, TheLockEndsWhateverFails) {
  const auto refuse = [](std::string_view) -> absl::StatusOr<std::string> {
    return absl::AbortedError("changed meanwhile");
  };
  EXPECT_TRUE(absl::IsAborted(Change(refuse)));
  EXPECT_FALSE(IsLocked());
  EXPECT_THAT(server_.StatementsWith(kWrite), IsEmpty());
  for (const char* words : {kRead, kWrite}) {
    server_.Fail(words, "42501", "must be owner");
    EXPECT_FALSE(Change().ok()) << words;
    EXPECT_FALSE(ChangeTable().ok()) << words;
    EXPECT_FALSE(IsLocked()) << words;
    server_.Answer(words, {{"theirs"}});
  }
}

TEST_F(PublicationCommentTest, EachErrorIsReported) {
  const auto change = [this] { return Change(); };
  EXPECT_THAT(testing::UnreportedFailures(server_, change), IsEmpty());
}

TEST_F(PublicationCommentTest, TheCommentOfThePublicationComesFirst) {
  server_.Answer(kRead, {{"ours"}, {std::nullopt}, {"another"}});
  const auto all =
      Await(context_, ReadPublicationComments(*connection_, "outbox"));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, ElementsAre("ours", "", "another"));
  EXPECT_THAT(server_.statements().back(),
              HasSubstr("ORDER BY pubname <> 'outbox', pubname"));
}

TEST_F(PublicationCommentTest, WithoutAPublicationThereIsNoComment) {
  server_.Answer(kRead, {});
  const auto read =
      Await(context_, ReadPublicationComment(*connection_, "outbox"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "");
}

}  // namespace
}  // namespace walpost
