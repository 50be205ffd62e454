#include "parking/stored_batch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/reason_code.h"
#include "delivery/send_outcome.h"
#include "fmt/format.h"

namespace walpost {

namespace {

// When to say that nothing moves.
constexpr std::chrono::seconds kNoticeable{3};

// "PLACE DIGEST". The place was another one in releases before 0.3.
std::string LedgerEntryOf(const ParkedRow& row, const ReleaseLedger& ledger) {
  std::string old_entry = ReleaseLedger::EntryOf(
      row.system_identifier + "/" + row.position, row.content);
  if (ledger.Has(old_entry)) return old_entry;
  return ReleaseLedger::EntryOf(fmt::format("{}", row.number), row.content);
}

absl::Status TopicTakesNothing(std::string_view topic) {
  return absl::UnavailableError(fmt::format(
      "topic {} took no record for {} s, while the brokers answer: does it "
      "exist, and have its partitions a leader and min.insync.replicas? "
      "kafka-topics --describe --topic {}",
      topic, StoredBatch::kMaxHold.count(), topic));
}

}  // namespace

StoredBatch::StoredBatch(const OutboxOptions& outbox, Sender& sender,
                         Options options)
    : sender_(sender),
      options_(options),
      event_(outbox, sender.builder().routes()) {}

absl::Status StoredBatch::LoadLedger(std::string_view text) {
  const absl::Status loaded = inherited_.Load(text);
  committed_ = inherited_;
  return loaded;
}

void StoredBatch::Begin(std::vector<ParkedRow> rows, MonotonicTime now) {
  rows_ = std::move(rows);
  entries_.clear();
  failed_.clear();
  topic_troubles_.clear();
  for (const ParkedRow& row : rows_) entries_.push_back(MakeEntry(row));
  progress_at_ = now;
  not_delivered_before_ = sender_.counters().not_delivered;
}

StoredBatch::Entry StoredBatch::MakeEntry(const ParkedRow& row) {
  Entry entry;
  if (options_.keeps_order) {
    entry.key = "=" + row.content.aggregate_id.value_or("");
  }
  if (options_.has_ledger) {
    entry.ledger = LedgerEntryOf(row, committed_);
    if (committed_.Has(entry.ledger)) entry.state = Entry::State::kSent;
  }
  if (options_.commits_only) {
    entry.state = Entry::State::kTaken;
    entry.sequence = kNoEvent;
    return entry;
  }
  const absl::StatusOr<Event> event = event_.Of(row.content);
  if (!event.ok()) return entry;
  const Route& route = sender_.builder().routes()[event->source];
  if (!route.topic().Expand(event->references, entry.topic).ok()) {
    entry.topic.clear();
  }
  return entry;
}

StoredBatch::Do StoredBatch::Next(MonotonicTime now, bool brokers_answer) {
  NoteProgress(now, brokers_answer);
  if (!options_.has_ledger) SettleAcknowledged();
  if (!Trouble().ok() || TakesNothing(now)) return Do::kEnd;
  if (failed_.empty()) OfferAll();
  if (!Trouble().ok()) return Do::kEnd;
  if (!sender_.IsDrained()) return Do::kWait;
  if (HasUncommitted()) {
    NextLedger();
    return Do::kCommit;
  }
  return IsOffered() || !failed_.empty() ? Do::kEnd : Do::kWait;
}

void StoredBatch::NoteProgress(MonotonicTime now, bool brokers_answer) {
  const uint64_t progress =
      sender_.counters().acknowledged + sender_.window().next_sequence();
  const bool has_moved = std::exchange(progress_, progress) != progress;
  if (has_moved || !brokers_answer) progress_at_ = now;
}

// A topic that does not take a row does not hold up the others.
void StoredBatch::OfferAll() {
  std::set<std::string> topics;  // that take nothing now
  std::set<std::string> keys;    // of which a row waits
  for (size_t row = 0; row < rows_.size(); ++row) {
    const Entry& entry = entries_[row];
    if (entry.state != Entry::State::kToOffer) continue;
    bool waits = topics.contains(entry.topic) || keys.contains(entry.key);
    if (!waits) {
      const Offered offered = Offer(row);
      if (offered == Offered::kNotNow) return;
      waits = offered == Offered::kNotToTopic;
      if (waits) topics.insert(entry.topic);
    }
    if (waits && !entry.key.empty()) keys.insert(entry.key);
  }
}

StoredBatch::Offered StoredBatch::Offer(size_t row) {
  Entry& entry = entries_[row];
  absl::StatusOr<Event> event = event_.Of(rows_[row].content);
  if (!event.ok()) {
    failed_.push_back({row, event.status()});
    return Offered::kNotNow;
  }
  sender_.RetryHeld();
  event->position = {Lsn(), ++ordinal_};
  entry.sequence = sender_.window().next_sequence();
  if (sender_.OnEvent(*event) == Sender::Offer::kAccepted) {
    entry.state = Entry::State::kTaken;
    return Offered::kAccepted;
  }
  if (sender_.stoppage()) {
    failed_.push_back({row, sender_.stoppage()->reason});
    return Offered::kNotNow;
  }
  if (!sender_.held() || !IsOfTopic(*sender_.held())) {
    return Offered::kNotNow;
  }
  topic_troubles_[entry.topic] = *sender_.held();
  return Offered::kNotToTopic;
}

bool StoredBatch::IsOffered() const {
  return std::ranges::none_of(entries_, [](const Entry& entry) {
    return entry.state == Entry::State::kToOffer;
  });
}

bool StoredBatch::IsAcknowledged(const Entry& entry) const {
  return entry.state == Entry::State::kTaken &&
         sender_.window().Find(entry.sequence) == nullptr;
}

void StoredBatch::SettleAcknowledged() {
  for (Entry& entry : entries_) {
    if (IsAcknowledged(entry)) entry.state = Entry::State::kSent;
  }
}

bool StoredBatch::HasUncommitted() const {
  return options_.has_ledger && !committing().empty();
}

std::vector<size_t> StoredBatch::committing() const {
  std::vector<size_t> rows;
  for (size_t row = 0; row < entries_.size(); ++row) {
    if (IsAcknowledged(entries_[row])) rows.push_back(row);
  }
  return rows;
}

void StoredBatch::NextLedger() {
  committing_ = inherited_;
  for (const Entry& entry : entries_) {
    if (IsThrough(entry)) committing_.Add(entry.ledger);
  }
}

void StoredBatch::OnCommitted(const absl::Status& status) {
  commit_failure_ = status;
  if (!status.ok()) return;
  committed_ = committing_;
  SettleAcknowledged();
}

bool StoredBatch::TakesNothing(MonotonicTime now) const {
  return options_.topics_fail && !is_stopped_ && now - progress_at_ >= kMaxHold;
}

absl::Status StoredBatch::Trouble() const {
  if (is_stopped_) return absl::CancelledError("the stream has ended");
  if (sender_.sink_failure()) return *sender_.sink_failure();
  return commit_failure_;
}

StoredBatch::Result StoredBatch::TakeResult(MonotonicTime now,
                                            bool brokers_answer) {
  Result result;
  if (!options_.has_ledger) SettleAcknowledged();
  for (size_t row = 0; row < entries_.size(); ++row) {
    if (entries_[row].state == Entry::State::kSent) result.sent.push_back(row);
  }
  result.trouble = Trouble();
  // The record that the brokers reject, if it was sent alone.
  const std::optional<RejectedRecord>& refused = sender_.refused();
  if (refused && rows_.size() == 1) {
    failed_.push_back({0, refused->reason});
    result.trouble = absl::OkStatus();
  } else if (IsAtFault(result.trouble, brokers_answer)) {
    failed_.push_back({0, std::exchange(result.trouble, absl::OkStatus())});
  } else if (!result.trouble.ok()) {
    one_by_one_ = rows_.size() - result.sent.size() + 1;
  } else if (TakesNothing(now)) {
    FailUntaken();
  }
  result.failed = std::exchange(failed_, {});
  if (one_by_one_ > 0) --one_by_one_;
  const bool has_moved = !result.sent.empty() || !result.failed.empty();
  const bool goes_alone_now = rows_.size() > 1 && max_rows() == 1;
  // Whoever has fenced this sink goes on in its place.
  result.may_go_on = (has_moved || goes_alone_now) &&
                     ReasonCodeOf(result.trouble) != kReasonFenced;
  if (!is_stopped_) {
    result.is_new_trouble = IsNewTrouble(std::string(result.trouble.message()));
  }
  return result;
}

StoredBatch::Result StoredBatch::Refuse(absl::Status trouble) {
  Result result;
  result.trouble = is_stopped_ ? Trouble() : std::move(trouble);
  if (!is_stopped_) {
    result.is_new_trouble = IsNewTrouble(std::string(result.trouble.message()));
  }
  return result;
}

// A row was sent alone to brokers that answer, and came back: its topic does
// not exist, or may not be written. Others must not wait for it.
bool StoredBatch::IsAtFault(const absl::Status& trouble,
                            bool brokers_answer) const {
  if (!options_.topics_fail || !brokers_answer || is_stopped_ || trouble.ok() ||
      rows_.size() != 1) {
    return false;
  }
  const Entry& entry = entries_.front();
  if (entry.state == Entry::State::kSent) return false;
  // The brokers refuse its topic in a transaction, and report no record.
  const bool is_denied = entry.state == Entry::State::kTaken &&
                         !IsAcknowledged(entry) &&
                         absl::IsFailedPrecondition(trouble);
  return is_denied || sender_.counters().not_delivered > not_delivered_before_;
}

// The brokers answer, and have taken nothing for a while. What is behind the
// first one of a key waits for it.
void StoredBatch::FailUntaken() {
  std::set<std::string> keys;
  for (size_t row = 0; row < entries_.size(); ++row) {
    const Entry& entry = entries_[row];
    if (entry.state == Entry::State::kSent) continue;
    if (!entry.key.empty() && !keys.insert(entry.key).second) continue;
    const absl::Status reason = WhyUntaken(entry);
    if (!reason.ok()) failed_.push_back({row, reason});
  }
}

// Ok: it is not the fault of its topic.
absl::Status StoredBatch::WhyUntaken(const Entry& entry) const {
  if (IsAcknowledged(entry)) return absl::OkStatus();
  if (entry.state == Entry::State::kTaken) {
    return TopicTakesNothing(entry.topic);
  }
  const auto trouble = topic_troubles_.find(entry.topic);
  return trouble == topic_troubles_.end() ? absl::OkStatus() : trouble->second;
}

bool StoredBatch::IsNewTrouble(std::string trouble) {
  const bool is_new = !trouble.empty() && trouble != trouble_;
  trouble_ = std::move(trouble);
  return is_new;
}

std::string StoredBatch::TakeNewTrouble(MonotonicTime now) {
  if (now - progress_at_ < kNoticeable) return "";
  const std::string trouble = WhyTopicWaits();
  return !trouble.empty() && IsNewTrouble(trouble) ? trouble : "";
}

bool StoredBatch::must_replace_sink() const {
  return !Trouble().ok() || sender_.stoppage() || !sender_.IsDrained();
}

void StoredBatch::StartOver() {
  sender_.StartOver();
  commit_failure_ = absl::OkStatus();
  ordinal_ = 0;
}

bool StoredBatch::IsThrough(const Entry& entry) const {
  return entry.state == Entry::State::kSent || IsAcknowledged(entry);
}

// The reason of one topic; empty: none is known.
std::string StoredBatch::WhyTopicWaits() const {
  for (const Entry& entry : entries_) {
    const auto why = topic_troubles_.find(entry.topic);
    if (why != topic_troubles_.end() && !IsThrough(entry)) {
      return std::string(why->second.message());
    }
  }
  return "";
}

std::string StoredBatch::waits_for(MonotonicTime now) const {
  if (now - progress_at_ < kNoticeable) return "";
  std::set<std::string> topics;
  for (const Entry& entry : entries_) {
    if (!IsThrough(entry)) topics.insert(entry.topic);
  }
  const std::string reason = WhyTopicWaits();
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(now - progress_at_);
  return fmt::format("{} {} no records for {} s{}{}",
                     absl::StrJoin(topics, ", "),
                     topics.size() == 1 ? "takes" : "take", age.count(),
                     reason.empty() ? "" : ": ", reason);
}

}  // namespace walpost
