#include "nats/connection_settings.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "nats/subject.h"

namespace walpost {
namespace {

constexpr int kMaxReplicas = 5;
constexpr std::chrono::milliseconds kMinAckTimeout{100};
constexpr std::chrono::milliseconds kMaxAckTimeout{60'000};
constexpr std::chrono::milliseconds kMinDuplicateWindow{100};

absl::Status Invalid(std::string_view key, std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("nats.{}: {}", key, why));
}

bool HasTlsScheme(const std::string& url) {
  return absl::StartsWith(url, "tls://");
}

absl::Status CheckServers(const NatsOptions& options) {
  const std::vector<std::string> urls = ServerUrls(options.servers);
  if (urls.empty()) {
    return Invalid("servers",
                   "how to reach NATS is missing, as in "
                   "nats://127.0.0.1:4222");
  }
  for (const std::string& url : urls) {
    const bool is_known = absl::StartsWith(url, "nats://") || HasTlsScheme(url);
    if (!is_known) {
      return Invalid("servers", fmt::format("'{}' begins with neither nats:// "
                                            "nor tls://",
                                            url));
    }
    if (url.find('@') != std::string::npos) {
      return Invalid("servers",
                     "credentials belong in nats.user and "
                     "nats.password, or nats.token");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCredentials(const NatsOptions& options) {
  const int kinds = static_cast<int>(!options.user.empty()) +
                    static_cast<int>(!options.token.empty()) +
                    static_cast<int>(!options.credentials_file.empty());
  if (kinds > 1) {
    return Invalid("user",
                   "give one of nats.user, nats.token and "
                   "nats.credentials_file");
  }
  if (options.user.empty() != options.password.empty()) {
    return Invalid("password", "nats.user and nats.password go together");
  }
  return absl::OkStatus();
}

absl::Status CheckCreation(const NatsStreamCreation& creation) {
  if (creation.name.empty() ||
      creation.name.find_first_of(" \t\r\n.*>/\\") != std::string::npos) {
    return Invalid("create_stream.name",
                   fmt::format("'{}' is not the name of a stream: it has at "
                               "least one character, and no space, dot, *, >, "
                               "/ or \\",
                               creation.name));
  }
  if (creation.subjects.empty()) {
    return Invalid("create_stream.subjects", "at least one, as in outbox.>");
  }
  for (const std::string& subject : creation.subjects) {
    const absl::Status status = CheckSubjectFilter(subject);
    if (!status.ok()) {
      return Invalid("create_stream.subjects", std::string(status.message()));
    }
  }
  if (creation.replicas < 1 || creation.replicas > kMaxReplicas) {
    return Invalid("create_stream.replicas", "1 to 5");
  }
  if (creation.duplicate_window < kMinDuplicateWindow) {
    return Invalid("create_stream.duplicate_window", "at least 100ms");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNatsOptions(const NatsOptions& options) {
  WALPOST_RETURN_IF_ERROR(CheckServers(options));
  WALPOST_RETURN_IF_ERROR(CheckCredentials(options));
  if (options.ack_timeout < kMinAckTimeout ||
      options.ack_timeout > kMaxAckTimeout) {
    return Invalid("ack_timeout", "100ms to 60s");
  }
  if (!options.domain.empty() &&
      options.domain.find_first_of(" \t.*>") != std::string::npos) {
    return Invalid("domain", "it is one token, without dots and wildcards");
  }
  if (options.create_stream) return CheckCreation(*options.create_stream);
  return absl::OkStatus();
}

std::vector<std::string> ServerUrls(std::string_view servers) {
  constexpr std::string_view kScheme = "://";
  std::vector<std::string> urls;
  for (const auto part :
       absl::StrSplit(absl::string_view(servers.data(), servers.size()), ',')) {
    const absl::string_view server = absl::StripAsciiWhitespace(part);
    if (server.empty()) continue;
    std::string url(server);
    if (url.find(kScheme) == std::string::npos) url = "nats://" + url;
    const size_t host = url.find(kScheme) + kScheme.size();
    const size_t after = url.find(']', host);  // of an IPv6 address
    const size_t colon =
        url.find(':', after == std::string::npos ? host : after);
    if (colon == std::string::npos) url += ":4222";
    urls.push_back(std::move(url));
  }
  return urls;
}

absl::StatusOr<NatsConnectionSettings> ConnectionSettings(
    const NatsOptions& options) {
  NatsConnectionSettings settings;
  settings.servers = ServerUrls(options.servers);
  settings.tls = options.tls;
  for (const std::string& url : settings.servers) {
    settings.tls.enabled |= HasTlsScheme(url);
  }
  WALPOST_ASSIGN_OR_RETURN(settings.user, options.user.Read());
  WALPOST_ASSIGN_OR_RETURN(settings.password, options.password.Read());
  WALPOST_ASSIGN_OR_RETURN(settings.token, options.token.Read());
  settings.credentials_file = options.credentials_file;
  settings.name = options.client_id;
  return settings;
}

}  // namespace walpost
