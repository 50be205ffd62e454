#include "nats/nats_sink.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "base/kafka_cluster.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"
#include "loop/credential_digest.h"
#include "loop/descriptors.h"
#include "nats/connection_settings.h"
#include "nats/stream_request.h"
#include "nats/subject.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// A connection that takes longer to close hangs in a look-up or in a write.
constexpr std::chrono::seconds kEndLimit{6};

absl::StatusOr<Sha256Digest> DigestOf(const NatsOptions& options) {
  return DigestCredentials({&options.user, &options.password, &options.token},
                           options.tls, options.credentials_file);
}

}  // namespace

NatsSink::NatsSink(asio::any_io_executor executor, const NatsOptions& options,
                   std::unique_ptr<NatsClient> client, RecordReports& reports,
                   std::function<void()> on_drained,
                   std::shared_ptr<KnownStreams> known,
                   std::shared_ptr<CauseLog> errors)
    : options_(options),
      credentials_(DigestOf(options)),
      client_(std::move(client)),
      reports_(reports),
      on_drained_(std::move(on_drained)),
      events_(executor),
      close_timer_(executor),
      tick_timer_(executor),
      known_(std::move(known)),
      finder_(*known_, options.create_stream),
      errors_(std::move(errors)) {}

absl::StatusOr<std::unique_ptr<NatsSink>> NatsSink::Create(
    asio::any_io_executor executor, const NatsOptions& options,
    RecordReports& reports, std::function<void()> on_drained,
    std::shared_ptr<KnownStreams> known, std::shared_ptr<CauseLog> errors) {
  // Two eventfds, a socket, and a file of credentials.
  constexpr int kDescriptors = 4;
  WALPOST_RETURN_IF_ERROR(RequireDescriptors(kDescriptors));
  WALPOST_RETURN_IF_ERROR(CheckNatsOptions(options));
  WALPOST_ASSIGN_OR_RETURN(NatsConnectionSettings settings,
                           ConnectionSettings(options));
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<NatsClient> client,
                           NatsClient::Start(std::move(settings)));
  std::unique_ptr<NatsSink> sink(
      new NatsSink(std::move(executor), options, std::move(client), reports,
                   std::move(on_drained), std::move(known), std::move(errors)));
  WALPOST_RETURN_IF_ERROR(sink->ListenForEvents());
  return sink;
}

NatsSink::~NatsSink() = default;

absl::Status NatsSink::ListenForEvents() {
  const int fd = dup(client_->event_fd());
  if (fd < 0) return NoDescriptor();
  events_.assign(fd);
  WaitForEvents();
  WaitForTick();
  return absl::OkStatus();
}

absl::Status NatsSink::CheckCluster() const {
  if (expected_cluster_.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      fmt::format("the servers are NATS, which has no id of a cluster, and not "
                  "{}, which has the events so far",
                  expected_cluster_));
}

absl::Status NatsSink::CheckSize(const NatsMessage& message,
                                 const StreamInfo& stream) const {
  const size_t bytes = message.size_bytes();
  if (bytes > max_payload_bytes_) {
    return Undeliverable(
        kReasonRecordTooLarge,
        fmt::format("a message of {} bytes to {} is larger than max_payload of "
                    "the server, {}; raise it in the configuration of the "
                    "servers, or keep such rows out with a CHECK "
                    "(sql/outbox.sql)",
                    bytes, message.subject, max_payload_bytes_));
  }
  const int64_t limit = stream.max_message_bytes;
  if (limit > 0 && bytes > static_cast<size_t>(limit)) {
    return Undeliverable(
        kReasonRecordTooLarge,
        fmt::format("a message of {} bytes to {} is larger than max_msg_size "
                    "of stream {}, {}; nats stream edit {} --max-msg-size={}",
                    bytes, message.subject, stream.name, limit, stream.name,
                    bytes));
  }
  return absl::OkStatus();
}

absl::Status NatsSink::Produce(const Record& record, Sequence sequence) {
  if (closed_) return absl::ResourceExhaustedError("this sink is closed");
  if (!failed_.ok()) return absl::AbortedError(failed_.message());
  WALPOST_RETURN_IF_ERROR(CheckSubject(record.topic));
  if (!is_connected_) {
    return absl::ResourceExhaustedError("no NATS server is reached yet");
  }
  WALPOST_RETURN_IF_ERROR(CheckCluster());
  const auto found = finder_.Find(record.topic);
  SendQuestions();
  if (!found.ok()) return found.status();
  const StreamInfo& stream = **found;
  NatsMessage message = MessageOf(record, stream.name, options_.client_id);
  WALPOST_RETURN_IF_ERROR(CheckSize(message, stream));
  std::optional<NatsMessage> sending = in_flight_.Add(
      record, stream.name, sequence, std::move(message), Clock::now());
  if (sending) Send(*std::move(sending), sequence, stream.name);
  return absl::OkStatus();
}

RecordSink::AfterRejection NatsSink::after_rejection() const {
  return options_.one_at_a_time ? AfterRejection::kGoesOnAlone
                                : AfterRejection::kFails;
}

bool NatsSink::credentials_have_changed() const {
  const absl::StatusOr<Sha256Digest> now = DigestOf(options_);
  return now.ok() && credentials_.ok() && *now != *credentials_;
}

SinkHealth NatsSink::Health() {
  SinkHealth health;
  health.brokers_up = is_connected_ ? 1 : 0;
  health.heard_at = heard_at_;
  health.trouble = trouble_.advice;
  if (health.trouble.empty()) health.trouble = finder_.trouble();
  health.rejects_credentials = trouble_.is_of_credentials;
  health.missing_topic = finder_.missing_subject();
  health.topic_refusal = finder_.refusal();
  if (has_answered_) health.cluster_id = kUnnamedNats;
  health.is_comparing = finder_.is_comparing();
  health.topics = finder_.streams();
  health.max_topics = kMaxStreams;
  return health;
}

void NatsSink::SendQuestions() {
  if (!is_connected_ || !failed_.ok()) return;
  const std::string api = JetStreamApi(options_.domain);
  for (StreamQuestion& question : finder_.TakeQuestions()) {
    std::string subject;
    switch (question.kind) {
      case StreamQuestion::Kind::kNames:
        subject = api + ".STREAM.NAMES";
        break;
      case StreamQuestion::Kind::kInfo:
        subject = fmt::format("{}.STREAM.INFO.{}", api, question.about);
        break;
      case StreamQuestion::Kind::kCreate:
        subject = fmt::format("{}.STREAM.CREATE.{}", api,
                              options_.create_stream->name);
        break;
      case StreamQuestion::Kind::kAccount:
        subject = api + ".INFO";
        break;
    }
    const std::string body = question.body;
    client_->Ask(subject, body,
                 asked_.Add(std::move(question), subject, Clock::now()));
  }
}

void NatsSink::FailRecord(Sequence sequence, const absl::Status& error) {
  const std::optional<InFlight::Taken> taken = in_flight_.Take(sequence);
  if (!taken) return;
  // What the next sink may deliver is not the fault of this record.
  reports_.OnNotDelivered(sequence, absl::IsUnavailable(error)
                                        ? absl::AbortedError(error.message())
                                        : error);
  if (options_.one_at_a_time && absl::IsInvalidArgument(error)) {
    return SendNext(taken->lane);
  }
  Fail(error);
}

void NatsSink::Send(NatsMessage message, Sequence sequence,
                    const std::string& stream) {
  in_flight_.NoteSentAfter(sequence, known_->AcknowledgedUpTo(stream));
  client_->Publish(std::move(message), sequence);
}

void NatsSink::SendNext(KeyOrder::Lane lane) {
  if (!failed_.ok()) return;
  auto next = in_flight_.Next(lane, Clock::now());
  if (!next) return;
  const std::string stream = *in_flight_.StreamOf(next->first);
  Send(std::move(next->second), next->first, stream);
}

void NatsSink::Fail(const absl::Status& error) {
  if (failed_.ok()) failed_ = error;
  if (closed_ || std::exchange(has_reported_failure_, true)) return;
  reports_.OnSinkFailed(error);
}

void NatsSink::Close(MonotonicTime deadline, std::function<void()> closed) {
  asio::co_spawn(events_.get_executor(), CloseBy(deadline),
                 [closed](std::exception_ptr) { closed(); });
}

asio::awaitable<void> NatsSink::CloseBy(MonotonicTime deadline) {
  constexpr std::chrono::milliseconds kPoll{10};
  closed_ = true;
  events_.cancel();
  tick_timer_.cancel();
  // Without a connection no answer comes any more. After a failure records
  // that wait for others are not sent any more.
  const auto awaits_answers = [this] {
    return is_connected_ &&
           (failed_.ok() ? !in_flight_.empty() : in_flight_.HasSent());
  };
  while (awaits_answers() && Clock::now() < deadline) {
    DrainEvents();
    close_timer_.expires_after(kPoll);
    co_await close_timer_.async_wait(kAsTuple);
  }
  client_->Stop();
  const MonotonicTime until = Clock::now() + kEndLimit;
  while (!client_->has_ended() && Clock::now() < until) {
    close_timer_.expires_after(kPoll);
    co_await close_timer_.async_wait(kAsTuple);
  }
  DrainEvents();
  const absl::Status given_up =
      absl::AbortedError("the sink was closed before an acknowledgement came");
  for (const Sequence sequence : in_flight_.Sequences()) {
    FailRecord(sequence, given_up);
  }
}

}  // namespace walpost
