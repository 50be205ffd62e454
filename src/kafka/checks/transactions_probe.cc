#include "kafka/checks/transactions_probe.h"

#include <librdkafka/rdkafka.h>

#include "base/status_macros.h"
#include "kafka/client/connection_diagnosis.h"
#include "kafka/client/handles.h"
#include "kafka/client/new_client.h"
#include "kafka/producer/producer_properties.h"

namespace walpost {
namespace {

using Probe = ProbedId::Probe;

Probe AnswerOf(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return Probe::kAllowed;
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return Probe::kForbidden;
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
      return Probe::kNoAnswer;
    default:
      return Probe::kFailed;
  }
}

}  // namespace

absl::Status ProbeTransactionalId(const ProducerOptions& options,
                                  std::chrono::milliseconds limit,
                                  ProbedId& probed) {
  ProducerOptions own = options;
  own.transactional_id = probed.id;
  own.transaction_timeout = kProbedTimeout;
  WALPOST_ASSIGN_OR_RETURN(KafkaConf conf, MakeProducerConf(own));
  WALPOST_ASSIGN_OR_RETURN(rd_kafka_t * made,
                           NewKafkaClient(RD_KAFKA_PRODUCER, std::move(conf),
                                          options.token_command));
  const KafkaClient client(made);
  rd_kafka_set_log_queue(client.get(), nullptr);  // WhyUnreached
  AwaitToken(client.get());
  const KafkaHandle<rd_kafka_error_t, rd_kafka_error_destroy> error(
      rd_kafka_init_transactions(client.get(),
                                 static_cast<int>(limit.count())));
  const rd_kafka_resp_err_t code = error == nullptr
                                       ? RD_KAFKA_RESP_ERR_NO_ERROR
                                       : rd_kafka_error_code(error.get());
  probed.probe = AnswerOf(code);
  if (probed.probe == Probe::kNoAnswer) {
    probed.text = WhyUnreached(client.get(), code);
  } else if (probed.probe == Probe::kFailed) {
    probed.text = rd_kafka_error_string(error.get());
  }
  return absl::OkStatus();
}

}  // namespace walpost
