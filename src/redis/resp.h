// Bytes of the Redis protocol (RESP 2): commands out, replies in. hiredis
// parses the replies; no socket is known here.
//
// Command says a command, and ReplyReader gives the replies in the order of the
// commands:
//
//   std::string bytes = Command({"XLEN", "orders"});
//   reader.Feed(received);
//   WALPOST_ASSIGN_OR_RETURN(Reply reply, reader.Next());
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace walpost {

// Appends "*COUNT", which COUNT arguments must follow.
void BeginCommand(size_t count, std::string& bytes);
void AddArgument(std::string_view argument, std::string& bytes);

// A whole command.
std::string Command(std::initializer_list<std::string_view> arguments);

// A reply of the server. Its views are valid as long as it lives.
class Reply {
 public:
  explicit Reply(redisReply* reply) : reply_(reply) {}

  bool is_error() const { return reply_->type == REDIS_REPLY_ERROR; }
  bool is_array() const { return reply_->type == REDIS_REPLY_ARRAY; }
  bool is_integer() const { return reply_->type == REDIS_REPLY_INTEGER; }
  // A string, a status or an error; empty for others.
  std::string_view text() const { return TextOf(reply_.get()); }
  int64_t integer() const { return is_integer() ? reply_->integer : 0; }

  // Gives it to the caller, who frees it.
  redisReply* Release() && { return reply_.release(); }

  // Parts of an array: a part that is missing, or of another type, is empty or
  // 0.
  size_t size() const { return is_array() ? reply_->elements : 0; }
  std::string_view text(size_t i) const;
  int64_t integer(size_t i) const;
  // The integers of a part that is an array.
  std::vector<int64_t> integers(size_t i) const;
  // The host and the port by which part `k` of part `i` begins; a host that is
  // null is empty. nullopt: it is something else.
  std::optional<std::pair<std::string_view, uint16_t>> place(size_t i,
                                                             size_t k) const;
  // The texts of an array.
  std::vector<std::string_view> texts() const;

 private:
  struct Free {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };

  static std::string_view TextOf(const redisReply* reply);
  const redisReply* part(size_t i) const;

  std::unique_ptr<redisReply, Free> reply_;
};

class ReplyReader {
 public:
  // Maximum bytes of a reply that has not come whole: a server that sends more
  // is not Redis.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  ReplyReader();

  // kDataLoss: the bytes are not of this protocol.
  absl::Status Feed(std::string_view bytes);
  // The next whole reply; nullopt: feed more. kDataLoss: see Feed.
  absl::StatusOr<std::optional<Reply>> Next();

 private:
  struct Free {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  std::unique_ptr<redisReader, Free> reader_;
  size_t waiting_bytes_ = 0;  // since the last whole reply
};

}  // namespace walpost
