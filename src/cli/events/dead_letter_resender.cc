#include "cli/events/dead_letter_resender.h"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "app/stored/batch_committer.h"
#include "base/status_macros.h"
#include "cli/shared/time_option.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Action = DeadLetterResolution::Action;

// Limits of a batch.
constexpr size_t kMaxLetters = 200;
constexpr size_t kMaxBytes = size_t{4} << 20;
constexpr std::chrono::seconds kTakeOverLimit{30};

Value ViewOf(const OwnValue& value) {
  return value ? Value(*value) : std::nullopt;
}

}  // namespace

// Each transaction has the decisions about the letters that it settles.
class DeadLetterResender::Decisions final : public BatchCommitter {
 public:
  // Both outlive this object.
  Decisions(const DeadLetterResolution& decision,
            const std::vector<LetterPlace>& places)
      : decision_(decision), places_(places) {}

  asio::awaitable<absl::Status> Open(DeliveryRun& run,
                                     StoredBatch& batch) override {
    (void)batch;  // who reads the letters leaves out those with a decision
    co_return co_await run.TakeOver(kTakeOverLimit);
  }

  asio::awaitable<absl::Status> Commit(DeliveryRun& run,
                                       const StoredBatch& batch) override {
    std::deque<DeadLetterResolutionRecord> decisions;
    std::vector<Record> records;
    for (const size_t at : batch.committing()) {
      const ParkedRow& row = batch.rows()[at];
      const LetterPlace& place = places_[row.number];
      DeadLetterResolution decision = decision_;
      decision.offset = place.offset;
      decisions.emplace_back(decision, place.topic,
                             ViewOf(row.content.aggregate_id),
                             ViewOf(row.content.id));
      records.push_back(decisions.back().record());
      records.back().partition = place.partition;
    }
    co_return co_await run.Commit(records);
  }

  void Stop() override {}

 private:
  const DeadLetterResolution& decision_;
  const std::vector<LetterPlace>& places_;
};

absl::StatusOr<std::unique_ptr<DeadLetterResender>> DeadLetterResender::Create(
    const Config& config, const DeadLetterResolution& decision, Reread reread) {
  std::unique_ptr<DeadLetterResender> resender(
      new DeadLetterResender(decision, std::move(reread)));
  StoredEventSender::Options options;
  options.sent = StoredEventSender::Sent::kDeadLetters;
  options.mark = FormatTime(decision.at);
  options.transactional_id =
      fmt::format("walpost-dead-letters:{}", config.outbox.dead_letter.topic);
  options.committer =
      std::make_unique<Decisions>(resender->decision_, resender->places_);
  options.commits_only = decision.action == Action::kDiscarded;
  options.silence_limit = DeliveryRun::kSilenceLimit;
  WALPOST_ASSIGN_OR_RETURN(
      resender->sender_,
      StoredEventSender::Create(resender->io_.get_executor(), config,
                                std::move(options),
                                [io = &resender->io_] { io->stop(); }));
  return resender;
}

absl::Status DeadLetterResender::TakeOver() { return Send({}).trouble; }

absl::Status DeadLetterResender::Take(const LetterPlace& place,
                                      DeadLetter letter) {
  waiting_bytes_ += letter.payload ? letter.payload->size() : 0;
  ParkedRow row;
  row.number = places_.size();
  row.content = std::move(letter);
  places_.push_back(place);
  waiting_.push_back(std::move(row));
  const bool is_full =
      waiting_.size() == kMaxLetters || waiting_bytes_ >= kMaxBytes;
  return is_full ? Finish() : absl::OkStatus();
}

absl::Status DeadLetterResender::Finish() {
  while (!waiting_.empty()) WALPOST_RETURN_IF_ERROR(SendSome());
  places_.clear();
  waiting_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status DeadLetterResender::SendSome() {
  const size_t count = std::min(waiting_.size(), sender_->max_rows());
  const std::span some = std::span(waiting_).first(count);
  const StoredEventSender::Result result = Send({some.begin(), some.end()});
  if (result.must_read_again) return LeaveOutSettled();
  Remove(result);
  if (result.may_go_on) return absl::OkStatus();
  if (!result.trouble.ok()) return result.trouble;
  return absl::UnavailableError(fmt::format(
      "the brokers have taken none of {} letters, and does not say why: "
      "walpost check -c FILE",
      count));
}

StoredEventSender::Result DeadLetterResender::Send(
    std::vector<ParkedRow> rows) {
  io_.restart();
  sender_->Send(std::move(rows));
  io_.run();
  return *sender_->TakeResult();
}

// Rows of waiting_ that are settled, or have failed, in the order of both.
void DeadLetterResender::Remove(const StoredEventSender::Result& result) {
  std::vector<bool> is_through(waiting_.size());
  for (const size_t row : result.sent) is_through[row] = true;
  for (const StoredEventSender::Failure& failure : result.failed) {
    is_through[failure.row] = true;
    failed_.push_back({places_[waiting_[failure.row].number], failure.reason});
  }
  settled_ += result.sent.size();
  size_t at = 0;
  std::erase_if(waiting_, [&](const ParkedRow&) { return is_through[at++]; });
}

// The sink was replaced. Another command may have had the transactions
// meanwhile.
absl::Status DeadLetterResender::LeaveOutSettled() {
  WALPOST_ASSIGN_OR_RETURN(const DeadLetterIndex index, reread_());
  std::erase_if(waiting_, [&](const ParkedRow& row) {
    const DeadLetterIndex::Entry* entry = index.Find(places_[row.number]);
    return entry == nullptr || !entry->is_open();
  });
  return absl::OkStatus();
}

}  // namespace walpost
