// JsonObject: the members of one JSON object, as texts.
//
// Parses without recursion and, once warm, without allocation. A string member
// has its decoded text, null is nullopt, anything else (number, boolean, nested
// object or array) has its original bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "outbox/event.h"
#include "rapidjson/reader.h"

namespace walpost {

class JsonObject {
 public:
  using Member = std::pair<std::string_view, Value>;

  // kInvalidArgument: `text` is not one JSON object; says where and why. The
  // members are valid until the next Parse and as long as `text`.
  absl::Status Parse(std::string_view text);

  void Clear() { members_.clear(); }

  // In their order in the text; a name may occur twice.
  const std::vector<Member>& members() const { return members_; }

  // The last member of that name; nullptr: none.
  const Value* Find(std::string_view name) const;

 private:
  rapidjson::ParseResult ParseScratch(std::string_view text);

  std::string scratch_;  // copy of the text, decoded in place by the parser
  std::vector<Member> members_;
  rapidjson::Reader reader_;
};

}  // namespace walpost
