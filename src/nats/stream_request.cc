#include "nats/stream_request.h"

#include <chrono>

#include "base/own_arguments.h"
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

std::string NatsProgram(const NatsOptions& options) {
  std::string program = "nats";
  const auto add = [&program](std::string_view option, std::string_view value) {
    if (value.empty()) return;
    program += fmt::format(" {} {}", option, ShellQuoted(value));
  };
  add("--server", options.servers);
  add("--tlsca", options.tls.ca_file);
  add("--tlscert", options.tls.certificate_file);
  add("--tlskey", options.tls.key_file);
  add("--creds", options.credentials_file);
  if (!options.user.empty()) {
    add("--user", options.user.Read().value_or("USER"));
    program += " --password \"$NATS_PASSWORD\"";
  }
  if (!options.token.empty()) program += " --user \"$NATS_TOKEN\"";
  add("--js-domain", options.domain);
  return program;
}

std::string MakeStreamCommand(const NatsOptions& options, std::string_view name,
                              std::string_view filter, bool is_clustered) {
  return fmt::format(
      "{} stream add {} --subjects {} --storage file --replicas {} --defaults",
      NatsProgram(options), name, ShellQuoted(filter), is_clustered ? 3 : 1);
}

std::string EditSubjectsCommand(const NatsOptions& options,
                                std::string_view name,
                                const std::vector<std::string>& subjects) {
  std::string command =
      fmt::format("{} stream edit {}", NatsProgram(options), ShellQuoted(name));
  for (const std::string& subject : subjects) {
    command += fmt::format(" --subjects {}", ShellQuoted(subject));
  }
  return command + " --force";
}

}  // namespace walpost
