#include "admin/pages.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_replace.h"
#include "admin/lsn_wait.h"
#include "admin/metrics_page.h"
#include "admin/status_json.h"
#include "base/own_arguments.h"
#include "fmt/format.h"
#include "health/state_line.h"
#include "walpost_status_page.h"

namespace walpost {
namespace {

namespace http = boost::beast::http;

// The time for which a status is shown to those that wait.
constexpr std::chrono::milliseconds kRecent{20};
constexpr char kHtml[] = "text/html; charset=utf-8";

// What the status page consists of, besides /.
struct PageFile {
  std::string_view path;
  std::string_view content_type;
  std::string_view text;
};

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr PageFile kPageFiles[] = {
    {"/page/page.css", "text/css; charset=utf-8", kText_page_css},
    {"/page/page.js", kScript, kText_page_js},
    {"/page/charts.js", kScript, kText_charts_js},
    {"/page/dom.js", kScript, kText_dom_js},
    {"/page/format.js", kScript, kText_format_js},
    {"/page/history.js", kScript, kText_history_js},
    {"/page/positions.js", kScript, kText_positions_js},
    {"/page/remedy.js", kScript, kText_remedy_js},
};

Page ReadinessPage(const RelayStatus& status) {
  return {.status = IsReady(status.state) ? http::status::ok
                                          : http::status::service_unavailable,
          .body = StateLine(status) + "\n"};
}

Page IndexPage(std::string_view version) {
  return {.body = fmt::format(
              "walpost {}\n"
              "\n"
              "/healthz   is the process alive?\n"
              "/readyz    does it deliver, and if not, why?\n"
              "/metrics   for Prometheus\n"
              "/status    everything, as JSON\n"
              "/wait      has an LSN been acknowledged?\n"
              "/config    the configuration in effect, without secrets\n"
              "/runbook   what to do\n"
              "/          in a browser: all of this as a page\n",
              version)};
}

// Its commands have the name of a configuration file as an example.
Page RunbookPage() {
  const std::string own = WithOwnArguments(kOwnArguments);
  std::string text(kText_runbook_md);
  absl::StrReplaceAll({{"-c walpost.yaml", own}, {"-c\nwalpost.yaml", own}},
                      &text);
  return {.content_type = "text/markdown; charset=utf-8",
          .body = std::move(text)};
}

// Scripts and programs that do not name a type get text.
bool IsFromBrowser(std::string_view accept) {
  return accept.find("text/html") != std::string_view::npos;
}

}  // namespace

Page Pages::Get(std::string_view target, std::string_view accept,
                std::chrono::milliseconds waited) const {
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") return ReadinessPage(sources_.status());
  if (path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = MetricsPage(sources_.status(), ReadProcessUsage(),
                                sources_.version)};
  }
  if (path == "/status") return Status();
  if (path == "/wait") {
    return Wait(target.substr(std::min(path.size() + 1, target.size())),
                waited);
  }
  if (path == "/config" && sources_.config) return {.body = sources_.config()};
  if (path == "/runbook") return RunbookPage();
  if (path == "/" && IsFromBrowser(accept)) {
    return {.content_type = kHtml, .body = std::string(kText_page_html)};
  }
  if (path == "/") return IndexPage(sources_.version);
  for (const PageFile& file : kPageFiles) {
    if (path != file.path) continue;
    return {.content_type = std::string(file.content_type),
            .body = std::string(file.text)};
  }
  return {.status = http::status::not_found,
          .body = "no such page; / lists what there is\n"};
}

Page Pages::Wait(std::string_view query,
                 std::chrono::milliseconds waited) const {
  const absl::StatusOr<LsnWait> wait = ParseLsnWait(query);
  const MonotonicTime now = MonotonicTime::clock::now();
  if (wait.ok() && (!recent_ || now - recent_at_ >= kRecent)) {
    recent_ = sources_.status();
    recent_at_ = now;
  }
  const absl::Status answer =
      wait.ok() ? Answer(*wait, *recent_, waited) : wait.status();
  if (answer.ok()) return {.body = "acknowledged\n"};
  Page page{.body = WithOwnArguments(std::string(answer.message())) + "\n"};
  page.status = http::status::bad_request;
  if (absl::IsUnavailable(answer)) {
    page.status = http::status::service_unavailable;
    page.is_awaited_for = wait->timeout;
  }
  return page;
}

Page Pages::Status() const {
  StatusContext context{
      .version = sources_.version,
      .now = WallNow(),
      .running = std::chrono::duration_cast<std::chrono::microseconds>(
          MonotonicTime::clock::now() - begun_at_)};
  if (sources_.warnings) context.warnings = sources_.warnings();
  return {.content_type = "application/json",
          .body = StatusJson(sources_.status(), context)};
}

}  // namespace walpost
