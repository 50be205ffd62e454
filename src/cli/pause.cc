// walpost pause, walpost resume: hold up the events of a slot, or the rows of
// polled tables, and let them go on. It is put on record beside the slot;
// whoever has the slot obeys it (checkpoint/pause_record.h).
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "checkpoint/pause_record.h"
#include "cli/shared/current_user.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/running_instance.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "postgres/connect/task_session.h"
#include "postgres/slot/pause_record.h"
#include "rapidjson/document.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

// Time for the running instance to obey: it looks every 2 s.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kPoll{200};

enum class Wish { kPause, kResume };

struct PauseArguments {
  ConfigArguments config;
  std::string reason;
  std::string by;
};

// What the instance at http.listen says.
struct RunningInstance {
  bool is_running = false;  // and its slot, or tables, are those meant
  bool is_paused = false;
};

RunningInstance AskRunning(const Config& config) {
  RunningInstance instance;
  const absl::StatusOr<std::string> body = AskInstance(config.http, "/status");
  if (!body.ok()) return instance;
  rapidjson::Document json;
  json.Parse(body->data(), body->size());
  if (json.HasParseError() || !json.IsObject() || !json.HasMember("paused") ||
      !json["paused"].IsBool() || !json.HasMember("slot") ||
      !json["slot"].IsString() || !json.HasMember("state") ||
      !json["state"].IsString()) {
    return instance;
  }
  const bool polls = json.HasMember("pending_rows");
  const std::string state = json["state"].GetString();
  const bool is_meant = config.source == Source::kPolling
                            ? polls
                            : json["slot"].GetString() == config.postgres.slot;
  instance.is_running = is_meant && state != "standby";
  instance.is_paused = is_meant && json["paused"].GetBool();
  return instance;
}

std::vector<std::string> TablesOf(const Config& config) {
  std::vector<std::string> names;
  for (const TableOptions& table : config.outbox.tables) {
    names.push_back(table.name);
  }
  return names;
}

// "slot orders", "table public.outbox"
std::string SubjectOf(const Config& config) {
  if (config.source == Source::kWal) return PauseSubject(config.postgres.slot);
  const std::vector<std::string> names = TablesOf(config);
  return fmt::format("{} {}", names.size() == 1 ? "table" : "tables",
                     absl::StrJoin(names, ", "));
}

// What is on record; of several tables: the pause of one, and all of them.
struct OnRecord {
  std::optional<PauseRecord> pause;
  bool is_everywhere = true;
};

asio::awaitable<absl::StatusOr<OnRecord>> ReadRecord(Connection& connection,
                                                     const Config& config) {
  OnRecord on_record;
  if (config.source == Source::kWal) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        on_record.pause,
        co_await ReadPause(connection, config.postgres.publication,
                           config.postgres.slot));
    if (on_record.pause && !on_record.pause->is_paused) on_record.pause.reset();
    on_record.is_everywhere = on_record.pause.has_value();
    co_return on_record;
  }
  for (const std::string& table : TablesOf(config)) {
    WALPOST_CO_ASSIGN_OR_RETURN(const std::optional<PauseRecord> pause,
                                co_await ReadTablePause(connection, table));
    const bool is_paused = pause && pause->is_paused;
    on_record.is_everywhere &= is_paused;
    if (is_paused) on_record.pause = pause;
  }
  co_return on_record;
}

struct Outcome {
  bool was_so = false;  // nothing is to be done
  std::optional<PauseRecord> before;
};

// A running instance may hold on to a record that has vanished.
asio::awaitable<absl::StatusOr<Outcome>> PutOnRecord(
    asio::any_io_executor executor, const Config& config, PauseRecord record,
    bool instance_is_paused) {
  const ConnectionOptions options = TaskSession(config.postgres, "pause");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(const OnRecord on_record,
                              co_await ReadRecord(*connection, config));
  Outcome outcome;
  outcome.before = on_record.pause;
  outcome.was_so = record.is_paused ? on_record.is_everywhere
                                    : !on_record.pause && !instance_is_paused;
  if (outcome.was_so) co_return outcome;
  absl::Status written;
  if (config.source == Source::kWal) {
    written = co_await WritePause(*connection, config.postgres.publication,
                                  config.postgres.slot, std::move(record));
  } else {
    written = co_await WriteTablePauses(*connection, TablesOf(config),
                                        std::move(record));
  }
  if (!written.ok()) co_return written;
  co_return outcome;
}

bool WaitUntilObeyed(const Config& config, Wish wish) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const RunningInstance instance = AskRunning(config);
    if (!instance.is_running) return false;
    if (instance.is_paused == (wish == Wish::kPause)) return true;
    std::this_thread::sleep_for(kPoll);
  }
  return false;
}

int Report(const Config& config, Wish wish, const Outcome& outcome,
           bool is_running) {
  const std::string subject = SubjectOf(config);
  const bool pauses = wish == Wish::kPause;
  if (outcome.was_so && pauses) {
    Print("{}: already paused {}\n", subject, DescribePause(*outcome.before));
    return kExitOk;
  }
  if (outcome.was_so) {
    Print("{}: not paused\n", subject);
    return kExitOk;
  }
  const std::string done = pauses ? "paused" : "resumed";
  if (!is_running) {
    Print(
        "on record: {} {}. No walpost that sends these events answers at "
        "http.listen: the instance that sends them obeys within seconds\n",
        subject, done);
    return kExitOk;
  }
  if (!WaitUntilObeyed(config, wish)) {
    return Fail(absl::UnavailableError(fmt::format(
                    "on record, but the running walpost does not report that "
                    "it is {}: see walpost status -c FILE",
                    done)),
                kExitFindings);
  }
  if (pauses) {
    Print("{}: paused. Nothing is sent until walpost resume -c FILE; {}\n",
          subject,
          config.source == Source::kWal
              ? "meanwhile Postgres keeps the WAL for the slot"
              : "meanwhile rows stay in the table");
  } else {
    Print("{}: resumed{}\n", subject,
          outcome.before ? ", after a pause " + DescribePause(*outcome.before)
                         : "");
  }
  return kExitOk;
}

int Run(Wish wish, const PauseArguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::Status usable = RequirePostgres(*config);
  if (!usable.ok()) return Fail(usable, kExitUsage);
  if (config->source == Source::kPolling) {
    const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
    if (!expanded.ok()) return Fail(expanded, kExitPostgres);
    if (config->outbox.tables.empty()) {
      return Fail(absl::FailedPreconditionError(
                      "no table matches outbox.tables, so none can be paused "
                      "or resumed: walpost check -c FILE names the patterns"),
                  kExitPostgres);
    }
  }
  PauseRecord record;
  record.is_paused = wish == Wish::kPause;
  record.by = arguments.by.empty() ? CurrentUser() : arguments.by;
  record.why = arguments.reason;
  const RunningInstance instance = AskRunning(*config);
  asio::io_context io(1);
  const absl::StatusOr<Outcome> outcome = RunToEnd(
      io, PutOnRecord(io.get_executor(), *config, record, instance.is_paused));
  if (!outcome.ok()) return Fail(outcome.status(), kExitPostgres);
  return Report(*config, wish, *outcome, instance.is_running);
}

void AddVerb(CLI::App& app, int& exit_code, const std::string& name,
             const std::string& description, Wish wish) {
  const auto arguments = std::make_shared<PauseArguments>();
  Verb verb(app, name, description);
  arguments->config.AddTo(verb);
  verb.Option("--reason", arguments->reason, "Reason, for the record");
  verb.Option("--by", arguments->by, "Name for the record ($USER)");
  verb.Footer(
      "It is put on record in the comment of the publication (with source: "
      "polling, of\neach table), which the role of walpost must own. A running "
      "walpost obeys within\nseconds, and so does one that starts later.\n"
      "Exit codes: 0 done, or so already, 1 on record, and the running walpost "
      "does not\nreport it, 2 wrong command line or configuration, 3 "
      "Postgres.");
  verb.Callback(
      [arguments, wish, &exit_code] { exit_code = Run(wish, *arguments); });
}

}  // namespace

void AddPause(CLI::App& app, int& exit_code) {
  AddVerb(app, exit_code, "pause",
          "Send no events until walpost resume; they wait in Postgres",
          Wish::kPause);
}

void AddResume(CLI::App& app, int& exit_code) {
  AddVerb(app, exit_code, "resume", "Send events again, after walpost pause",
          Wish::kResume);
}

}  // namespace walpost
