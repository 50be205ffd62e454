#include "app/sink/ledger_record.h"

#include <optional>
#include <span>
#include <utility>

#include "base/error_source.h"
#include "fmt/format.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kTakeOverLimit{30};
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

LedgerRecord::LedgerRecord(asio::any_io_executor executor, RecordReader reader,
                           TopicRecord place)
    : executor_(std::move(executor)),
      reader_(std::move(reader)),
      place_(std::move(place)) {}

asio::awaitable<absl::StatusOr<std::string>> LedgerRecord::Open(
    DeliveryRun& run) {
  if (stop_.stop_requested()) co_return absl::CancelledError("told to end");
  const absl::Status taken = co_await run.TakeOver(kTakeOverLimit);
  if (absl::IsAborted(taken)) {
    co_return absl::UnavailableError(taken.message());
  }
  if (!taken.ok()) co_return FromKafka(taken);
  absl::StatusOr<std::string> text = co_await Read();
  if (!text.ok()) co_return FromKafka(text.status());
  co_return text;
}

asio::awaitable<absl::StatusOr<std::string>> LedgerRecord::Read() {
  using Text = absl::StatusOr<std::string>;
  auto call = BlockingCall<Text>::Start(
      executor_, [reader = reader_, place = place_, stop = stop_.get_token()] {
        return reader(place, stop);
      });
  if (!call.ok()) co_return absl::UnavailableError(call.status().message());
  std::optional<Text> read;
  while (!read && !stop_.stop_requested()) {
    read = co_await (*call)->Wait(Clock::now() + kPause);
  }
  if (!read) co_return absl::CancelledError("told to end");
  co_return *std::move(read);
}

asio::awaitable<absl::Status> LedgerRecord::Commit(DeliveryRun& run,
                                                   std::string value) {
  const std::string key = place_.key();
  Record record;
  record.topic = place_.topic;
  record.key = key;
  record.value = value;
  record.timestamp = WallNow();
  const std::span<const Record> last(&record, 1);
  co_return co_await run.Commit(last);
}

absl::Status LedgerRecord::Unreadable(std::string_view why) const {
  return absl::FailedPreconditionError(
      fmt::format("topic {}, record {}: {}", place_.topic, place_.key(), why));
}

}  // namespace walpost
