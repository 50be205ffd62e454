#include "import/connector_offsets.h"

#include <rapidjson/document.h>

#include <vector>

#include "fmt/format.h"

namespace walpost {
namespace {

constexpr size_t kMaxOffsets = 1000;

const rapidjson::Value* Member(const rapidjson::Value& object,
                               const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

// Objects with an LSN, and servers, anywhere in a value.
struct Found {
  std::vector<const rapidjson::Value*> offsets;
  std::vector<std::string> servers;

  void Search(const rapidjson::Value& value, int depth) {
    if (depth > 10 || offsets.size() > kMaxOffsets) return;
    if (value.IsArray()) {
      for (const auto& one : value.GetArray()) Search(one, depth + 1);
    } else if (value.IsObject()) {
      if (Member(value, "lsn") != nullptr ||
          Member(value, "lsn_commit") != nullptr ||
          Member(value, "lsn_proc") != nullptr) {
        offsets.push_back(&value);
        return;
      }
      for (const auto& member : value.GetObject()) {
        if (member.value.IsString() &&
            std::string_view(member.name.GetString()) == "server") {
          servers.emplace_back(member.value.GetString());
        }
        Search(member.value, depth + 1);
      }
    }
  }
};

bool IsInSnapshot(const rapidjson::Value& offset) {
  const rapidjson::Value* snapshot = Member(offset, "snapshot");
  if (snapshot == nullptr || snapshot->IsNull()) return false;
  if (snapshot->IsBool() && !snapshot->GetBool()) return false;
  if (snapshot->IsString() &&
      std::string_view(snapshot->GetString()) == "false") {
    return false;
  }
  for (const char* name : {"snapshot_completed", "last_snapshot_record"}) {
    const rapidjson::Value* done = Member(offset, name);
    if (done != nullptr && done->IsBool() && done->GetBool()) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<ConnectorOffset> ReadConnectorOffset(std::string_view text) {
  // A record of the topic is shown with its key before it.
  constexpr unsigned kFlags =
      rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseIterativeFlag;
  std::vector<rapidjson::Document> documents;
  Found found;
  for (size_t at = text.find_first_of("{["); at != std::string_view::npos;) {
    rapidjson::Document document;
    document.Parse<kFlags>(text.data() + at, text.size() - at);
    if (document.HasParseError()) {
      return absl::InvalidArgumentError("it is not JSON");
    }
    documents.push_back(std::move(document));
    if (documents.size() > kMaxOffsets) break;
    // Where the next one begins is not known: after the last brace of this.
    size_t depth = 0;
    bool is_text = false;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (is_text) {
        if (c == '\\') ++at;
        if (c == '"') is_text = false;
      } else if (c == '"') {
        is_text = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        break;
      }
    }
    at = text.find_first_of("{[", std::min(at, text.size()));
  }
  for (const rapidjson::Document& document : documents) {
    found.Search(document, 0);
  }
  if (found.offsets.empty()) {
    return absl::InvalidArgumentError(
        "it has no offset with lsn, lsn_proc or lsn_commit: give what GET "
        "/connectors/NAME/offsets answers, or the value of the record in the "
        "topic of offsets");
  }
  if (found.offsets.size() > 1) {
    return absl::InvalidArgumentError(
        fmt::format("it has {} offsets: leave the one of this connector",
                    found.offsets.size()));
  }
  const rapidjson::Value& offset = *found.offsets.front();
  if (IsInSnapshot(offset)) {
    return absl::InvalidArgumentError(
        "the connector has stopped within its snapshot: let it finish, or "
        "start with a new slot and snapshot: initial");
  }
  for (const char* name : {"lsn_commit", "lsn_proc", "lsn"}) {
    const rapidjson::Value* lsn = Member(offset, name);
    if (lsn == nullptr || lsn->IsNull()) continue;
    if (!lsn->IsUint64() || lsn->GetUint64() == 0) {
      return absl::InvalidArgumentError(
          fmt::format("{} is not a positive number", name));
    }
    return ConnectorOffset{Lsn(lsn->GetUint64()), name,
                           found.servers.empty() ? "" : found.servers.front()};
  }
  return absl::InvalidArgumentError("its LSN is null");
}

}  // namespace walpost
