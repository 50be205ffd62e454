#include "kafka/transactions/transaction_status.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/reason_code.h"
#include "fmt/format.h"
#include "kafka/client/handles.h"
#include "kafka/client/kafka_status.h"

namespace walpost {
namespace {

constexpr rd_kafka_resp_err_t kFencedCodes[] = {
    RD_KAFKA_RESP_ERR__FENCED, RD_KAFKA_RESP_ERR_PRODUCER_FENCED,
    RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH};

constexpr std::string_view kTimeoutAdvice =
    "lower delivery.transaction_timeout, or raise transaction.max.timeout.ms "
    "of the brokers";

// "[thrd:main]: Current transaction failed ..."
std::string_view WithoutThread(std::string_view text) {
  constexpr std::string_view kEnd = "]: ";
  const size_t end = text.find(kEnd);
  const bool has_thread =
      text.starts_with("[thrd:") && end != std::string_view::npos;
  return has_thread ? text.substr(end + kEnd.size()) : text;
}

}  // namespace

bool IsFenced(rd_kafka_resp_err_t code) {
  return std::ranges::find(kFencedCodes, code) != std::end(kFencedCodes);
}

absl::Status StatusFromTransaction(rd_kafka_error_t* raw,
                                   std::string_view attempted,
                                   const TransactionNames& names) {
  if (raw == nullptr) return absl::OkStatus();
  const KafkaHandle<rd_kafka_error_t, rd_kafka_error_destroy> error(raw);
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error.get());
  if (IsFenced(code)) {
    return WithReasonCode(
        absl::AbortedError(fmt::format("{}: {} has taken over transactional.id "
                                       "{}, or the transaction was open for "
                                       "longer than "
                                       "delivery.transaction_timeout",
                                       attempted, names.successor, names.id)),
        kReasonFenced);
  }
  switch (code) {
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return absl::FailedPreconditionError(fmt::format(
          "{}: the rights WRITE and DESCRIBE on the transactional id are "
          "missing: {} --operation Write --operation Describe "
          "--transactional-id '{}'",
          attempted, GrantTo(names.user), names.id));
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return absl::FailedPreconditionError(fmt::format(
          "{}: the brokers do not allow transactions to be open for so long: "
          "{}",
          attempted, kTimeoutAdvice));
    default:
      break;
  }
  const std::string text =
      fmt::format("{}: {}", attempted, rd_kafka_error_string(error.get()));
  if (rd_kafka_error_txn_requires_abort(error.get()) ||
      rd_kafka_error_is_fatal(error.get())) {
    return absl::AbortedError(text);
  }
  return StatusFromKafka(code, text);
}

// "Fatal transaction error: ... fenced by a newer instance (_FENCED)"
absl::Status StatusFromTransactionLog(std::string_view text) {
  const std::string reason(WithoutThread(text));
  if (reason.find("TRANSACTIONAL_ID_AUTHORIZATION_FAILED") !=
      std::string::npos) {
    return absl::FailedPreconditionError(
        fmt::format("{}: the rights WRITE and DESCRIBE on the transactional id "
                    "are missing: walpost check -c FILE prints the command",
                    reason));
  }
  if (reason.find("INVALID_TRANSACTION_TIMEOUT") != std::string::npos) {
    return absl::FailedPreconditionError(
        fmt::format("{}: {}", reason, kTimeoutAdvice));
  }
  const bool is_fenced =
      std::ranges::any_of(kFencedCodes, [&](rd_kafka_resp_err_t code) {
        const std::string name = fmt::format("({})", rd_kafka_err2name(code));
        return text.find(name) != std::string_view::npos;
      });
  if (!is_fenced) return absl::AbortedError(reason);
  return WithReasonCode(
      absl::AbortedError(fmt::format(
          "{}; or the transaction was open for longer than "
          "delivery.transaction_timeout, so that the brokers have aborted it",
          reason)),
      kReasonFenced);
}

// ... Failed to add partition "orders" [0] to transaction: Broker: ...
absl::Status StatusFromAddParts(std::string_view text) {
  constexpr auto kUnauthorized = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
  constexpr std::string_view kBefore = "Failed to add partition \"";
  const size_t before = text.find(kBefore);
  if (before == std::string_view::npos ||
      text.find(rd_kafka_err2str(kUnauthorized)) == std::string_view::npos) {
    return absl::OkStatus();
  }
  const std::string_view rest = text.substr(before + kBefore.size());
  const absl::Status denied = StatusFromKafka(
      kUnauthorized, fmt::format("writing to topic {} in a transaction",
                                 rest.substr(0, rest.find('"'))));
  return absl::FailedPreconditionError(denied.message());
}

}  // namespace walpost
