#include "app/stored/dead_letter_retrier.h"

#include <string>
#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "delivery/error_actions.h"
#include "log/log.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr size_t kMaxRetriedBytes = size_t{4} << 20;
constexpr milliseconds kLookInterval{1'000};
constexpr milliseconds kRetryPause{2'000};

}  // namespace

DeadLetterRetrier::DeadLetterRetrier(asio::any_io_executor executor,
                                     const Config& config, ParkingTable& table,
                                     std::function<void()> wake)
    : executor_(executor),
      config_(config),
      table_(table),
      wake_(std::move(wake)) {}

void DeadLetterRetrier::Begin() {
  is_looking_ = true;
  next_at_ = MonotonicTime();
}

asio::awaitable<absl::StatusOr<bool>> DeadLetterRetrier::Turn() {
  if (run_ != nullptr) {
    std::optional<StoredEventSender::Result> result = run_->TakeResult();
    if (result) {
      WALPOST_CO_RETURN_IF_ERROR(co_await Settle(*std::move(result)));
      co_return true;
    }
    if (run_->is_sending()) co_return false;
  }
  if (!is_looking_ || Clock::now() < next_at_) co_return false;
  co_return co_await Look();
}

asio::awaitable<absl::StatusOr<bool>> DeadLetterRetrier::Look() {
  const size_t max_rows = run_ == nullptr ? 1'000 : run_->max_rows();
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::vector<ParkedRow> rows,
      co_await table_.ReadRetries(max_rows, kMaxRetriedBytes));
  if (rows.empty()) {
    next_at_ = Clock::now() + kLookInterval;
    // Letters of an earlier configuration are sent, and no more are stored.
    is_looking_ = config_.keeps_letters();
    if (run_ != nullptr) co_await run_->Close();
    run_.reset();
    co_return false;
  }
  if (run_ == nullptr) {
    StoredEventSender::Options options;
    options.sent = StoredEventSender::Sent::kDeadLetters;
    options.system_identifier = table_.system_identifier();
    WALPOST_CO_ASSIGN_OR_RETURN(
        run_, StoredEventSender::Create(executor_, config_, std::move(options),
                                        wake_));
  }
  run_->Send(std::move(rows));
  co_return true;
}

asio::awaitable<absl::Status> DeadLetterRetrier::Settle(
    StoredEventSender::Result result) {
  next_at_ = Clock::now();
  const std::vector<ParkedRow>& rows = run_->rows();
  std::vector<ParkedNumber> sent;
  for (const size_t row : result.sent) sent.push_back(rows[row].number);
  if (!sent.empty()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await table_.SettleRetries(std::move(sent)));
    LogInfo("{} dead letters were retried, and are published",
            result.sent.size());
  }
  for (const StoredEventSender::Failure& failure : result.failed) {
    const ParkedRow& failed = rows[failure.row];
    WALPOST_CO_RETURN_IF_ERROR(co_await PutBack(failed, failure.reason));
  }
  if (!result.trouble.ok()) next_at_ += kRetryPause;
  co_return absl::OkStatus();
}

// A dead letter again. A reason that is not a class of on_error, such as a
// missing topic, leaves the class as it was: a row that could not be read still
// is not whole.
asio::awaitable<absl::Status> DeadLetterRetrier::PutBack(ParkedRow row,
                                                         absl::Status reason) {
  std::string error_class = ReasonCodeOf(reason);
  const bool is_known = FindErrorClass(error_class) < kErrorClasses.size();
  if (!is_known) error_class = row.content.error_class;
  std::string text(reason.message());
  const std::string id = row.content.id.value_or("");
  LogWarn({{"reason_code", error_class}, {"event_id", id}},
          "the dead letter of event {} stays one: {}", id, text);
  co_return co_await table_.FailRetry(row.number, std::move(error_class),
                                      std::move(text));
}

asio::awaitable<void> DeadLetterRetrier::End() {
  if (run_ == nullptr) co_return;
  co_await run_->End();
  run_.reset();
}

}  // namespace walpost
