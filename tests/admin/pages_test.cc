#include "admin/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/relay_status_fixture.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace http = boost::beast::http;

Page Get(std::string_view target, RelayStatus status = SomeStatus()) {
  return Pages([status] { return status; }, "1.2.3").Get(target);
}

TEST(PagesTest, HealthAsksNobody) {
  const Pages pages(
      []() -> RelayStatus {
        ADD_FAILURE() << "asked for the status";
        return {};
      },
      "1.2.3");
  const Page page = pages.Get("/healthz");
  EXPECT_EQ(page.status, http::status::ok);
  EXPECT_EQ(page.body, "ok\n");
}

struct Readiness {
  RelayState state;
  const char* reason;
  http::status status;
  const char* body;
};

void PrintTo(const Readiness& readiness, std::ostream* out) {
  *out << readiness.body;
}

class ReadinessTest : public ::testing::TestWithParam<Readiness> {};

TEST_P(ReadinessTest, SaysStateAndReasonInOneLine) {
  RelayStatus status = SomeStatus();
  status.state = GetParam().state;
  status.reason = GetParam().reason;
  const Page page = Get("/readyz", status);
  EXPECT_EQ(page.status, GetParam().status);
  EXPECT_EQ(page.body, GetParam().body);
}

INSTANTIATE_TEST_SUITE_P(
    , ReadinessTest,
    ::testing::Values(
        Readiness{RelayState::kStarting, "connecting to Postgres",
                  http::status::service_unavailable,
                  "starting: connecting to Postgres\n"},
        Readiness{RelayState::kStreaming, "", http::status::ok, "streaming\n"},
        Readiness{RelayState::kCatchingUp, "12 s behind", http::status::ok,
                  "catching up: 12 s behind\n"},
        Readiness{RelayState::kStuck, "ERROR: no\nDETAIL: never\r\n",
                  http::status::service_unavailable,
                  "stuck: ERROR: no DETAIL: never  \n"},
        Readiness{RelayState::kDraining, "", http::status::service_unavailable,
                  "draining\n"}));

TEST(PagesTest, MetricsAreInTheTextFormat) {
  const Page page = Get("/metrics");
  EXPECT_EQ(page.status, http::status::ok);
  EXPECT_EQ(page.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("\nwalpost_confirmed_lsn_bytes "));
  EXPECT_THAT(page.body, HasSubstr("\nwalpost_build_info{version=\"1.2.3\"}"));
}

TEST(PagesTest, StatusIsJson) {
  const Page page = Get("/status");
  EXPECT_EQ(page.status, http::status::ok);
  EXPECT_EQ(page.content_type, "application/json");
  EXPECT_THAT(page.body, StartsWith("{\n  \"version\": \"1.2.3\",\n"));
}

TEST(PagesTest, IndexListsThePages) {
  const Page page = Get("/");
  EXPECT_EQ(page.status, http::status::ok);
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/status"}) {
    EXPECT_THAT(page.body, HasSubstr(path));
  }
}

TEST(PagesTest, IgnoresTheQuery) {
  EXPECT_EQ(Get("/healthz?verbose=1").body, "ok\n");
}

TEST(PagesTest, KnowsNoOtherPath) {
  for (const char* target : {"", "/x", "/metrics/", "//", "metrics",
                             "http://host/metrics", "?", "*"}) {
    EXPECT_EQ(Get(target).status, http::status::not_found) << target;
  }
}

// A probe may add a query, against caches.
TEST(PagesTest, AQueryIsNoPartOfThePath) {
  for (const char* path :
       {"/", "/healthz", "/readyz", "/metrics", "/status", "/other"}) {
    const Page plain = Get(path);
    for (const char* query : {"?", "?a=1", "?a=1?b=2", "?/status"}) {
      const Page page = Get(path + std::string(query));
      EXPECT_EQ(page.status, plain.status) << path << query;
      EXPECT_EQ(page.content_type, plain.content_type) << path << query;
      EXPECT_EQ(page.body.substr(0, 20), plain.body.substr(0, 20)) << path;
    }
  }
}

}  // namespace
}  // namespace walpost
