#include "kafka/producer/producer.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>

#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/client/kafka_status.h"
#include "kafka/client/new_client.h"
#include "kafka/client/token_refresher.h"
#include "kafka/producer/produce_record.h"
#include "kafka/producer/producer_properties.h"
#include "loop/as_tuple.h"
#include "loop/descriptors.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// A client that takes longer hangs in a look-up, without a connection.
constexpr std::chrono::seconds kDestroyLimit{2};
// For the brokers to abort a transaction. Else the next producer does.
constexpr std::chrono::milliseconds kAbortLimit{1'500};
constexpr uint64_t kWakeUp = 1;

// A producer first connects to the servers, then to the brokers that these
// name. Each connection has a socket and a pipe, by which it is woken. One that
// gets no pipe is looked at once a second for as long as the client lives, and
// nothing says so (librdkafka 2.15, rd_pipe_nonblocking).
int DescriptorsOf(const std::string& brokers) {
  constexpr int kOfConnection = 3;
  constexpr int kOfProcess = 4;
  const auto servers = 1 + std::ranges::count(brokers, ',');
  return static_cast<int>(2 * (servers + 1)) * kOfConnection + kOfProcess;
}

}  // namespace

Producer::Producer(asio::any_io_executor executor, rd_kafka_t* client,
                   std::shared_ptr<const LastAnswer> answer,
                   TopicCache::Limit limit, CredentialReloader credentials,
                   RecordReports& reports, std::function<void()> on_drained,
                   ClusterState* state)
    : topics_(std::make_shared<TopicCache>(
          client, state == nullptr ? own_offsets_ : state->offsets,
          std::move(limit))),
      client_(client),
      queue_(rd_kafka_queue_get_main(client)),
      credentials_(std::move(credentials)),
      reports_(reports),
      on_drained_(std::move(on_drained)),
      eventfd_(executor),
      close_timer_(executor),
      tick_timer_(executor),
      liveness_(client, queue_.get(), std::move(answer)),
      creator_(client, queue_.get()) {
  if (state != nullptr) {
    topic_identity_.emplace(client, queue_.get(), state->topics);
  }
}

absl::StatusOr<std::unique_ptr<Producer>> Producer::Create(
    asio::any_io_executor executor, const ProducerOptions& options,
    RecordReports& reports, std::function<void()> on_drained,
    ClusterState* state) {
  WALPOST_RETURN_IF_ERROR(RequireDescriptors(DescriptorsOf(options.brokers)));
  CredentialReloader credentials(options);
  WALPOST_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(options));
  std::shared_ptr<const LastAnswer> answer = LastAnswer::Watch(conf.get());
  std::shared_ptr<const InDoubtRequests> unanswered;
  if (!options.transactional_id.empty()) {
    unanswered = InDoubtRequests::Watch(conf.get());
  }
  WALPOST_ASSIGN_OR_RETURN(rd_kafka_t * client,
                           NewKafkaClient(RD_KAFKA_PRODUCER, std::move(conf),
                                          options.token_command));
  std::unique_ptr<Producer> producer(new Producer(
      executor, client, std::move(answer),
      {options.max_topics, options.own_topics}, std::move(credentials), reports,
      std::move(on_drained), state));
  producer->probed_topic_ = options.probed_topic;
  producer->checkpoint_topic_ = options.checkpoint_topic;
  producer->connection_diagnosis_ = ConnectionDiagnosis(options.brokers);
  producer->one_at_a_time_ = options.one_at_a_time;
  WALPOST_RETURN_IF_ERROR(producer->ListenOnEventFd());
  if (unanswered != nullptr) {
    const auto on_spent = [&reports] {
      reports.OnSinkFailed(absl::AbortedError(
          "a request of its last transaction has had no answer and may still "
          "arrive: it would be taken for one of the next transaction"));
    };
    producer->transactions_.emplace(executor, client, options, unanswered,
                                    on_spent);
    producer->earlier_.emplace(client, producer->queue_.get(), options.brokers);
    producer->WatchLastStableOffsets(state);
  }
  return producer;
}

void Producer::WatchLastStableOffsets(ClusterState* state) {
  if (state == nullptr) return;
  hidden_ = &state->hidden;
  last_stable_offsets_.emplace(client_, queue_.get(), state->offsets,
                               state->hidden);
}

absl::Status Producer::ListenOnEventFd() {
  const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return NoDescriptor();
  eventfd_.assign(fd);
  rd_kafka_set_log_queue(client_, queue_.get());
  rd_kafka_queue_io_event_enable(queue_.get(), fd, &kWakeUp, sizeof(kWakeUp));
  // An event queued before this gives no wake-up: check once.
  DrainReports();
  WaitForReports();
  WaitForTick();
  return absl::OkStatus();
}

Producer::~Producer() {
  if (client_ == nullptr) return;
  const std::function<bool()> destroy = GiveUpClient();
  if (!RunOnThread(destroy).ok()) destroy();
}

std::function<bool()> Producer::GiveUpClient() {
  rd_kafka_queue_io_event_enable(queue_.get(), -1, nullptr, 0);
  queue_.reset();
  topics_->Close();
  rd_kafka_t* client = std::exchange(client_, nullptr);
  std::shared_ptr<TransactionClient::Use> use;
  if (transactions_) use = transactions_->use();
  return [client, topics = topics_, use] {
    if (use != nullptr) use->AwaitEnd();
    rd_kafka_destroy(client);
    return true;
  };
}

const std::string& Producer::cluster_id() {
  const bool is_known = !cluster_id_.empty() && cluster_id_ != kUnnamedCluster;
  if (is_known || client_ == nullptr) return cluster_id_;
  // With a wait time of 0 it returns what the brokers have reported so far.
  char* id = rd_kafka_clusterid(client_, 0);
  if (id == nullptr) {
    // A broker that has told its node has told all that it reports.
    if (!statistics_.nodes_up.empty()) cluster_id_ = kUnnamedCluster;
    if (cluster_id_.empty()) HurryToConnect();
    return cluster_id_;
  }
  cluster_id_ = id;
  rd_kafka_mem_free(client_, id);
  return cluster_id_;
}

// librdkafka (2.15) sometimes forgets the connection that it begins with, and
// looks again after a second. Any request makes it connect at once.
void Producer::HurryToConnect() {
  const rd_kafka_metadata_t* metadata = nullptr;
  rd_kafka_metadata(client_, /*all_topics=*/0, /*only_rkt=*/nullptr, &metadata,
                    /*timeout_ms=*/0);
  if (metadata != nullptr) rd_kafka_metadata_destroy(metadata);
}

// A record that another cluster acknowledges is lost.
absl::Status Producer::CheckCluster() {
  if (expected_cluster_.empty() || cluster_id() == expected_cluster_) {
    expected_cluster_.clear();
    return absl::OkStatus();
  }
  if (cluster_id().empty()) {
    return absl::ResourceExhaustedError("no Kafka broker is reached yet");
  }
  return absl::UnavailableError(
      fmt::format("the brokers are Kafka cluster {}, and not {}, which has the "
                  "events so far",
                  cluster_id(), expected_cluster_));
}

absl::Status Producer::Produce(const Record& record, Sequence sequence) {
  if (client_ == nullptr) {
    return absl::ResourceExhaustedError("this producer is closed");
  }
  if (transactions_ && !transactions_->is_open()) {
    return absl::ResourceExhaustedError("a transaction is being committed");
  }
  if (!expected_cluster_.empty()) WALPOST_RETURN_IF_ERROR(CheckCluster());
  if (topic_identity_) {
    WALPOST_RETURN_IF_ERROR(topic_identity_->MayProduce(record.topic));
  }
  if (record.creation != nullptr && !topics_->Has(record.topic)) {
    WALPOST_RETURN_IF_ERROR(
        creator_.MayProduce(record.topic, *record.creation, Clock::now()));
  }
  WALPOST_ASSIGN_OR_RETURN(Topic * topic, topics_->Get(record.topic));
  // TakeOver has asked about the topic of the checkpoints.
  if (earlier_ && !topic->has_records() && record.topic != checkpoint_topic_) {
    WALPOST_RETURN_IF_ERROR(
        earlier_->MayProduce(std::string(record.topic), Clock::now()));
  }
  if (!topic->MayProduce(record)) {
    return absl::ResourceExhaustedError(
        "the partition's first record is not acknowledged yet");
  }
  rd_kafka_error_t* error =
      ProduceRecord(client_, topic->handle(), record, sequence);
  if (error == nullptr) {
    topic->OnProduced(record, sequence);
    return absl::OkStatus();
  }
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  rd_kafka_error_destroy(error);
  if (transactions_ && code == RD_KAFKA_RESP_ERR__STATE) {
    return absl::ResourceExhaustedError(
        "the transaction has failed, and why is about to be reported");
  }
  if (record.partition && code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) {
    if (topic->IsPartitionMissing(client_, Clock::now())) {
      return PartitionMissing(record.topic, *record.partition);
    }
    return absl::ResourceExhaustedError("partitions are being asked for");
  }
  std::string attempted =
      fmt::format("producing {} bytes to topic {}",
                  record.value ? record.value->size() : 0, record.topic);
  if (code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
    attempted += fmt::format(", with message.max.bytes {} here",
                             capabilities().max_record_bytes);
  }
  return StatusFromKafka(code, attempted);
}

RecordSink::AfterRejection Producer::after_rejection() const {
  if (transactions_) return AfterRejection::kGoesOn;
  return one_at_a_time_ ? AfterRejection::kGoesOnAlone : AfterRejection::kFails;
}

void Producer::Withdraw() {
  if (!transactions_) return;
  has_withdrawn_ = true;
  StartTransactionOver();
}

void Producer::StartTransactionOver() {
  is_starting_over_ = true;
  transactions_->StartOver([this](const absl::Status& status) {
    is_starting_over_ = false;
    if (closed_) return;
    if (status.ok()) {
      reports_.OnCapacity();
    } else {
      reports_.OnSinkFailed(status);
    }
    on_drained_();
  });
}

void Producer::NoteMissingToken(SinkHealth& health) const {
  if (client_ == nullptr) return;
  const TokenRefresher* tokens = TokenRefresher::Of(client_);
  const std::string why = tokens == nullptr ? "" : tokens->WhyNoToken();
  if (why.empty()) return;
  ConnectionDiagnosis diagnosis;
  diagnosis.Note(RD_KAFKA_RESP_ERR__AUTHENTICATION, why);
  health.trouble = diagnosis.advice();
  health.rejects_credentials = true;
}

SinkHealth Producer::Health() {
  SinkHealth health;
  health.brokers_up = liveness_.brokers_up();
  health.heard_at = liveness_.heard_at();
  health.trouble = connection_diagnosis_.advice();
  health.rejects_credentials = connection_diagnosis_.is_of_credentials();
  NoteMissingToken(health);
  health.missing_topic = missing_.topic();
  health.topic_refusal = creator_.RefusalOf(missing_.topic());
  health.cluster_id = cluster_id();
  health.is_comparing = (!expected_cluster_.empty() && cluster_id().empty()) ||
                        (topic_identity_ && topic_identity_->is_comparing());
  health.topics = topics_->size();
  health.max_topics = topics_->limit();
  const auto hidden = hidden_ == nullptr ? std::nullopt : hidden_->Longest();
  if (!hidden) return health;
  const auto& [place, wait] = *hidden;
  health.hidden_records = fmt::format("topic {}, partition {}, from offset {}",
                                      place.first, place.second, wait.from);
  health.hidden_since = wait.since;
  return health;
}

SinkCapabilities Producer::capabilities() const {
  char text[32] = "0";
  size_t size = sizeof(text);
  if (client_ != nullptr) {
    rd_kafka_conf_get(rd_kafka_conf(client_), "message.max.bytes", text, &size);
  }
  return {.max_record_bytes = std::strtoull(text, nullptr, 10)};
}

void Producer::Close(MonotonicTime deadline, std::function<void()> closed) {
  asio::co_spawn(eventfd_.get_executor(), CloseBy(deadline),
                 [closed](std::exception_ptr) { closed(); });
}

asio::awaitable<void> Producer::CloseBy(MonotonicTime deadline) {
  constexpr std::chrono::milliseconds kPoll{10};
  bool purged = false;
  closed_ = true;
  eventfd_.cancel();
  tick_timer_.cancel();
  // Records of a transaction that is not committed are void.
  if (transactions_) {
    transactions_->Abandon(kAbortLimit);
    deadline = Clock::now();
  }
  while (queued() > 0 || (transactions_ && transactions_->is_busy())) {
    DrainReports();
    if (Clock::now() >= deadline && !purged) {
      rd_kafka_purge(client_,
                     RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
      purged = true;
    }
    close_timer_.expires_after(kPoll);
    co_await close_timer_.async_wait(kAsTuple);
  }
  DrainReports();
  const std::function<bool()> destroy = GiveUpClient();
  auto destroying = BlockingCall<bool>::Start(eventfd_.get_executor(), destroy);
  if (!destroying.ok()) {
    destroy();
    co_return;
  }
  const MonotonicTime until = Clock::now() + kDestroyLimit;
  co_await (*destroying)->Wait(until);
}

}  // namespace walpost
