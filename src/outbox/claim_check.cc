#include "outbox/claim_check.h"

#include <algorithm>
#include <charconv>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "fmt/ranges.h"
#include "outbox/column_decoder.h"
#include "outbox/json_object.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void Add(Writer& writer, const char* name, std::string_view text) {
  writer.Key(name);
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

absl::Status Unreadable(std::string_view why) {
  return absl::InvalidArgumentError(
      fmt::format("it is not a claim check: {}", why));
}

}  // namespace

ClaimCheck MakeClaimCheck(std::string_view table, std::string_view id,
                          std::string_view payload) {
  return {std::string(table), std::string(id), payload.size(), Sha256(payload)};
}

std::string ToJson(const ClaimCheck& check) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  Add(writer, "table", check.table);
  Add(writer, "id", ValidUtf8(check.id, check.id.size()));
  writer.Key("bytes");
  writer.Uint64(check.bytes);
  Add(writer, "sha256", fmt::format("{:02x}", fmt::join(check.sha256, "")));
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

absl::StatusOr<ClaimCheck> ParseClaimCheck(std::string_view json) {
  JsonObject object;
  WALPOST_RETURN_IF_ERROR(object.Parse(json));
  const auto text = [&object](std::string_view name) {
    const Value* value = object.Find(name);
    return value == nullptr ? std::string_view() : value->value_or("");
  };
  ClaimCheck check;
  check.table = text("table");
  check.id = text("id");
  const std::string_view bytes = text("bytes");
  const char* end = bytes.data() + bytes.size();
  const auto parsed = std::from_chars(bytes.data(), end, check.bytes);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Unreadable("bytes is not a number");
  }
  std::string digest;
  if (!DecodeBytea(fmt::format("\\x{}", text("sha256")), digest).ok() ||
      digest.size() != check.sha256.size()) {
    return Unreadable("sha256 is not 64 hexadecimal digits");
  }
  std::ranges::copy(digest, check.sha256.begin());
  return check;
}

}  // namespace walpost
