// Pages: content of each path of the HTTP server.
//
//   /healthz   200 while the loop runs: is the process alive?
//   /readyz    200 or 503, one line with state and reason: does it deliver?
//   /metrics   for Prometheus (metrics_page.h)
//   /status    the same as JSON, for people (status_json.h)
//   /          list of the pages
#pragma once

#include <boost/beast/http/status.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "health/relay_status.h"

namespace walpost {

struct Page {
  boost::beast::http::status status = boost::beast::http::status::ok;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class Pages {
 public:
  // `status` is called again for each page that shows it.
  Pages(std::function<RelayStatus()> status, std::string version)
      : status_(std::move(status)), version_(std::move(version)) {}

  // The page at the target of a request; a query (?...) is ignored. 404 with a
  // hint if there is none.
  Page Get(std::string_view target) const;

 private:
  std::function<RelayStatus()> status_;
  std::string version_;
};

}  // namespace walpost
