#include "delivery/error_policy.h"

#include "base/reason_code.h"

namespace walpost {
namespace {

constexpr auto kRetry = absl::StatusCode::kUnavailable;
constexpr auto kReplaceProducer = absl::StatusCode::kAborted;
constexpr auto kUndeliverable = absl::StatusCode::kInvalidArgument;
constexpr auto kOperator = absl::StatusCode::kFailedPrecondition;
constexpr auto kDamaged = absl::StatusCode::kDataLoss;

struct SqlstateRow {
  std::string_view prefix;  // the first matching row counts
  ErrorRule rule;
};

constexpr SqlstateRow kSqlstates[] = {
    {"08P01",
     {kOperator,
      "protocol violation: is a pooler in between? "
      "Connect to Postgres directly"}},
    {"08", {kRetry, ""}},
    {"28",
     {kOperator,
      "check user, password and pg_hba.conf; a replication "
      "connection needs a line for the database itself"}},
    {"3F000",
     {kOperator,
      "create the schema (CREATE SCHEMA), or correct the names of tables"}},
    {"3D000", {kOperator, "create the database or correct dbname"}},
    {"42501",
     {kOperator, "docs/security.md has the rights that each verb needs"}},
    {"42704",
     {kOperator,
      "create what is missing with walpost init -c FILE --admin CONNINFO"}},
    {"42", {kOperator, ""}},
    {"0A000", {kOperator, ""}},
    {"22021",
     {kDamaged,
      "a row holds bytes that are not text in the encoding of the "
      "database"}},
    {"22P05", {kDamaged, "a row holds a character that UTF-8 does not have"}},
    {"22", {kOperator, ""}},
    {"25006", {kRetry, "this host is a read-only standby"}},
    // From the creation of replication slots (postgres/slot/slot.h).
    {"53400", {kRetry, "a limit of the server's configuration is reached"}},
    {"53",
     {kRetry,
      "the server is out of a resource: max_wal_senders, "
      "max_connections, memory or disk"}},
    {"54", {kDamaged, "a row is too large to be decoded (1 GB)"}},
    {"55006", {kRetry, "another process uses the slot"}},
    {"55000",
     {kOperator,
      "walpost check -c FILE says what is wrong with the slot or the server"}},
    {"57P", {kRetry, ""}},
    {"58P01", {kOperator, "WAL that the slot needs was removed"}},
    {"58", {kRetry, "the server has trouble with its disk"}},
    {"40", {kRetry, ""}},
    {"XX", {kDamaged, ""}},
};

struct KafkaRow {
  int code;
  ErrorRule rule;
};

constexpr std::string_view kTooLarge =
    "raise max.message.bytes of the topic and message.max.bytes in "
    "kafka.properties, or keep such rows out with a CHECK (sql/outbox.sql)";
constexpr std::string_view kMissingTopic =
    "create the topic, or let the brokers do it (auto.create.topics.enable)";
constexpr std::string_view kAcl = "grant the ACL and restart walpost";

// clang-format off
constexpr KafkaRow kKafkaErrors[] = {
    // Passes by itself; the record is kept.
    {-184 /* _QUEUE_FULL */, {absl::StatusCode::kResourceExhausted, ""}},
    {-188 /* _UNKNOWN_TOPIC */, {kRetry, kMissingTopic}},
    {-190 /* _UNKNOWN_PARTITION */, {kRetry, kMissingTopic}},
    {3 /* UNKNOWN_TOPIC_OR_PART */, {kRetry, kMissingTopic}},
    {29 /* TOPIC_AUTHORIZATION_FAILED */,
     {kRetry, "grant WRITE on the topic, and CREATE if the brokers are to create it: walpost check -c FILE prints the command"}},
    {-195 /* _TRANSPORT */, {kRetry, ""}},
    {-187 /* _ALL_BROKERS_DOWN */, {kRetry, "is kafka.brokers right?"}},
    {-193 /* _RESOLVE */, {kRetry, "is kafka.brokers right?"}},
    {-185 /* _TIMED_OUT */, {kRetry, ""}},

    // The record itself is the cause.
    {10 /* MSG_SIZE_TOO_LARGE */, {kUndeliverable, kTooLarge, kReasonRecordTooLarge}},
    {18 /* RECORD_LIST_TOO_LARGE */, {kUndeliverable, kTooLarge, kReasonRecordTooLarge}},
    {17 /* TOPIC_EXCEPTION */,
     {kUndeliverable, "Kafka does not accept this topic name",
      kReasonTopicIllegal}},
    {32 /* INVALID_TIMESTAMP */,
     {kUndeliverable, "raise message.timestamp.before.max.ms and .after.max.ms"
                      " of the topic, or do not map a timestamp",
      kReasonRecordRefused}},
    {44 /* POLICY_VIOLATION */,
     {kUndeliverable, "a policy of the brokers rejects it",
      kReasonRecordRefused}},
    {87 /* INVALID_RECORD */,
     {kUndeliverable, "a compacted topic rejects records without a key",
      kReasonRecordRefused}},

    // An operator must act.
    {31 /* CLUSTER_AUTHORIZATION_FAILED */,
     {kOperator, "grant WRITE on the topics (walpost check -c FILE prints the command) and restart walpost"}},
    {53 /* TRANSACTIONAL_ID_AUTHORIZATION_FAILED */, {kOperator, kAcl}},
    {58 /* SASL_AUTHENTICATION_FAILED */,
     {kOperator, "check sasl.* in kafka.properties"}},
    {-169 /* _AUTHENTICATION */,
     {kOperator, "check sasl.* and ssl.* in kafka.properties"}},
    {-181 /* _SSL */, {kRetry, "check ssl.* in kafka.properties"}},
    {-165 /* _UNSUPPORTED_FEATURE */,
     {kOperator, "the brokers are too old for the idempotent producer"}},
    {35 /* UNSUPPORTED_VERSION */, {kOperator, ""}},
    {43 /* UNSUPPORTED_FOR_MESSAGE_FORMAT */, {kOperator, ""}},
    {76 /* UNSUPPORTED_COMPRESSION_TYPE */,
     {kOperator, "choose another compression.type in kafka.properties"}},
    {21 /* INVALID_REQUIRED_ACKS */, {kOperator, ""}},
    {-144 /* _FENCED */, {kOperator, "another instance took over"}},

    // The producer is unusable; a new one may deliver the record.
    {-150 /* _FATAL */, {kReplaceProducer, ""}},
    {-148 /* _GAPLESS_GUARANTEE */, {kReplaceProducer, ""}},
    {-149 /* _INCONSISTENT */, {kReplaceProducer, ""}},
    {-152 /* _PURGE_QUEUE */, {kReplaceProducer, ""}},
    {-151 /* _PURGE_INFLIGHT */, {kReplaceProducer, ""}},
    {-197 /* _DESTROY */, {kReplaceProducer, ""}},
    {-192 /* _MSG_TIMED_OUT */, {kReplaceProducer, ""}},
    {-1 /* UNKNOWN */, {kReplaceProducer, ""}},
    {2 /* INVALID_MSG */, {kReplaceProducer, ""}},
    {6 /* NOT_LEADER_FOR_PARTITION */, {kReplaceProducer, ""}},
    {7 /* REQUEST_TIMED_OUT */, {kReplaceProducer, ""}},
    {13 /* NETWORK_EXCEPTION */, {kReplaceProducer, ""}},
    {19 /* NOT_ENOUGH_REPLICAS */, {kReplaceProducer, ""}},
    {20 /* NOT_ENOUGH_REPLICAS_AFTER_APPEND */, {kReplaceProducer, ""}},
    {45 /* OUT_OF_ORDER_SEQUENCE_NUMBER */, {kReplaceProducer, ""}},
    {47 /* INVALID_PRODUCER_EPOCH */, {kReplaceProducer, ""}},
    {48 /* INVALID_TXN_STATE */, {kReplaceProducer, ""}},
    {56 /* KAFKA_STORAGE_ERROR */, {kReplaceProducer, ""}},
    {59 /* UNKNOWN_PRODUCER_ID */, {kReplaceProducer, ""}},
    {74 /* FENCED_LEADER_EPOCH */, {kReplaceProducer, ""}},
    {75 /* UNKNOWN_LEADER_EPOCH */, {kReplaceProducer, ""}},
    {89 /* THROTTLING_QUOTA_EXCEEDED */, {kReplaceProducer, ""}},
};
// clang-format on

constexpr ErrorRule kUnknownError = {
    kOperator,
    "this error is not known to walpost, so an operator must look at it"};

}  // namespace

ErrorRule ClassifySqlstate(std::string_view sqlstate) {
  if (sqlstate.empty()) return {kRetry, ""};
  for (const SqlstateRow& row : kSqlstates) {
    if (sqlstate.starts_with(row.prefix)) return row.rule;
  }
  return kUnknownError;
}

ErrorRule ClassifyKafkaError(int code) {
  for (const KafkaRow& row : kKafkaErrors) {
    if (row.code == code) return row.rule;
  }
  return kUnknownError;
}

}  // namespace walpost
