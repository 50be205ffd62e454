#include "postgres/catalog/replica_identity.h"

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
using ::testing::Not;

class ReplicaIdentityTest : public ::testing::Test {
 protected:
  Finding CheckTable(RowChange change) {
    const auto found = Await(
        context_, CheckReplicaIdentity(*connection_, "public.outbox", change,
                                       "retention.keep", Severity::kWarning));
    EXPECT_TRUE(found.ok()) << found.status();
    return found->empty() ? Finding{Severity::kOk, FindingId(""), "", "", ""}
                          : found->front();
  }
  Finding CheckPublication() {
    const auto found =
        Await(context_, CheckPublishedChanges(*connection_, "all_of_it"));
    EXPECT_TRUE(found.ok()) << found.status();
    return found->empty() ? Finding{Severity::kOk, FindingId(""), "", "", ""}
                          : found->front();
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
};

TEST_F(ReplicaIdentityTest, NamesThePublicationAndTheStatementThatFails) {
  server_.Answer("p.pubdelete", {{"public.outbox", "everything"}});
  server_.Answer("p.pubupdate", {});
  const Finding found = CheckTable(RowChange::kDelete);
  EXPECT_EQ(found.id, FindingId("replica_identity_nothing"));
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.subject, "table public.outbox");
  EXPECT_THAT(found.text, HasSubstr("publication everything sends DELETEs"));
  EXPECT_THAT(found.text, HasSubstr("each DELETE of retention.keep"));
  EXPECT_EQ(found.remedy, "ALTER TABLE public.outbox REPLICA IDENTITY FULL;");
  EXPECT_EQ(CheckTable(RowChange::kUpdate).text, "");
}

TEST_F(ReplicaIdentityTest, NamesTablesOfOtherProgramsAndHowManyThereAre) {
  server_.Answer("p.pubname = 'all_of_it'",
                 {{"cron.log", "t", "t", "7"}, {"public.a", "t", "t", "7"}});
  const Finding found = CheckPublication();
  EXPECT_EQ(found.id, FindingId("publication_rejects_changes"));
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_THAT(found.text, HasSubstr("UPDATE and DELETE of 7 table(s)"));
  EXPECT_THAT(found.text, HasSubstr("cron.log, public.a, ..."));
  EXPECT_THAT(found.remedy,
              HasSubstr("ALTER TABLE cron.log REPLICA IDENTITY FULL; ALTER "
                        "TABLE public.a REPLICA IDENTITY FULL;"));
}

TEST_F(ReplicaIdentityTest, NamesOnlyWhatIsPublished) {
  server_.Answer("p.pubname = 'all_of_it'", {{"public.a", "f", "t", "1"}});
  EXPECT_THAT(CheckPublication().text, HasSubstr("each DELETE of 1 table(s)"));
  server_.Answer("p.pubname = 'all_of_it'", {{"public.a", "t", "f", "1"}});
  const Finding found = CheckPublication();
  EXPECT_THAT(found.text, HasSubstr("each UPDATE of 1 table(s)"));
  EXPECT_THAT(found.text, Not(HasSubstr("...")));
  server_.Answer("p.pubname = 'all_of_it'", {});
  EXPECT_EQ(CheckPublication().text, "");
}

}  // namespace
}  // namespace walpost
