#include "kafka/producer/transactional_writer.h"

#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/kafka_status.h"
#include "kafka/producer/acknowledgement_check.h"
#include "kafka/producer/produce_record.h"
#include "kafka/producer/producer_properties.h"
#include "kafka/transactions/hanging_transaction_guard.h"
#include "kafka/transactions/transaction_status.h"

namespace walpost {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int kAnswerMillis = 30'000;
constexpr int kReportMillis = 100;

constexpr std::pair<const char*, const char*> kProperties[] = {
    // A record that is not written ends its transaction, not the client.
    {"message.timeout.ms", "20000"},
    {"linger.ms", "5"},
};

// The error of a record that is not written, or may not be (see
// AcknowledgementCheck).
absl::Status StatusOfReport(const rd_kafka_message_t& message) {
  const std::string attempted =
      fmt::format("writing to topic {}", rd_kafka_topic_name(message.rkt));
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    return absl::UnavailableError(fmt::format(
        "{}: librdkafka takes a record for acknowledged that has no offset",
        attempted));
  }
  return StatusFromKafka(message.err, attempted);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TransactionalWriter>> TransactionalWriter::Open(
    const ProducerOptions& options, const std::string& transactional_id) {
  std::unique_ptr<TransactionalWriter> writer(new TransactionalWriter(options));
  writer->options_.transactional_id = transactional_id;
  WALPOST_RETURN_IF_ERROR(writer->Connect());
  return writer;
}

absl::Status TransactionalWriter::Connect() {
  WALPOST_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(options_));
  for (const auto& [name, value] : kProperties) {
    WALPOST_RETURN_IF_ERROR(SetKafkaProperty(conf.get(), name, value));
  }
  unanswered_ = InDoubtRequests::Watch(conf.get());
  char reason[512];
  topics_.clear();
  creator_.reset();
  queue_.reset();
  client_.reset(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), reason, sizeof(reason)));
  if (client_ == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("kafka.properties: {}", reason));
  }
  (void)conf.release();  // librdkafka owns it now
  rd_kafka_set_log_queue(client_.get(), nullptr);
  queue_.reset(rd_kafka_queue_get_main(client_.get()));
  creator_.emplace(client_.get(), queue_.get());
  rd_kafka_error_t* error =
      rd_kafka_init_transactions(client_.get(), kAnswerMillis);
  if (error == nullptr) return absl::OkStatus();
  return Failed(error, fmt::format("beginning with transactional.id '{}'",
                                   options_.transactional_id));
}

absl::Status TransactionalWriter::Begin() {
  if (is_spent()) WALPOST_RETURN_IF_ERROR(Connect());
  return BeginAsOpened();
}

absl::Status TransactionalWriter::BeginAsOpened() {
  rejected_ = absl::OkStatus();
  failed_topic_.clear();
  if (is_spent()) {
    return absl::AbortedError(
        "beginning a transaction: a request of the last one has had no answer");
  }
  rd_kafka_error_t* error = rd_kafka_begin_transaction(client_.get());
  return error == nullptr ? absl::OkStatus()
                          : Failed(error, "beginning a transaction");
}

absl::Status TransactionalWriter::Write(const Record& record,
                                        std::optional<int32_t> partition) {
  const std::string name(record.topic);
  const absl::Status written = WriteTo(name, record, partition);
  if (!written.ok() && rejected_.ok()) failed_topic_ = name;
  return written;
}

absl::Status TransactionalWriter::WriteTo(const std::string& name,
                                          const Record& record,
                                          std::optional<int32_t> partition) {
  WALPOST_RETURN_IF_ERROR(AwaitTopic(record));
  WALPOST_RETURN_IF_ERROR(AwaitEarlier(name));
  WALPOST_ASSIGN_OR_RETURN(rd_kafka_topic_t* const topic, FindTopic(name));
  TakeReports(0);
  WALPOST_RETURN_IF_ERROR(rejected_);
  rd_kafka_error_t* error =
      ProduceRecord(client_.get(), topic, record, Sequence{0},
                    partition.value_or(RD_KAFKA_PARTITION_UA));
  if (error == nullptr) return absl::OkStatus();
  return Failed(error, fmt::format("writing to topic {}", record.topic));
}

absl::Status TransactionalWriter::AwaitTopic(const Record& record) {
  if (record.creation == nullptr || topics_.contains(record.topic)) {
    return absl::OkStatus();
  }
  for (;;) {  // the brokers answer, or the request times out
    const absl::Status may =
        creator_->MayProduce(record.topic, *record.creation, Clock::now());
    if (!absl::IsResourceExhausted(may)) return may;
    TakeReports(kReportMillis);
  }
}

absl::Status TransactionalWriter::AwaitEarlier(const std::string& topic) {
  if (topics_.contains(topic)) return absl::OkStatus();
  const absl::Status ended = AwaitEarlierTransactions(
      client_.get(), topic, options_.brokers, [] { return false; });
  return absl::IsUnavailable(ended)
             ? absl::ResourceExhaustedError(ended.message())
             : ended;
}

// Commit and abort would wait for the reports, which nobody takes meanwhile.
bool TransactionalWriter::AwaitsReports() const {
  return rd_kafka_outq_len(client_.get()) > 0 &&
         rd_kafka_fatal_error(client_.get(), nullptr, 0) ==
             RD_KAFKA_RESP_ERR_NO_ERROR;
}

absl::Status TransactionalWriter::Commit() {
  while (AwaitsReports() && rejected_.ok()) TakeReports(kReportMillis);
  WALPOST_RETURN_IF_ERROR(rejected_);
  rd_kafka_error_t* error =
      rd_kafka_commit_transaction(client_.get(), kAnswerMillis);
  if (error == nullptr) return absl::OkStatus();
  const absl::Status failed = Failed(error, "committing a transaction");
  TakeReports(0);
  return rejected_.ok() ? failed : rejected_;
}

absl::Status TransactionalWriter::Abort() {
  rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE);
  while (AwaitsReports()) TakeReports(kReportMillis);
  rd_kafka_error_t* error =
      rd_kafka_abort_transaction(client_.get(), kAnswerMillis);
  if (error != nullptr) return Failed(error, "aborting a transaction");
  // The client goes on counting behind a record that was not written, and the
  // brokers reject the next ones: only another client counts from the start.
  return rejected_.ok() ? absl::OkStatus() : Connect();
}

absl::StatusOr<rd_kafka_topic_t*> TransactionalWriter::FindTopic(
    const std::string& name) {
  KafkaTopic& topic = topics_[name];
  if (topic == nullptr) {
    topic.reset(rd_kafka_topic_new(client_.get(), name.c_str(), nullptr));
  }
  if (topic != nullptr) return topic.get();
  return StatusFromKafka(rd_kafka_last_error(),
                         fmt::format("topic '{}'", name));
}

void TransactionalWriter::TakeReports(int timeout_millis) {
  for (int wait = timeout_millis;; wait = 0) {
    const KafkaEvent event(rd_kafka_queue_poll(queue_.get(), wait));
    if (event == nullptr) return;
    const rd_kafka_event_type_t type = rd_kafka_event_type(event.get());
    if (type == RD_KAFKA_EVENT_LOG) TakeLog(event.get());
    if (type == RD_KAFKA_EVENT_CREATETOPICS_RESULT) {
      creator_->OnAnswer(event.get(), Clock::now());
    }
    if (type != RD_KAFKA_EVENT_DR) continue;
    while (const rd_kafka_message_t* message =
               rd_kafka_event_message_next(event.get())) {
      const absl::Status checked = CheckReport(*message);
      if (!rejected_.ok() || checked.ok()) continue;
      rejected_ = checked;
      failed_topic_ = rd_kafka_topic_name(message->rkt);
    }
  }
}

absl::Status TransactionalWriter::CheckReport(
    const rd_kafka_message_t& message) {
  const bool is_purged = message.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                         message.err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
  if (is_purged) return absl::OkStatus();
  const bool is_written =
      message.err == RD_KAFKA_RESP_ERR_NO_ERROR && message.offset >= 0;
  if (!is_written) return StatusOfReport(message);
  const bool is_watched =
      offsets_ != nullptr && watched_topic_ == rd_kafka_topic_name(message.rkt);
  return is_watched ? CheckOffset(message, *offsets_) : absl::OkStatus();
}

void TransactionalWriter::TakeLog(rd_kafka_event_t* event) {
  const char* facility = nullptr;
  const char* text = nullptr;
  int level = 0;
  rd_kafka_event_log(event, &facility, &text, &level);
  if (rejected_.ok() && std::string_view(facility) == "ADDPARTS") {
    rejected_ = StatusFromAddParts(text);
  }
}

absl::Status TransactionalWriter::Failed(rd_kafka_error_t* error,
                                         std::string_view attempted) {
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  if (code == RD_KAFKA_RESP_ERR__TIMED_OUT) {
    rd_kafka_error_destroy(error);
    return absl::UnavailableError(
        fmt::format("{}: {}", attempted, WhyUnreached(client_.get(), code)));
  }
  return StatusFromTransaction(
      error, attempted,
      {options_.transactional_id, "another command",
       KafkaUserOf(options_.brokers, options_.properties)});
}

}  // namespace walpost
