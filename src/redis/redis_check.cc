#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "redis/redis_session.h"
#include "redis/redis_sinks.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// The message without the server by which it begins: the subject names it.
std::string WithoutServer(absl::string_view message,
                          const std::string& subject) {
  std::string_view cause(message.data(), message.size());
  // A connection does not know that it is one to a Sentinel.
  const size_t place = std::min(subject.find(' '), subject.size());
  const std::string connection = "Redis" + subject.substr(place);
  for (const std::string_view server :
       {std::string_view(subject), std::string_view(connection)}) {
    if (!cause.starts_with(server)) continue;
    cause.remove_prefix(server.size());
    cause.remove_prefix(std::min(cause.find_first_not_of(": "), cause.size()));
    break;
  }
  return std::string(cause);
}

class RedisCheck {
 public:
  RedisCheck(asio::any_io_executor executor, RedisOptions options)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        session_(executor_, options_) {}

  asio::awaitable<void> Run(const std::vector<std::string>& streams,
                            MonotonicTime deadline) {
    if (options_.cluster.empty()) {
      co_return co_await LookAt(session_, streams, deadline);
    }
    const absl::StatusOr<ClusterSlots> slots =
        co_await session_.FindSlots(deadline);
    if (!slots.ok()) co_return AddUnreached(slots.status(), session_);
    if (slots->served() < ClusterSlots::kCount) {
      co_return Add(Severity::kError, FindingId("redis_slots_not_served"),
                    session_.name(),
                    fmt::format("no node serves {} of the hash slots",
                                ClusterSlots::kCount - slots->served()),
                    "redis-cli --cluster fix");
    }
    const std::vector<ClusterSlots::Range> masters = slots->Masters();
    auto left = static_cast<int64_t>(masters.size());
    for (const ClusterSlots::Range& node : masters) {
      std::vector<std::string> own;
      for (const std::string& stream : streams) {
        if (slots->MasterOf(HashSlotOf(stream)) == node.master) {
          own.push_back(stream);
        }
      }
      RedisSession session(executor_, options_, node.first);
      // One that hangs leaves time for the next ones.
      const MonotonicTime now = std::chrono::steady_clock::now();
      co_await LookAt(session, own, now + (deadline - now) / left--);
    }
  }

  SinkFindings Take() { return std::move(found_); }

 private:
  void Add(Severity severity, FindingId id, std::string subject,
           std::string text, std::string remedy = {}) {
    found_.findings.push_back({severity, std::move(id), std::move(subject),
                               std::move(text), std::move(remedy)});
  }

  // The server, and those of its streams.
  asio::awaitable<void> LookAt(RedisSession& session,
                               const std::vector<std::string>& streams,
                               MonotonicTime deadline) {
    const absl::Status opened = co_await session.Open(deadline);
    if (!opened.ok()) co_return AddUnreached(opened, session);
    const Findings judged =
        JudgeServer(session.facts(), options_, session.name());
    Findings& all = found_.findings;
    all.insert(all.end(), judged.begin(), judged.end());
    if (FirstError(judged) != nullptr) co_return;
    found_.answers = true;
    found_.cluster_id = kUnnamedRedis;
    AddServer(session);
    std::string bytes;
    for (const std::string& stream : streams) {
      bytes += Command({"TYPE", stream});
    }
    const absl::StatusOr<std::vector<Reply>> replies =
        co_await session.connection().Ask(bytes, streams.size(), deadline);
    if (!replies.ok()) co_return;
    for (size_t i = 0; i < streams.size(); ++i) {
      Judge(streams[i], (*replies)[i]);
    }
  }

  void AddUnreached(const absl::Status& opened, const RedisSession& session) {
    const bool is_rejected = session.rejects_credentials();
    const std::string& subject = session.name();
    const std::string cause = WithoutServer(opened.message(), subject);
    if (is_rejected) {
      Add(Severity::kError, FindingId(kFindingCredentialsRejected), subject,
          cause, "correct redis.user, redis.password or redis.tls.*");
    } else if (absl::IsFailedPrecondition(opened)) {
      Add(Severity::kError, FindingId("redis_refuses"), subject, cause);
    } else {
      Add(Severity::kError, FindingId("redis_unavailable"), subject, cause,
          fmt::format("correct {}, or start Redis",
                      !options_.address.empty() ? "redis.address"
                      : options_.cluster.empty()
                          ? "redis.sentinels and redis.master"
                          : "redis.cluster"));
    }
  }

  void AddServer(const RedisSession& session) {
    const RedisFacts& facts = session.facts();
    Add(Severity::kOk, FindingId("redis_ok"), session.name(),
        fmt::format("answers; version {}, {} replica(s), append-only file {}",
                    facts.version, facts.replicas,
                    facts.has_append_only_file ? "on" : "off"));
    if (options_.max_entries == 0) return;
    Add(Severity::kNote, FindingId("redis_trims"), session.name(),
        fmt::format("streams keep about {} entries (redis.max_entries): a "
                    "consumer that is further behind loses events",
                    options_.max_entries));
  }

  void Judge(const std::string& stream, const Reply& type) {
    const std::string subject = fmt::format("stream {}", stream);
    if (type.is_error() || type.text() == "stream") return;
    if (type.text() != "none") {
      Add(Severity::kError, FindingId("redis_not_a_stream"), subject,
          fmt::format("the key holds a {}", type.text()),
          fmt::format("RENAME {0} {0}-before; or another route.topic", stream));
    } else if (!options_.create) {
      Add(Severity::kWarning, FindingId("redis_stream_missing"), subject,
          "does not exist, and redis.create is false: its events "
          "wait",
          fmt::format("XGROUP CREATE {} GROUP 0 MKSTREAM", stream));
    }
  }

  asio::any_io_executor executor_;
  RedisOptions options_;
  RedisSession session_;
  SinkFindings found_;
};

}  // namespace

absl::StatusOr<SinkFindings> CheckRedis(const RedisOptions& options,
                                        const std::vector<std::string>& streams,
                                        std::chrono::milliseconds timeout) {
  WALPOST_RETURN_IF_ERROR(CheckRedisOptions(options));
  asio::io_context io(1);
  RedisCheck check(io.get_executor(), options);
  const MonotonicTime deadline = std::chrono::steady_clock::now() + timeout;
  bool is_done = false;
  asio::co_spawn(io, check.Run(streams, deadline),
                 [&is_done](std::exception_ptr) { is_done = true; });
  io.run_until(deadline + std::chrono::seconds(1));
  if (!is_done) return absl::UnavailableError("Redis: no answer in time");
  return check.Take();
}

}  // namespace walpost
