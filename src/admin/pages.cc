#include "admin/pages.h"

#include "admin/metrics_page.h"
#include "admin/status_json.h"
#include "fmt/format.h"
#include "health/state_line.h"

namespace walpost {
namespace {

namespace http = boost::beast::http;

Page ReadinessPage(const RelayStatus& status) {
  return {.status = IsReady(status.state) ? http::status::ok
                                          : http::status::service_unavailable,
          .body = StateLine(status) + "\n"};
}

Page IndexPage(std::string_view version) {
  return {.body = fmt::format("walpost {}\n"
                              "\n"
                              "/healthz   is the process alive?\n"
                              "/readyz    does it deliver, and if not, why?\n"
                              "/metrics   for Prometheus\n"
                              "/status    everything, as JSON\n",
                              version)};
}

}  // namespace

Page Pages::Get(std::string_view target) const {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") return ReadinessPage(status_());
  if (path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = MetricsPage(status_(), ReadProcessUsage(), version_)};
  }
  if (path == "/status") {
    return {.content_type = "application/json",
            .body = StatusJson(status_(), version_)};
  }
  if (path == "/") return IndexPage(version_);
  return {.status = http::status::not_found,
          .body = "no such page; / lists what there is\n"};
}

}  // namespace walpost
