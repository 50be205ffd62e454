#include "nats/new_connection.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr int64_t kConnectMillis = 2'000;
// A server that takes no bytes for so long is given up.
constexpr int64_t kWriteMillis = 5'000;
// A silent connection is closed after three of them.
constexpr int64_t kPingMillis = 10'000;
constexpr int kMaxPingsOut = 2;

// libnats begins with the line of its source: "(conn.c:2088): Timeout".
std::string WithoutPlace(std::string_view details) {
  const size_t end = details.find("): ");
  const bool has_place =
      details.starts_with('(') && end != std::string_view::npos &&
      details.substr(0, end).find(".c:") < std::string_view::npos;
  return std::string(has_place ? details.substr(end + 3) : details);
}

absl::Status StatusOf(natsStatus status, std::string_view attempted) {
  if (status == NATS_OK) return absl::OkStatus();
  natsStatus last = NATS_OK;
  const char* const details = nats_GetLastError(&last);
  const std::string text = natsStatus_GetText(status);
  std::string more;
  if (details != nullptr && last == status) more = WithoutPlace(details);
  const bool has_both = !more.empty() && more.find(text) == std::string::npos;
  if (has_both) more = fmt::format("{}: {}", text, more);
  return absl::UnavailableError(
      fmt::format("{}: {}", attempted, more.empty() ? text : more));
}

absl::Status SetTls(natsOptions* options,
                    const NatsConnectionSettings& settings) {
  if (!settings.tls.enabled) return absl::OkStatus();
  WALPOST_RETURN_IF_ERROR(
      StatusOf(natsOptions_SetSecure(options, true), "TLS"));
  if (!settings.tls.ca_file.empty()) {
    WALPOST_RETURN_IF_ERROR(
        StatusOf(natsOptions_LoadCATrustedCertificates(
                     options, settings.tls.ca_file.c_str()),
                 fmt::format("nats.tls.ca_file {}", settings.tls.ca_file)));
  }
  if (settings.tls.certificate_file.empty()) return absl::OkStatus();
  return StatusOf(natsOptions_LoadCertificatesChain(
                      options, settings.tls.certificate_file.c_str(),
                      settings.tls.key_file.c_str()),
                  fmt::format("nats.tls.certificate_file {}",
                              settings.tls.certificate_file));
}

absl::Status SetCredentials(natsOptions* options,
                            const NatsConnectionSettings& settings) {
  if (!settings.user.empty()) {
    WALPOST_RETURN_IF_ERROR(
        StatusOf(natsOptions_SetUserInfo(options, settings.user.c_str(),
                                         settings.password.c_str()),
                 "nats.user"));
  }
  if (!settings.token.empty()) {
    WALPOST_RETURN_IF_ERROR(StatusOf(
        natsOptions_SetToken(options, settings.token.c_str()), "nats.token"));
  }
  if (settings.credentials_file.empty()) return absl::OkStatus();
  return StatusOf(
      natsOptions_SetUserCredentialsFromFiles(
          options, settings.credentials_file.c_str(), /*seedFile=*/nullptr),
      fmt::format("nats.credentials_file {}", settings.credentials_file));
}

absl::StatusOr<NatsOptionsHandle> MakeOptions(
    const NatsConnectionSettings& settings, const NatsCallbacks& callbacks) {
  natsOptions* raw = nullptr;
  WALPOST_RETURN_IF_ERROR(StatusOf(natsOptions_Create(&raw), "options"));
  NatsOptionsHandle options(raw);
  std::vector<const char*> servers;
  for (const std::string& server : settings.servers) {
    servers.push_back(server.c_str());
  }
  WALPOST_RETURN_IF_ERROR(
      StatusOf(natsOptions_SetServers(raw, servers.data(),
                                      static_cast<int>(servers.size())),
               "nats.servers"));
  WALPOST_RETURN_IF_ERROR(SetTls(raw, settings));
  WALPOST_RETURN_IF_ERROR(SetCredentials(raw, settings));
  natsOptions_SetName(raw, settings.name.c_str());
  natsOptions_SetTimeout(raw, kConnectMillis);
  natsOptions_SetAllowReconnect(raw, false);
  natsOptions_SetIgnoreDiscoveredServers(raw, !settings.finds_other_servers);
  natsOptions_SetWriteDeadline(raw, kWriteMillis);
  natsOptions_SetPingInterval(raw, kPingMillis);
  natsOptions_SetMaxPingsOut(raw, kMaxPingsOut);
  // Without it, libnats holds each message back for a millisecond.
  natsOptions_SetSendAsap(raw, true);
  if (callbacks.on_error != nullptr) {
    natsOptions_SetErrorHandler(raw, callbacks.on_error, callbacks.closure);
  }
  if (callbacks.on_closed != nullptr) {
    natsOptions_SetClosedCB(raw, callbacks.on_closed, callbacks.closure);
  }
  return options;
}

bool HasOtherServers(natsConnection* connection) {
  char** servers = nullptr;
  int count = 0;
  if (natsConnection_GetDiscoveredServers(connection, &servers, &count) !=
      NATS_OK) {
    return false;
  }
  for (int i = 0; i < count; ++i) free(servers[i]);
  free(servers);
  return count > 0;
}

}  // namespace

absl::StatusOr<NewNatsConnection> ConnectToNats(
    const NatsConnectionSettings& settings, const NatsCallbacks& callbacks) {
  WALPOST_ASSIGN_OR_RETURN(const NatsOptionsHandle options,
                           MakeOptions(settings, callbacks));
  NewNatsConnection made;
  natsConnection* connection = nullptr;
  WALPOST_RETURN_IF_ERROR(
      StatusOf(natsConnection_Connect(&connection, options.get()),
               "connecting to NATS"));
  made.connection.reset(connection);
  if (natsConnection_HasHeaderSupport(connection) != NATS_OK) {
    return absl::UnavailableError(
        "the server is too old: headers need nats-server 2.2");
  }
  made.max_payload_bytes =
      static_cast<size_t>(natsConnection_GetMaxPayload(connection));
  made.has_other_servers = HasOtherServers(connection);
  natsInbox* inbox = nullptr;
  WALPOST_RETURN_IF_ERROR(StatusOf(natsInbox_Create(&inbox), "inbox"));
  made.inbox = inbox;
  natsInbox_Destroy(inbox);
  natsSubscription* subscription = nullptr;
  WALPOST_RETURN_IF_ERROR(StatusOf(
      natsConnection_Subscribe(&subscription, connection,
                               (made.inbox + ".*").c_str(),
                               callbacks.on_message, callbacks.closure),
      "subscribing to the inbox"));
  made.subscription.reset(subscription);
  // The window of records bounds the answers.
  natsSubscription_SetPendingLimits(subscription, -1, -1);
  return made;
}

}  // namespace walpost
