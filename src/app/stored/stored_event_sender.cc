#include "app/stored/stored_event_sender.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/client/transactional_id.h"
#include "kafka/producer/kafka_sinks.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kPause{20};
// How long a topic may take nothing, while brokers answer.
constexpr std::chrono::seconds kMaxHold{20};
// When to say so.
constexpr std::chrono::seconds kNoticeable{3};
constexpr std::chrono::seconds kCloseLimit{2};

absl::StatusOr<std::unique_ptr<RecordBuilder>> MakeBuilder(
    const Config& config, std::string_view what) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(config.outbox));
  RecordMark mark;
  mark.header = fmt::format("walpost-{}", what);
  mark.value = config.postgres.slot;
  mark.without_position = true;
  mark.lsn = Lsn(1);
  builder->SetMark(std::move(mark));
  return builder;
}

absl::Status TopicTakesNothing(std::string_view topic) {
  return absl::UnavailableError(fmt::format(
      "topic {} took no record for {} s, while the brokers answer: does it "
      "exist, and have its partitions a leader and min.insync.replicas? "
      "kafka-topics --describe --topic {}",
      topic, kMaxHold.count(), topic));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoredEventSender>> StoredEventSender::Create(
    asio::any_io_executor executor, const Config& config,
    const Options& options, std::function<void()> on_result) {
  const std::string_view what =
      options.sent == Sent::kDeadLetters ? kRetriedSender : kReleasedSender;
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           MakeBuilder(config, what));
  std::unique_ptr<StoredEventSender> run(new StoredEventSender(
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

StoredEventSender::StoredEventSender(asio::any_io_executor executor,
                                     const Config& config,
                                     const Options& options,
                                     std::unique_ptr<RecordBuilder> builder,
                                     std::function<void()> on_result)
    : executor_(executor),
      config_(config),
      no_topic_(options.no_topic),
      what_(options.sent),
      topic_(options.topic),
      offsets_(options.offsets),
      run_(executor, std::move(builder),
           KafkaSinks(executor, config.kafka,
                      offsets_ == nullptr ? nullptr : &memory_),
           {config.window, SinkOptions{"-released", std::nullopt}, std::nullopt,
            ErrorActions()},
           nullptr),
      event_(config_.outbox, run_.sender().builder().routes()),
      on_result_(std::move(on_result)) {}

void StoredEventSender::Send(std::vector<ParkedRow> rows) {
  rows_ = std::move(rows);
  topics_.clear();
  topic_troubles_.clear();
  for (const ParkedRow& row : rows_) topics_.push_back(TopicOf(row));
  sequences_.assign(rows_.size(), std::nullopt);
  is_sending_ = true;
  progress_at_ = Clock::now();
  asio::co_spawn(executor_, Run(), asio::detached);
}

asio::awaitable<void> StoredEventSender::Run() {
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
  const Sender& sender = run_.sender();
  if (sender.sink_failure() || sender.stoppage() || !sender.IsDrained()) {
    co_await Close();
    run_.sender().StartOver();
    ordinal_ = 0;
  }
  AddOffsets(memory_.offsets.Of(topic_));
  if (!result.must_read_again && !is_stopped_) NoteTrouble(result);
  is_sending_ = false;
  result_ = std::move(result);
  on_result_();
}

void StoredEventSender::NoteTrouble(Result& result) {
  std::string trouble(result.trouble.message());
  result.is_new_trouble = !trouble.empty() && trouble != trouble_;
  trouble_ = std::move(trouble);
}

asio::awaitable<StoredEventSender::Result> StoredEventSender::SendAll() {
  Result result;
  result.trouble = run_.Start();
  if (!result.trouble.ok()) co_return result;
  not_delivered_before_ = run_.sender().counters().not_delivered;
  co_await OfferAll(result);
  co_await Settle();
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (IsAcknowledged(row)) result.sent.push_back(row);
  }
  // The record that the brokers reject, if it was sent alone.
  const std::optional<RejectedRecord>& refused = run_.sender().refused();
  result.trouble = Trouble();
  if (refused && rows_.size() == 1) {
    result.failed.push_back({0, refused->reason});
    result.trouble = absl::OkStatus();
  } else if (IsFaultOfRow(result)) {
    result.failed.push_back(
        {0, std::exchange(result.trouble, absl::OkStatus())});
  } else if (!result.trouble.ok()) {
    one_by_one_ = rows_.size() - result.sent.size() + 1;
  } else if (TakesNothing(Clock::now())) {
    FailUntaken(result);
  }
  co_return result;
}

// If it is stopped, nobody waits for the end of the transaction: whoever sends
// next learns from the ledger whether it was committed.
asio::awaitable<StoredEventSender::Result>
StoredEventSender::SendInTransaction() {
  Result result;
  const bool alone_is_at_fault = no_topic_ == NoTopic::kFails;
  const std::vector<size_t> tried = RowsToTry();
  std::vector<ParkedRow> rows;
  for (const size_t row : tried) rows.push_back(rows_[row]);
  auto call = BlockingCall<TransactionalRelease::Result>::Start(
      executor_, [release = in_transactions_, rows = std::move(rows),
                  alone_is_at_fault, known = memory_.offsets.Of(topic_)] {
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
  result.sent.assign(tried.begin(),
                     tried.begin() + static_cast<ptrdiff_t>(sent->sent));
  result.trouble = sent->trouble;
  GiveUpTopic(*sent, tried.size() == rows_.size());
  FailInTransaction(*sent, tried, result);
  result.must_read_again = sent->must_read_again;
  if (sent->one_is_at_fault) one_by_one_ = rows_.size() - sent->sent + 1;
  co_return result;
}

// A row was sent alone to brokers that answer, and came back: its topic does
// not exist, or may not be written. Others must not wait for it.
bool StoredEventSender::IsFaultOfRow(const Result& result) const {
  return no_topic_ == NoTopic::kFails && rows_.size() == 1 &&
         result.sent.empty() && !is_stopped_ && !result.trouble.ok() &&
         run_.sender().counters().not_delivered > not_delivered_before_ &&
         run_.has_brokers();
}

// A topic that does not take a row does not hold up the others.
asio::awaitable<void> StoredEventSender::OfferAll(Result& result) {
  std::vector<size_t> rows(rows_.size());
  std::iota(rows.begin(), rows.end(), 0);
  while (!rows.empty() && result.failed.empty() && Trouble().ok() &&
         !TakesNothing(Clock::now())) {
    rows = OfferOnce(rows, result);
    if (!rows.empty()) co_await Wait();
  }
}

// Returns those that are not taken yet, and ends at a row that fails.
std::vector<size_t> StoredEventSender::OfferOnce(
    const std::vector<size_t>& rows, Result& result) {
  std::vector<size_t> rest;
  std::set<std::string> topics;  // that take nothing now
  std::set<std::string> lanes;   // in which a row waits
  bool is_full = false;
  for (const size_t row : rows) {
    Offered offered = Offered::kNotNow;
    const std::string lane = LaneOfRow(row);
    if (!is_full && !topics.contains(topics_[row]) && !lanes.contains(lane)) {
      const absl::StatusOr<Offered> answer = Offer(row);
      if (!answer.ok()) {
        result.failed.push_back({row, answer.status()});
        return {};
      }
      offered = *answer;
      is_full = offered == Offered::kNotNow;
    }
    if (offered == Offered::kAccepted) continue;
    if (offered == Offered::kNotToTopic) topics.insert(topics_[row]);
    if (!lane.empty()) lanes.insert(lane);
    rest.push_back(row);
  }
  return rest;
}

// Error: this event cannot be delivered.
absl::StatusOr<StoredEventSender::Offered> StoredEventSender::Offer(
    size_t row) {
  WALPOST_ASSIGN_OR_RETURN(Event event, event_.Of(rows_[row].content));
  Sender& sender = run_.sender();
  sender.RetryHeld();
  event.position = {Lsn(), ++ordinal_};
  const Sequence sequence = sender.window().next_sequence();
  if (sender.OnEvent(event) == Sender::Offer::kAccepted) {
    sequences_[row] = sequence;
    return Offered::kAccepted;
  }
  if (sender.stoppage()) return sender.stoppage()->reason;
  const bool is_of_topic = sender.held() && absl::IsUnavailable(*sender.held());
  if (is_of_topic) topic_troubles_[topics_[row]] = *sender.held();
  return is_of_topic ? Offered::kNotToTopic : Offered::kNotNow;
}

asio::awaitable<void> StoredEventSender::Settle() {
  while (!run_.sender().IsDrained() && Trouble().ok() &&
         !TakesNothing(Clock::now())) {
    co_await Wait();
  }
}

asio::awaitable<void> StoredEventSender::Wait() {
  co_await run_.Wait(kPause);
  const DeliveryCounters& counters = run_.sender().counters();
  const uint64_t progress =
      counters.acknowledged + run_.sender().window().next_sequence();
  if (std::exchange(progress_, progress) != progress || !run_.has_brokers()) {
    progress_at_ = Clock::now();
  }
}

bool StoredEventSender::TakesNothing(MonotonicTime now) const {
  return no_topic_ == NoTopic::kFails && !is_stopped_ &&
         now - progress_at_ >= kMaxHold;
}

bool StoredEventSender::IsAcknowledged(size_t row) const {
  return sequences_[row] &&
         run_.sender().window().Find(*sequences_[row]) == nullptr;
}

// The brokers answer, and have taken nothing for a while.
void StoredEventSender::FailUntaken(Result& result) {
  FailFirstOfLanes(result, [this](size_t row) -> absl::Status {
    if (sequences_[row]) return TopicTakesNothing(topics_[row]);
    const auto trouble = topic_troubles_.find(topics_[row]);
    return trouble == topic_troubles_.end() ? absl::OkStatus()
                                            : trouble->second;
  });
}

// Rows that do not wait for a topic that takes nothing now, nor behind one that
// does; if there are none, all.
std::vector<size_t> StoredEventSender::RowsToTry() const {
  std::vector<size_t> rows;
  std::set<std::string> lanes;
  for (size_t row = 0; row < rows_.size(); ++row) {
    const std::string lane = LaneOfRow(row);
    const bool waits =
        waiting_topics_.contains(topics_[row]) || lanes.contains(lane);
    if (!waits) rows.push_back(row);
    if (waits && !lane.empty()) lanes.insert(lane);
  }
  if (!rows.empty()) return rows;
  rows.resize(rows_.size());
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// A topic that takes nothing now is tried again for a while, before its rows
// fail and no longer hold up the others.
void StoredEventSender::GiveUpTopic(TransactionalRelease::Result& sent,
                                    bool are_all) {
  if (sent.topic_at_fault.empty()) {
    if (are_all && sent.trouble.ok()) waiting_topics_.clear();
    return;
  }
  const MonotonicTime since =
      waiting_topics_.try_emplace(sent.topic_at_fault, progress_at_)
          .first->second;
  if (!sent.failed.ok() || Clock::now() - since < kMaxHold) return;
  sent.failed = std::exchange(sent.trouble, absl::OkStatus());
}

void StoredEventSender::FailInTransaction(
    const TransactionalRelease::Result& sent, const std::vector<size_t>& tried,
    Result& result) const {
  if (sent.failed.ok()) return;
  result.trouble = absl::OkStatus();
  if (sent.topic_at_fault.empty()) {
    result.failed.push_back({tried[sent.sent], sent.failed});
    return;
  }
  FailFirstOfLanes(result, [&](size_t row) {
    const bool is_at_fault = topics_[row] == sent.topic_at_fault;
    return is_at_fault ? sent.failed : absl::OkStatus();
  });
  if (result.failed.empty()) result.trouble = sent.failed;
}

// Those that are not sent, and are not ok. What is behind them in their lanes
// waits for them.
void StoredEventSender::FailFirstOfLanes(
    Result& result,
    const std::function<absl::Status(size_t row)>& judge) const {
  std::set<std::string> lanes;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (std::ranges::binary_search(result.sent, row)) continue;
    const std::string lane = LaneOfRow(row);
    if (!lane.empty() && !lanes.insert(lane).second) continue;
    const absl::Status judged = judge(row);
    if (!judged.ok()) result.failed.push_back({row, judged});
  }
}

// Empty: it waits for no other row.
std::string StoredEventSender::LaneOfRow(size_t row) const {
  if (what_ == Sent::kDeadLetters) return "";
  return "=" + rows_[row].content.aggregate_id.value_or("");
}

std::string StoredEventSender::TopicOf(const ParkedRow& row) {
  std::string topic;
  const absl::StatusOr<Event> event = event_.Of(row.content);
  if (!event.ok()) return topic;
  const Route& route = run_.sender().builder().routes()[event->source];
  return route.topic().Expand(event->references, topic).ok() ? topic : "";
}

std::string StoredEventSender::waits_for(MonotonicTime now) const {
  if (!is_sending_ || now - progress_at_ < kNoticeable) return "";
  std::set<std::string> topics;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!IsAcknowledged(row)) topics.insert(topics_[row]);
  }
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(now - progress_at_);
  return fmt::format("{} {} no records for {} s", absl::StrJoin(topics, ", "),
                     topics.size() == 1 ? "takes" : "take", age.count());
}

void StoredEventSender::AddOffsets(const PartitionOffsets& acknowledged) {
  if (offsets_ != nullptr) offsets_->Of(topic_).Add(acknowledged);
}

absl::Status StoredEventSender::Trouble() const {
  if (is_stopped_) return absl::CancelledError("the stream has ended");
  return run_.sender().sink_failure().value_or(absl::OkStatus());
}

void StoredEventSender::Stop() {
  is_stopped_ = true;
  run_.Wake();
}

asio::awaitable<void> StoredEventSender::Close() {
  MonotonicTime until = Clock::now();
  if (!is_stopped_) until += kCloseLimit;
  co_await run_.Close(until);
}

}  // namespace walpost
