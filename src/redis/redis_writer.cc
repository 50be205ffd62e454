#include "redis/redis_writer.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/backoff.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "redis/cluster_slots.h"
#include "redis/durable_replies.h"
#include "redis/redis_error.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kRetryPause{1'000};
constexpr milliseconds kProbeInterval{1'000};

}  // namespace

RedisWriter::RedisWriter(asio::any_io_executor executor, RedisOptions options,
                         RecordReports& reports,
                         std::function<void()> on_drained, StreamTops* tops,
                         std::optional<Part> part)
    : options_(std::move(options)),
      reports_(&reports),
      on_drained_(std::move(on_drained)),
      tops_(tops == nullptr ? own_tops_ : *tops),
      part_(std::move(part)),
      causes_(part_ ? part_->causes : std::make_shared<CauseLog>()),
      session_(executor, options_, part_ ? part_->slot : std::nullopt),
      queues_(part_ ? part_->acknowledged : std::make_shared<NamedCounter>()),
      timer_(executor),
      close_timer_(executor) {}

void RedisWriter::Start() {
  CompareStreams();
  asio::co_spawn(
      timer_.get_executor(),
      [self = shared_from_this()] { return self->Run(); }, asio::detached);
}

void RedisWriter::Abandon() {
  reports_ = nullptr;
  is_finished_ = true;
  closed_ = nullptr;
  close_timer_.cancel();
  timer_.cancel();
  session_.Close();
}

absl::Status RedisWriter::Add(const Record& record, Sequence sequence) {
  if (failure_) return absl::AbortedError(failure_->message());
  if (is_closing_) return absl::ResourceExhaustedError("it is being closed");
  if (!is_ready_ || is_comparing_) {
    refused_stream_ = record.topic;
    return absl::ResourceExhaustedError("Redis is not connected yet");
  }
  if (!expected_cluster_.empty()) {
    return absl::UnavailableError(
        fmt::format("{} is not {}, which has the events so far",
                    session_.name(), expected_cluster_));
  }
  if (!queues_.HasRoom()) return absl::ResourceExhaustedError("queue is full");
  WALPOST_ASSIGN_OR_RETURN(StreamEntry entry,
                           StreamEntry::Of(record, options_.max_entry_bytes));
  queues_.Add(record.topic, sequence, std::move(entry));
  if (std::exchange(is_sleeping_, false)) timer_.cancel();
  return absl::OkStatus();
}

void RedisWriter::CompareStreams() {
  is_comparing_ = !KnownStreams().empty();
  timer_.cancel();
}

std::vector<std::string> RedisWriter::KnownStreams() const {
  std::vector<std::string> streams = tops_.Streams();
  if (part_) {
    std::erase_if(streams, [this](const std::string& stream) {
      return HashSlotOf(stream) != part_->slot;
    });
  }
  return streams;
}

const std::string& RedisWriter::awaiting_stream() const {
  static const std::string kNone;
  return is_ready_ && !is_comparing_ ? kNone : refused_stream_;
}

void RedisWriter::Close(MonotonicTime deadline, std::function<void()> closed) {
  is_closing_ = true;
  closed_ = std::move(closed);
  timer_.cancel();
  close_timer_.expires_at(has_ended_ || !is_ready_ ? Clock::now() : deadline);
  close_timer_.async_wait([self = shared_from_this()](auto error) {
    if (!error) self->Finish();
  });
}

SinkHealth RedisWriter::Health() const {
  SinkHealth health;
  health.brokers_up = is_ready_ && !is_over() ? 1 : 0;
  // Who only refuses a password is not the Redis that takes the records.
  if (is_ready_) health.heard_at = session_.heard_at();
  health.trouble = trouble_;
  health.rejects_credentials = session_.rejects_credentials();
  health.missing_topic = missing_stream_;
  health.is_comparing = is_comparing_;
  if (is_ready_) health.cluster_id = kUnnamedRedis;
  return health;
}

asio::awaitable<void> RedisWriter::Run() {
  absl::Status status = co_await Connect();
  while (status.ok() && is_ready_ && !is_over()) {
    const MonotonicTime now = Clock::now();
    if (is_comparing_) {
      status = co_await Compare();
      continue;
    }
    if (is_closing_ && queues_.empty()) break;
    if (probe_at() <= now) {
      probed_at_ = now;
      status = co_await Probe();
      continue;
    }
    const std::vector<EntryQueues::Batch> round = queues_.NextRound(now);
    if (!round.empty()) {
      status = co_await SendRound(round);
      continue;
    }
    co_await Sleep(queues_.NextAttempt(probe_at()));
  }
  has_ended_ = true;
  if (is_finished_) co_return;
  if (!status.ok()) Fail(status);
  if (is_closing_) Finish();
}

asio::awaitable<absl::Status> RedisWriter::Connect() {
  constexpr Backoff::Options kBackoff{.cap = milliseconds(2'000)};
  Backoff backoff(kBackoff, reinterpret_cast<uintptr_t>(this));
  while (!is_over() && !is_closing_) {
    absl::Status status = co_await session_.Open(AnswerLimit());
    if (is_over()) break;
    if (status.ok()) {
      const Findings findings =
          JudgeServer(session_.facts(), options_, session_.name());
      if (const Finding* error = FirstError(findings)) {
        co_return absl::FailedPreconditionError(fmt::format(
            "{} {}; {}", error->subject, error->text, error->remedy));
      }
      for (const Finding& finding : findings) {
        causes_->Warn(fmt::format("{} {}; {}", finding.subject, finding.text,
                                  finding.remedy));
      }
      probed_at_ = Clock::now();
      is_ready_ = true;
      trouble_.clear();
      reports_->OnCapacity();
      on_drained_();
      break;
    }
    const bool is_permanent =
        absl::IsFailedPrecondition(status) && !session_.rejects_credentials();
    if (is_permanent) co_return status;
    trouble_ = std::string(status.message());
    causes_->Warn(trouble_);
    co_await Sleep(Clock::now() + backoff.Next());
  }
  co_return absl::OkStatus();
}

// Each stream that has acknowledged events must still have come so far: a batch
// of no records.
asio::awaitable<absl::Status> RedisWriter::Compare() {
  const std::vector<std::string> streams = KnownStreams();
  std::vector<EntryQueues::Queue> queues(streams.size());
  std::string bytes;
  for (size_t i = 0; i < streams.size(); ++i) {
    queues[i].stream = streams[i];
    const EntryQueues::Batch none{&queues[i], 0};
    script_.Add(none, tops_, options_, bytes);
  }
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Replies replies,
      co_await session_.connection().Ask(bytes, streams.size(), AnswerLimit()));
  if (is_finished_) co_return absl::OkStatus();
  is_comparing_ = false;
  for (size_t i = 0; i < streams.size(); ++i) {
    const BatchResult result = BatchResult::Of(replies[i]);
    if (result.error == BatchResult::kBehind) {
      tops_.OnBehind(streams[i], result.newest.ToString());
      co_return absl::FailedPreconditionError(tops_.replaced());
    }
    // Others are met with the first record.
  }
  reports_->OnCapacity();
  on_drained_();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> RedisWriter::SendRound(
    const std::vector<EntryQueues::Batch>& round) {
  std::string bytes;
  for (const EntryQueues::Batch& batch : round) {
    script_.Add(batch, tops_, options_, bytes);
  }
  const size_t waits = AddWaits(bytes);
  absl::StatusOr<Replies> replies = co_await session_.connection().Ask(
      bytes, round.size() + waits, AnswerLimit());
  if (!replies.ok()) co_return replies.status();
  if (is_finished_) co_return absl::OkStatus();
  absl::Status failed;
  trouble_.clear();
  missing_stream_.clear();
  for (size_t i = 0; i < round.size(); ++i) {
    const BatchResult result = BatchResult::Of((*replies)[i]);
    absl::Status handled = HandleResult(round[i], result);
    if (failed.ok()) failed = std::move(handled);
  }
  if (absl::IsUnavailable(failed)) co_return failed;
  replies->erase(replies->begin(),
                 replies->begin() + static_cast<ptrdiff_t>(round.size()));
  if (queues_.has_written()) {
    absl::Status durable = co_await AwaitDurability(*std::move(replies));
    if (!durable.ok()) co_return durable;
    if (is_finished_) co_return absl::OkStatus();
    Acknowledge();
  }
  // The first record that was refused, so that its owner knows it.
  if (absl::IsInvalidArgument(failed)) {
    for (const EntryQueues::Batch& batch : round) {
      if (batch.queue->refused != failed) continue;
      reports_->OnNotDelivered(queues_.TakeFirst(*batch.queue), failed);
      break;
    }
    co_return absl::AbortedError(failed.message());
  }
  co_return failed;
}

absl::Status RedisWriter::HandleResult(const EntryQueues::Batch& batch,
                                       const BatchResult& result) {
  const std::string& stream = batch.queue->stream;
  queues_.OnResult(batch, result, Clock::now() + kRetryPause);
  tops_.SetRepeated(stream, result.repeated);
  if (result.displaced > 0 && tops_.IsFirstDisplacement(stream)) {
    LogWarn({{"topic", stream}},
            "stream {} has passed the place of events that are not in it: they "
            "are appended at its end. Either they were sent before, and their "
            "entries were trimmed or deleted since; or the stream has entries "
            "of another writer, or of another timeline (docs/redis.md)",
            stream);
  }
  if (result.error.empty()) return absl::OkStatus();
  if (result.error == BatchResult::kMissing) {
    missing_stream_ = stream;
    return absl::OkStatus();
  }
  if (result.error == BatchResult::kBehind) {
    tops_.OnBehind(stream, result.newest.ToString());
    return absl::FailedPreconditionError(tops_.replaced());
  }
  RedisError error = ClassifyRedisError(
      result.error,
      fmt::format("{}: adding to stream {}", session_.name(), stream),
      GrantOf(options_, stream));
  switch (error.remedy) {
    case RedisError::Remedy::kNoScript:
      script_.Forget();
      queues_.RetryNow(*batch.queue);
      return absl::OkStatus();
    case RedisError::Remedy::kRetry:
      trouble_ = std::string(error.status.message());
      return absl::OkStatus();
    case RedisError::Remedy::kReconnect:
    case RedisError::Remedy::kRefused:
      break;
  }
  batch.queue->refused = error.status;
  return error.status;
}

// The records are written: only their durability is awaited, again and again.
asio::awaitable<absl::Status> RedisWriter::AwaitDurability(Replies waits) {
  while (!is_finished_) {
    const DurableReplies durable = JudgeWaits(waits, options_, session_.name());
    if (durable.is_durable) co_return absl::OkStatus();
    if (!durable.error.ok()) co_return durable.error;
    trouble_ = durable.trouble;
    std::string bytes;
    const size_t count = AddWaits(bytes);
    absl::StatusOr<Replies> replies =
        co_await session_.connection().Ask(bytes, count, AnswerLimit());
    if (!replies.ok()) co_return replies.status();
    waits = *std::move(replies);
  }
  co_return absl::OkStatus();
}

// What counts as durable may be weakened under load, too. Otherwise an answer
// to a round is as good.
MonotonicTime RedisWriter::probe_at() const {
  return (depends_on_config() ? probed_at_ : session_.heard_at()) +
         kProbeInterval;
}

// Does it still answer, and sync?
asio::awaitable<absl::Status> RedisWriter::Probe() {
  if (!depends_on_config()) {
    const std::string ping = Command({"PING"});
    const absl::StatusOr<Replies> answer =
        co_await session_.connection().Ask(ping, 1, AnswerLimit());
    co_return answer.status();
  }
  const absl::Status status = co_await session_.ReadConfig(AnswerLimit());
  if (!status.ok()) co_return status;
  const Findings findings =
      JudgeServer(session_.facts(), options_, session_.name());
  const Finding* error = FirstError(findings);
  if (error == nullptr) co_return absl::OkStatus();
  co_return absl::FailedPreconditionError(
      fmt::format("{} {}; {}", error->subject, error->text, error->remedy));
}

asio::awaitable<void> RedisWriter::Sleep(MonotonicTime until) {
  is_sleeping_ = true;
  timer_.expires_at(until);
  co_await timer_.async_wait(kAsTuple);
  is_sleeping_ = false;
}

size_t RedisWriter::AddWaits(std::string& bytes) const {
  const std::string waits = WaitCommands(options_, session_.facts());
  bytes += waits;
  return CountWaits(options_, session_.facts());
}

void RedisWriter::Acknowledge() {
  const WallTime now = WallNow();
  for (const EntryQueues::Written& written : queues_.TakeWritten()) {
    tops_.OnAcknowledged(written.queue->stream, written.newest);
    queues_.CountAcknowledged(written);
    for (const Sequence sequence : written.sequences) {
      reports_->OnAcknowledged(sequence, now);
    }
  }
  reports_->OnCapacity();
  on_drained_();
}

void RedisWriter::Fail(absl::Status status) {
  failure_ = std::move(status);
  trouble_ = std::string(failure_->message());
  session_.Close();
  reports_->OnSinkFailed(*failure_);
  on_drained_();
}

void RedisWriter::Finish() {
  if (std::exchange(is_finished_, true)) return;
  const std::shared_ptr<RedisWriter> self = shared_from_this();
  session_.Close();
  timer_.cancel();
  close_timer_.cancel();
  const absl::Status closed =
      failure_ && absl::IsFailedPrecondition(*failure_)
          ? *failure_
          : absl::AbortedError("the connection to Redis was closed");
  for (const Sequence sequence : queues_.TakeAll()) {
    reports_->OnNotDelivered(sequence, closed);
  }
  on_drained_();
  std::exchange(closed_, nullptr)();
}

MonotonicTime RedisWriter::AnswerLimit() const {
  return Clock::now() + options_.timeout;
}

}  // namespace walpost
