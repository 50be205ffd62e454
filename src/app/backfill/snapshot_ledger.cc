#include "app/backfill/snapshot_ledger.h"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/error_source.h"
#include "fmt/format.h"
#include "kafka/client/transactional_id.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kTakeOverLimit{30};
constexpr std::chrono::milliseconds kPause{50};

// A commit takes some milliseconds, and nothing is sent meanwhile.
constexpr uint64_t kMaxRecords = 10'000;
constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr std::chrono::seconds kMaxAge{1};

}  // namespace

SnapshotLedger::SnapshotLedger(asio::any_io_executor executor,
                               ProducerOptions kafka, std::string topic,
                               std::string slot, std::string system_identifier,
                               Lsn begins_at, const std::string& tables)
    : executor_(std::move(executor)),
      kafka_(std::move(kafka)),
      record_{std::move(topic),
              fmt::format("{}:{}{}", kSnapshotSender, slot, tables),
              std::move(system_identifier)},
      slot_(std::move(slot)),
      begins_at_(begins_at),
      limit_(kMaxRecords) {}

std::string SnapshotLedger::transactional_id() const {
  return SenderTransactionalId(
      RelayTransactionalId(record_.system_identifier, slot_), kSnapshotSender);
}

asio::awaitable<absl::StatusOr<SnapshotProgress>> SnapshotLedger::Open(
    DeliveryRun& run) {
  if (records_ > 0) limit_ = 1;
  records_ = 0;
  bytes_ = 0;
  begun_at_.reset();
  const absl::Status taken = co_await run.TakeOver(kTakeOverLimit);
  if (absl::IsAborted(taken)) {
    co_return absl::UnavailableError(taken.message());
  }
  if (!taken.ok()) co_return FromKafka(taken);
  const absl::StatusOr<std::string> text = co_await ReadRecord();
  co_return Parse(text);
}

asio::awaitable<absl::StatusOr<std::string>> SnapshotLedger::ReadRecord() {
  using Text = absl::StatusOr<std::string>;
  auto call = BlockingCall<Text>::Start(
      executor_, [kafka = kafka_, record = record_, stop = stop_.get_token()] {
        return ReadTopicRecord(kafka, record, stop);
      });
  if (!call.ok()) co_return absl::UnavailableError(call.status().message());
  std::optional<Text> read;
  while (!read && !stop_.stop_requested()) {
    read = co_await (*call)->Wait(Clock::now() + kPause);
  }
  if (!read) co_return absl::CancelledError("told to end");
  co_return *std::move(read);
}

// That of an earlier slot of this name does not count. If the topic was
// deleted, this process knows best.
absl::StatusOr<SnapshotProgress> SnapshotLedger::Parse(
    const absl::StatusOr<std::string>& text) const {
  if (!text.ok()) return FromKafka(text.status());
  SnapshotProgress none;
  none.begins_at = begins_at_;
  if (text->empty()) return committed_.value_or(none);
  absl::StatusOr<SnapshotProgress> progress = DecodeSnapshotProgress(*text);
  if (!progress.ok()) {
    return absl::FailedPreconditionError(fmt::format(
        "topic {}, record {}: {}: was it written by another release?",
        record_.topic, record_.key(),
        std::string(progress.status().message())));
  }
  return progress->begins_at == begins_at_ ? *std::move(progress) : none;
}

void SnapshotLedger::OnRow(size_t bytes, MonotonicTime now) {
  ++records_;
  bytes_ += bytes;
  if (!begun_at_) begun_at_ = now;
}

bool SnapshotLedger::IsDue(MonotonicTime now) const {
  return records_ >= limit_ || bytes_ >= kMaxBytes ||
         (begun_at_ && now - *begun_at_ >= kMaxAge);
}

asio::awaitable<absl::Status> SnapshotLedger::Commit(
    DeliveryRun& run, const SnapshotProgress& progress) {
  const std::string key = record_.key();
  const std::string value = EncodeSnapshotProgress(progress);
  Record record;
  record.topic = record_.topic;
  record.key = key;
  record.value = value;
  record.timestamp = WallNow();
  const absl::Status committed = co_await run.Commit(record);
  if (!committed.ok()) co_return committed;
  committed_ = progress;
  limit_ = std::min(kMaxRecords, 2 * limit_);
  records_ = 0;
  bytes_ = 0;
  begun_at_.reset();
  co_return committed;
}

}  // namespace walpost
