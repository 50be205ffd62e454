// walpost check: checks both ends, prints the findings and their remedies.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "admin/http_server.h"
#include "admin/listen_address.h"
#include "app/sink/kafka_deletions.h"
#include "app/sink/sinks.h"
#include "base/finding.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "cli/check/check_postgres.h"
#include "cli/shared/check_values.h"
#include "cli/shared/complete_conninfo.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/json_line.h"
#include "cli/shared/output.h"
#include "cli/shared/running_instance.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/config.h"
#include "fmt/format.h"
#include "outbox/table_pattern.h"
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

// The findings of `walpost check` about http.listen, and about the walpost that
// answers there. A walpost with this configuration that is stuck is an error,
// with its reason; so is a port that another program has. kInvalidArgument: not
// an address.
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

using Found = absl::StatusOr<Findings>;

// As a part.
std::string_view SinkOf(const Config& config) {
  return WordsOf(config.sink).name;
}

bool IsSink(std::string_view part) {
  return std::ranges::any_of(kSinkKinds, [part](const auto& named) {
    return WordsOf(named.second).name == part;
  });
}

// Which changes of the slot by others are noticed.
Findings CheckStore(const Config& config) {
  const CheckpointOptions& options = config.checkpoint;
  Finding finding{Severity::kOk, FindingId("checkpoint_store_ok"),
                  "checkpoint.store",
                  "is set: a slot that somebody else advanced or made again is "
                  "noticed",
                  ""};
  if (!options.has_store()) {
    finding.severity = Severity::kNote;
    finding.id = FindingId("checkpoint_store_none");
    finding.text =
        "is none: a missing slot is noticed, but not one that somebody else "
        "advanced or made again";
    finding.remedy = fmt::format("checkpoint.store: {} notices it",
                                 config.sink == SinkKind::kKafka
                                     ? CheckpointOptions::kKeepers
                                     : "file or postgres");
  }
  return {finding};
}

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

std::string Mark(Severity severity) {
  const bool is_error = severity == Severity::kError;
  return fmt::format("{:<7}", is_error ? "ERROR" : NameOf(severity));
}

// The id of an error that has none of its own.
FindingId IdByCode(const absl::Status& status, std::string_view part) {
  const bool passes = absl::IsUnavailable(status);
  if (IsSink(part)) {
    return FindingId(passes ? kFindingKafkaUnavailable : "kafka_check_failed");
  }
  const std::string sqlstate = SqlstateOf(status);
  if (sqlstate.starts_with("28")) {
    return FindingId(kFindingCredentialsRejected);
  }
  if (sqlstate == "3D000") return FindingId("database_missing");
  if (sqlstate == "53300") return FindingId("postgres_connections_exhausted");
  if (sqlstate == kSqlstateInsufficientPrivilege) {
    return FindingId("postgres_privilege_missing");
  }
  return FindingId(passes ? "postgres_unavailable" : "postgres_check_failed");
}

// Prints findings as they come, for people or as a JSON object each.
class Report {
 public:
  explicit Report(bool is_json) : is_json_(is_json) {}

  // Those of one end. True: one of them is an error.
  bool Add(const Found& findings, std::string_view end) {
    if (!findings.ok()) {
      const std::string cause(findings.status().message());
      if (is_json_) {
        const absl::Status& status = findings.status();
        PrintJson(end,
                  {Severity::kError, FindingIdOf(status, IdByCode(status, end)),
                   std::string(end), cause, ""});
      } else {
        Print("{} {}: {}\n", Mark(Severity::kError), end, cause);
      }
      return has_failed_ = true;
    }
    for (const Finding& finding : *findings) {
      if (is_json_) {
        PrintJson(end, finding);
      } else {
        PrintText(finding);
      }
    }
    const bool has_error = FirstError(*findings) != nullptr;
    has_failed_ |= has_error;
    return has_error;
  }

  // A configuration that cannot be checked further. `--json` has it as a
  // finding, too.
  int Reject(const absl::Status& status) const {
    if (is_json_) {
      constexpr char kPart[] = "configuration";
      PrintJson(kPart, {Severity::kError,
                        FindingIdOf(status, FindingId("configuration_invalid")),
                        kPart, std::string(status.message()), ""});
    }
    return Fail(status, kExitUsage);
  }

  int exit_code() const { return has_failed_ ? kExitFindings : kExitOk; }

 private:
  static void PrintText(const Finding& finding) {
    Print("{} {} {}\n", Mark(finding.severity), finding.subject, finding.text);
    if (!finding.remedy.empty()) {
      Print("        -> {}\n", finding.remedy);
    }
  }

  static void PrintJson(std::string_view end, const Finding& finding) {
    JsonLine line;
    line.Add("part", end);
    line.Add("id", finding.id.text());
    line.Add("severity", NameOf(finding.severity));
    line.Add("thing", finding.subject);
    line.Add("cause", WithOwnArguments(finding.text));
    line.Add("remedy", WithOwnArguments(finding.remedy));
    PrintContent(line.Finish());
  }

  const bool is_json_;
  bool has_failed_ = false;
};

// A letter is as large as its event, and is refused for the same reason.
Findings CheckLetters(const Config& config) {
  const size_t too_large = FindErrorClass(kReasonRecordTooLarge);
  const bool is_whole =
      config.outbox.dead_letter.payload == DeadLetterOptions::Payload::kWhole;
  if (config.on_error.Get(too_large) != ErrorAction::kDeadLetter || !is_whole ||
      config.keeps_letters()) {
    return {};
  }
  return {
      {Severity::kWarning, FindingId("dead_letter_too_large"),
       "on_error.record_too_large",
       "is dead_letter, and dead_letter.payload is whole: the dead letter is "
       "as large as its event, so the flow stops before it all the same",
       "set dead_letter.payload: cut, or dead_letter.store: postgres; or "
       "outbox.tables[].claim_check_above, so that large payloads stay in "
       "their rows"}};
}

// What the rows and the topics say together.
Findings CompareBothEnds(const Config& config) {
  const ReloadableText conninfo = CompleteConninfo(config.postgres.server);
  const Severity severity =
      config.postgres.initial_snapshot ? Severity::kWarning : Severity::kNote;
  return CompareRowsAndTopics(config, conninfo, severity);
}

// Adds the tables that match patterns of outbox.tables.
Found FindByPatterns(Config& config) {
  const absl::Status expanded = ExpandTables(config, WithRecorded::kYes);
  if (!expanded.ok()) return expanded;
  Findings findings;
  for (const std::string& pattern : UnmatchedPatterns(config.outbox)) {
    findings.push_back(
        {Severity::kWarning, FindingId("table_pattern_unmatched"),
         fmt::format("outbox.tables {}", pattern), "matches no table",
         "correct it; or create the table and add it to the publication: a "
         "walpost that runs publishes it without a restart"});
  }
  return findings;
}

struct Arguments {
  ConfigArguments config;
  bool is_offline = false;
  bool is_json = false;
};

void CheckStores(const Config& config, Report& report) {
  if (config.source != Source::kWal) return;
  report.Add(CheckStore(config), "checkpoint");
  report.Add(CheckLetters(config), "dead_letter");
}

int CheckServers(Config& config, Report& report) {
  // The brokers may know more about a property of Kafka.
  const absl::Status valid = CheckValues(config);
  if (config.sink != SinkKind::kKafka && absl::IsInvalidArgument(valid)) {
    return report.Reject(valid);
  }
  const absl::StatusOr<Findings> instance = FindInstance(config);
  if (!instance.ok()) return report.Reject(instance.status());
  const absl::StatusOr<Findings> patterns = FindByPatterns(config);
  const auto routes = Route::CreateAll(config.outbox);
  if (!routes.ok()) return report.Reject(routes.status());

  // Asked first: Postgres has on record which cluster has the events.
  const absl::StatusOr<SinkFindings> cluster =
      CheckSink(config, *routes, FindTransactionalIds(config, *routes));
  const bool postgres_failed = report.Add(
      FindInPostgres(config, *routes, cluster.value_or(SinkFindings())),
      "Postgres");
  report.Add(patterns, "outbox.tables");
  CheckStores(config, report);
  if (config.postgres.failover) {
    report.Add(FindInStandbys(config), "standbys");
  }
  if (config.retention.enabled()) {
    report.Add(FindForRetention(config), "retention");
  }
  report.Add(cluster.ok() ? Found(cluster->findings) : cluster.status(),
             SinkOf(config));
  // Asks both ends: a server, or a pooler before it, that fails may not answer.
  if (cluster.ok() && cluster->answers && !postgres_failed) {
    report.Add(CompareBothEnds(config), SinkOf(config));
  }
  report.Add(*instance, "http.listen");
  return report.exit_code();
}

int CheckOffline(const Config& config, Report& report) {
  const absl::Status valid = CheckValues(config);
  if (absl::IsInvalidArgument(valid)) return report.Reject(valid);
  Findings findings;
  if (valid.ok()) {
    findings.push_back({Severity::kOk, FindingId("configuration_ok"),
                        "configuration",
                        "has no error that shows without a server, a folder or "
                        "a port",
                        ""});
  }
  report.Add(valid.ok() ? Found(findings) : valid, "configuration");
  CheckStores(config, report);
  return report.exit_code();
}

int Check(const Arguments& arguments) {
  Report report(arguments.is_json);
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return report.Reject(config.status());
  const absl::Status complete = RequireBothEnds(*config);
  if (!complete.ok()) return report.Reject(complete);
  return arguments.is_offline ? CheckOffline(*config, report)
                              : CheckServers(*config, report);
}

}  // namespace

void AddCheck(CLI::App& app, int& exit_code) {
  Verb verb(app, "check",
            "Test the connections, rights and settings, and print fixes");
  auto arguments = std::make_shared<Arguments>();
  arguments->config.AddTo(verb);
  verb.Flag("--offline", arguments->is_offline,
            "Check only what takes no server: the configuration, and the "
            "properties of Kafka");
  verb.Flag("--json", arguments->is_json,
            "Print a JSON object per finding: part, id, severity (ok, note, "
            "warning, error), thing, cause, remedy");
  verb.Footer(
      "Exit codes: 0 no error found, 1 something must be fixed, 2 usage.");
  verb.Callback([arguments, &exit_code] { exit_code = Check(*arguments); });
}

}  // namespace walpost
