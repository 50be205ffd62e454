#include "rabbitmq/setup_calls.h"

#include <string_view>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "rabbitmq/name_template.h"

namespace walpost::rabbitmq {
namespace {

template <typename T>
absl::StatusOr<AmqpCall> MakeCall(std::string attempted,
                                  amqp_method_number_t id, const T& fields,
                                  amqp_method_number_t answer) {
  AmqpCall call{
      .attempted = std::move(attempted), .frame = "", .answer = answer};
  WALPOST_RETURN_IF_ERROR(
      AppendAmqpMethod(kRabbitmqChannel, id, fields, call.frame));
  return call;
}

absl::StatusOr<AmqpCall> DeclareExchange(const std::string& name,
                                         const std::string& type) {
  amqp_exchange_declare_t declare{};
  declare.exchange = AmqpBytes(name);
  declare.type = AmqpBytes(type);
  declare.durable = 1;
  return MakeCall(fmt::format("declaring exchange {}", name),
                  AMQP_EXCHANGE_DECLARE_METHOD, declare,
                  AMQP_EXCHANGE_DECLARE_OK_METHOD);
}

absl::StatusOr<AmqpCall> Bind(const std::string& queue,
                              const std::string& exchange,
                              const std::string& routing_key) {
  amqp_queue_bind_t bind{};
  bind.queue = AmqpBytes(queue);
  bind.exchange = AmqpBytes(exchange);
  bind.routing_key = AmqpBytes(routing_key);
  return MakeCall(
      fmt::format("binding queue {} to exchange {}", queue, exchange),
      AMQP_QUEUE_BIND_METHOD, bind, AMQP_QUEUE_BIND_OK_METHOD);
}

}  // namespace

absl::StatusOr<AmqpCall> FindExchange(const std::string& name) {
  amqp_exchange_declare_t declare{};
  declare.exchange = AmqpBytes(name);
  declare.passive = 1;
  return MakeCall(fmt::format("looking for exchange {}", name),
                  AMQP_EXCHANGE_DECLARE_METHOD, declare,
                  AMQP_EXCHANGE_DECLARE_OK_METHOD);
}

absl::StatusOr<AmqpCall> FindQueue(const std::string& name) {
  amqp_queue_declare_t declare{};
  declare.queue = AmqpBytes(name);
  declare.passive = 1;
  return MakeCall(fmt::format("looking for queue {}", name),
                  AMQP_QUEUE_DECLARE_METHOD, declare,
                  AMQP_QUEUE_DECLARE_OK_METHOD);
}

absl::StatusOr<AmqpCall> DeclareQuorumQueue(const std::string& name) {
  amqp_table_entry_t type{};
  type.key = AmqpBytes("x-queue-type");
  type.value.kind = AMQP_FIELD_KIND_UTF8;
  type.value.value.bytes = AmqpBytes("quorum");
  amqp_queue_declare_t declare{};
  declare.queue = AmqpBytes(name);
  declare.durable = 1;
  declare.arguments = {1, &type};
  return MakeCall(fmt::format("declaring queue {}", name),
                  AMQP_QUEUE_DECLARE_METHOD, declare,
                  AMQP_QUEUE_DECLARE_OK_METHOD);
}

absl::StatusOr<std::vector<AmqpCall>> MakeSetupCalls(
    const RabbitmqOptions& options) {
  const RabbitmqCreation& create = options.create;
  std::vector<AmqpCall> calls;
  WALPOST_ASSIGN_OR_RETURN(const NameTemplate exchange,
                           NameTemplate::Parse(options.exchange));
  const bool has_exchange = !options.exchange.empty() && exchange.is_fixed();
  if (has_exchange) {
    WALPOST_ASSIGN_OR_RETURN(AmqpCall find, FindExchange(options.exchange));
    find.may_fail = !create.exchange_type.empty();
    calls.push_back(std::move(find));
  }
  if (has_exchange && !create.exchange_type.empty()) {
    WALPOST_ASSIGN_OR_RETURN(
        AmqpCall declare,
        DeclareExchange(options.exchange, create.exchange_type));
    declare.is_fallback = true;
    calls.push_back(std::move(declare));
  }
  if (!create.queue.empty()) {
    WALPOST_ASSIGN_OR_RETURN(AmqpCall find, FindQueue(create.queue));
    find.may_fail = true;
    calls.push_back(std::move(find));
    WALPOST_ASSIGN_OR_RETURN(AmqpCall declare,
                             DeclareQuorumQueue(create.queue));
    declare.is_fallback = true;
    calls.push_back(std::move(declare));
  }
  if (!create.queue.empty() && has_exchange) {
    WALPOST_ASSIGN_OR_RETURN(AmqpCall bind, Bind(create.queue, options.exchange,
                                                 create.binding_key));
    calls.push_back(std::move(bind));
  }
  WALPOST_ASSIGN_OR_RETURN(
      AmqpCall select,
      MakeCall("asking for confirmations", AMQP_CONFIRM_SELECT_METHOD,
               amqp_confirm_select_t{}, AMQP_CONFIRM_SELECT_OK_METHOD));
  calls.push_back(std::move(select));
  return calls;
}

}  // namespace walpost::rabbitmq
