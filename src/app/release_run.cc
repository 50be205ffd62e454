#include "app/release_run.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/kafka_sinks.h"
#include "kafka/transactional_id.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kPause{20};
// How long the brokers may not take an event, such as for an unknown topic.
constexpr std::chrono::seconds kMaxHold{30};
constexpr std::chrono::seconds kCloseLimit{2};

absl::StatusOr<std::unique_ptr<RecordBuilder>> MakeBuilder(
    const Config& config, std::string_view what) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(config.outbox));
  RecordMark mark;
  mark.header = fmt::format("walpost-{}", what);
  mark.value = config.postgres.slot;
  mark.without_position = true;
  builder->SetMark(std::move(mark));
  return builder;
}

// The positions in a run only number its events.
Position PositionOf(uint64_t ordinal) { return {Lsn(1), ordinal}; }

}  // namespace

absl::StatusOr<std::unique_ptr<ReleaseRun>> ReleaseRun::Create(
    asio::any_io_executor executor, const Config& config,
    const Options& options, std::function<void()> on_result) {
  const std::string_view what =
      options.sent == Sent::kDeadLetters ? kRetriedSender : kReleasedSender;
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           MakeBuilder(config, what));
  std::unique_ptr<ReleaseRun> run(new ReleaseRun(
      executor, config, options, std::move(builder), std::move(on_result)));
  if (!config.transactions.is_on) return run;
  WALPOST_ASSIGN_OR_RETURN(builder, MakeBuilder(config, what));
  std::string sender(what);
  if (!options.topic.empty()) sender = SenderTo(options.topic);
  run->in_transactions_ = std::make_shared<TransactionalRelease>(
      TransactionalRelease::Options{
          config.kafka, config.outbox, config.checkpoint.topic,
          config.postgres.slot, options.system_identifier, std::move(sender),
          options.topic},
      std::move(builder));
  return run;
}

ReleaseRun::ReleaseRun(asio::any_io_executor executor, const Config& config,
                       const Options& options,
                       std::unique_ptr<RecordBuilder> builder,
                       std::function<void()> on_result)
    : executor_(executor),
      config_(config),
      no_topic_(options.no_topic),
      topic_(options.topic),
      offsets_(options.offsets),
      run_(executor, std::move(builder),
           KafkaSinks(executor, config.kafka,
                      offsets_ == nullptr ? nullptr : &memory_),
           {config.window, SinkOptions{"-released", std::nullopt}, std::nullopt,
            ErrorActions()},
           nullptr),
      event_(config_.outbox, run_.pipeline().builder().routes()),
      on_result_(std::move(on_result)) {}

void ReleaseRun::Send(std::vector<ParkedRow> rows) {
  rows_ = std::move(rows);
  is_sending_ = true;
  asio::co_spawn(executor_, Run(), asio::detached);
}

asio::awaitable<void> ReleaseRun::Run() {
  Result result;
  if (offsets_ != nullptr) {
    memory_.offsets.Of(topic_).Add(offsets_->Of(topic_));
  }
  if (in_transactions_ == nullptr) {
    result = co_await SendAll();
  } else {
    result = co_await SendInTransaction();
  }
  if (one_by_one_ > 0 && !result.must_read_again) --one_by_one_;
  const Pipeline& pipeline = run_.pipeline();
  if (pipeline.sink_failure() || pipeline.stoppage() || !pipeline.IsDrained()) {
    co_await Close();
    run_.pipeline().StartOver();
    ordinal_ = 0;
  }
  AddOffsets(memory_.offsets.Of(topic_));
  if (!result.must_read_again && !is_stopped_) NoteTrouble(result);
  is_sending_ = false;
  result_ = std::move(result);
  on_result_();
}

void ReleaseRun::NoteTrouble(Result& result) {
  std::string trouble(result.trouble.message());
  result.is_new_trouble = !trouble.empty() && trouble != trouble_;
  trouble_ = std::move(trouble);
}

asio::awaitable<ReleaseRun::Result> ReleaseRun::SendAll() {
  Result result;
  result.trouble = run_.Start();
  if (!result.trouble.ok()) co_return result;
  first_ordinal_ = ordinal_;
  not_delivered_before_ = run_.pipeline().counters().not_delivered;
  absl::Status offered;
  for (size_t i = 0; i < rows_.size() && offered.ok(); ++i) {
    offered = co_await Offer(i);
  }
  co_await Settle();
  const uint64_t through = run_.pipeline().acknowledged_through().ordinal;
  result.sent = through - std::min(through, first_ordinal_);
  // The record that the brokers reject, if it was sent alone.
  const std::optional<Refusal>& refused = run_.pipeline().refused();
  result.trouble = Trouble();
  if (refused && rows_.size() == 1) {
    result.failed = refused->reason;
    result.trouble = absl::OkStatus();
  } else if (IsFaultOfRow(result)) {
    result.failed = std::exchange(result.trouble, absl::OkStatus());
  } else if (!result.trouble.ok()) {
    one_by_one_ = rows_.size() - result.sent + 1;
  } else if (no_topic_ == NoTopic::kFails || absl::IsInvalidArgument(offered)) {
    result.failed = offered;
  } else {
    result.trouble = offered;
  }
  co_return result;
}

// If it is stopped, nobody waits for the end of the transaction: whoever sends
// next learns from the ledger whether it was committed.
asio::awaitable<ReleaseRun::Result> ReleaseRun::SendInTransaction() {
  Result result;
  const bool alone_is_at_fault = no_topic_ == NoTopic::kFails;
  auto call = BlockingCall<TransactionalRelease::Result>::Start(
      executor_, [release = in_transactions_, rows = rows_, alone_is_at_fault,
                  known = memory_.offsets.Of(topic_)] {
        return release->Send(rows, alone_is_at_fault, known);
      });
  result.trouble = call.status();
  if (!call.ok()) co_return result;
  std::optional<TransactionalRelease::Result> sent;
  while (!sent && !is_stopped_) {
    sent = co_await (*call)->Wait(Clock::now() + kPause);
  }
  if (!sent) {
    result.trouble = Trouble();
    co_return result;
  }
  AddOffsets(sent->offsets);
  result.sent = sent->sent;
  result.failed = sent->failed;
  result.trouble = sent->trouble;
  result.must_read_again = sent->must_read_again;
  if (sent->one_is_at_fault) one_by_one_ = rows_.size() - result.sent + 1;
  co_return result;
}

// A row was sent alone to brokers that answer, and came back: its topic does
// not exist, or may not be written. Others must not wait for it.
bool ReleaseRun::IsFaultOfRow(const Result& result) const {
  return no_topic_ == NoTopic::kFails && rows_.size() == 1 &&
         result.sent == 0 && !is_stopped_ && !result.trouble.ok() &&
         run_.pipeline().counters().not_delivered > not_delivered_before_ &&
         run_.has_brokers();
}

// Error: this event cannot be delivered, or Trouble.
asio::awaitable<absl::Status> ReleaseRun::Offer(size_t index) {
  absl::StatusOr<Event> event = event_.Of(rows_[index].content);
  if (!event.ok()) co_return event.status();
  Pipeline& pipeline = run_.pipeline();
  event->position = PositionOf(++ordinal_);
  const MonotonicTime until = Clock::now() + kMaxHold;
  while (pipeline.OnEvent(*event) == Pipeline::Offer::kHold) {
    if (pipeline.stoppage()) co_return pipeline.stoppage()->reason;
    if (!Trouble().ok()) co_return Trouble();
    const bool is_held = no_topic_ == NoTopic::kFails && pipeline.held() &&
                         pipeline.IsDrained() && run_.has_brokers();
    if (is_held && Clock::now() >= until) co_return *pipeline.held();
    co_await Wait();
  }
  co_return absl::OkStatus();
}

asio::awaitable<void> ReleaseRun::Settle() {
  while (!run_.pipeline().IsDrained() && Trouble().ok()) co_await Wait();
}

asio::awaitable<void> ReleaseRun::Wait() { co_await run_.Wait(kPause); }

void ReleaseRun::AddOffsets(const PartitionOffsets& acknowledged) {
  if (offsets_ != nullptr) offsets_->Of(topic_).Add(acknowledged);
}

absl::Status ReleaseRun::Trouble() const {
  if (is_stopped_) return absl::CancelledError("the stream has ended");
  return run_.pipeline().sink_failure().value_or(absl::OkStatus());
}

void ReleaseRun::Stop() {
  is_stopped_ = true;
  run_.Wake();
}

asio::awaitable<void> ReleaseRun::Close() {
  MonotonicTime until = Clock::now();
  if (!is_stopped_) until += kCloseLimit;
  co_await run_.Close(until);
}

}  // namespace walpost
