#include "kafka/checkpoint/checkpoint_topic.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/error_source.h"
#include "base/status_macros.h"
#include "checkpoint/checkpoint_candidates.h"
#include "checkpoint/checkpoint_codec.h"
#include "fmt/format.h"
#include "kafka/producer/producer_properties.h"
#include "log/log.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLoadLimit{30'000};
constexpr milliseconds kSaveLimit{10'000};
// Only one record is in flight; the producer needs a limit.
constexpr size_t kMaxRecords = 8;

// Maps the producer's codes to the store's: kAborted (unusable producer) passes
// with the next producer; a record that can never be written needs an operator.
absl::Status ForStore(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
      return absl::FailedPreconditionError(error.message());
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return absl::UnavailableError(error.message());
    default:
      return error;
  }
}

}  // namespace

CheckpointTopic::CheckpointTopic(asio::any_io_executor executor,
                                 ProducerOptions kafka, std::string topic,
                                 std::string slot, Access access)
    : executor_(executor),
      kafka_(std::move(kafka)),
      topic_(std::move(topic)),
      slot_(std::move(slot)),
      access_(access),
      deadline_(executor) {}

CheckpointTopic::~CheckpointTopic() = default;

std::string CheckpointTopic::Name() const {
  return fmt::format("topic {}", topic_);
}

std::string CheckpointTopic::HowToRemove(const Checkpoint& checkpoint) const {
  const bool is_secured =
      std::ranges::any_of(kafka_.properties, [](const auto& property) {
        return property.first == "security.protocol";
      });
  return RemoveCommand(checkpoint.system_identifier) +
         (is_secured ? " (and -X for kafka.properties)" : "");
}

std::string CheckpointTopic::RemoveCommand(
    const std::string& system_identifier) const {
  std::string brokers = kafka_.brokers;
  std::erase(brokers, ' ');
  return fmt::format("echo {}: | kcat -b {} -P -t {} -K : -Z",
                     CheckpointKey(slot_, system_identifier), brokers, topic_);
}

absl::StatusOr<CheckpointTopic::Found> CheckpointTopic::LookForOurs(
    CompactedTopic& topic, const std::string& slot,
    const SourceIdentity& identity, Access access) {
  Found found;
  if (access == Access::kRead) {
    WALPOST_ASSIGN_OR_RETURN(const bool exists, topic.Exists());
    if (!exists) return found;
  } else {
    WALPOST_ASSIGN_OR_RETURN(found.presence, topic.Ensure());
  }
  CheckpointCandidates candidates(slot, identity);
  WALPOST_RETURN_IF_ERROR(topic.Read(
      [&](std::string_view key, std::optional<std::string_view> value) {
        candidates.Add(key, value);
      },
      UncommittedCheckpointScan(slot, identity)));
  found.checkpoint = candidates.Pick();
  found.old_key_is_ours = candidates.old_key_is_ours();
  return found;
}

void CheckpointTopic::Load(Loaded done) {
  const auto look = [slot = slot_, identity = identity_, access = access_](
                        CompactedTopic& topic) -> absl::StatusOr<Found> {
    return LookForOurs(topic, slot, identity, access);
  };
  const auto then = [this,
                     done = std::move(done)](absl::StatusOr<Found> found) {
    if (!found.ok()) return done(found.status());
    if (access_ == Access::kReadAndWrite) NotePresence(found->presence);
    done(Explain(std::move(found->checkpoint)));
  };
  LookOnHelper(kLoadLimit, look, then);
}

absl::StatusOr<std::optional<Checkpoint>> CheckpointTopic::Explain(
    absl::StatusOr<std::optional<Checkpoint>> checkpoint) const {
  if (!checkpoint.ok()) {
    return absl::DataLossError(fmt::format(
        "checkpoint topic {}, {}; to continue where the slot stands, write one "
        "without a value: {}",
        topic_, std::string(checkpoint.status().message()),
        RemoveCommand(identity_.system_identifier)));
  }
  const std::optional<Checkpoint>& found = *checkpoint;
  if (found && !identity_.system_identifier.empty() &&
      found->system_identifier != identity_.system_identifier) {
    LogWarn({{"topic", topic_}},
            "checkpoint topic {} has a checkpoint of slot {} of system {}, and "
            "none of this system {}; if these are two databases that share the "
            "topic, let walpost init -c FILE --admin CONNINFO put the slot on "
            "record here",
            topic_, slot_, found->system_identifier,
            identity_.system_identifier);
  }
  return checkpoint;
}

void CheckpointTopic::Replace(const Checkpoint& checkpoint, Saved done) {
  identity_.system_identifier = checkpoint.system_identifier;
  is_replace_ = true;
  topic_is_ready_ = false;  // look for its keys first
  waiting_.push_back({CheckpointKey(slot_, checkpoint.system_identifier), {}});
  Save(checkpoint, std::move(done));
}

void CheckpointTopic::Save(const Checkpoint& checkpoint, Saved done) {
  saved_ = std::move(done);
  waiting_.push_back({CheckpointKey(slot_, checkpoint.system_identifier),
                      EncodeCheckpoint(checkpoint)});
  awaited_ = 0;
  deadline_.expires_after(kSaveLimit);
  const std::weak_ptr<const bool> alive = alive_;
  deadline_.async_wait([this, alive](boost::system::error_code error) {
    if (error || alive.expired() || !saved_) return;
    topic_is_ready_ = false;  // check it again: was it deleted?
    Finish(absl::UnavailableError(
        fmt::format("checkpoint topic {}: not acknowledged within {} s", topic_,
                    kSaveLimit.count() / 1000)));
  });
  if (topic_is_ready_) {
    ProduceWaiting();
  } else {
    PrepareTopic();
  }
}

void CheckpointTopic::PrepareTopic() {
  if (helper_is_busy_) return;  // for a Save given up; it continues with ours
  const auto look = [slot = slot_, identity = identity_,
                     is_replace = is_replace_](
                        CompactedTopic& topic) -> absl::StatusOr<Found> {
    if (is_replace) {
      return LookForOurs(topic, slot, identity, Access::kReadAndWrite);
    }
    Found found;
    WALPOST_ASSIGN_OR_RETURN(found.presence, topic.Ensure());
    return found;
  };
  LookOnHelper(kSaveLimit, look, [this](absl::StatusOr<Found> found) {
    if (!found.ok()) return Finish(found.status());
    NotePresence(found->presence);
    if (found->old_key_is_ours) waiting_.push_front({slot_, {}});
    ProduceWaiting();
  });
}

absl::StatusOr<CheckpointTopic::Found> CheckpointTopic::LookAt(
    const absl::StatusOr<ProducerOptions>& kafka, const std::string& topic,
    std::stop_token stop, MonotonicTime deadline, const Look& look) {
  WALPOST_RETURN_IF_ERROR(kafka.status());
  WALPOST_ASSIGN_OR_RETURN(
      const std::unique_ptr<CompactedTopic> connected,
      CompactedTopic::Connect(*kafka, topic, std::move(stop), deadline));
  return look(*connected);
}

void CheckpointTopic::LookOnHelper(
    milliseconds limit, Look look,
    std::function<void(absl::StatusOr<Found>)> then) {
  helper_is_busy_ = true;
  const auto handle = [this, then](absl::StatusOr<Found> found) {
    helper_is_busy_ = false;
    if (found.ok()) return then(std::move(found));
    then(FromKafka(
        absl::Status(ForStore(found.status()).code(),
                     fmt::format("checkpoint topic {}: {}", topic_,
                                 std::string(found.status().message())))));
  };
  // Captures values only; `handle` is called on the loop, if this object still
  // exists. The guard keeps the loop running for it.
  helper_ = std::jthread(
      [kafka = ReadProperties(kafka_), topic = topic_,
       deadline = Clock::now() + limit, look, handle,
       alive = std::weak_ptr<const bool>(alive_), executor = executor_,
       work = asio::make_work_guard(executor_)](std::stop_token stop) {
        absl::StatusOr<Found> found =
            LookAt(kafka, topic, stop, deadline, look);
        asio::post(executor, [found = std::move(found), handle, alive] {
          if (!alive.expired()) handle(found);
        });
      });
}

void CheckpointTopic::NotePresence(const CompactedTopic::Presence& presence) {
  if (!presence.warning.empty()) LogWarn("{}", presence.warning);
  if (presence.was_made && topic_was_ready_) {
    LogWarn({{"topic", topic_}}, "checkpoint topic {} was deleted: made again",
            topic_);
  } else if (presence.was_made) {
    LogInfo({{"topic", topic_}}, "checkpoint topic {} made", topic_);
  }
  topic_is_ready_ = true;
  topic_was_ready_ = true;
}

void CheckpointTopic::ProduceWaiting() {
  if (producer_ != nullptr && producer_->credentials().are_stale()) {
    RetireProducer();
  }
  if (in_flight_ || waiting_.empty()) return;
  const KeyAndValue next = std::move(waiting_.front());
  waiting_.pop_front();
  absl::Status status = StartProducer();
  Record record;
  record.topic = topic_;
  record.key = next.key;
  record.timestamp = WallNow();
  if (next.value) record.value = *next.value;
  if (status.ok()) status = producer_->Produce(record, ++last_sequence_);
  if (!status.ok()) {
    RetireProducer();
    return Finish(ForStore(status));
  }
  in_flight_ = last_sequence_;
  if (waiting_.empty()) awaited_ = last_sequence_;
}

absl::Status CheckpointTopic::StartProducer() {
  if (producer_ != nullptr) return absl::OkStatus();
  ProducerOptions options = kafka_;
  options.client_id += "-checkpoint";
  options.max_records = kMaxRecords;
  options.properties.emplace_back("statistics.interval.ms", "0");
  options.properties.emplace_back("allow.auto.create.topics", "false");
  WALPOST_ASSIGN_OR_RETURN(producer_,
                           Producer::Create(executor_, options, *this, [] {}));
  return absl::OkStatus();
}

// Not at once: the producer may be the caller.
void CheckpointTopic::RetireProducer() {
  topic_is_ready_ = false;
  in_flight_.reset();
  asio::post(executor_, [producer = std::move(producer_)] {});
}

void CheckpointTopic::OnAcknowledged(Sequence sequence, WallTime /*now*/) {
  if (sequence != in_flight_) return;
  in_flight_.reset();
  if (sequence == awaited_) return Finish(absl::OkStatus());
  ProduceWaiting();
}

void CheckpointTopic::OnNotDelivered(Sequence sequence,
                                     const absl::Status& error) {
  if (sequence != in_flight_) return;
  RetireProducer();
  Finish(ForStore(error));
}

void CheckpointTopic::OnSinkFailed(const absl::Status& error) {
  RetireProducer();
  Finish(ForStore(error));
}

void CheckpointTopic::Finish(absl::Status status) {
  waiting_.clear();
  is_replace_ = false;
  awaited_ = 0;
  deadline_.cancel();
  if (!saved_) return;
  const Saved saved = std::exchange(saved_, nullptr);
  saved(std::move(status));
}

}  // namespace walpost
