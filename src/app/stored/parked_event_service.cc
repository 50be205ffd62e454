#include "app/stored/parked_event_service.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Limits of a statement.
constexpr size_t kMaxEvents = 1'000;
constexpr size_t kMaxBytes = size_t{4} << 20;
// Interval for looking whether an operator has decided.
constexpr milliseconds kReadInterval{1'000};
// In a large table a look takes longer: this times its length lies between two.
constexpr int kReadShare = 20;
// Interval for counting the events that wait, while nothing is decided.
constexpr milliseconds kCountInterval{10'000};
constexpr milliseconds kMaxWait{250};
// How long the flow may wait for a lane that is leaving.
constexpr milliseconds kLeaveLimit{500};
constexpr milliseconds kTroublePause{2'000};

}  // namespace

ParkedEventService::ParkedEventService(asio::any_io_executor executor,
                                       const Config& config, uint64_t numbering,
                                       WalProgress& progress,
                                       SinkKnowledge& knowledge,
                                       Callbacks callbacks)
    : executor_(executor),
      config_(config),
      progress_(progress),
      sender_(progress.sender()),
      callbacks_(std::move(callbacks)),
      parked_keys_(config.parking, config.outbox, sender_.builder().routes()),
      table_(executor, config.postgres, config.parking.table, numbering),
      drains_(executor, config, parked_keys_, table_, knowledge,
              [this] { Wake(); }),
      retries_(executor, config, table_, [this] { Wake(); }),
      isolation_(config.parking.isolate_after),
      timer_(executor),
      ended_(executor) {
  parked_keys_.SetListener([this] { Wake(); });
  parked_keys_.SetIsolationListener([this](const std::string& topic) {
    LogWarn({{"topic", topic}},
            "topic {} is isolated: it took nothing for {} s, while the brokers "
            "answer. Its events wait in table {}, and the others go on",
            topic, config_.parking.isolate_after.count(),
            config_.parking.table);
    read_at_ = MonotonicTime();
  });
}

asio::awaitable<absl::Status> ParkedEventService::Open(
    std::string system_identifier, ParkedTable on_record) {
  const ParkingTable::Target target{std::move(system_identifier),
                                    std::move(on_record), config_.parks(),
                                    progress_.confirmed()};
  WALPOST_CO_ASSIGN_OR_RETURN(const bool is_open, co_await table_.Open(target));
  if (!is_open) {
    sender_.SetParking(nullptr);
    co_return absl::OkStatus();
  }
  if (!config_.parks()) {
    LogWarn(
        {{"table", config_.parking.table}},
        "table {} has events of an earlier configuration: keys and topics stay "
        "parked, and dead letters stay dead letters",
        config_.parking.table);
  }
  sender_.SetParking(&parked_keys_);
  const absl::Status loaded = co_await Load();
  if (!loaded.ok()) table_.Close();
  co_return loaded;
}

asio::awaitable<absl::Status> ParkedEventService::Load() {
  WALPOST_CO_ASSIGN_OR_RETURN(ParkedSoFar so_far,
                              co_await table_.Load(progress_.confirmed()));
  const auto is_in_flight = [this](Sequence sequence) {
    return sender_.window().Find(sequence) != nullptr;
  };
  parked_keys_.Load(std::move(so_far), is_in_flight);
  WALPOST_CO_ASSIGN_OR_RETURN(lanes_, co_await table_.ReadLanes());
  WALPOST_CO_ASSIGN_OR_RETURN(topics_,
                              co_await table_.ReadTopics(parked_keys_.scope()));
  if (!topics_.empty()) {
    LogWarn("{} topics are isolated, such as {}", topics_.size(),
            topics_.front().name);
  }
  if (!lanes_.empty()) {
    LogWarn("{} keys are parked; walpost parked -c FILE list shows them",
            parked_keys_.lanes().size());
  }
  co_return absl::OkStatus();
}

void ParkedEventService::Begin() {
  if (!table_.is_open()) return;
  is_serving_ = true;
  is_stopped_ = false;
  read_at_ = MonotonicTime();
  all_wait_for_dead_ = false;
  retries_.Begin();
  table_.WaitAsLongAsItTakes();
  asio::co_spawn(executor_, Serve(), asio::detached);
}

asio::awaitable<void> ParkedEventService::End() {
  is_stopped_ = true;
  if (release_ != nullptr) release_->Stop();
  table_.Interrupt();
  Wake();
  while (is_serving_) {
    ended_.expires_at(MonotonicTime::max());
    co_await ended_.async_wait(kAsTuple);
  }
  table_.Close();
  // The next stream finds out whether there is room.
  sender_.OnParkingCapacity();
}

asio::awaitable<void> ParkedEventService::Serve() {
  absl::Status status;
  while (!is_stopped_ && status.ok()) status = co_await Turn();
  co_await Abandon();
  if (parked_keys_.GiveUpWaiting()) sender_.OnCapacity();
  if (!is_stopped_) callbacks_.on_lost(status);
  is_serving_ = false;
  ended_.cancel();
}

// Events that were sent and are not marked are sent again.
asio::awaitable<void> ParkedEventService::Abandon() {
  co_await drains_.End();
  co_await retries_.End();
  if (release_ == nullptr) co_return;
  co_await release_->End();
  release_.reset();
}

asio::awaitable<absl::Status> ParkedEventService::Turn() {
  if (parked_keys_.queued() > 0) co_return co_await Store();
  if (release_ != nullptr) {
    std::optional<StoredEventSender::Result> result = release_->TakeResult();
    if (result) co_return co_await Settle(*std::move(result));
  }
  if (callbacks_.may_release()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const bool has_worked,
                                co_await SendFreeEvents());
    if (has_worked) co_return absl::OkStatus();
  }
  const MonotonicTime now = Clock::now();
  const bool is_sending = release_ != nullptr && release_->is_sending();
  if (parked_keys_.holds_any() && !is_sending && now >= read_at_) {
    co_return co_await Look();
  }
  if (now >= wait_until_ && parked_keys_.GiveUpWaiting()) Progress();
  co_await Wait();
  co_return absl::OkStatus();
}

// Sends stored events that no key waits for: of isolated topics, and dead
// letters. False: there was nothing to do.
asio::awaitable<absl::StatusOr<bool>> ParkedEventService::SendFreeEvents() {
  WALPOST_CO_ASSIGN_OR_RETURN(
      const bool has_drained,
      co_await drains_.Turn(callbacks_.settled_through()));
  if (drains_.TakeIsDrained()) read_at_ = MonotonicTime();
  if (has_drained) co_return true;
  co_return co_await retries_.Turn();
}

asio::awaitable<absl::Status> ParkedEventService::Store() {
  const std::vector<const ParkedEvent*> batch =
      parked_keys_.NextBatch(kMaxEvents, kMaxBytes);
  WALPOST_CO_RETURN_IF_ERROR(co_await table_.Insert(batch));
  for (const Sequence sequence : parked_keys_.OnStored(batch.size())) {
    sender_.OnAcknowledged(sequence, WallNow());
  }
  callbacks_.on_progress();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ParkedEventService::Look() {
  WALPOST_CO_ASSIGN_OR_RETURN(std::string dead, co_await table_.ReadDead());
  const bool is_same = dead == std::exchange(dead_, dead);
  const MonotonicTime now = Clock::now();
  if (is_same && all_wait_for_dead_ && now < counted_at_ + kCountInterval) {
    read_at_ = now + kReadInterval;
    co_return absl::OkStatus();
  }
  co_return co_await Read();
}

asio::awaitable<absl::Status> ParkedEventService::Read() {
  const MonotonicTime begun = Clock::now();
  parked_keys_.BeginReading();
  std::vector<ParkedRow> rows;
  if (callbacks_.may_release() && !parked_keys_.lanes().empty()) {
    if (release_ == nullptr) {
      StoredEventSender::Options options;
      options.system_identifier = table_.system_identifier();
      WALPOST_CO_ASSIGN_OR_RETURN(
          release_,
          StoredEventSender::Create(executor_, config_, std::move(options),
                                    [this] { Wake(); }));
    }
    ParkingSql::Sendable wanted;
    wanted.scope = parked_keys_.scope();
    wanted.through = callbacks_.settled_through();
    wanted.has_others = !topics_.empty() || !parked_keys_.topics().empty();
    wanted.max_events = release_->max_rows();
    wanted.max_bytes = kMaxBytes;
    WALPOST_CO_ASSIGN_OR_RETURN(rows, co_await table_.ReadSendable(wanted));
    // Most likely there are more: nothing is released yet.
    const bool is_full = rows.size() == wanted.max_events && rows.size() > 1;
    if (is_full && Clock::now() < counted_at_ + kReadInterval) {
      release_->Send(std::move(rows));
      co_return absl::OkStatus();
    }
  }
  WALPOST_CO_ASSIGN_OR_RETURN(lanes_, co_await table_.ReadLanes());
  WALPOST_CO_ASSIGN_OR_RETURN(topics_,
                              co_await table_.ReadTopics(parked_keys_.scope()));
  counted_at_ = Clock::now();
  ParkedReading reading = Describe(rows);
  drains_.Describe(topics_, reading);
  const std::vector<std::string> isolated = parked_keys_.topics().Names();
  const size_t held = parked_keys_.lanes().size();
  if (parked_keys_.OnRead(reading)) Progress();
  LogReleased(held - parked_keys_.lanes().size());
  for (const std::string& topic : isolated) {
    if (parked_keys_.topics().Contains(topic)) continue;
    // Otherwise Kafka may have been replaced.
    const bool has_all = callbacks_.may_release();
    LogInfo({{"topic", topic}}, "topic {} is no longer isolated{}", topic,
            has_all ? ": it has all of its events" : "");
  }
  all_wait_for_dead_ = rows.empty() && callbacks_.may_release() &&
                       parked_keys_.lanes().size() == reading.waiting.size() &&
                       parked_keys_.topics().empty() &&
                       std::ranges::all_of(lanes_, [](const ParkedLane& lane) {
                         return lane.dead > 0;
                       });
  const MonotonicTime now = Clock::now();
  read_at_ = now + std::max<MonotonicTime::duration>(
                       kReadInterval, kReadShare * (now - begun));
  wait_until_ = now + kLeaveLimit;
  if (!rows.empty()) release_->Send(std::move(rows));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ParkedEventService::Settle(
    StoredEventSender::Result result) {
  read_at_ = Clock::now();
  std::vector<ParkedNumber> sent;
  const std::vector<ParkedRow>& rows = release_->rows();
  for (const size_t row : result.sent) sent.push_back(rows[row].number);
  if (!sent.empty()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await table_.Release(std::move(sent)));
    LogInfo("{} parked events are published", result.sent.size());
  }
  for (const StoredEventSender::Failure& failure : result.failed) {
    const ParkedRow& failed = rows[failure.row];
    const std::string reason(failure.reason.message());
    const std::string id = failed.content.id.value_or("");
    LogWarn({{"reason_code", ReasonCodeOf(failure.reason)}, {"event_id", id}},
            "parked event {} was rejected again: {}", id, reason);
    WALPOST_CO_RETURN_IF_ERROR(co_await table_.Fail(
        failed.number, ReasonCodeOf(failure.reason), reason));
  }
  if (!result.trouble.ok() && !is_stopped_) read_at_ += kTroublePause;
  const bool is_leaving = result.failed.empty() && result.trouble.ok();
  if (!is_leaving && parked_keys_.GiveUpWaiting()) Progress();
  co_return absl::OkStatus();
}

void ParkedEventService::LogReleased(size_t count) {
  if (count == 0) return;
  LogInfo("released {} keys; {} still parked", count,
          parked_keys_.lanes().size());
}

asio::awaitable<void> ParkedEventService::Wait() {
  if (!std::exchange(is_woken_, false)) {
    timer_.expires_after(kMaxWait);
    co_await timer_.async_wait(kAsTuple);
  }
  is_woken_ = false;
}

void ParkedEventService::Wake() {
  is_woken_ = true;
  timer_.cancel();
}

void ParkedEventService::Progress() {
  sender_.OnParkingCapacity();
  callbacks_.on_progress();
}

void ParkedEventService::Watch(MonotonicTime brokers_seen_at,
                               MonotonicTime now) {
  // While nothing is offered to the brokers, they do not answer for a topic.
  const MonotonicTime heard_at =
      callbacks_.is_paused() ? MonotonicTime() : brokers_seen_at;
  const std::optional<Position> position =
      isolation_.Look(sender_.standing_at(), heard_at, now);
  if (position && parked_keys_.MayIsolate()) sender_.Isolate(*position);
  const size_t keys = parked_keys_.lanes().size();
  if (near_max_keys_.HasCome(keys, config_.parking.max_keys)) {
    LogWarn(
        "{} keys are parked, and parking.max_keys is {}: release some "
        "(walpost parked -c FILE), or raise it",
        keys, config_.parking.max_keys);
  }
}

}  // namespace walpost
