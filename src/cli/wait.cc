// walpost wait: returns when what was committed is in Kafka; for deployments,
// tests, and readers of their own writes.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/checkpoint/checkpoint_service.h"
#include "app/process/retention_service.h"
#include "app/stored/dead_letter_topic_reader.h"
#include "base/own_arguments.h"
#include "base/status_macros.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/time_option.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/units.h"
#include "fmt/format.h"
#include "loop/run_to_end.h"
#include "postgres/parking/parked_list.h"
#include "retention/sent_wait.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

struct WaitArguments {
  ConfigArguments config;
  std::string lsn;
  std::string event;
  std::string table;
  std::string timeout = "30s";
};

struct Target {
  Lsn lsn;  // 0/0: the event
  std::chrono::milliseconds timeout{0};
};

absl::StatusOr<Target> ReadTarget(const WaitArguments& arguments,
                                  const Config& config) {
  WALPOST_RETURN_IF_ERROR(RequirePostgres(config));
  if (arguments.lsn.empty() == arguments.event.empty()) {
    return absl::InvalidArgumentError(
        "wait: for what? --lsn LSN, as SELECT pg_current_wal_insert_lsn() says "
        "it after the commit, or --event ID");
  }
  Target target;
  WALPOST_ASSIGN_OR_RETURN(target.lsn, ParseLsnOption("--lsn", arguments.lsn));
  if (target.lsn.is_valid() && config.source == Source::kPolling) {
    return absl::InvalidArgumentError(
        "wait --lsn: polled rows have no LSN; give --event ID");
  }
  const auto timeout = ParseDuration(arguments.timeout);
  if (!timeout.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("--timeout: {}", std::string(timeout.status().message())));
  }
  target.timeout = *timeout;
  return target;
}

// kInvalidArgument: --table names another one.
absl::Status CheckTable(const std::string& table, const Config& config) {
  const auto& tables = config.outbox.tables;
  if (table.empty() ||
      std::ranges::find(tables, table, &TableOptions::name) != tables.end()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      fmt::format("--table: {} is not in outbox.tables", table));
}

// The event of a row, among those that were set aside. Letters of an unknown
// source count.
bool IsOf(const DeadLetter& letter, const SentWait::Sent& event,
          const Config& config) {
  if (letter.id != event.id) return false;
  const auto table =
      std::ranges::find(config.outbox.tables, event.table, &TableOptions::name);
  return letter.source.empty() || letter.source == event.table ||
         (table != config.outbox.tables.end() && table->HadName(letter.source));
}

std::string Show(const char* what, const char* verb, const std::string& id) {
  return fmt::format("{}: walpost {} -c FILE show --id {}", what, verb,
                     ShellWord(id));
}

// What an operator must decide about an event; empty: nothing.
asio::awaitable<absl::StatusOr<std::string>> FindSetAside(
    asio::any_io_executor executor, const Config& config,
    SentWait::Sent event) {
  const ConnectionOptions options =
      ParkedList::Session(config.postgres, "wait-verb");
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkedList list, co_await ParkedList::Open(
                           *connection, config.postgres, config.parking.table,
                           ParkedList::IfUnknown::kEmpty));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<ParkedEntry> parked,
      co_await list.Read(ParkingSql::Settled::kLeftOut));
  for (const ParkedEntry& entry : parked) {
    if (!IsOf(entry.content, event, config)) continue;
    co_return entry.isolated_topic.empty()
        ? Show("is parked", "parked", event.id)
        : fmt::format("waits for topic {}, which is isolated",
                      entry.isolated_topic);
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<ParkedEntry> letters,
      co_await list.ReadLetters(ParkingSql::Settled::kLeftOut));
  for (const ParkedEntry& entry : letters) {
    if (IsOf(entry.content, event, config)) {
      co_return Show("is a dead letter", "dead-letters", event.id);
    }
  }
  co_return "";
}

absl::StatusOr<std::string> FindLetterInTopic(const Config& config,
                                              const SentWait::Sent& event) {
  const auto silent = [](std::string_view, uint64_t, uint64_t) {};
  DeadLetterTopicReader topics(config, {}, silent);
  WALPOST_ASSIGN_OR_RETURN(const DeadLetterIndex index, topics.ReadIndex());
  for (const DeadLetterIndex::Entry& entry : index.entries()) {
    if (entry.is_open() && IsOf(entry.letter, event, config)) {
      return Show("is a dead letter", "dead-letters", event.id);
    }
  }
  return "";
}

// It was passed: where is it?
int ReportEvent(const Config& config, const SentWait::Sent& event) {
  if (event.is_deleted) {
    Print(
        "deleted: the row of event {}, as walpost does with a row that it has "
        "sent\n",
        event.id);
    return kExitOk;
  }
  std::string set_aside;
  if (config.source == Source::kWal) {
    asio::io_context io(1);
    const absl::StatusOr<std::string> found =
        RunToEnd(io, FindSetAside(io.get_executor(), config, event));
    if (!found.ok()) return Fail(found.status(), kExitPostgres);
    set_aside = *found;
  }
  const bool has_letter_topic =
      !config.keeps_letters() && !config.outbox.dead_letter.topic.empty();
  if (set_aside.empty() && has_letter_topic) {
    const absl::StatusOr<std::string> found = FindLetterInTopic(config, event);
    if (!found.ok()) return Fail(found.status(), kExitKafka);
    set_aside = *found;
  }
  if (!set_aside.empty()) {
    return Fail(
        absl::UnavailableError(fmt::format("event {} {}", event.id, set_aside)),
        kExitFindings);
  }
  Print(
      "acknowledged: event {} is published, unless it was skipped (by "
      "on_error, "
      "or by an operator), which the log says\n",
      event.id);
  return kExitOk;
}

ExitCode CodeOf(const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) return kExitUsage;
  const bool is_answer =
      absl::IsDeadlineExceeded(status) || absl::IsNotFound(status);
  return is_answer ? kExitFindings : kExitPostgres;
}

int WaitFor(const WaitArguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::StatusOr<Target> target = ReadTarget(arguments, *config);
  if (!target.ok()) return Fail(target.status(), kExitUsage);
  const MonotonicTime deadline = Clock::now() + target->timeout;
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  const absl::Status named = CheckTable(arguments.table, *config);
  if (!named.ok()) return Fail(named, kExitUsage);
  asio::io_context io(1);
  Pruner::Options options = PrunerOptions(*config);
  if (options.proof == SentProof::kSlot && config->checkpoint.has_store()) {
    options.load_checkpoint = [&io, &config] {
      return ReadCheckpoint(io.get_executor(), *config);
    };
  }
  SentWait wait(io.get_executor(), std::move(options));
  if (target->lsn.is_valid()) {
    const absl::Status status =
        RunToEnd(io, wait.ForLsn(target->lsn, deadline));
    if (!status.ok()) return Fail(status, CodeOf(status));
    Print(
        "acknowledged: what was committed before {} is published, or on record "
        "with what was decided about it\n",
        target->lsn.ToString());
    return kExitOk;
  }
  const absl::StatusOr<SentWait::Sent> event =
      RunToEnd(io, wait.ForEvent(arguments.event, arguments.table, deadline));
  if (!event.ok()) return Fail(event.status(), CodeOf(event.status()));
  return ReportEvent(*config, *event);
}

}  // namespace

void AddWait(CLI::App& app, int& exit_code) {
  Verb verb(app, "wait", "Return when what was committed is published");
  const auto arguments = std::make_shared<WaitArguments>();
  arguments->config.AddTo(verb);
  const VerbOption lsn =
      verb.Option("--lsn", arguments->lsn,
                  "Everything that was committed before this LSN "
                  "(SELECT pg_current_wal_insert_lsn())");
  verb.Option("--event", arguments->event,
              "The event with this id; its row must still be in the table")
      .Excludes(lsn);
  verb.Option("--table", arguments->table,
              "The table of the event, if several may have its id")
      .Excludes(lsn);
  verb.Option("--timeout", arguments->timeout, "Maximum time to wait")
      .ShowDefault();
  verb.Footer(
      "Exit codes: 0 acknowledged, 1 not yet, or the event is parked or a dead "
      "letter,\n2 usage, 3 Postgres, or an operator must act, 4 the brokers.");
  verb.Callback([arguments, &exit_code] { exit_code = WaitFor(*arguments); });
}

}  // namespace walpost
