#include "app/backfill/snapshot_ledger.h"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "delivery/transactional_id.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// A commit takes some milliseconds, and nothing is sent meanwhile.
constexpr uint64_t kMaxRecords = 10'000;
constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr std::chrono::seconds kMaxAge{1};

}  // namespace

SnapshotLedger::SnapshotLedger(asio::any_io_executor executor,
                               RecordReader reader, std::string topic,
                               std::string slot, std::string system_identifier,
                               Lsn begins_at, const std::string& tables)
    : transactional_id_(SenderTransactionalId(
          RelayTransactionalId(system_identifier, slot), kSnapshotSender)),
      record_(std::move(executor), std::move(reader),
              {std::move(topic),
               fmt::format("{}:{}{}", kSnapshotSender, slot, tables),
               std::move(system_identifier)}),
      begins_at_(begins_at),
      limit_(kMaxRecords) {}

asio::awaitable<absl::StatusOr<SnapshotProgress>> SnapshotLedger::Open(
    DeliveryRun& run) {
  if (records_ > 0) limit_ = 1;
  records_ = 0;
  bytes_ = 0;
  begun_at_.reset();
  const absl::StatusOr<std::string> text = co_await record_.Open(run);
  if (!text.ok()) co_return text.status();
  co_return Parse(*text);
}

// That of an earlier slot of this name does not count. If the topic was
// deleted, this process knows best.
absl::StatusOr<SnapshotProgress> SnapshotLedger::Parse(
    std::string_view text) const {
  SnapshotProgress none;
  none.begins_at = begins_at_;
  if (text.empty()) return committed_.value_or(none);
  absl::StatusOr<SnapshotProgress> progress = DecodeSnapshotProgress(text);
  if (!progress.ok()) {
    return record_.Unreadable(
        fmt::format("{}: was it written by another release?",
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
  std::string value = EncodeSnapshotProgress(progress);
  const absl::Status committed = co_await record_.Commit(run, std::move(value));
  if (!committed.ok()) co_return committed;
  committed_ = progress;
  limit_ = std::min(kMaxRecords, 2 * limit_);
  records_ = 0;
  bytes_ = 0;
  begun_at_.reset();
  co_return committed;
}

}  // namespace walpost
