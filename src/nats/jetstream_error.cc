#include "nats/jetstream_error.h"

#include "base/reason_code.h"
#include "delivery/error_policy.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr auto kRetry = absl::StatusCode::kUnavailable;
constexpr auto kReplaceSink = absl::StatusCode::kAborted;
constexpr auto kUndeliverable = absl::StatusCode::kInvalidArgument;
constexpr auto kOperator = absl::StatusCode::kFailedPrecondition;

struct Row {
  int err_code;
  ErrorRule rule;
};

// Numbers of server/errors.json of nats-server.
constexpr Row kErrors[] = {
    // Passes by itself, or when somebody makes room.
    {10077 /* stream store failed: a limit of the stream */,
     {kRetry,
      "the stream is full (discard: new): raise its limit (nats stream edit "
      "STREAM --max-msgs or --max-bytes), or let consumers catch up"}},
    {10002 /* resource limits exceeded for account */,
     {kRetry, "raise the limits of the account"}},
    {10023 /* insufficient resources */,
     {kRetry, "the servers have no room left for JetStream"}},
    {10028 /* insufficient memory resources available */,
     {kRetry, "raise max_memory_store in the configuration of the server"}},
    {10047 /* insufficient storage resources available */,
     {kRetry,
      "the disk of JetStream is full: raise max_file_store in the "
      "configuration of the server, or remove messages"}},
    {10008 /* JetStream system temporarily unavailable */,
     {kRetry, "the cluster has no leader: are most of its servers up?"}},
    {10118 /* stream is offline */,
     {kRetry, "are most of the servers that keep the stream up?"}},
    {10158 /* duplicate message id is in process */, {kRetry, ""}},
    {10167 /* too many requests */, {kRetry, ""}},

    // The record itself is the cause.
    {10054 /* message size exceeds maximum allowed */,
     {kUndeliverable,
      "raise max_msg_size of the stream (nats stream edit STREAM "
      "--max-msg-size), or keep such rows out with a CHECK (sql/outbox.sql)",
      kReasonRecordTooLarge}},
    {10097 /* header size exceeds maximum allowed of 64k */,
     {kUndeliverable, "key and headers of a record have 64 KiB at most",
      kReasonRecordTooLarge}},

    // The next sink looks for the stream again.
    {10060 /* expected stream does not match */, {kReplaceSink, ""}},
    {kStreamNotFound, {absl::StatusCode::kNotFound, ""}},

    // An operator must act.
    {10109 /* invalid operation on sealed stream */,
     {kOperator, "a sealed stream takes nothing more: make another stream"}},
    {10074 /* replicas > 1 not supported in non-clustered mode */,
     {kOperator,
      "a server without a cluster keeps one copy: set "
      "nats.create_stream.replicas: 1, or run a cluster of three"}},
    {10058 /* stream name already in use with a different configuration */,
     {kOperator,
      "walpost changes no stream: give it all subjects that it has and lacks "
      "(nats stream edit NAME --subjects ... --subjects ... --force; walpost "
      "check -c FILE prints it), or set another nats.create_stream.name"}},
    {10065 /* subjects overlap with an existing stream */,
     {kOperator,
      "another stream has some of nats.create_stream.subjects: name others"}},
    {10039 /* JetStream not enabled for account */,
     {kOperator,
      "enable JetStream for the account of nats.user, or use another user"}},
    {kJetStreamNotEnabled,
     {kOperator,
      "enable JetStream on the servers: jetstream {} in their "
      "configuration, or nats-server -js"}},
};

}  // namespace

absl::Status StatusFromJetStream(const JetStreamError& error,
                                 std::string_view attempted) {
  // An error that is not in the table means stop.
  ErrorRule rule = {kOperator, ""};
  for (const Row& row : kErrors) {
    if (row.err_code == error.err_code) rule = row.rule;
  }
  std::string text =
      fmt::format("{}: {} ({})", attempted, error.description, error.err_code);
  if (!rule.hint.empty()) text += fmt::format("; {}", rule.hint);
  const absl::Status status(rule.remedy, text);
  if (rule.reason_code.empty()) return status;
  return WithReasonCode(status, rule.reason_code);
}

}  // namespace walpost
