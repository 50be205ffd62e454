// walpost version: of walpost, and of what it is made of and runs with.
#include "base/version.h"

#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <openssl/crypto.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "fmt/format.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace walpost {
namespace {

std::string LibpqVersion() {
  const int libpq = PQlibVersion();
  return fmt::format("{}.{}", libpq / 10000, libpq % 10000);
}

std::string BuildJson() {
  rapidjson::StringBuffer text;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(text);
  json.SetIndent(' ', 2);
  const auto write = [&json](std::string_view name, std::string_view value) {
    json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  json.StartObject();
  write("version", kVersion);
  write("commit", WALPOST_COMMIT);
  write("compiler", WALPOST_COMPILER);
  write("build_type", WALPOST_BUILD_TYPE);
  json.Key("runs_with");
  json.StartObject();
  write("libpq", LibpqVersion());
  write("librdkafka", rd_kafka_version_str());
  write("openssl", OpenSSL_version(OPENSSL_VERSION_STRING));
  json.EndObject();
  json.Key("built_with");
  json.StartObject();
  // From CMake: "name=version;...".
  const std::vector<std::string> libraries =
      absl::StrSplit(WALPOST_LIBRARIES, ';');
  for (const std::string_view library : libraries) {
    const size_t equals = library.find('=');
    write(library.substr(0, equals), library.substr(equals + 1));
  }
  json.EndObject();
  json.EndObject();
  return std::string(text.GetString(), text.GetSize()) + "\n";
}

}  // namespace

void AddVersion(CLI::App& app, int& exit_code) {
  Verb verb(app, "version",
            "Print the versions of walpost and of "
            "the libraries that it runs with");
  const auto as_json = std::make_shared<bool>(false);
  verb.Flag("--json", *as_json,
            "Print as JSON: also commit, compiler and the libraries that it "
            "was built with");
  verb.Footer("Exit code: 0.");
  verb.Callback([as_json, &exit_code] {
    if (*as_json) {
      PrintContent(BuildJson());
    } else {
      Print("walpost {}\nlibpq {}\nlibrdkafka {}\n", kVersion, LibpqVersion(),
            rd_kafka_version_str());
    }
    exit_code = kExitOk;
  });
}

}  // namespace walpost
