#include "verify/nats_records.h"

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include "verify/found_record.h"

namespace walpost {
namespace {

constexpr int64_t kAnswerMillis = 10'000;
constexpr int kMessagesPerPortion = 50;  // of a megabyte each, at most
// no_wait: fewer, if there are fewer, and a message without a sequence.
constexpr char kPortion[] = R"({"batch":50,"no_wait":true})";
constexpr std::chrono::nanoseconds kConsumerLifetime =
    std::chrono::seconds(30);           // without a request
constexpr int kStreamNotFound = 10059;  // err_code of JetStream

struct DestroyMessage {
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
using Message = std::unique_ptr<natsMsg, DestroyMessage>;

struct DestroySubscription {
  void operator()(natsSubscription* subscription) const {
    natsSubscription_Destroy(subscription);
  }
};
using Subscription = std::unique_ptr<natsSubscription, DestroySubscription>;

struct DestroyInbox {
  void operator()(natsInbox* inbox) const { natsInbox_Destroy(inbox); }
};

struct FreeArray {
  void operator()(const char** array) const {
    std::free(static_cast<void*>(array));
  }
};

// {"KEY": "VALUE", "offset": N}
std::string Question(const char* key, const std::string& value,
                     uint64_t offset) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  json.StartObject();
  json.Key(key);
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  json.Key("offset");
  json.Uint64(offset);
  json.EndObject();
  return buffer.GetString();
}

// Members of an answer; 0, empty or null, if there is none of this type.
const rapidjson::Value* Member(const rapidjson::Value& object,
                               const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

uint64_t Number(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = Member(object, name);
  return value != nullptr && value->IsUint64() ? value->GetUint64() : 0;
}

std::string Text(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = Member(object, name);
  if (value == nullptr || !value->IsString()) return "";
  return {value->GetString(), value->GetStringLength()};
}

std::optional<std::string> Header(natsMsg* message, const char* name,
                                  Which which) {
  const char** raw = nullptr;
  int count = 0;
  if (natsMsgHeader_Values(message, name, &raw, &count) != NATS_OK ||
      count == 0) {
    return std::nullopt;
  }
  const std::unique_ptr<const char*, FreeArray> values(raw);
  return NatsHeaderValue(raw[which == Which::kFirst ? 0 : count - 1]);
}

// `key` keeps the bytes that the record shows.
FoundRecord RecordOf(natsMsg* message, int64_t sequence,
                     std::optional<std::string>& key) {
  FoundRecord record;
  ReadHeaders([message](const char* name,
                        Which which) { return Header(message, name, which); },
              record);
  record.topic = natsMsg_GetSubject(message);
  record.offset = sequence;
  key = Header(message, "walpost-key", Which::kFirst);
  if (key) record.key = *key;
  if (!Header(message, "walpost-tombstone", Which::kFirst)) {
    record.value.emplace(natsMsg_GetData(message),
                         static_cast<size_t>(natsMsg_GetDataLength(message)));
  }
  return record;
}

// The sequence of a message, from where its acknowledgement would go:
// $JS.ACK.STREAM.CONSUMER.N.SEQUENCE..., or $JS.ACK.DOMAIN.ACCOUNT.STREAM...
// 0: it is none.
uint64_t SequenceOf(natsMsg* message) {
  const char* reply = natsMsg_GetReply(message);
  if (reply == nullptr) return 0;
  const std::vector<std::string> tokens = absl::StrSplit(reply, '.');
  const size_t at = tokens.size() > 9 ? 7 : 5;
  uint64_t sequence = 0;
  const bool is_number = tokens.size() >= 9 && tokens[1] == "ACK" &&
                         absl::SimpleAtoi(tokens[at], &sequence);
  return is_number ? sequence : 0;
}

bool IsSubject(std::string_view text) {
  return !text.empty() &&
         text.find_first_of("*> \t\r\n") == std::string_view::npos;
}

}  // namespace

NatsRecords::NatsRecords(natsConnection* connection, const std::string& domain)
    : connection_(connection),
      api_(domain.empty() ? "$JS.API." : fmt::format("$JS.{}.API.", domain)) {}

absl::StatusOr<rapidjson::Document> NatsRecords::Ask(const std::string& request,
                                                     const std::string& body) {
  const std::string subject = api_ + request;
  natsMsg* raw = nullptr;
  const natsStatus asked = natsConnection_RequestString(
      &raw, connection_.get(), subject.c_str(), body.c_str(), kAnswerMillis);
  const Message message(raw);
  if (asked != NATS_OK) {
    return absl::UnavailableError(
        fmt::format("NATS: {}: {}; may the user publish to it?", subject,
                    natsStatus_GetText(asked)));
  }
  rapidjson::Document answer;
  answer.Parse(natsMsg_GetData(raw),
               static_cast<size_t>(natsMsg_GetDataLength(raw)));
  const rapidjson::Value* error = Member(answer, "error");
  if (error == nullptr && answer.IsObject()) return answer;
  const std::string text = fmt::format(
      "NATS: {}: {}", subject,
      error == nullptr ? "not an answer" : Text(*error, "description"));
  if (error != nullptr && Number(*error, "err_code") == kStreamNotFound) {
    return absl::NotFoundError(text);
  }
  return absl::UnavailableError(text);
}

absl::StatusOr<std::set<std::string>> NatsRecords::NamesOfStreams(
    const std::string& subjects) {
  std::set<std::string> names;
  while (true) {
    WALPOST_ASSIGN_OR_RETURN(
        const rapidjson::Document page,
        Ask("STREAM.NAMES", Question("subject", subjects, names.size())));
    const rapidjson::Value* streams = Member(page, "streams");
    const size_t before = names.size();
    if (streams != nullptr && streams->IsArray()) {
      for (const auto& name : streams->GetArray()) {
        if (name.IsString()) names.insert(name.GetString());
      }
    }
    if (names.size() == before || names.size() >= Number(page, "total")) {
      return names;
    }
  }
}

absl::StatusOr<NatsRecords::Stream> NatsRecords::Look(const std::string& name) {
  Stream stream;
  while (true) {
    WALPOST_ASSIGN_OR_RETURN(
        const rapidjson::Document page,
        Ask("STREAM.INFO." + name,
            Question("subjects_filter", ">", stream.subjects.size())));
    const rapidjson::Value* state = Member(page, "state");
    const rapidjson::Value* config = Member(page, "config");
    if (state == nullptr || config == nullptr) {
      return absl::UnavailableError(
          fmt::format("NATS: stream {}: no answer about it", name));
    }
    stream.first = Number(*state, "first_seq");
    stream.last = Number(*state, "last_seq");
    stream.messages = Number(*state, "messages");
    stream.deleted = Number(*state, "num_deleted");
    stream.retention = Text(*config, "retention");
    const rapidjson::Value* subjects = Member(*state, "subjects");
    const size_t before = stream.subjects.size();
    if (subjects != nullptr && subjects->IsObject()) {
      for (const auto& subject : subjects->GetObject()) {
        stream.subjects.insert(subject.name.GetString());
      }
    }
    const size_t found = stream.subjects.size();
    if (found == before || found >= Number(page, "total")) return stream;
  }
}

absl::StatusOr<std::set<std::string>> NatsRecords::FindTopics(
    const std::set<std::string>& names, const std::set<std::string>& prefixes) {
  streams_.clear();
  holders_.clear();
  for (const std::string& topic : names) {
    if (!IsSubject(topic)) continue;
    WALPOST_ASSIGN_OR_RETURN(const std::set<std::string> takers,
                             NamesOfStreams(topic));
    if (!takers.empty()) holders_[topic] = takers;
  }
  std::set<std::string> wanted;
  for (const auto& [topic, names_of] : holders_) {
    wanted.insert(names_of.begin(), names_of.end());
  }
  for (const std::string& prefix : prefixes) {
    WALPOST_ASSIGN_OR_RETURN(std::set<std::string> takers,
                             NamesOfStreams(SubjectsOfPrefix(prefix)));
    wanted.merge(takers);
  }
  for (const std::string& name : wanted) {
    WALPOST_ASSIGN_OR_RETURN(streams_[name], Look(name));
    for (const std::string& subject : streams_[name].subjects) {
      bool is_wanted = names.contains(subject);
      for (const std::string& prefix : prefixes) {
        is_wanted |= subject.starts_with(prefix);
      }
      if (is_wanted) holders_[subject].insert(name);
    }
  }
  std::set<std::string> topics;
  for (const auto& [topic, name] : holders_) topics.insert(topic);
  return topics;
}

absl::Status NatsRecords::Read(const std::set<std::string>& topics,
                               const Take& take) {
  std::set<std::string> names;
  total_ = 0;
  for (const std::string& topic : topics) {
    const auto holder = holders_.find(topic);
    if (holder != holders_.end()) {
      names.insert(holder->second.begin(), holder->second.end());
    }
  }
  for (const std::string& name : names) {
    const Stream& stream = streams_[name];
    if (stream.retention != "limits") {
      return absl::FailedPreconditionError(fmt::format(
          "NATS: stream {} has retention {}: it drops what its consumers have "
          "acknowledged, so it does not show what was sent to it; only "
          "retention limits keeps that",
          name, stream.retention));
    }
    total_ += static_cast<int64_t>(stream.messages);
  }
  for (const std::string& name : names) {
    WALPOST_RETURN_IF_ERROR(ReadStream(name, streams_[name], topics, take));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> NatsRecords::MakeConsumer(
    const std::string& stream) {
  WALPOST_ASSIGN_OR_RETURN(
      const rapidjson::Document made,
      Ask("CONSUMER.CREATE." + stream,
          fmt::format(R"({{"stream_name":"{}","config":{{)"
                      R"("deliver_policy":"all","ack_policy":"none",)"
                      R"("replay_policy":"instant","mem_storage":true,)"
                      R"("inactive_threshold":{}}}}})",
                      stream, kConsumerLifetime.count())));
  return Text(made, "name");
}

// In portions that were asked for. So nothing is on its way when this returns:
// libnats (3.4) may use a subscription that is destroyed while messages come
// in.
absl::Status NatsRecords::ReadStream(const std::string& name,
                                     const Stream& stream,
                                     const std::set<std::string>& topics,
                                     const Take& take) {
  if (stream.messages == 0) return absl::OkStatus();
  const auto failed = [&name](natsStatus status) {
    return absl::UnavailableError(fmt::format(
        "NATS: reading stream {}: {}", name, natsStatus_GetText(status)));
  };
  WALPOST_ASSIGN_OR_RETURN(const std::string consumer, MakeConsumer(name));
  natsInbox* raw_inbox = nullptr;
  natsStatus status = natsInbox_Create(&raw_inbox);
  if (status != NATS_OK) return failed(status);
  const std::unique_ptr<natsInbox, DestroyInbox> inbox(raw_inbox);
  natsSubscription* raw = nullptr;
  status = natsConnection_SubscribeSync(&raw, connection_.get(), inbox.get());
  if (status != NATS_OK) return failed(status);
  const Subscription subscription(raw);
  const std::string subject =
      fmt::format("{}CONSUMER.MSG.NEXT.{}.{}", api_, name, consumer);
  uint64_t last = 0;  // sequence that was read
  while (last < stream.last) {
    status = natsConnection_PublishRequestString(
        connection_.get(), subject.c_str(), inbox.get(), kPortion);
    if (status != NATS_OK) return failed(status);
    absl::StatusOr<uint64_t> read =
        ReadPortion(subscription.get(), name, stream.last, topics, take);
    if (!read.ok()) return read.status();
    if (*read == 0) break;  // the last ones were deleted meanwhile
    last = *read;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> NatsRecords::ReadPortion(
    natsSubscription* subscription, const std::string& name, uint64_t end,
    const std::set<std::string>& topics, const Take& take) {
  uint64_t last = 0;
  std::optional<std::string> key;
  for (int i = 0; i < kMessagesPerPortion; ++i) {
    natsMsg* raw = nullptr;
    const natsStatus status =
        natsSubscription_NextMsg(&raw, subscription, kAnswerMillis);
    if (status == NATS_TIMEOUT) {
      return absl::UnavailableError(fmt::format(
          "NATS: reading stream {}: no message came for {} s: is the server "
          "frozen, or may the user not publish to {}CONSUMER.MSG.NEXT.>?",
          name, kAnswerMillis / 1000, api_));
    }
    if (status != NATS_OK) {
      return absl::UnavailableError(
          fmt::format("NATS: reading stream {}: the connection is lost: {}",
                      name, natsStatus_GetText(status)));
    }
    const Message message(raw);
    const uint64_t sequence = SequenceOf(raw);
    if (sequence == 0) break;  // that was all
    last = sequence;
    if (sequence > end || !topics.contains(natsMsg_GetSubject(raw))) continue;
    FoundRecord record = RecordOf(raw, static_cast<int64_t>(sequence), key);
    const std::set<std::string>& of_topic = holders_[record.topic];
    record.partition = static_cast<int32_t>(
        std::distance(of_topic.begin(), of_topic.find(name)));
    WALPOST_RETURN_IF_ERROR(take(record));
  }
  return last;
}

absl::StatusOr<DeletedRecords> NatsRecords::AddDeletedRecords(
    const std::set<std::string>& topics, AuditDatabase& audit) {
  DeletedRecords deleted;
  std::map<std::string, Stream> now;
  for (const std::string& topic : topics) {
    const auto holder = holders_.find(topic);
    if (holder == holders_.end()) continue;
    int32_t partition = 0;
    for (const std::string& name : holder->second) {
      const auto [stream, is_new] = now.try_emplace(name);
      if (is_new) {
        WALPOST_ASSIGN_OR_RETURN(stream->second, Look(name));
      }
      const Stream& its = stream->second;
      // first is 0 in a stream that never had a message.
      const uint64_t before = its.first == 0 ? 0 : its.first - 1;
      const auto begin = static_cast<int64_t>(before + its.deleted);
      deleted.may_be_some |= begin > 0;
      WALPOST_RETURN_IF_ERROR(
          audit.AddPartition({.topic = topic,
                              .partition = partition++,
                              .begin = begin,
                              .end = static_cast<int64_t>(its.last)}));
    }
  }
  return deleted;
}

std::string NatsHeaderValue(std::string_view text) {
  constexpr std::string_view kEnd = "?=";
  for (const std::string_view begin : {"=?UTF-8?B?", "=?binary?B?"}) {
    if (!text.starts_with(begin) || !text.ends_with(kEnd)) continue;
    const std::string base64(
        text.substr(begin.size(), text.size() - begin.size() - kEnd.size()));
    std::string bytes;
    if (absl::Base64Unescape(base64, &bytes)) return bytes;
  }
  return std::string(text);
}

std::string SubjectsOfPrefix(std::string_view prefix) {
  const size_t end = prefix.rfind('.');
  if (end == std::string_view::npos) return ">";
  return std::string(prefix.substr(0, end + 1)) + ">";
}

}  // namespace walpost
