#include "nats/stream_request.h"

#include <chrono>

#include "fmt/format.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void WriteText(JsonWriter& writer, std::string_view text) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

}  // namespace

std::string JetStreamApi(std::string_view domain) {
  if (domain.empty()) return "$JS.API";
  return fmt::format("$JS.{}.API", domain);
}

std::string StreamNamesBody(std::string_view filter) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writer.Key("subject");
  WriteText(writer, filter);
  writer.EndObject();
  return buffer.GetString();
}

std::string CreateStreamBody(const NatsStreamCreation& creation) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writer.Key("name");
  WriteText(writer, creation.name);
  writer.Key("subjects");
  writer.StartArray();
  for (const std::string& subject : creation.subjects) {
    WriteText(writer, subject);
  }
  writer.EndArray();
  writer.Key("retention");
  writer.String("limits");
  writer.Key("storage");
  writer.String("file");
  writer.Key("num_replicas");
  writer.Int(creation.replicas);
  writer.Key("duplicate_window");
  writer.Int64(std::chrono::nanoseconds(creation.duplicate_window).count());
  for (const char* unlimited : {"max_consumers", "max_msgs", "max_bytes"}) {
    writer.Key(unlimited);
    writer.Int(-1);
  }
  writer.EndObject();
  return buffer.GetString();
}

std::string MakeStreamCommand(std::string_view servers,
                              std::string_view filter) {
  return fmt::format(
      "nats --server '{}' stream add OUTBOX --subjects '{}' --storage file "
      "--replicas 3 --defaults",
      servers, filter);
}

}  // namespace walpost
