#include "kafka/transactions/transaction_client.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "kafka/transactions/hanging_transaction_guard.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// A call that waits for the brokers is resumed at this interval, to see whether
// it must return.
constexpr milliseconds kSlice{250};
constexpr milliseconds kPoll{5};
// For an abort in the middle of a stream.
constexpr milliseconds kStartOverLimit{8'000};

// Repeats `call`, which gives up after some milliseconds and may be resumed,
// until it has succeeded, or failed for good. Sets `error` to the last one.
template <typename Function>
rd_kafka_error_t* Resume(const Function& call,
                         const TransactionClient::Use& use,
                         MonotonicTime deadline) {
  for (;;) {
    rd_kafka_error_t* error = call(static_cast<int>(kSlice.count()));
    const bool must_end = use.must_return || Clock::now() >= deadline;
    if (error == nullptr || rd_kafka_error_is_retriable(error) == 0 ||
        must_end) {
      return error;
    }
    rd_kafka_error_destroy(error);
  }
}

// An error that a repetition could still have overcome.
bool IsUnknown(const rd_kafka_error_t* error) {
  return error != nullptr && rd_kafka_error_is_retriable(error) != 0;
}

absl::Status NoAnswer(rd_kafka_error_t* error, std::string_view attempted) {
  const std::string cause = rd_kafka_error_string(error);
  rd_kafka_error_destroy(error);
  return absl::UnavailableError(
      fmt::format("{}: no answer within the time limit: {}", attempted, cause));
}

// The brokers do not say why.
absl::Status NoCoordinator(rd_kafka_error_t* error, std::string_view attempted,
                           milliseconds limit) {
  rd_kafka_error_destroy(error);
  return absl::UnavailableError(fmt::format(
      "{}: the brokers have not done it within {} s. If this stays so, a "
      "partition of the last transaction has too few replicas, so that they "
      "cannot end it; or fewer brokers are up than "
      "transaction.state.log.replication.factor (default 3), and they cannot "
      "create __transaction_state: start more, or lower it in "
      "server.properties of every broker (walpost check -c FILE compares them)",
      attempted, limit.count() / 1000));
}

}  // namespace

void TransactionClient::Use::AwaitEnd() {
  must_return = true;
  while (is_called) std::this_thread::sleep_for(kPoll);
}

TransactionClient::TransactionClient(
    asio::any_io_executor executor, rd_kafka_t* client,
    const ProducerOptions& options,
    std::shared_ptr<const InDoubtRequests> unanswered,
    std::function<void()> on_spent)
    : executor_(std::move(executor)),
      client_(client),
      names_{options.transactional_id, "another instance",
             KafkaUserOf(options.brokers, options.properties)},
      checkpoint_topic_(options.checkpoint_topic),
      unanswered_(std::move(unanswered)),
      on_spent_(std::move(on_spent)) {}

void TransactionClient::TakeOver(milliseconds limit, Done done) {
  const MonotonicTime deadline = Clock::now() + limit;
  const auto call = [deadline, limit, names = names_,
                     topic = checkpoint_topic_](rd_kafka_t* client, Use& use) {
    const std::string attempted =
        fmt::format("taking over transactional.id {}", names.id);
    const auto init = [client](int millis) {
      return rd_kafka_init_transactions(client, millis);
    };
    rd_kafka_error_t* error = Resume(init, use, deadline);
    if (IsUnknown(error)) return NoCoordinator(error, attempted, limit);
    absl::Status status = StatusFromTransaction(error, attempted, names);
    if (status.ok() && !topic.empty()) {
      const auto must_return = [&use] { return use.must_return.load(); };
      status = AwaitEarlierTransactions(client, topic, names.user.brokers,
                                        must_return);
    }
    if (!status.ok()) return status;
    error = rd_kafka_begin_transaction(client);
    return StatusFromTransaction(error, attempted, names);
  };
  Start(call, std::move(done));
}

void TransactionClient::Commit(Done done) {
  is_open_ = false;
  const auto call = [names = names_, unanswered = unanswered_](
                        rd_kafka_t* client, Use& use) {
    const std::string attempted = "committing a Kafka transaction";
    const auto commit = [client](int millis) {
      return rd_kafka_commit_transaction(client, millis);
    };
    rd_kafka_error_t* error = Resume(commit, use, MonotonicTime::max());
    if (IsUnknown(error)) return NoAnswer(error, attempted);
    if (error == nullptr && !unanswered->any()) {
      error = rd_kafka_begin_transaction(client);
    }
    return StatusFromTransaction(error, attempted, names);
  };
  Start(call, std::move(done));
}

void TransactionClient::StartOver(Done done) {
  is_open_ = false;
  const MonotonicTime deadline = Clock::now() + kStartOverLimit;
  const auto call = [deadline, names = names_](rd_kafka_t* client, Use& use) {
    const std::string attempted = "aborting a Kafka transaction";
    const auto abort = [client](int millis) {
      return rd_kafka_abort_transaction(client, millis);
    };
    rd_kafka_error_t* error = Resume(abort, use, deadline);
    if (IsUnknown(error)) return NoAnswer(error, attempted);
    if (error == nullptr) error = rd_kafka_begin_transaction(client);
    return StatusFromTransaction(error, attempted, names);
  };
  Start(call, std::move(done));
}

void TransactionClient::Abandon(milliseconds limit) {
  is_open_ = false;
  abort_limit_ = limit;
  must_abort_ = is_busy_;
  use_->must_return = true;
  if (!is_busy_) Abort();
}

void TransactionClient::Start(Call call, Done done) {
  is_busy_ = true;
  done_ = std::move(done);
  use_->is_called = true;
  const auto work = [call = std::move(call), client = client_, use = use_] {
    const absl::Status status = call(client, *use);
    use->is_called = false;
    return status;
  };
  auto started = BlockingCall<absl::Status>::Start(executor_, work);
  if (!started.ok()) use_->is_called = false;
  const auto end = [this, alive = std::weak_ptr<const bool>(alive_)](
                       const absl::Status& status) {
    if (!alive.expired()) OnEnd(status);
  };
  asio::co_spawn(executor_, Await(std::move(started), end), asio::detached);
}

asio::awaitable<void> TransactionClient::Await(
    absl::StatusOr<std::unique_ptr<BlockingCall<absl::Status>>> started,
    std::function<void(absl::Status)> end) {
  absl::Status status = started.status();
  if (started.ok()) {
    const MonotonicTime forever = MonotonicTime::max();
    const std::optional<absl::Status> result =
        co_await (*started)->Wait(forever);
    status = *result;
  }
  end(status);
}

void TransactionClient::OnEnd(const absl::Status& status) {
  is_busy_ = false;
  const bool is_spent = status.ok() && unanswered_->any();
  is_open_ = status.ok() && !is_spent && !must_abort_;
  if (const Done done = std::exchange(done_, nullptr)) done(status);
  if (is_spent) on_spent_();
  if (std::exchange(must_abort_, false)) Abort();
}

// Best effort: the next producer aborts what is left.
void TransactionClient::Abort() {
  use_->must_return = false;
  const MonotonicTime deadline = Clock::now() + abort_limit_;
  const auto call = [deadline](rd_kafka_t* client, Use& use) {
    const auto abort = [client](int millis) {
      return rd_kafka_abort_transaction(client, millis);
    };
    rd_kafka_error_t* error = Resume(abort, use, deadline);
    if (error != nullptr) rd_kafka_error_destroy(error);
    return absl::CancelledError("the transaction was aborted");
  };
  Start(call, nullptr);
}

}  // namespace walpost
