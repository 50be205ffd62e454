// NatsSink: what the servers answer.
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "log/log.h"
#include "nats/nats_sink.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kEventsPerTurn = 4096;

}  // namespace

void NatsSink::WaitForEvents() {
  events_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code error) {
                       if (error || closed_) return;
                       DrainEvents();
                       WaitForEvents();
                       on_drained_();
                     });
}

void NatsSink::DrainEvents() {
  const WallTime now = WallNow();
  for (NatsEvent& event : client_->Take(kEventsPerTurn)) Handle(event, now);
  SendQuestions();
}

void NatsSink::Handle(NatsEvent& event, WallTime now) {
  switch (event.kind) {
    case NatsEvent::Kind::kConnected:
      return OnConnected(event.number);
    case NatsEvent::Kind::kNotConnected: {
      const std::string before = trouble_.advice;
      trouble_ = ConnectionTroubleOf(event.text, options_.servers);
      if (trouble_.advice != before) LogWarn("NATS: {}", trouble_.advice);
      return;
    }
    case NatsEvent::Kind::kPublished:
      return OnPublished(event.number, event.answer, now);
    case NatsEvent::Kind::kAnswered:
      return OnAnswered(event.number, event.text);
    case NatsEvent::Kind::kError:
      return OnError(event.text);
    case NatsEvent::Kind::kClosed:
      return OnClosed(event.text);
  }
}

void NatsSink::OnConnected(size_t max_payload_bytes) {
  is_connected_ = true;
  trouble_ = {};
  if (max_payload_bytes > 0) max_payload_bytes_ = max_payload_bytes;
  if (closed_) return;
  finder_.OnTick(Clock::now());
  reports_.OnCapacity();
}

void NatsSink::OnPublished(Sequence sequence, const PublishAnswer& answer,
                           WallTime now) {
  const std::string* stream = in_flight_.StreamOf(sequence);
  if (stream == nullptr) return;
  switch (answer.kind) {
    case PublishAnswer::Kind::kStored:
      if (!answer.IsStoredBy(*stream)) return;
      heard_at_ = Clock::now();
      return OnStored(sequence, answer, now);
    case PublishAnswer::Kind::kRejected:
      heard_at_ = Clock::now();
      return FailRecord(
          sequence,
          StatusFromJetStream(answer.error,
                              fmt::format("publishing to stream {}", *stream)));
    case PublishAnswer::Kind::kNoResponders:
      return FailRecord(
          sequence, absl::UnavailableError(fmt::format(
                        "stream {} takes no message now: it was deleted, or "
                        "has no leader; are most of its servers up?",
                        *stream)));
    case PublishAnswer::Kind::kUnintelligible:
      // A subscriber of the subject has answered. JetStream still may.
      return;
  }
}

void NatsSink::OnStored(Sequence sequence, const PublishAnswer& answer,
                        WallTime now) {
  in_flight_.OnAnswer(sequence, Clock::now());
  const std::optional<InFlight::Taken> taken = in_flight_.Take(sequence);
  if (!answer.is_duplicate) {
    known_->ObserveStored(taken->stream, answer.stream_sequence,
                          taken->sent_after);
  }
  finder_.OnAcknowledged(taken->stream, answer.stream_sequence);
  acknowledged_.Add(acknowledged_.PlaceOf(taken->subject), 1);
  reports_.OnAcknowledged(sequence, now);
  SendNext(taken->lane);
}

void NatsSink::OnAnswered(uint64_t number, const std::string& json) {
  const std::optional<StreamQuestion> asked = asked_.Take(number);
  if (!asked) return;
  const StreamQuestion& question = *asked;
  const MonotonicTime now = Clock::now();
  if (json.empty()) {
    finder_.OnNoAnswer(question, "JetStream is not enabled on the servers");
  } else {
    heard_at_ = now;
    has_answered_ = true;
    const size_t streams = finder_.streams();
    finder_.OnAnswer(question, json, now);
    // A damaged answer does not say so.
    if (question.kind == StreamQuestion::Kind::kCreate &&
        finder_.streams() > streams) {
      LogInfo("created stream {}", options_.create_stream->name);
    }
    const std::string warning = finder_.TakeWarning();
    if (!warning.empty()) LogWarn("{}", warning);
  }
  if (!closed_) reports_.OnCapacity();
}

// The connection goes on.
void NatsSink::OnError(const std::string& text) {
  errors_->Warn(fmt::format("NATS: {}", text));
  const std::string subject = DeniedSubject(text);
  if (subject.empty()) return;
  const std::string denied = fmt::format(
      "the user may not publish to {}: grant it in the permissions of the user",
      subject);
  const std::optional<Sequence> sequence = in_flight_.SentTo(subject);
  if (sequence) {
    return FailRecord(*sequence, absl::FailedPreconditionError(denied));
  }
  if (const auto question = asked_.TakeTo(subject)) {
    finder_.OnNoAnswer(*question, denied);
  }
  if (!closed_) reports_.OnCapacity();
}

void NatsSink::OnClosed(const std::string& text) {
  is_connected_ = false;
  trouble_ = ConnectionTroubleOf(text, options_.servers);
  Fail(absl::UnavailableError(
      fmt::format("the connection to NATS is lost: {}", text)));
}

void NatsSink::WaitForTick() {
  constexpr std::chrono::milliseconds kInterval{500};
  tick_timer_.expires_after(kInterval);
  tick_timer_.async_wait([this](boost::system::error_code error) {
    if (error || closed_) return;
    Tick();
    WaitForTick();
    on_drained_();
  });
}

void NatsSink::Tick() {
  const MonotonicTime now = Clock::now();
  GiveUpLateAnswers(now);
  if (is_connected_) finder_.OnTick(now);
  SendQuestions();
  if (!trouble_.is_of_credentials || !credentials_have_changed()) return;
  Fail(absl::AbortedError("its credentials have changed"));
}

void NatsSink::GiveUpLateAnswers(MonotonicTime now) {
  const std::optional<Sequence> late =
      in_flight_.Late(now, options_.ack_timeout);
  if (late) {
    FailRecord(*late,
               absl::UnavailableError(fmt::format(
                   "stream {} has not acknowledged a message within {} ms "
                   "(nats.ack_timeout); are most of its servers up?",
                   *in_flight_.StreamOf(*late), options_.ack_timeout.count())));
  }
  while (const auto question = asked_.TakeLate(now)) {
    finder_.OnNoAnswer(*question, "no answer within 2 s");
    reports_.OnCapacity();
  }
}

}  // namespace walpost
