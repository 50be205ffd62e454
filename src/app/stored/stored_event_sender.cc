#include "app/stored/stored_event_sender.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "app/sink/sinks.h"
#include "app/stored/batch_committer.h"
#include "base/status_macros.h"
#include "delivery/gap.h"
#include "delivery/transactional_id.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kPause{20};
constexpr std::chrono::seconds kCloseLimit{2};

std::string_view MarkOf(const StoredEventSender::Options& options) {
  using Sent = StoredEventSender::Sent;
  return options.sent == Sent::kDeadLetters ? kRetriedSender : kReleasedSender;
}

absl::StatusOr<std::unique_ptr<RecordBuilder>> MakeBuilder(
    const Config& config, const StoredEventSender::Options& options) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(config.outbox));
  RecordMark mark;
  mark.header = fmt::format("walpost-{}", MarkOf(options));
  mark.value = options.mark.empty() ? config.postgres.slot : options.mark;
  mark.without_position = true;
  builder->SetMark(std::move(mark));
  return builder;
}

// The name in its transactional id, and in the key of its ledger.
std::string SenderOf(const StoredEventSender::Options& options) {
  if (!options.topic.empty()) return SenderTo(options.topic);
  return std::string(MarkOf(options));
}

SinkOptions SinkOptionsOf(const Config& config,
                          const StoredEventSender::Options& options) {
  SinkOptions sink{"-released", std::nullopt, options.transactional_id};
  if (options.committer != nullptr || !config.transactions.is_on) return sink;
  sink.transactional_id = SenderTransactionalId(
      RelayTransactionalId(options.system_identifier, config.postgres.slot),
      SenderOf(options));
  return sink;
}

// No slot has such a name.
TopicRecord LedgerPlace(const Config& config,
                        const StoredEventSender::Options& options) {
  return {config.checkpoint.topic,
          fmt::format("{}:{}", SenderOf(options), config.postgres.slot),
          options.system_identifier};
}

std::string NothingMoves(const StoredEventSender::Options& options) {
  using Sent = StoredEventSender::Sent;
  if (options.sent == Sent::kDeadLetters) return "dead letters are not retried";
  if (options.topic.empty()) return "parked events are not sent";
  return fmt::format("events of topic {} wait", options.topic);
}

StoredBatch::Options BatchOptions(const Config& config,
                                  const StoredEventSender::Options& options) {
  return {
      .topics_fail = options.no_topic == StoredEventSender::NoTopic::kFails,
      .keeps_order = options.sent == StoredEventSender::Sent::kParkedEvents,
      .commits_only = options.commits_only,
      .has_ledger = options.committer != nullptr || config.transactions.is_on};
}

// nullptr: there are no transactions.
std::unique_ptr<BatchCommitter> CommitterOf(
    const asio::any_io_executor& executor, const Config& config,
    StoredEventSender::Options& options) {
  if (options.committer != nullptr || !config.transactions.is_on) {
    return std::move(options.committer);
  }
  return std::make_unique<LedgerCommitter>(executor, MakeRecordReader(config),
                                           LedgerPlace(config, options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoredEventSender>> StoredEventSender::Create(
    asio::any_io_executor executor, const Config& config, Options options,
    std::function<void()> on_result) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           MakeBuilder(config, options));
  return std::unique_ptr<StoredEventSender>(
      new StoredEventSender(executor, config, std::move(options),
                            std::move(builder), std::move(on_result)));
}

StoredEventSender::StoredEventSender(asio::any_io_executor executor,
                                     const Config& config, Options options,
                                     std::unique_ptr<RecordBuilder> builder,
                                     std::function<void()> on_result)
    : executor_(executor),
      nothing_moves_(NothingMoves(options)),
      knowledge_(options.knowledge == nullptr
                     ? nullptr
                     : options.knowledge->Of(options.topic)),
      run_(executor, std::move(builder),
           knowledge_ == nullptr ? MakeSinks(executor, config)
                                 : knowledge_->Sinks(),
           {config.window, SinkOptionsOf(config, options),
            options.silence_limit, ErrorActions()},
           nullptr),
      batch_(config.outbox, run_.sender(), BatchOptions(config, options)),
      committer_(CommitterOf(executor, config, options)),
      on_result_(std::move(on_result)) {}

void StoredEventSender::Send(std::vector<ParkedRow> rows) {
  batch_.Begin(std::move(rows), Clock::now());
  is_sending_ = true;
  asio::co_spawn(executor_, Run(), asio::detached);
}

asio::awaitable<void> StoredEventSender::Run() {
  Result result;
  if (knowledge_ != nullptr) knowledge_->Exchange();
  absl::Status opened = co_await Open(result.must_read_again);
  if (!opened.ok()) {
    result = {batch_.Refuse(std::move(opened))};
    co_await Close();
  } else if (!result.must_read_again) {
    co_await SendAll();
    result = {batch_.TakeResult(Clock::now(), run_.has_brokers())};
  }
  if (result.is_new_trouble && !GapOf(result.trouble)) {
    LogTrouble(std::string(result.trouble.message()));
  }
  if (batch_.must_replace_sink()) {
    co_await Close();
    batch_.StartOver();
  }
  if (knowledge_ != nullptr) knowledge_->Exchange();
  is_sending_ = false;
  result_ = std::move(result);
  on_result_();
}

asio::awaitable<absl::Status> StoredEventSender::Open(bool& must_read_again) {
  WALPOST_CO_RETURN_IF_ERROR(run_.Start());
  if (committer_ == nullptr || has_taken_over_) co_return absl::OkStatus();
  WALPOST_CO_RETURN_IF_ERROR(co_await committer_->Open(run_, batch_));
  has_taken_over_ = must_read_again = true;
  co_return absl::OkStatus();
}

// If it is stopped, nobody waits for the end of a transaction: whoever sends
// next learns from the ledger whether it was committed.
asio::awaitable<void> StoredEventSender::SendAll() {
  for (;;) {
    switch (batch_.Next(Clock::now(), run_.has_brokers())) {
      case StoredBatch::Do::kWait:
        co_await run_.Wait(kPause);
        LogTrouble(batch_.TakeNewTrouble(Clock::now()));
        if (const absl::Status trouble = run_.SinkTrouble(Clock::now());
            !trouble.ok()) {
          batch_.GiveUpSink(trouble);
        }
        break;
      case StoredBatch::Do::kCommit: {
        const absl::Status committed =
            co_await committer_->Commit(run_, batch_);
        batch_.OnCommitted(committed);
        break;
      }
      case StoredBatch::Do::kEnd:
        co_return;
    }
  }
}

void StoredEventSender::LogTrouble(std::string_view trouble) const {
  if (trouble.empty()) return;
  LogWarn("{}: {}; trying again", nothing_moves_, trouble);
}

void StoredEventSender::Stop() {
  batch_.Stop();
  if (committer_ != nullptr) committer_->Stop();
  run_.Interrupt();
}

asio::awaitable<void> StoredEventSender::Close() {
  MonotonicTime until = Clock::now();
  if (!batch_.is_stopped()) until += kCloseLimit;
  has_taken_over_ = false;
  co_await run_.Close(until);
}

asio::awaitable<void> StoredEventSender::End() {
  Stop();
  asio::steady_timer timer(executor_);
  while (is_sending_) {
    timer.expires_after(kPause);
    co_await timer.async_wait(kAsTuple);
  }
  co_await Close();
}

}  // namespace walpost
