// walpost status: asks the running walpost with this configuration for its
// state, over its HTTP port, and prints it for people (or as JSON).
#include <memory>

#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/running_instance.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"
#include "postgres/slot/replay_window_slot.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

// Reads the JSON of /status; a missing member prints as a dash, because the
// process may have another version.
class StatusText {
 public:
  explicit StatusText(const rapidjson::Document& json) : json_(json) {}

  std::string Get(const char* name) const {
    const auto found = json_.FindMember(name);
    if (found == json_.MemberEnd() || found->value.IsNull()) return "-";
    if (found->value.IsString()) return found->value.GetString();
    if (found->value.IsUint64()) {
      return fmt::format("{}", found->value.GetUint64());
    }
    if (found->value.IsDouble()) {
      return fmt::format("{:.3g}", found->value.GetDouble());
    }
    return found->value.IsTrue() ? "true" : "false";
  }

  // Empty: there are none.
  std::string List(const char* name) const {
    std::string texts;
    const auto found = json_.FindMember(name);
    if (found == json_.MemberEnd() || !found->value.IsArray()) return texts;
    for (const auto& value : found->value.GetArray()) {
      if (!value.IsString()) continue;
      texts += (texts.empty() ? "" : ", ") + std::string(value.GetString());
    }
    return texts;
  }

  // "event 2 of the transaction at 16/B374D838"
  std::string Event(const char* name) const {
    const std::string text = Get(name);
    const size_t slash = text.rfind('/');
    if (slash == std::string::npos || text.substr(slash) == "/0") return "none";
    return fmt::format("event {} of the transaction at {}",
                       text.substr(slash + 1), text.substr(0, slash));
  }

  std::string Size(const char* name) const {
    const auto found = json_.FindMember(name);
    if (found == json_.MemberEnd() || !found->value.IsUint64()) return "-";
    const auto bytes = static_cast<double>(found->value.GetUint64());
    if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
    if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
    return fmt::format("{:.1f} MiB", bytes / (1024 * 1024));
  }

  std::string Millis(const char* name) const {
    const auto found = json_.FindMember(name);
    if (found == json_.MemberEnd() || !found->value.IsNumber()) return "-";
    return fmt::format("{:.1f} ms", 1e3 * found->value.GetDouble());
  }

 private:
  const rapidjson::Document& json_;
};

void PrintWal(const StatusText& text) {
  if (text.Get("system_identifier").empty()) {
    Print("slot       {}: the rest is known when this instance streams\n",
          text.Get("slot"));
    return;
  }
  Print("slot       {}, system {}, timeline {}\n", text.Get("slot"),
        text.Get("system_identifier"), text.Get("timeline"));
  Print("server at  {}\n", text.Get("server_wal_end"));
  Print("received   {}\n", text.Get("received_lsn"));
  Print("published  {}\n", text.Event("acknowledged_position"));
  Print("confirmed  {}, {} behind the server\n", text.Get("confirmed_lsn"),
        text.Size("lag_bytes"));
  Print("WAL kept   {} of {}, {}\n", text.Size("retained_wal_bytes"),
        text.Size("wal_budget_bytes"), text.Get("wal_status"));
  if (text.Get("checkpoint_store") != "-") {
    Print("checkpoint {}, {}\n           {}\n", text.Get("checkpoint_lsn"),
          text.Event("checkpoint_position"), text.Get("checkpoint_store"));
  }
  Print("restart    reads from {}, {} before what is received\n",
        text.Get("restart_lsn"), text.Size("restart_rereads_bytes"));
  if (text.Get("guard_lsn") != "-") {
    Print("replay     from {} (slot {}), {} before the confirmed LSN\n",
          text.Get("guard_lsn"), ReplayWindowSlotName(text.Get("slot")),
          text.Size("replay_window_bytes"));
  }
}

void PrintPolledTables(const StatusText& text) {
  Print("rows       {} pending, {} failed\n", text.Get("pending_rows"),
        text.Get("failed_rows"));
  Print("oldest     {} pending\n", text.Millis("oldest_pending_seconds"));
}

void PrintStatus(const rapidjson::Document& json) {
  const StatusText text(json);
  const std::string reason = text.Get("reason");
  Print("state      {}, for {} s\n", text.Get("state"),
        text.Get("in_state_seconds"));
  if (!reason.empty()) Print("           {}\n", reason);
  if (text.Get("stopped_position") != "-") {
    Print("stopped    before the event at {}, id {}\n",
          text.Get("stopped_position"), text.Get("stopped_event_id"));
  }
  if (json.HasMember("pending_rows")) {
    PrintPolledTables(text);
  } else {
    PrintWal(text);
  }
  Print("guarantee  {}\n", text.Get("guarantee"));
  Print("in flight  {} of {} records, {} of {}\n",
        text.Get("in_flight_records"), text.Get("max_in_flight_records"),
        text.Size("in_flight_bytes"), text.Size("max_in_flight_bytes"));
  Print("records    {} acknowledged, {} not delivered, {} repeats skipped\n",
        text.Get("acknowledged"), text.Get("not_delivered"),
        text.Get("repeats"));
  Print("set aside  {} dead letters, {} events skipped\n",
        text.Get("dead_letters"), text.Get("events_left_out"));
  Print("parked     {} keys with {} events, the oldest for {} s\n",
        text.Get("parked_keys"), text.Get("parked_events"),
        text.Get("oldest_parked_seconds"));
  const std::string isolated = text.List("isolated_topics");
  if (!isolated.empty()) {
    Print("isolated   {}, with {} events, the oldest for {} s\n", isolated,
          text.Get("isolated_events"), text.Get("oldest_isolated_seconds"));
  }
  Print("since      {} reconnects, {} rewinds\n", text.Get("reconnects"),
        text.Get("rewinds"));
  Print("latency    p50 {}, p99 {} from commit to acknowledgement\n",
        text.Millis("commit_to_acknowledgement_p50_seconds"),
        text.Millis("commit_to_acknowledgement_p99_seconds"));
}

int Status(const ConfigArguments& arguments, bool as_json) {
  const absl::StatusOr<Config> config = arguments.Load(Secrets::kIfReadable);
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::StatusOr<std::string> body = AskInstance(config->http, "/status");
  if (!body.ok()) {
    return Fail(body.status(), absl::IsInvalidArgument(body.status())
                                   ? kExitUsage
                                   : kExitFindings);
  }
  rapidjson::Document json;
  json.Parse(body->data(), body->size());
  if (json.HasParseError() || !json.IsObject()) {
    return Fail(NoInstance(config->http, "it is not walpost that answers"),
                kExitFindings);
  }
  if (as_json) {
    PrintContent(*body);
  } else {
    PrintStatus(json);
  }
  const bool is_ready = json.HasMember("ready") && json["ready"].IsTrue();
  return is_ready ? kExitOk : kExitFindings;
}

}  // namespace

void AddStatus(CLI::App& app, int& exit_code) {
  Verb verb(
      app, "status",
      "Show the state of the running walpost; exits with 0 if it is ready");
  auto arguments = std::make_shared<ConfigArguments>();
  auto as_json = std::make_shared<bool>(false);
  arguments->AddTo(verb);
  verb.Flag("--json", *as_json, "Print the JSON of /status");
  verb.Footer("Exit codes: 0 ready, 1 not ready or not running, 2 usage.");
  verb.Callback([arguments, as_json, &exit_code] {
    exit_code = Status(*arguments, *as_json);
  });
}

}  // namespace walpost
