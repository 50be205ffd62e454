#include "postgres/connect/connect_attempts.h"

#include <gtest/gtest.h>

#include "base/sqlstate.h"

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Keywords = std::map<std::string, std::string>;

const MonotonicTime kNow = MonotonicTime() + seconds(1000);

std::string TextOf(const std::vector<ServerAddress>& addresses) {
  std::string text;
  for (const ServerAddress& address : addresses) {
    if (!text.empty()) text += ' ';
    text += address.host + '/' + address.hostaddr + ':' + address.port;
  }
  return text;
}

struct PlacesRow {
  const char* name;
  Keywords keywords;
  const char* expected;
};

TEST(ReadPlacesTest, APlaceForEachHost) {
  const PlacesRow rows[] = {
      {"one", {{"host", "db"}, {"port", "1"}}, "db/:1"},
      {"own ports", {{"host", "a,b"}, {"port", "1,2"}}, "a/:1 b/:2"},
      {"one port", {{"host", "a,b"}, {"port", "6"}}, "a/:6 b/:6"},
      {"an empty port", {{"host", "a,b"}, {"port", ",2"}}, "a/:5432 b/:2"},
      {"hostaddr",
       {{"hostaddr", "::1,::2"}, {"port", "1"}},
       "::1/::1:1 ::2/::2:1"},
      {"both",
       {{"host", "a,"}, {"hostaddr", "::1,::2"}, {"port", "1"}},
       "a/::1:1 ::2/::2:1"},
      {"a socket", {{"host", ",b"}, {"port", "1"}}, "/run/:1 b/:1"},
      {"nothing", {{"port", "5432"}}, "/:"},
      {"other lengths", {{"host", "a,b"}, {"port", "1,2,3"}}, "/:"},
  };
  for (const PlacesRow& row : rows) {
    EXPECT_EQ(TextOf(ReadPlaces(row.keywords, "/run").hosts), row.expected)
        << row.name;
  }
}

TEST(ReadPlacesTest, NothingWaitsWithoutALimit) {
  const std::pair<const char*, milliseconds> rows[] = {
      {"", seconds(5)},
      {"2", seconds(2)},
      {"60", seconds(60)},
      {"0", seconds(5)},
      {"-1", seconds(5)},
      {"soon", seconds(5)},
      {"99999999999999999999", seconds(3600)},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(ReadPlaces({{"connect_timeout", text}}, "").limit, expected)
        << text;
  }
}

TEST(ReadPlacesTest, TheOrderIsTheConninfosUnlessItSaysRandom) {
  EXPECT_FALSE(
      ReadPlaces({{"load_balance_hosts", "disable"}}, "").in_random_order);
  EXPECT_TRUE(
      ReadPlaces({{"load_balance_hosts", "random"}}, "").in_random_order);
}

TEST(SilentAddressesTest, ASilentAddressIsTriedLastForAWhile) {
  const std::vector<ServerAddress> all = {
      {"a", "", "1"}, {"b", "", "1"}, {"a", "", "2"}};
  SilentAddresses silent;
  EXPECT_EQ(TextOf(silent.Order(all, kNow)), "a/:1 b/:1 a/:2");
  silent.OnSilence(all[0], kNow);
  EXPECT_EQ(TextOf(silent.Order(all, kNow + seconds(60))), "b/:1 a/:2 a/:1");
  EXPECT_EQ(TextOf(silent.Order(all, kNow + seconds(61))), "a/:1 b/:1 a/:2");
  silent.OnAnswer(all[0]);
  EXPECT_EQ(TextOf(silent.Order(all, kNow)), "a/:1 b/:1 a/:2");
}

ConnectAttempts Attempts(const Keywords& keywords,
                         std::optional<MonotonicTime> by = std::nullopt) {
  const ConnectPlaces places = ReadPlaces(keywords, "");
  return {places.hosts, places, by};
}

// "host:attributes" of each attempt, whose outcome is `status`.
std::string Order(ConnectAttempts attempts, const absl::Status& status,
                  bool is_silent = false) {
  std::string text;
  while (const auto attempt = attempts.Next(kNow)) {
    text += attempt->address.host + ':' + attempt->target_session_attrs + ' ';
    if (is_silent) {
      attempts.OnSilence(status);
    } else if (!attempts.GoesOnAfter(status)) {
      break;
    }
  }
  return text;
}

absl::Status Refused(const char* sqlstate) {
  return WithSqlstate(absl::UnavailableError("FATAL"), sqlstate);
}

TEST(ConnectAttemptsTest, GoesOnBehindAnAddressWithoutAServer) {
  const Keywords two = {{"host", "a,b"}};
  EXPECT_EQ(Order(Attempts(two), absl::UnavailableError("refused")), "a: b: ");
  EXPECT_EQ(Order(Attempts(two), absl::UnavailableError(""), true), "a: b: ");
  EXPECT_EQ(Order(Attempts(two), Refused("57P03")), "a: b: ");
}

TEST(ConnectAttemptsTest, StopsAtTheRefusalOfAServer) {
  const Keywords two = {{"host", "a,b"}};
  EXPECT_EQ(Order(Attempts(two), Refused("28P01")), "a: ");
  EXPECT_EQ(Order(Attempts(two), Refused("53300")), "a: ");
  EXPECT_EQ(Order(Attempts(two), absl::FailedPreconditionError("sslmode")),
            "a: ");
}

TEST(ConnectAttemptsTest, AStandbyIsPreferredAmongAllAddresses) {
  const Keywords two = {{"host", "a,b"},
                        {"target_session_attrs", "prefer-standby"}};
  const absl::Status primary = absl::UnavailableError("not in hot standby");
  EXPECT_EQ(Order(Attempts(two), primary), "a:standby b:standby a:any b:any ");
}

TEST(ConnectAttemptsTest, ASilentAddressIsTriedOnce) {
  const Keywords two = {{"host", "a,b"},
                        {"target_session_attrs", "prefer-standby"}};
  EXPECT_EQ(Order(Attempts(two), absl::UnavailableError(""), true),
            "a:standby b:standby ");
}

TEST(ConnectAttemptsTest, EachAddressHasALimitOfItsOwn) {
  ConnectAttempts attempts =
      Attempts({{"host", "a,b"}, {"connect_timeout", "7"}});
  EXPECT_EQ(attempts.Next(kNow)->deadline, kNow + seconds(7));
  EXPECT_EQ(attempts.Next(kNow + seconds(7))->deadline, kNow + seconds(14));
  EXPECT_FALSE(attempts.Next(kNow).has_value());
}

TEST(ConnectAttemptsTest, TheCallersTimeIsSharedByThoseThatAreLeft) {
  ConnectAttempts attempts = Attempts({{"host", "a,b,c"}}, kNow + seconds(6));
  EXPECT_EQ(attempts.Next(kNow)->limit, seconds(2));
  EXPECT_EQ(attempts.Next(kNow)->limit, seconds(3));
  EXPECT_EQ(attempts.Next(kNow)->limit, seconds(5));
}

TEST(ConnectAttemptsTest, TheCallersTimeMayHavePassed) {
  ConnectAttempts attempts = Attempts({{"host", "a"}}, kNow - seconds(6));
  EXPECT_EQ(attempts.Next(kNow)->deadline, kNow);
}

TEST(ConnectAttemptsTest, AFailureNamesAllAndHasTheServersSqlstate) {
  ConnectAttempts attempts = Attempts({{"host", "a,b,c"}});
  attempts.Next(kNow);
  attempts.OnSilence(absl::UnavailableError("a is silent"));
  attempts.Next(kNow);
  attempts.GoesOnAfter(
      WithSqlstate(absl::UnavailableError("b starts"), "57P03"));
  attempts.Next(kNow);
  attempts.GoesOnAfter(absl::UnavailableError("c is read-only"));
  EXPECT_EQ(attempts.failure().message(),
            "a is silent; b starts; c is read-only");
  EXPECT_EQ(SqlstateOf(attempts.failure()), "57P03");
}

}  // namespace
}  // namespace walpost
