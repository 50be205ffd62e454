#include "cli/check/check_instance.h"

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/http_server.h"
#include "admin/listen_address.h"
#include "base/status_macros.h"
#include "cli/shared/running_instance.h"
#include "fmt/format.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

constexpr std::string_view kSubject = "http.listen: ";

std::string TextOf(const rapidjson::Document& json, const char* name) {
  const auto found = json.FindMember(name);
  const bool is_text = found != json.MemberEnd() && found->value.IsString();
  return is_text ? found->value.GetString() : "";
}

// A walpost that polls has no slot. Its status has the number of pending rows.
bool IsOf(const Config& config, const rapidjson::Document& status) {
  if (config.source == Source::kPolling) {
    return status.HasMember("pending_rows");
  }
  return TextOf(status, "slot") == config.postgres.slot;
}

// nullopt: something else listens there.
std::optional<Finding> DescribeInstance(const Config& config) {
  const absl::StatusOr<std::string> body = AskInstance(config.http, "/status");
  if (!body.ok()) return std::nullopt;
  rapidjson::Document json;
  json.Parse(body->data(), body->size());
  if (json.HasParseError() || !json.IsObject()) return std::nullopt;
  const std::string state = TextOf(json, "state");
  if (state.empty() || !IsOf(config, json)) return std::nullopt;
  Finding finding{Severity::kOk, FindingId("instance_running"),
                  fmt::format("walpost at {}", config.http.listen),
                  fmt::format("runs, and is {}", state), ""};
  if (config.source == Source::kPolling) {
    finding.severity = Severity::kNote;
    finding.id = FindingId("instance_not_identified");
    finding.text += "; whether it polls these tables is not known";
  }
  if (state != "stuck") return finding;
  finding.severity = Severity::kError;
  finding.id = FindingId("instance_stuck");
  finding.text = fmt::format("runs, and is stuck: {}", TextOf(json, "reason"));
  return finding;
}

}  // namespace

absl::StatusOr<Findings> FindInstance(const Config& config) {
  Findings findings;
  if (config.http.listen.empty()) return findings;
  WALPOST_RETURN_IF_ERROR(ParseListenAddress(config.http.listen).status());
  if (std::optional<Finding> instance = DescribeInstance(config)) {
    findings.push_back(*std::move(instance));
    return findings;
  }
  boost::asio::io_context io(1);
  const absl::Status listens =
      HttpServer::Create(
          io.get_executor(), config.http,
          {.version = "", .status = [] { return RelayStatus(); }})
          .status();
  if (listens.ok()) return findings;
  std::string_view text(listens.message().data(), listens.message().size());
  if (text.starts_with(kSubject)) text.remove_prefix(kSubject.size());
  findings.push_back({Severity::kError, FindingId("http_listen_failed"),
                      "http.listen", std::string(text), ""});
  return findings;
}

}  // namespace walpost
