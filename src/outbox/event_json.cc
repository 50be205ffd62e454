#include "outbox/event_json.h"

#include "absl/strings/escaping.h"
#include "base/utf8.h"
#include "fmt/chrono.h"
#include "fmt/format.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

rapidjson::SizeType Size(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

void Put(Writer& writer, std::string_view key, const Value& value) {
  writer.Key(key.data(), Size(key));
  if (value.has_value()) {
    writer.String(value->data(), Size(*value));
  } else {
    writer.Null();
  }
}

bool IsJson(std::string_view text) {
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  rapidjson::BaseReaderHandler<> ignore;
  return !text.empty() && !reader.Parse<kFlags>(stream, ignore).IsError();
}

// JSON unchanged, text as a string, bytes as base64.
void PutJsonOrText(Writer& writer, const std::string& key, const Value& value) {
  if (value.has_value() && IsJson(*value) &&
      value->find('\n') == std::string_view::npos) {
    writer.Key(key.data(), Size(key));
    writer.RawValue(value->data(), value->size(), rapidjson::kObjectType);
  } else if (value.has_value() && !IsUtf8(*value)) {
    const std::string base64 =
        absl::Base64Escape(absl::string_view(value->data(), value->size()));
    Put(writer, key + "_base64", base64);
  } else {
    Put(writer, key, value);
  }
}

}  // namespace

std::string EventJson(const Event& event, std::string_view topic,
                      const absl::Status& error) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  if (!topic.empty()) Put(writer, "topic", topic);
  Put(writer, "id", event.id);
  Put(writer, "aggregate_type", event.aggregate_type);
  Put(writer, "aggregate_id", event.aggregate_id);
  Put(writer, "type", event.type);
  PutJsonOrText(writer, "payload", event.payload);
  PutJsonOrText(writer, "headers", event.headers);
  Put(writer, "commit_lsn", event.position.commit_lsn.ToString());
  writer.Key("ordinal");
  writer.Uint64(event.position.ordinal);
  writer.Key("xid");
  writer.Uint(event.xid.value());
  const auto commit_time =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", event.commit_time);
  Put(writer, "commit_time", commit_time);
  if (!error.ok()) Put(writer, "error", std::string(error.message()));
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace walpost
