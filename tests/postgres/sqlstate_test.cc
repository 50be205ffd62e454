// Without a server; what a server says is in connection_test.cc.
#include "postgres/connect/sqlstate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
using RawConnection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

TEST(SqlstateTest, AStatusOfOthersHasNone) {
  EXPECT_EQ(SqlstateOf(absl::OkStatus()), "");
  EXPECT_EQ(SqlstateOf(absl::UnavailableError("lost [57P01]")), "");
}

TEST(SqlstateTest, AnErrorWithoutAWordIsRetried) {
  const Result result(PQmakeEmptyPGresult(nullptr, PGRES_FATAL_ERROR), PQclear);
  const absl::Status status = StatusFromResult(result.get(), "SELECT 1");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(status.message(), "SELECT 1: PGRES_FATAL_ERROR");
  EXPECT_EQ(SqlstateOf(status), "");
}

TEST(SqlstateTest, AResultOfTheWrongKindNamesItsKind) {
  const Result result(PQmakeEmptyPGresult(nullptr, PGRES_COPY_OUT), PQclear);
  EXPECT_EQ(StatusFromResult(result.get(), "COPY").message(),
            "COPY: PGRES_COPY_OUT");
}

TEST(SqlstateTest, NoResultAtAllIsRetried) {
  EXPECT_TRUE(absl::IsUnavailable(StatusFromResult(nullptr, "SELECT 1")));
}

TEST(SqlstateTest, AServerThatIsNotThereIsRetried) {
  const RawConnection connection(PQconnectdb("host=/nonexistent user=u"),
                                 PQfinish);
  const absl::Status status =
      StatusFromConnection(connection.get(), "connecting");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(SqlstateOf(status), "");
  const std::string message(status.message());
  EXPECT_THAT(message, StartsWith("connecting: "));
  EXPECT_THAT(message, HasSubstr("/nonexistent"));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

TEST(SqlstateTest, AConnectionWithoutAWordWasLost) {
  EXPECT_THAT(std::string(StatusFromConnection(nullptr, "streaming").message()),
              StartsWith("streaming: "));
}

}  // namespace
}  // namespace walpost
