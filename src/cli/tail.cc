// walpost tail: prints events as they are committed. Needs no Kafka, and does
// not use the live slot.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>

#include "base/session_settings.h"
#include "base/status_macros.h"
#include "cli/count_option.h"
#include "cli/exit_code.h"
#include "cli/require_wal.h"
#include "cli/run_to_end.h"
#include "cli/standard_streams.h"
#include "cli/verbs.h"
#include "fmt/format.h"
#include "outbox/event_json.h"
#include "outbox/record_builder.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/decoder.h"
#include "postgres/publication.h"
#include "postgres/replication_stream.h"
#include "postgres/slot.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kFeedbackInterval{1};
constexpr std::chrono::seconds kSlotCreationLimit{60};

class Tail {
 public:
  Tail(const Config& config, std::unique_ptr<RecordBuilder> builder,
       uint64_t count)
      : config_(config),
        builder_(std::move(builder)),
        assembler_(config.outbox, ReferencesOf(builder_->routes())),
        left_(count) {}

  asio::awaitable<absl::Status> Run(asio::any_io_executor executor) {
    absl::Status status = co_await Start(executor);
    while (status.ok() && !ended_) {
      status = TakeFrames();
      if (!status.ok() || ended_) break;
      status = SendFeedback();
      const MonotonicTime until = Clock::now() + kFeedbackInterval;
      co_await connection_->waiter().Wait(SocketWaiter::Interest::kRead, until);
    }
    co_return status;
  }

  // Why events could not be printed; ok: they could.
  const absl::Status& output() const { return output_; }

 private:
  asio::awaitable<absl::Status> Start(asio::any_io_executor executor) {
    ConnectionOptions options;
    options.server = config_.postgres.server;
    options.application_name = "walpost:tail";
    options.replication = true;
    auto connected = co_await Connection::Connect(executor, options);
    if (!connected.ok()) co_return connected.status();
    connection_ = *std::move(connected);
    if (MayHoldAnyBytes(connection_->server_encoding())) {
      assembler_.RequireUtf8();
    }
    const std::string& publication = config_.postgres.publication;
    auto exists = co_await PublicationExists(*connection_, publication);
    if (!exists.ok()) co_return exists.status();
    absl::Status status;
    if (!*exists && config_.postgres.create) {
      status = co_await CreatePublication(*connection_, publication,
                                          config_.outbox.tables);
    } else if (!*exists) {
      status = absl::FailedPreconditionError(fmt::format(
          "publication {} does not exist: run walpost init, or {}", publication,
          CreatePublicationSql(publication, config_.outbox.tables)));
    }
    if (!status.ok()) co_return status;
    const std::string slot = fmt::format("walpost_tail_{}", getpid());
    const MonotonicTime deadline = Clock::now() + kSlotCreationLimit;
    auto created =
        co_await CreateSlot(*connection_, slot, SlotKind::kTemporary,
                            SlotSnapshot::kNone, SlotFailover::kNo, deadline);
    if (!created.ok()) co_return created.status();
    const std::string command =
        StartReplicationCommand(*connection_, slot, Lsn(), publication,
                                config_.outbox.messages.enabled());
    status = co_await connection_->StartCopyBoth(command);
    if (status.ok()) stream_.emplace(*connection_);
    co_return status;
  }

  absl::Status TakeFrames() {
    bool received = false;
    while (!ended_) {
      switch (stream_->NextFrame()) {
        case ReplicationStream::Read::kFrame:
          WALPOST_RETURN_IF_ERROR(HandleFrame());
          received = false;
          break;
        case ReplicationStream::Read::kEmpty:
          if (received) return absl::OkStatus();
          if (!stream_->Receive()) return stream_->status();
          received = true;
          break;
        case ReplicationStream::Read::kEnded:
          ended_ = true;
          return stream_->status();
      }
    }
    return absl::OkStatus();
  }

  absl::Status HandleFrame() {
    WALPOST_ASSIGN_OR_RETURN(const pgoutput::ServerFrame frame,
                             pgoutput::DecodeServerFrame(stream_->frame()));
    if (auto* keepalive = std::get_if<pgoutput::PrimaryKeepalive>(&frame)) {
      if (!assembler_.in_transaction()) {
        printed_ = std::max(printed_, keepalive->wal_end);
      }
      return absl::OkStatus();
    }
    const auto& data = std::get<pgoutput::XLogData>(frame);
    WALPOST_ASSIGN_OR_RETURN(const pgoutput::Message message,
                             pgoutput::Decode(data.payload));
    WALPOST_RETURN_IF_ERROR(assembler_.Apply(message, step_));
    switch (step_.kind) {
      case Step::Kind::kNothing:
        break;
      case Step::Kind::kEvent: {
        const absl::StatusOr<Record> record = builder_->Build(step_.event, 0);
        Print(record.ok() ? record->topic : "", record.status());
        break;
      }
      case Step::Kind::kUndeliverable:
        Print("", step_.error);
        break;
      case Step::Kind::kTransactionEnd:
        printed_ = std::max(printed_, step_.end_lsn);
        break;
    }
    return absl::OkStatus();
  }

  void Print(std::string_view topic, const absl::Status& error) {
    const std::string line = EventJson(step_.event, topic, error) + "\n";
    const bool written =
        std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
        std::fflush(stdout) == 0;
    if (!written) output_ = StdoutStatus(errno);
    // The reader has closed the pipe, or the requested count is reached.
    if (!written || (left_ > 0 && --left_ == 0)) ended_ = true;
  }

  absl::Status SendFeedback() {
    pgoutput::StandbyStatus status;
    status.received = printed_;
    status.confirmed = printed_;
    status.time = WallNow();
    return stream_->SendStatus(status);
  }

  const Config& config_;
  std::unique_ptr<RecordBuilder> builder_;
  TransactionAssembler assembler_;
  std::unique_ptr<Connection> connection_;
  std::optional<ReplicationStream> stream_;
  Step step_;
  Lsn printed_;    // everything before it has been printed
  uint64_t left_;  // events to print; 0: no limit
  bool ended_ = false;
  absl::Status output_;
};

int RunTail(const ConfigArguments& arguments, uint64_t count) {
  const absl::StatusOr<Config> config = arguments.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  absl::Status complete = RequirePostgres(*config);
  if (complete.ok()) {
    complete = RequireWalSource(*config, "tail", "read the table with psql");
  }
  if (!complete.ok()) return Fail(complete, kExitUsage);
  auto builder = RecordBuilder::Create(config->outbox);
  if (!builder.ok()) return Fail(builder.status(), kExitUsage);
  std::signal(SIGPIPE, SIG_IGN);

  asio::io_context io(1);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](boost::system::error_code error, int) {
    if (!error) io.stop();  // the slot is temporary: no cleanup needed
  });
  Tail tail(*config, *std::move(builder), count);
  const absl::Status status = RunToEnd(io, tail.Run(io.get_executor()));
  if (!status.ok()) return Fail(status, kExitPostgres);
  return tail.output().ok() ? int{kExitOk} : Fail(tail.output(), kExitFindings);
}

}  // namespace

void AddTail(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand(
      "tail", "Print events as they are committed, one JSON line each");
  auto arguments = std::make_shared<ConfigArguments>();
  auto count = std::make_shared<uint64_t>(0);
  arguments->AddTo(*verb);
  verb->add_option("--count", *count, "Exit after so many events (no limit)")
      ->check(CountBetween(1, std::numeric_limits<uint64_t>::max()));
  verb->footer(
      "Exit codes: 0 done or stopped by a signal, 1 stdout cannot be written, "
      "2 usage,\n3 Postgres.");
  verb->callback([=, &exit_code] { exit_code = RunTail(*arguments, *count); });
}

}  // namespace walpost
