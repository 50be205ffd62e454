// walpost tail: prints events as they are committed. Needs no Kafka, and does
// not use the live slot.
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/status_macros.h"
#include "cli/events/temporary_stream.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "loop/run_to_end.h"
#include "outbox/event_json.h"
#include "outbox/record_builder.h"

namespace walpost {
namespace {

namespace asio = boost::asio;

class Tail {
 public:
  Tail(asio::any_io_executor executor, const Config& config,
       std::unique_ptr<RecordBuilder> builder, uint64_t count)
      : builder_(std::move(builder)),
        stream_(executor, config, builder_->routes(), "tail",
                [this](const Event& event, const absl::Status& mapped) {
                  Take(event, mapped);
                }),
        left_(count) {}

  asio::awaitable<absl::Status> Run() {
    WALPOST_CO_RETURN_IF_ERROR(co_await stream_.Start());
    co_return co_await stream_.Run();
  }

  // Why events could not be printed; ok: they could.
  const absl::Status& output() const { return output_; }

 private:
  void Take(const Event& event, const absl::Status& mapped) {
    const absl::StatusOr<Record> record = mapped.ok()
                                              ? builder_->Build(event, 0)
                                              : absl::StatusOr<Record>(mapped);
    Print(event, record.ok() ? record->topic : "", record.status());
  }

  void Print(const Event& event, std::string_view topic,
             const absl::Status& error) {
    const std::string line = EventJson(event, topic, error) + "\n";
    const bool written =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
        std::fflush(stdout) == 0;
    if (!written) output_ = StdoutStatus(errno);
    // The reader has closed the pipe, or the requested count is reached.
    if (!written || (left_ > 0 && --left_ == 0)) stream_.Stop();
  }

  std::unique_ptr<RecordBuilder> builder_;
  TemporaryStream stream_;
  uint64_t left_;  // events to print; 0: no limit
  absl::Status output_;
};

int RunTail(const ConfigArguments& arguments, uint64_t count) {
  absl::StatusOr<Config> config = arguments.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  absl::Status complete = RequirePostgres(*config);
  if (complete.ok()) {
    complete = RequireWalSource(*config, "tail", "read the table with psql");
  }
  if (!complete.ok()) return Fail(complete, kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  auto builder = RecordBuilder::Create(config->outbox);
  if (!builder.ok()) return Fail(builder.status(), kExitUsage);
  std::signal(SIGPIPE, SIG_IGN);

  asio::io_context io(1);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](boost::system::error_code error, int) {
    if (!error) io.stop();  // the slot is temporary: no cleanup needed
  });
  Tail tail(io.get_executor(), *config, *std::move(builder), count);
  const absl::Status status = RunToEnd(io, tail.Run());
  if (!status.ok()) return Fail(status, kExitPostgres);
  return tail.output().ok() ? int{kExitOk} : Fail(tail.output(), kExitFindings);
}

}  // namespace

void AddTail(CLI::App& app, int& exit_code) {
  Verb verb(app, "tail",
            "Print events as they are committed, one JSON line each");
  auto arguments = std::make_shared<ConfigArguments>();
  auto count = std::make_shared<uint64_t>(0);
  arguments->AddTo(verb);
  verb.Option("--count", *count, "Exit after this many events (no limit)")
      .Between(1, std::numeric_limits<uint64_t>::max());
  verb.Footer(
      "Exit codes: 0 done or stopped by a signal, 1 stdout cannot be written, "
      "2 usage,\n3 Postgres.");
  verb.Callback([=, &exit_code] { exit_code = RunTail(*arguments, *count); });
}

}  // namespace walpost
