// Producer: what librdkafka reports.
#include <array>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "kafka/client/kafka_status.h"
#include "kafka/client/token_refresher.h"
#include "kafka/producer/producer.h"
#include "kafka/producer/producer_statistics.h"
#include "kafka/transactions/transaction_status.h"
#include "log/log.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kReportsPerTurn = 4096;
constexpr size_t kReportsPerRead = 512;
constexpr uint64_t kOneMoreTurn = 1;

}  // namespace

void Producer::WaitForReports() {
  eventfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code error) {
                        if (error || closed_) return;
                        uint64_t count = 0;
                        // Resets the counter. Must precede the drain:
                        // librdkafka writes once when the queue becomes
                        // non-empty.
                        (void)!read(eventfd_.native_handle(), &count,
                                    sizeof(count));
                        if (DrainReports()) {
                          (void)!write(eventfd_.native_handle(), &kOneMoreTurn,
                                       sizeof(kOneMoreTurn));
                        }
                        WaitForReports();
                        on_drained_();
                      });
}

bool Producer::DrainReports() {
  size_t handled = 0;
  while (handled < kReportsPerTurn) {
    rd_kafka_event_t* event = rd_kafka_queue_poll(queue_.get(), 0);
    if (event == nullptr) return false;
    handled += HandleEvent(event);
    rd_kafka_event_destroy(event);
  }
  return true;
}

size_t Producer::HandleEvent(rd_kafka_event_t* event) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_DR:
      return HandleDeliveryReports(event);
    case RD_KAFKA_EVENT_ERROR:
      HandleError(event);
      return 1;
    case RD_KAFKA_EVENT_STATS:
      HandleStatistics(rd_kafka_event_stats(event));
      return 1;
    case RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT:
      if (earlier_ && earlier_->OnDescribed(event)) {
        reports_.OnCapacity();
        return 1;
      }
      if (!liveness_.OnAnswer(event) && topic_identity_) {
        topic_identity_->OnAnswer(event);
      }
      return 1;
    case RD_KAFKA_EVENT_LISTOFFSETS_RESULT:
      if (earlier_ && earlier_->OnOffsets(event)) {
        reports_.OnCapacity();
        return 1;
      }
      if (last_stable_offsets_)
        last_stable_offsets_->OnAnswer(event, Clock::now());
      return 1;
    case RD_KAFKA_EVENT_CREATETOPICS_RESULT:
      creator_.OnAnswer(event, Clock::now());
      reports_.OnCapacity();
      return 1;
    case RD_KAFKA_EVENT_LOG:
      HandleLog(event);
      return 1;
    default:
      return 1;
  }
}

void Producer::HandleLog(rd_kafka_event_t* event) {
  const char* facility = nullptr;
  const char* text = nullptr;
  int level = 0;
  rd_kafka_event_log(event, &facility, &text, &level);
  LogDebug("librdkafka {}: {}", facility, WithoutTokenConfig(text));
  if (transactions_ && std::string_view(facility) == "ADDPARTS") {
    const absl::Status status = StatusFromAddParts(text);
    if (!status.ok()) return reports_.OnSinkFailed(status);
  }
  const bool is_of_transaction = std::string_view(facility) == "TXNERR";
  if (transactions_ && is_of_transaction && !HandleTransactionError(text)) {
    return reports_.OnSinkFailed(StatusFromTransactionLog(text));
  }
  if (connection_diagnosis_.NoteLog(facility, text)) {
    LogWarn("Kafka: {}", connection_diagnosis_.text());
  }
}

// The transaction can only be aborted. Nothing else tells why, unless it was a
// record: then its report does.
//
// librdkafka (2.15) does not count a rejected record out: the next one of its
// partition has a wrong number. It counts again from 0 after an abort, and that
// record is sent again.
bool Producer::HandleTransactionError(std::string_view text) {
  constexpr auto kNone = std::string_view::npos;
  if (text.find("ProduceRequest for") != kNone) return true;
  const bool counts_again = text.find("requires epoch bump") != kNone &&
                            has_withdrawn_ && transactions_->is_open();
  if (counts_again) StartTransactionOver();
  return counts_again;
}

void Producer::HandleStatistics(const char* json) {
  // Nothing else waits for a topic that is unknown.
  const bool is_queued = queued() > 0;
  statistics_ = ParseProducerStatistics(json, is_queued);
  liveness_.OnStatistics(statistics_, Clock::now());
  if (!brokerless_.OnStatistics(statistics_, is_queued)) return;
  reports_.OnSinkFailed(
      absl::AbortedError("it has dropped all of its brokers"));
}

void Producer::WaitForTick() {
  constexpr std::chrono::seconds kInterval{1};
  tick_timer_.expires_after(kInterval);
  tick_timer_.async_wait([this](boost::system::error_code error) {
    if (error || closed_) return;
    Tick();
    WaitForTick();
  });
}

void Producer::Tick() {
  const MonotonicTime now = Clock::now();
  partitions_ = topics_->CountPartitions();
  std::string topic = topics_->AnyTopic();
  if (topic.empty() && topic_identity_) topic = topic_identity_->AnyTopic();
  if (topic.empty()) topic = probed_topic_;
  liveness_.OnTick(now, topic);
  std::string_view lost;
  if (queued() > 0) lost = statistics_.unknown_topic;
  missing_.Look(std::string(topics_->Unknown()), lost);
  if (!missing_.topic().empty()) creator_.Probe(missing_.topic(), now);
  if (liveness_.brokers_up() > 0) {
    connection_diagnosis_.OnUp(statistics_.nodes_up);
    if (topic_identity_) topic_identity_->OnTick(topics_->Acknowledged(), now);
    if (last_stable_offsets_) last_stable_offsets_->OnTick(now);
  }
  TokenRefresher* tokens = TokenRefresher::Of(client_);
  if (tokens != nullptr && connection_diagnosis_.is_of_credentials()) {
    tokens->Renew();
  }
  if (!credentials_.are_stale()) return;
  reports_.OnSinkFailed(absl::AbortedError("its credentials have changed"));
}

size_t Producer::HandleDeliveryReports(rd_kafka_event_t* event) {
  const WallTime now = WallNow();
  std::array<const rd_kafka_message_t*, kReportsPerRead> messages;
  size_t total = 0;
  for (;;) {
    const size_t count =
        rd_kafka_event_message_array(event, messages.data(), messages.size());
    if (count == 0) return total;
    total += count;
    for (size_t i = 0; i < count; ++i) HandleDeliveryReport(*messages[i], now);
  }
}

void Producer::HandleDeliveryReport(const rd_kafka_message_t& message,
                                    WallTime now) {
  const auto sequence = reinterpret_cast<Sequence>(message._private);
  Topic& topic = Topic::Of(message);
  const bool acknowledged = message.err == RD_KAFKA_RESP_ERR_NO_ERROR;
  const bool is_nowhere = message.err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION &&
                          topic.LacksNamedPartition();
  absl::Status status =
      acknowledged ? acknowledgement_check_.Check(message)
      : is_nowhere
          ? PartitionMissing(rd_kafka_topic_name(message.rkt),
                             message.partition)
          : StatusFromKafka(
                message.err,
                fmt::format("delivering {} bytes to topic "
                            "{}",
                            message.len, rd_kafka_topic_name(message.rkt)));
  if (status.ok()) {
    topic.OnAcknowledged(message.partition, sequence);
    reports_.OnAcknowledged(sequence, now);
    return;
  }
  // Codes below 0 are the client's own.
  if (message.err > 0) liveness_.OnRefusal(std::chrono::steady_clock::now());
  if (is_starting_over_ && message.err < 0) {
    status = absl::ResourceExhaustedError(status.message());
  }
  topic.OnNotDelivered(sequence);
  reports_.OnNotDelivered(sequence, status);
}

void Producer::HandleError(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t code = rd_kafka_event_error(event);
  const std::string text =
      ExplainTokenError(client_, rd_kafka_event_error_string(event));
  if (rd_kafka_event_error_is_fatal(event)) {
    const absl::Status failed = StatusFromFatalError(code, text);
    return reports_.OnSinkFailed(
        IsFenced(code) ? WithReasonCode(failed, kReasonFenced) : failed);
  }
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) {
    liveness_.OnStatistics(ProducerStatistics(), Clock::now());
  }
  credentials_.OnError(code);
  if (connection_diagnosis_.Note(code, text)) {
    LogWarn("Kafka: {} ({})", connection_diagnosis_.text(),
            rd_kafka_err2name(code));
  }
}

}  // namespace walpost
