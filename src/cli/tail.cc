// walpost tail: prints events as they are committed. Needs no Kafka, and does
// not use the live slot.
#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/status_macros.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/run_to_end.h"
#include "cli/shared/standard_streams.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "delivery/event_consumer.h"
#include "fmt/format.h"
#include "outbox/event_json.h"
#include "outbox/record_builder.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/read_base_types.h"
#include "postgres/slot/slot.h"
#include "postgres/stream/replication_reader.h"
#include "session/wal_stream.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr char kTailName[] = "walpost:tail";
constexpr std::chrono::seconds kAskInterval{1};
constexpr std::chrono::seconds kSlotCreationLimit{60};

WalStream::Options TailStreamOptions(const Config& config,
                                     const std::string& slot) {
  WalStream::Options stream;
  stream.slot = slot;
  stream.publication = config.postgres.publication;
  stream.application_name = kTailName;
  stream.remedy = "Make the publication, and begin again";
  stream.wal_sender_timeout = config.postgres.wal_sender_timeout;
  stream.ask_interval = kAskInterval;
  return stream;
}

class Tail final : private EventConsumer {
 public:
  Tail(asio::any_io_executor executor, const Config& config,
       std::unique_ptr<RecordBuilder> builder, uint64_t count)
      : executor_(executor),
        config_(config),
        builder_(std::move(builder)),
        slot_(fmt::format("walpost_tail_{}", getpid())),
        stream_(TailStreamOptions(config, slot_), config.outbox,
                ReferencesOf(builder_->routes()), *this),
        reader_(executor, stream_),
        left_(count) {}

  asio::awaitable<absl::Status> Run() {
    WALPOST_CO_RETURN_IF_ERROR(co_await Start());
    co_return co_await reader_.Run();
  }

  // Why events could not be printed; ok: they could.
  const absl::Status& output() const { return output_; }

 private:
  asio::awaitable<absl::Status> Start() {
    ConnectionOptions options;
    options.server = config_.postgres.server;
    options.application_name = kTailName;
    options.replication = true;
    WALPOST_CO_ASSIGN_OR_RETURN(
        auto connected, co_await Connection::Connect(executor_, options));
    std::unique_ptr<Connection> connection = std::move(connected);
    absl::Status status = co_await RequirePublication(*connection);
    if (!status.ok()) co_return status;
    const MonotonicTime deadline = Clock::now() + kSlotCreationLimit;
    WALPOST_CO_ASSIGN_OR_RETURN(
        auto created,
        co_await CreateSlot(*connection, slot_, SlotKind::kTemporary,
                            SlotSnapshot::kNone, SlotFailover::kNo, deadline));
    StreamRequest stream;
    stream.slot = slot_;
    stream.publication = config_.postgres.publication;
    stream.messages = config_.outbox.messages.enabled();
    WALPOST_CO_ASSIGN_OR_RETURN(
        BaseTypes types, co_await ReadBaseTypes(*connection, config_.outbox));
    types.Complete();
    status = co_await StartReplication(*connection, std::move(stream));
    WalStream::Start start;
    start.slot = created;
    start.base_types = std::move(types);
    if (status.ok()) reader_.Begin(std::move(connection), std::move(start));
    co_return status;
  }

  asio::awaitable<absl::Status> RequirePublication(Connection& connection) {
    const std::string& publication = config_.postgres.publication;
    WALPOST_CO_ASSIGN_OR_RETURN(
        auto exists, co_await PublicationExists(connection, publication));
    absl::Status status;
    if (!exists && config_.postgres.create) {
      status = co_await CreatePublication(connection, publication,
                                          config_.outbox.tables);
    } else if (!exists) {
      status = absl::FailedPreconditionError(fmt::format(
          "publication {} does not exist: run walpost init -c FILE --admin "
          "CONNINFO, or {}",
          publication,
          CreatePublicationSql(publication, config_.outbox.tables,
                               connection.server_version())));
    }
    co_return status;
  }

  // EventConsumer.
  bool CanTake() const override { return !stream_.is_abandoned(); }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override {
    const absl::StatusOr<Record> record = mapped.ok()
                                              ? builder_->Build(event, 0)
                                              : absl::StatusOr<Record>(mapped);
    Print(event, record.ok() ? record->topic : "", record.status());
    return Offer::kAccepted;
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    printed_ = std::max(printed_, end_lsn);
  }
  void OnKeepalive(Lsn wal_end) override { OnTransactionEnd(wal_end); }
  Lsn confirmable() const override { return printed_; }
  bool IsDrained() const override { return true; }
  absl::Status Health() const override { return absl::OkStatus(); }

  void Print(const Event& event, std::string_view topic,
             const absl::Status& error) {
    const std::string line = EventJson(event, topic, error) + "\n";
    const bool written =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
        std::fflush(stdout) == 0;
    if (!written) output_ = StdoutStatus(errno);
    // The reader has closed the pipe, or the requested count is reached.
    if (!written || (left_ > 0 && --left_ == 0)) stream_.Abandon();
  }

  asio::any_io_executor executor_;
  const Config& config_;
  std::unique_ptr<RecordBuilder> builder_;
  std::string slot_;  // temporary: it ends with the connection
  WalStream stream_;
  ReplicationReader reader_;
  Lsn printed_;    // everything before it has been printed
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
