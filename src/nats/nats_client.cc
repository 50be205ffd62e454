#include "nats/nats_client.h"

#include <nats/nats.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "loop/blocking_call.h"
#include "loop/descriptors.h"
#include "nats/nats_handles.h"
#include "nats/new_connection.h"

namespace walpost {
namespace {

constexpr std::chrono::milliseconds kConnectAgainAfter{500};
constexpr char kOfRecord = 'r';
constexpr char kOfQuestion = 'q';

struct Outgoing {
  char kind;
  uint64_t number;
  NatsMessage message;
};

}  // namespace

// State that the client, its thread, and libnats's callbacks share.
struct NatsClient::Shared {
  explicit Shared(NatsConnectionSettings of_options)
      : settings(std::move(of_options)),
        event_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Shared() {
    if (event_fd >= 0) close(event_fd);
  }

  void Push(NatsEvent event) {
    constexpr uint64_t kOne = 1;
    const std::lock_guard lock(mutex);
    events.push_back(std::move(event));
    if (events.size() == 1) (void)!write(event_fd, &kOne, sizeof(kOne));
  }

  // Waits for messages. Empty: stopped, or the connection is closed.
  std::deque<Outgoing> TakeOutgoing() {
    std::unique_lock lock(mutex);
    wake.wait(lock,
              [this] { return !outgoing.empty() || is_stopped || is_closed; });
    if (is_stopped || is_closed) return {};
    return std::exchange(outgoing, {});
  }

  // False: stopped.
  bool Pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return !wake.wait_for(lock, time, [this] { return is_stopped.load(); });
  }

  void Wake() {
    const std::lock_guard lock(mutex);
    wake.notify_all();
  }

  const NatsConnectionSettings settings;
  const int event_fd;
  std::atomic<bool> is_stopped = false;
  std::atomic<bool> is_closed = false;
  std::atomic<bool> has_ended = false;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Outgoing> outgoing;
  std::deque<NatsEvent> events;
};

namespace {

using Shared = NatsClient::Shared;

// libnats calls back from its own threads, also after a connection was
// destroyed. It gets a number, which finds nothing once the attempt to connect,
// or the connection, has ended.
class Listeners {
 public:
  static Listeners& Get() {
    static Listeners& listeners = *new Listeners;  // never destroyed
    return listeners;
  }

  void* Add(const std::shared_ptr<Shared>& shared) {
    const std::lock_guard lock(mutex_);
    listeners_.emplace(++last_, shared);
    return reinterpret_cast<void*>(last_);
  }
  void Remove(void* closure) {
    const std::lock_guard lock(mutex_);
    listeners_.erase(reinterpret_cast<uintptr_t>(closure));
  }
  // nullptr: it was removed.
  std::shared_ptr<Shared> Find(void* closure) {
    const std::lock_guard lock(mutex_);
    const auto found = listeners_.find(reinterpret_cast<uintptr_t>(closure));
    return found == listeners_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  uintptr_t last_ = 0;
  std::map<uintptr_t, std::shared_ptr<Shared>> listeners_;
};

// "PREFIX.r17": the answer to record 17.
void OnMessage(natsConnection*, natsSubscription*, natsMsg* raw,
               void* closure) {
  const NatsMessageHandle message(raw);
  const std::shared_ptr<Shared> shared = Listeners::Get().Find(closure);
  if (shared == nullptr) return;
  const std::string_view subject(natsMsg_GetSubject(raw));
  const std::string_view token = subject.substr(subject.rfind('.') + 1);
  if (token.size() < 2) return;
  NatsEvent event = {.kind = NatsEvent::Kind::kPublished};
  const char* const end = token.data() + token.size();
  const auto parsed = std::from_chars(token.data() + 1, end, event.number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return;
  const bool nobody_listens = natsMsg_IsNoResponders(raw);
  const std::string_view json(natsMsg_GetData(raw),
                              static_cast<size_t>(natsMsg_GetDataLength(raw)));
  if (token.front() == kOfRecord) {
    event.answer = nobody_listens ? PublishAnswer::NoResponders()
                                  : PublishAnswer::Parse(json);
  } else {
    event.kind = NatsEvent::Kind::kAnswered;
    if (!nobody_listens) event.text = json;
  }
  shared->Push(std::move(event));
}

std::string LastErrorOf(natsConnection* connection, natsStatus status) {
  const char* text = nullptr;
  natsConnection_GetLastError(connection, &text);
  if (text != nullptr && *text != '\0') return text;
  return natsStatus_GetText(status);
}

void OnError(natsConnection* connection, natsSubscription*, natsStatus status,
             void* closure) {
  const std::shared_ptr<Shared> shared = Listeners::Get().Find(closure);
  if (shared == nullptr) return;
  shared->Push({.kind = NatsEvent::Kind::kError,
                .text = LastErrorOf(connection, status)});
}

void OnClosed(natsConnection* connection, void* closure) {
  const std::shared_ptr<Shared> shared = Listeners::Get().Find(closure);
  if (shared == nullptr || shared->is_stopped) return;
  shared->is_closed = true;
  shared->Push({.kind = NatsEvent::Kind::kClosed,
                .text = LastErrorOf(connection, NATS_CONNECTION_CLOSED)});
  shared->Wake();
}

natsStatus Send(natsConnection* connection, const std::string& inbox,
                const Outgoing& outgoing) {
  const NatsMessage& message = outgoing.message;
  const std::string reply =
      fmt::format("{}.{}{}", inbox, outgoing.kind, outgoing.number);
  natsMsg* raw = nullptr;
  natsStatus status = natsMsg_Create(&raw, message.subject.c_str(),
                                     reply.c_str(), message.payload.data(),
                                     static_cast<int>(message.payload.size()));
  const NatsMessageHandle handle(raw);
  for (const auto& [name, value] : message.headers) {
    if (status != NATS_OK) return status;
    status = natsMsgHeader_Add(raw, name.c_str(), value.c_str());
  }
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection, raw);
  return status;
}

// Connects once, and sends until the connection is closed. Returns why it
// could not connect, or was closed by an error of ours.
NatsEvent UseConnection(Shared& shared, void* closure) {
  NatsCallbacks callbacks;
  callbacks.on_error = OnError;
  callbacks.on_closed = OnClosed;
  callbacks.on_message = OnMessage;
  callbacks.closure = closure;
  absl::StatusOr<NewNatsConnection> made =
      ConnectToNats(shared.settings, callbacks);
  if (!made.ok()) {
    return {.kind = NatsEvent::Kind::kNotConnected,
            .text = std::string(made.status().message())};
  }
  shared.Push(
      {.kind = NatsEvent::Kind::kConnected, .number = made->max_payload_bytes});
  for (;;) {
    const std::deque<Outgoing> batch = shared.TakeOutgoing();
    if (batch.empty()) return {.kind = NatsEvent::Kind::kClosed};
    for (const Outgoing& outgoing : batch) {
      if (shared.is_stopped) return {.kind = NatsEvent::Kind::kClosed};
      const natsStatus status =
          Send(made->connection.get(), made->inbox, outgoing);
      if (status == NATS_OK) continue;
      return {.kind = NatsEvent::Kind::kClosed,
              .text = LastErrorOf(made->connection.get(), status)};
    }
  }
}

void Run(const std::shared_ptr<Shared>& shared) {
  while (!shared->is_stopped && !shared->is_closed) {
    // Each attempt has its own: a connection that was given up says nothing.
    void* const closure = Listeners::Get().Add(shared);
    NatsEvent ending = UseConnection(*shared, closure);
    Listeners::Get().Remove(closure);
    const bool may_try_again = ending.kind == NatsEvent::Kind::kNotConnected;
    if (!shared->is_closed) shared->Push(std::move(ending));
    if (!may_try_again || !shared->Pause(kConnectAgainAfter)) break;
  }
  shared->has_ended = true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NatsClient>> NatsClient::Start(
    NatsConnectionSettings settings) {
  auto shared = std::make_shared<Shared>(std::move(settings));
  if (shared->event_fd < 0) return NoDescriptor();
  const absl::Status started = RunOnThread([shared] { Run(shared); });
  if (!started.ok()) return absl::UnavailableError(started.message());
  return std::unique_ptr<NatsClient>(new NatsClient(std::move(shared)));
}

NatsClient::~NatsClient() { Stop(); }

void NatsClient::Publish(NatsMessage message, uint64_t number) {
  const std::lock_guard lock(shared_->mutex);
  shared_->outgoing.push_back({kOfRecord, number, std::move(message)});
  if (shared_->outgoing.size() == 1) shared_->wake.notify_all();
}

void NatsClient::Ask(std::string subject, std::string body, uint64_t number) {
  NatsMessage message;
  message.subject = std::move(subject);
  message.payload = std::move(body);
  const std::lock_guard lock(shared_->mutex);
  shared_->outgoing.push_back({kOfQuestion, number, std::move(message)});
  if (shared_->outgoing.size() == 1) shared_->wake.notify_all();
}

int NatsClient::event_fd() const { return shared_->event_fd; }

std::vector<NatsEvent> NatsClient::Take(size_t most) {
  constexpr uint64_t kOne = 1;
  std::vector<NatsEvent> events;
  uint64_t count = 0;
  const std::lock_guard lock(shared_->mutex);
  (void)!read(shared_->event_fd, &count, sizeof(count));
  while (!shared_->events.empty() && events.size() < most) {
    events.push_back(std::move(shared_->events.front()));
    shared_->events.pop_front();
  }
  if (!shared_->events.empty()) {
    (void)!write(shared_->event_fd, &kOne, sizeof(kOne));
  }
  return events;
}

void NatsClient::Stop() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_stopped = true;
  shared_->outgoing.clear();
  shared_->wake.notify_all();
}

bool NatsClient::has_ended() const { return shared_->has_ended; }

}  // namespace walpost
