// walpost wait: returns when what was committed is in Kafka; for deployments,
// tests, and readers of their own writes.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/checkpoint/checkpoint_service.h"
#include "app/process/retention_service.h"
#include "app/stored/dead_letter_topic_reader.h"
#include "base/status_macros.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/lsn_option.h"
#include "cli/shared/output.h"
#include "cli/shared/run_to_end.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/units.h"
#include "fmt/format.h"
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

// What an operator must decide about an event with this id; empty: nothing.
asio::awaitable<absl::StatusOr<std::string>> FindSetAside(
    asio::any_io_executor executor, const Config& config, std::string id) {
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
    if (entry.content.id != id) continue;
    co_return entry.isolated_topic.empty()
        ? fmt::format("is parked: walpost parked -c FILE show --id {}", id)
        : fmt::format("waits for topic {}, which is isolated",
                      entry.isolated_topic);
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<ParkedEntry> letters,
      co_await list.ReadLetters(ParkingSql::Settled::kLeftOut));
  for (const ParkedEntry& entry : letters) {
    if (entry.content.id != id) continue;
    co_return fmt::format(
        "is a dead letter: walpost dead-letters -c FILE show --id {}", id);
  }
  co_return "";
}

absl::StatusOr<std::string> FindLetterInTopic(const Config& config,
                                              const std::string& id) {
  const auto silent = [](std::string_view, uint64_t, uint64_t) {};
  DeadLetterTopicReader topics(config, {}, silent);
  WALPOST_ASSIGN_OR_RETURN(const DeadLetterIndex index, topics.ReadIndex());
  for (const DeadLetterIndex::Entry& entry : index.entries()) {
    if (!entry.is_open() || entry.letter.id != id) continue;
    return fmt::format(
        "is a dead letter: walpost dead-letters -c FILE show --id {}", id);
  }
  return "";
}

int WaitFor(const WaitArguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  const absl::StatusOr<Target> target = ReadTarget(arguments, *config);
  if (!target.ok()) return Fail(target.status(), kExitUsage);
  const MonotonicTime deadline = Clock::now() + target->timeout;
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  asio::io_context io(1);
  Pruner::Options options = PrunerOptions(*config);
  if (options.proof == SentProof::kSlot && config->checkpoint.has_store()) {
    options.load_checkpoint = [&io, &config] {
      return ReadCheckpoint(io.get_executor(), *config);
    };
  }
  SentWait wait(io.get_executor(), std::move(options));
  const bool is_lsn = target->lsn.is_valid();
  const absl::Status status =
      RunToEnd(io, is_lsn ? wait.ForLsn(target->lsn, deadline)
                          : wait.ForEvent(arguments.event, deadline));
  if (absl::IsInvalidArgument(status)) return Fail(status, kExitUsage);
  if (absl::IsFailedPrecondition(status)) return Fail(status, kExitPostgres);
  if (!status.ok()) return Fail(status, kExitFindings);
  if (is_lsn) {
    Print(
        "acknowledged: what was committed before {} is in Kafka, or on record "
        "with what was decided about it\n",
        target->lsn.ToString());
    return kExitOk;
  }
  std::string set_aside;
  if (config->source == Source::kWal) {
    io.restart();
    const absl::StatusOr<std::string> found =
        RunToEnd(io, FindSetAside(io.get_executor(), *config, arguments.event));
    if (!found.ok()) return Fail(found.status(), kExitPostgres);
    set_aside = *found;
  }
  const bool has_letter_topic =
      !config->keeps_letters() && !config->outbox.dead_letter.topic.empty();
  if (set_aside.empty() && has_letter_topic) {
    const absl::StatusOr<std::string> found =
        FindLetterInTopic(*config, arguments.event);
    if (!found.ok()) return Fail(found.status(), kExitKafka);
    set_aside = *found;
  }
  if (!set_aside.empty()) {
    return Fail(absl::UnavailableError(
                    fmt::format("event {} {}", arguments.event, set_aside)),
                kExitFindings);
  }
  Print(
      "acknowledged: event {} is in Kafka, unless it was skipped (by on_error, "
      "or by an operator), which the log says\n",
      arguments.event);
  return kExitOk;
}

}  // namespace

void AddWait(CLI::App& app, int& exit_code) {
  Verb verb(app, "wait", "Return when what was committed is in Kafka");
  const auto arguments = std::make_shared<WaitArguments>();
  arguments->config.AddTo(verb);
  const VerbOption lsn =
      verb.Option("--lsn", arguments->lsn,
                  "Everything that was committed before this LSN "
                  "(SELECT pg_current_wal_insert_lsn())");
  verb.Option("--event", arguments->event,
              "The event with this id; its row must still be in the table")
      .Excludes(lsn);
  verb.Option("--timeout", arguments->timeout, "Maximum time to wait")
      .ShowDefault();
  verb.Footer(
      "Exit codes: 0 acknowledged, 1 not yet, or the event is parked or a dead "
      "letter,\n2 usage, 3 Postgres, or an operator must act, 4 Kafka.");
  verb.Callback([arguments, &exit_code] { exit_code = WaitFor(*arguments); });
}

}  // namespace walpost
