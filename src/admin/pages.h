// Pages: content of each path of the HTTP server.
//
//   /healthz   200 while the loop runs: is the process alive?
//   /readyz    200 or 503, one line with state and reason: does it deliver?
//   /metrics   for Prometheus (metrics_page.h)
//   /status    the same as JSON, for people (status_json.h)
//   /wait      200 once an LSN is acknowledged (lsn_wait.h)
//   /config    the configuration in effect, secrets hidden
//   /runbook   docs/runbook.md, with the arguments of this process
//   /          for browsers the status page (status_page/), which asks for
//              /status each second; else a list of the pages
#pragma once

#include <boost/beast/http/status.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "health/relay_status.h"
#include "log/recent_warning.h"

namespace walpost {

struct Page {
  boost::beast::http::status status = boost::beast::http::status::ok;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // If not zero, the page is asked for again until this time has passed,
  // because the client waits for a better answer.
  std::chrono::milliseconds is_awaited_for{0};
};

// The functions that return what pages show; called again for each page.
struct PageSources {
  std::string version;
  std::function<RelayStatus()> status;
  // As YAML, without secrets; nullptr: not shown.
  std::function<std::string()> config = nullptr;
  // nullptr: none are shown.
  std::function<std::vector<RecentWarning>()> warnings = nullptr;
};

class Pages {
 public:
  explicit Pages(PageSources sources)
      : sources_(std::move(sources)), begun_at_(MonotonicTime::clock::now()) {}

  // The page at the target of a request; a query (?...) is ignored. `accept`:
  // the header of the request. `waited`: since it came (Page::is_awaited_for).
  // 404 with a hint if there is none.
  Page Get(std::string_view target, std::string_view accept = "",
           std::chrono::milliseconds waited = {}) const;

 private:
  Page Status() const;
  Page Wait(std::string_view query, std::chrono::milliseconds waited) const;

  PageSources sources_;
  MonotonicTime begun_at_;
  // The status for all waiting requests, which ask again and again.
  mutable std::optional<RelayStatus> recent_;
  mutable MonotonicTime recent_at_;
};

}  // namespace walpost
