#include "redis/resp.h"

#include "fmt/format.h"

namespace walpost {

void BeginCommand(size_t count, std::string& bytes) {
  fmt::format_to(std::back_inserter(bytes), "*{}\r\n", count);
}

void AddArgument(std::string_view argument, std::string& bytes) {
  fmt::format_to(std::back_inserter(bytes), "${}\r\n", argument.size());
  bytes.append(argument);
  bytes.append("\r\n");
}

std::string Command(std::initializer_list<std::string_view> arguments) {
  std::string bytes;
  BeginCommand(arguments.size(), bytes);
  for (const std::string_view argument : arguments) {
    AddArgument(argument, bytes);
  }
  return bytes;
}

std::string_view Reply::TextOf(const redisReply* reply) {
  if (reply == nullptr) return "";
  const bool is_text = reply->type == REDIS_REPLY_STRING ||
                       reply->type == REDIS_REPLY_STATUS ||
                       reply->type == REDIS_REPLY_ERROR;
  return is_text ? std::string_view(reply->str, reply->len)
                 : std::string_view();
}

const redisReply* Reply::part(size_t i) const {
  return i < size() ? reply_->element[i] : nullptr;
}

std::string_view Reply::text(size_t i) const { return TextOf(part(i)); }

int64_t Reply::integer(size_t i) const {
  const redisReply* found = part(i);
  const bool is_integer =
      found != nullptr && found->type == REDIS_REPLY_INTEGER;
  return is_integer ? found->integer : 0;
}

std::vector<int64_t> Reply::integers(size_t i) const {
  const redisReply* found = part(i);
  std::vector<int64_t> integers;
  if (found == nullptr || found->type != REDIS_REPLY_ARRAY) return integers;
  for (size_t k = 0; k < found->elements; ++k) {
    integers.push_back(found->element[k]->integer);
  }
  return integers;
}

std::optional<std::pair<std::string_view, uint16_t>> Reply::place(
    size_t i, size_t k) const {
  const redisReply* list = part(i);
  if (list == nullptr || list->type != REDIS_REPLY_ARRAY ||
      k >= list->elements) {
    return std::nullopt;
  }
  const redisReply* found = list->element[k];
  const bool is_place = found->type == REDIS_REPLY_ARRAY &&
                        found->elements >= 2 &&
                        found->element[1]->type == REDIS_REPLY_INTEGER;
  if (!is_place) return std::nullopt;
  return std::pair(TextOf(found->element[0]),
                   static_cast<uint16_t>(found->element[1]->integer));
}

std::vector<std::string_view> Reply::texts() const {
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < size(); ++i) texts.push_back(text(i));
  return texts;
}

ReplyReader::ReplyReader() : reader_(redisReaderCreate()) {}

absl::Status ReplyReader::Feed(std::string_view bytes) {
  waiting_bytes_ += bytes.size();
  const bool is_fed =
      waiting_bytes_ <= kMaxBytes &&
      redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK;
  return is_fed ? absl::OkStatus()
                : absl::DataLossError("the server's reply is not one of Redis");
}

absl::StatusOr<std::optional<Reply>> ReplyReader::Next() {
  void* reply = nullptr;
  if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
    return absl::DataLossError(
        fmt::format("the server's reply is not one of Redis: {}",
                    static_cast<const char*>(reader_->errstr)));
  }
  if (reply == nullptr) return std::optional<Reply>();
  waiting_bytes_ = 0;
  return std::optional<Reply>(Reply(static_cast<redisReply*>(reply)));
}

}  // namespace walpost
