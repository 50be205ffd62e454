#include "verify/redis_records.h"

#include <map>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "verify/found_record.h"

namespace walpost {
namespace {

constexpr char kEntriesPerReply[] = "50";  // of a megabyte each, at most
// Maximum number of scans of all masters.
constexpr int kMaxRounds = 10;
constexpr char kHeaderPrefix[] = "header.";

using Elements = std::span<redisReply* const>;

Elements ElementsOf(const redisReply* reply) {
  if (reply == nullptr || reply->type != REDIS_REPLY_ARRAY) return {};
  return {reply->element, reply->elements};
}

// Empty, if it is not a text.
std::string_view TextOf(const redisReply* reply) {
  const bool is_text = reply != nullptr && (reply->type == REDIS_REPLY_STRING ||
                                            reply->type == REDIS_REPLY_STATUS ||
                                            reply->type == REDIS_REPLY_ERROR);
  return is_text ? std::string_view(reply->str, reply->len)
                 : std::string_view();
}

// A pattern of SCAN for texts that begin with `prefix`.
std::string PatternOf(std::string_view prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) {
      pattern += '\\';
    }
    pattern += c;
  }
  return pattern + "*";
}

// The fields of an entry.
class Fields {
 public:
  explicit Fields(const redisReply* list) : texts_(ElementsOf(list)) {}

  std::optional<std::string_view> Find(std::string_view name,
                                       Which which = Which::kFirst) const {
    std::optional<std::string_view> found;
    for (size_t i = 0; i + 1 < texts_.size(); i += 2) {
      if (TextOf(texts_[i]) != name) continue;
      found = TextOf(texts_[i + 1]);
      if (which == Which::kFirst) break;
    }
    return found;
  }

 private:
  Elements texts_;
};

FoundRecord RecordOf(const std::string& topic, int64_t offset,
                     const redisReply* list) {
  const Fields fields(list);
  FoundRecord record;
  const auto header = [&fields](const char* name,
                                Which which) -> std::optional<std::string> {
    const auto value = fields.Find(std::string(kHeaderPrefix) + name, which);
    if (!value) return std::nullopt;
    return std::string(*value);
  };
  ReadHeaders(header, record);
  record.topic = topic;
  record.offset = offset;
  record.key = fields.Find("key");
  record.value = fields.Find("payload");
  record.id.reset();
  if (const auto id = fields.Find("id")) record.id = std::string(*id);
  return record;
}

}  // namespace

absl::StatusOr<RedisReplyHandle> RedisRecords::Ask(
    const std::string& stream, const std::vector<std::string>& command) const {
  return Judge(servers_.ask_of(stream, command), command, stream);
}

absl::StatusOr<RedisReplyHandle> RedisRecords::Judge(
    absl::StatusOr<RedisReplyHandle> reply,
    const std::vector<std::string>& command, const std::string& pattern) const {
  if (!reply.ok() || (*reply)->type != REDIS_REPLY_ERROR) return reply;
  const std::string_view error = TextOf(reply->get());
  const std::string text =
      fmt::format("Redis: {}: {}", absl::StrJoin(command, " "), error);
  if (!error.starts_with("NOPERM")) {
    return absl::UnavailableError(text);
  }
  return absl::PermissionDeniedError(
      fmt::format("{}: ACL SETUSER {} %R~{} +scan +type +xinfo +xrange", text,
                  servers_.user, pattern));
}

absl::StatusOr<std::set<std::string>> RedisRecords::FindTopics(
    const std::set<std::string>& names, const std::set<std::string>& prefixes) {
  std::set<std::string> topics;
  for (const std::string& name : names) {
    WALPOST_ASSIGN_OR_RETURN(const RedisReplyHandle type,
                             Ask(name, {"TYPE", name}));
    if (TextOf(type.get()) == "stream") topics.insert(name);
  }
  if (prefixes.empty()) return topics;
  // A stream that moves to a node that was scanned already is found by the next
  // round.
  size_t before = 0;
  for (int round = 1; round <= kMaxRounds; ++round) {
    const absl::Status scanned = ScanMasters(prefixes, topics);
    if (!servers_.streams_move) {
      WALPOST_RETURN_IF_ERROR(scanned);
      return topics;
    }
    const bool may_pass = absl::IsUnavailable(scanned) && round < kMaxRounds;
    if (!scanned.ok() && !may_pass) return scanned;
    const bool is_same = std::exchange(before, topics.size()) == topics.size();
    if (scanned.ok() && round > 1 && is_same) break;
  }
  return topics;
}

absl::Status RedisRecords::ScanMasters(const std::set<std::string>& prefixes,
                                       std::set<std::string>& topics) const {
  WALPOST_ASSIGN_OR_RETURN(const std::vector<AskRedis> masters,
                           servers_.masters());
  for (const AskRedis& master : masters) {
    for (const std::string& prefix : prefixes) {
      WALPOST_RETURN_IF_ERROR(Scan(master, PatternOf(prefix), topics));
    }
  }
  return absl::OkStatus();
}

absl::Status RedisRecords::Scan(const AskRedis& node,
                                const std::string& pattern,
                                std::set<std::string>& topics) const {
  std::string cursor = "0";
  do {
    const std::vector<std::string> command = {
        "SCAN", cursor, "MATCH", pattern, "COUNT", "1000", "TYPE", "stream"};
    WALPOST_ASSIGN_OR_RETURN(const RedisReplyHandle page,
                             Judge(node(command), command, pattern));
    const Elements parts = ElementsOf(page.get());
    if (parts.size() != 2) return absl::UnavailableError("Redis: SCAN");
    cursor = TextOf(parts[0]);
    for (const redisReply* key : ElementsOf(parts[1])) {
      topics.emplace(TextOf(key));
    }
  } while (cursor != "0");
  return absl::OkStatus();
}

absl::StatusOr<RedisRecords::Stream> RedisRecords::Look(
    const std::string& topic) {
  WALPOST_ASSIGN_OR_RETURN(const RedisReplyHandle reply,
                           Ask(topic, {"XINFO", "STREAM", topic}));
  const Elements parts = ElementsOf(reply.get());
  Stream stream;
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    const std::string_view name = TextOf(parts[i]);
    const redisReply* value = parts[i + 1];
    if (name == "length") stream.length = value->integer;
    if (name == "entries-added") stream.added = value->integer;
    if (name == "last-generated-id") stream.last_id = TextOf(value);
  }
  return stream;
}

absl::Status RedisRecords::Read(const std::set<std::string>& topics,
                                const Take& take) {
  std::map<std::string, Stream> streams;
  total_ = 0;
  for (const std::string& topic : topics) {
    WALPOST_ASSIGN_OR_RETURN(streams[topic], Look(topic));
    total_ += streams[topic].length;
  }
  for (const auto& [topic, stream] : streams) {
    WALPOST_RETURN_IF_ERROR(ReadStream(topic, stream.last_id, take));
  }
  return absl::OkStatus();
}

absl::Status RedisRecords::ReadStream(const std::string& topic,
                                      const std::string& last_id,
                                      const Take& take) {
  std::string from = "-";
  int64_t offset = 0;
  while (true) {
    WALPOST_ASSIGN_OR_RETURN(const RedisReplyHandle page,
                             Ask(topic, {"XRANGE", topic, from, last_id,
                                         "COUNT", kEntriesPerReply}));
    const Elements entries = ElementsOf(page.get());
    if (entries.empty()) return absl::OkStatus();
    for (const redisReply* entry : entries) {
      const Elements parts = ElementsOf(entry);
      if (parts.size() != 2) return absl::UnavailableError("Redis: XRANGE");
      from = "(" + std::string(TextOf(parts[0]));
      FoundRecord record = RecordOf(topic, offset++, parts[1]);
      WALPOST_RETURN_IF_ERROR(take(record));
    }
  }
}

absl::StatusOr<DeletedRecords> RedisRecords::AddDeletedRecords(
    const std::set<std::string>& topics, AuditDatabase& audit) {
  DeletedRecords deleted;
  for (const std::string& topic : topics) {
    WALPOST_ASSIGN_OR_RETURN(const Stream stream, Look(topic));
    const int64_t begin = stream.added - stream.length;
    deleted.may_be_some |= begin > 0;
    WALPOST_RETURN_IF_ERROR(audit.AddPartition(
        {.topic = topic, .begin = begin, .end = stream.added}));
  }
  return deleted;
}

}  // namespace walpost
