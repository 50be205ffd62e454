#include "nats/nats_check.h"

#include <nats/nats.h>

#include <memory>
#include <utility>

#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "delivery/topic_text.h"
#include "fmt/format.h"
#include "nats/connection_settings.h"
#include "nats/connection_trouble.h"
#include "nats/json_document.h"
#include "nats/known_streams.h"
#include "nats/new_connection.h"
#include "nats/stream_request.h"

namespace walpost {
namespace {

// The texts of errors are those of libnats and the server.
absl::StatusOr<NewNatsConnection> Connected(const NatsOptions& options) {
  WALPOST_ASSIGN_OR_RETURN(NatsConnectionSettings settings,
                           ConnectionSettings(options));
  settings.finds_other_servers = true;
  NatsCallbacks callbacks;
  callbacks.on_message = [](natsConnection*, natsSubscription*,
                            natsMsg* message,
                            void*) { natsMsg_Destroy(message); };
  callbacks.on_error = [](natsConnection*, natsSubscription*, natsStatus,
                          void*) {};
  return ConnectToNats(settings, callbacks);
}

// A connection that asks one question after the other.
class JetStreamClient {
 public:
  static absl::StatusOr<std::unique_ptr<JetStreamClient>> Connect(
      const NatsOptions& options, std::chrono::milliseconds timeout) {
    WALPOST_ASSIGN_OR_RETURN(NewNatsConnection made, Connected(options));
    // Servers that are listed together are a cluster.
    const bool is_clustered =
        made.has_other_servers || ServerUrls(options.servers).size() > 1;
    return std::unique_ptr<JetStreamClient>(new JetStreamClient(
        std::move(made.connection), JetStreamApi(options.domain), is_clustered,
        timeout));
  }

  bool is_clustered() const { return is_clustered_; }

  // The answer, as JSON. kUnavailable: none came. kFailedPrecondition: nobody
  // listens, or the answer is an error.
  absl::StatusOr<std::string> Ask(const std::string& request,
                                  const std::string& body) {
    natsMsg* raw = nullptr;
    const std::string subject = fmt::format("{}.{}", api_, request);
    const natsStatus status =
        natsConnection_RequestString(&raw, connection_.get(), subject.c_str(),
                                     body.c_str(), timeout_.count());
    const NatsMessageHandle message(raw);
    if (status == NATS_NO_RESPONDERS) {
      return StatusFromJetStream(
          {.code = 503,
           .err_code = kJetStreamNotEnabled,
           .description = "nobody listens on " + subject},
          "asking JetStream");
    }
    if (status != NATS_OK) {
      return absl::UnavailableError(
          fmt::format("{}: {}; may the user publish to it?", subject,
                      natsStatus_GetText(status)));
    }
    std::string json(natsMsg_GetData(raw),
                     static_cast<size_t>(natsMsg_GetDataLength(raw)));
    const JetStreamError error = JsonDocument(json).error();
    if (error.is_error()) return StatusFromJetStream(error, subject);
    return json;
  }

  // nullopt: there is none of this name.
  absl::StatusOr<std::optional<StreamInfo>> Find(const std::string& stream) {
    const absl::StatusOr<std::string> json =
        Ask(fmt::format("STREAM.INFO.{}", stream), "");
    if (json.ok()) return ParseStreamInfo(*json);
    if (absl::IsNotFound(json.status())) return std::nullopt;
    return json.status();
  }

  absl::StatusOr<std::vector<StreamInfo>> StreamsOf(const std::string& filter) {
    WALPOST_ASSIGN_OR_RETURN(
        const std::string json,
        Ask("STREAM.NAMES", filter == ">" ? "" : StreamNamesBody(filter)));
    std::vector<StreamInfo> streams;
    for (const std::string& name : JsonDocument(json).root().Texts("streams")) {
      WALPOST_ASSIGN_OR_RETURN(std::optional<StreamInfo> info, Find(name));
      if (info && !info->is_of_nats()) streams.push_back(*std::move(info));
    }
    return streams;
  }

 private:
  JetStreamClient(NatsConnectionHandle connection, std::string api,
                  bool is_clustered, std::chrono::milliseconds timeout)
      : connection_(std::move(connection)),
        api_(std::move(api)),
        is_clustered_(is_clustered),
        timeout_(timeout) {}

  NatsConnectionHandle connection_;
  std::string api_;
  bool is_clustered_;
  std::chrono::milliseconds timeout_;
};

Finding NotReached(const NatsOptions& options, const absl::Status& status) {
  const ConnectionTrouble trouble = ConnectionTroubleOf(
      {status.message().data(), status.message().size()}, options.servers);
  return {Severity::kError,
          FindingId(trouble.is_of_credentials ? kFindingCredentialsRejected
                                              : kFindingNatsUnavailable),
          "nats.servers", trouble.advice, ""};
}

absl::StatusOr<NatsSurroundings> SurroundingsOf(JetStreamClient& client,
                                                const NatsOptions& options) {
  NatsSurroundings around;
  around.is_clustered = client.is_clustered();
  if (!options.create_stream) return around;
  WALPOST_ASSIGN_OR_RETURN(around.named,
                           client.Find(options.create_stream->name));
  return around;
}

Finding NoAnswer(const absl::Status& status) {
  return {Severity::kError, FindingId(kFindingJetStreamUnavailable),
          "JetStream", std::string(status.message()), ""};
}

}  // namespace

absl::StatusOr<NatsConnectionHandle> OpenNats(const NatsOptions& options) {
  absl::StatusOr<NewNatsConnection> made = Connected(options);
  if (made.ok()) return std::move(made->connection);
  const std::string text(made.status().message());
  const std::string advice = ConnectionTroubleOf(text, options.servers).advice;
  return absl::UnavailableError(advice.empty() ? text : advice);
}

absl::StatusOr<SinkFindings> CheckNats(
    const NatsOptions& options, const std::vector<NatsSubjects>& subjects,
    std::chrono::milliseconds timeout) {
  WALPOST_RETURN_IF_ERROR(CheckNatsOptions(options));
  WALPOST_RETURN_IF_ERROR(ConnectionSettings(options).status());
  SinkFindings found;
  const auto client = JetStreamClient::Connect(options, timeout);
  if (!client.ok()) {
    found.findings.push_back(NotReached(options, client.status()));
    return found;
  }
  const absl::StatusOr<NatsSurroundings> asked =
      SurroundingsOf(**client, options);
  if (!asked.ok()) {
    found.findings.push_back(NoAnswer(asked.status()));
    return found;
  }
  NatsSurroundings around = *asked;
  for (const NatsSubjects& its : subjects) {
    const absl::StatusOr<std::vector<StreamInfo>> streams =
        (*client)->StreamsOf(its.filter());
    if (!streams.ok()) {
      found.findings.push_back(NoAnswer(streams.status()));
      return found;
    }
    found.answers = true;
    found.cluster_id = kUnnamedNats;
    std::vector<StreamInfo> others;  // not judged for another route yet
    for (const StreamInfo& stream : *streams) {
      const std::string name = EscapedTopic(stream.name);
      const bool is_new = found.topic_ids.emplace(name, stream.created).second;
      if (is_new) others.push_back(stream);
    }
    if (others.empty() && !streams->empty()) continue;
    for (Finding& finding : CheckStreams(its, others, options, around)) {
      found.findings.push_back(std::move(finding));
    }
    if (!around.of_events && !others.empty()) around.of_events = others[0];
  }
  return found;
}

absl::StatusOr<std::map<std::string, std::string>> FindNatsStreams(
    const NatsOptions& options, const std::set<std::string>& names,
    std::chrono::milliseconds timeout) {
  std::map<std::string, std::string> found;
  if (names.empty()) return found;
  WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<JetStreamClient> client,
                           JetStreamClient::Connect(options, timeout));
  for (const std::string& name : names) {
    WALPOST_ASSIGN_OR_RETURN(const std::optional<StreamInfo> info,
                             client->Find(UnescapedTopic(name)));
    if (info) found[name] = info->created;
  }
  return found;
}

}  // namespace walpost
