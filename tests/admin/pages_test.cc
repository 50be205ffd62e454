#include "admin/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "admin/relay_status_fixture.h"
#include "base/own_arguments.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace http = boost::beast::http;

Page Get(std::string_view target, RelayStatus status = SomeStatus(),
         std::string_view accept = "") {
  return Pages({.version = "1.2.3", .status = [status] { return status; }})
      .Get(target, accept);
}

TEST(PagesTest, HealthAsksNobody) {
  const Pages pages({.version = "1.2.3", .status = []() -> RelayStatus {
                       ADD_FAILURE() << "asked for the status";
                       return {};
                     }});
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
  for (const char* path :
       {"/healthz", "/readyz", "/metrics", "/status", "/config", "/runbook"}) {
    EXPECT_THAT(page.body, HasSubstr(path));
  }
}

// What a browser sends, and what programs do.
TEST(PagesTest, BrowsersGetAPageAndProgramsGetText) {
  const Page page =
      Get("/", SomeStatus(),
          "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, StartsWith("<!doctype html>"));
  for (const char* accept : {"", "*/*", "text/plain", "application/json"}) {
    EXPECT_THAT(Get("/", SomeStatus(), accept).body, StartsWith("walpost 1"));
  }
  EXPECT_EQ(Get("/status", SomeStatus(), "text/html").content_type,
            "application/json");
}

TEST(PagesTest, HasEachFileThatThePageNames) {
  const std::string html = Get("/", SomeStatus(), "text/html").body;
  const Page script = Get("/page/page.js");
  EXPECT_EQ(script.content_type, "text/javascript; charset=utf-8");
  EXPECT_EQ(Get("/page/page.css").content_type, "text/css; charset=utf-8");
  int files = 0;
  const std::regex named(
      R"re(\b(?:src|href)="(page/[^"]+)"|from "\./([^"]+)")re");
  const std::string texts = html + script.body;
  for (std::sregex_iterator i(texts.begin(), texts.end(), named), end; i != end;
       ++i, ++files) {
    const std::string path =
        (*i)[1].matched ? "/" + i->str(1) : "/page/" + i->str(2);
    EXPECT_EQ(Get(path).status, http::status::ok) << path;
  }
  EXPECT_GE(files, 8);
}

TEST(PagesTest, ShowsTheConfigurationIfThereIsOne) {
  EXPECT_EQ(Get("/config").status, http::status::not_found);
  int calls = 0;
  const Pages pages({.version = "1.2.3",
                     .status = [] { return SomeStatus(); },
                     .config =
                         [&calls] {
                           ++calls;
                           return std::string("log:\n  level: info\n");
                         }});
  EXPECT_EQ(pages.Get("/status").status, http::status::ok);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(pages.Get("/config").body, "log:\n  level: info\n");
}

TEST(PagesTest, ShowsTheLatestWarnings) {
  const Pages pages({.version = "1.2.3",
                     .status = [] { return SomeStatus(); },
                     .warnings =
                         [] {
                           return std::vector<RecentWarning>{
                               {WallTime(std::chrono::milliseconds(1'234)),
                                LogLevel::kError, "stuck: \"x\""}};
                         }});
  EXPECT_THAT(pages.Get("/status").body, HasSubstr(R"({
      "time": "1970-01-01T00:00:01.234Z",
      "level": "error",
      "text": "stuck: \"x\""
    })"));
}

// In the runbook they are those of an example, and lines end within them.
TEST(PagesTest, TheRunbookHasTheArgumentsOfThisProcess) {
  SetOwnArguments("-c /etc/shop.yaml");
  const Page page = Get("/runbook");
  SetOwnArguments(std::string(kOwnArguments));
  EXPECT_THAT(page.body, HasSubstr("walpost status -c /etc/shop.yaml\n"));
  EXPECT_THAT(page.body, Not(HasSubstr("walpost.yaml")));
  EXPECT_THAT(page.body, HasSubstr("## WalpostGap\n"));
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
