#include "rabbitmq/topology_findings.h"

#include "fmt/format.h"

namespace walpost::rabbitmq {
namespace {

constexpr char kExchangeMissing[] = "exchange_missing";
constexpr char kQueueMissing[] = "queue_missing";

void AddExchange(const AmqpAnswer& answer, const RabbitmqOptions& options,
                 const RabbitmqLogin& login, Findings& findings) {
  const std::string subject = fmt::format("exchange {}", options.exchange);
  if (!answer.error) {
    findings.push_back(
        {Severity::kOk, FindingId("exchange_ok"), subject, "it exists", ""});
    return;
  }
  if (answer.error->code == kAmqpNotFound &&
      !options.create.exchange_type.empty()) {
    findings.push_back({Severity::kNote, FindingId(kExchangeMissing), subject,
                        "does not exist; run declares it", ""});
    return;
  }
  findings.push_back({Severity::kError, FindingId(kExchangeMissing), subject,
                      answer.error->text, RemedyOf(*answer.error, login)});
}

void AddQueue(const std::string& name, const AmqpAnswer& answer,
              const RabbitmqOptions& options, const RabbitmqLogin& login,
              Findings& findings) {
  const std::string subject = fmt::format("queue {}", name);
  if (!answer.error) return;
  const bool is_made = options.create.queue == name;
  if (answer.error->code == kAmqpNotFound && is_made) {
    findings.push_back({Severity::kNote, FindingId(kQueueMissing), subject,
                        "does not exist; run declares it, with a quorum", ""});
    return;
  }
  findings.push_back(
      {Severity::kError, FindingId(kQueueMissing), subject,
       answer.error->text + ": its events would come back (unroutable)",
       fmt::format("rabbitmqadmin --vhost='{}' declare queue name='{}' "
                   "durable=true arguments='{{\"x-queue-type\":\"quorum\"}}'; "
                   "or set rabbitmq.create.queue",
                   login.vhost, name)});
}

// "inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received
// 'quorum' but current is 'classic'"
void AddKind(const std::string& name, const AmqpAnswer& answer,
             Findings& findings) {
  const std::string subject = fmt::format("queue {}", name);
  if (!answer.error) {
    findings.push_back({Severity::kOk, FindingId("queue_ok"), subject,
                        "it exists, and has a quorum", ""});
    return;
  }
  const std::string& text = answer.error->text;
  const bool is_of_kind = text.find("'x-queue-type'") != std::string::npos ||
                          text.find("'durable'") != std::string::npos ||
                          text.find("'auto_delete'") != std::string::npos ||
                          text.find("exclusive") != std::string::npos;
  if (is_of_kind) {
    findings.push_back(
        {Severity::kWarning, FindingId("queue_without_quorum"), subject,
         fmt::format("it is not a quorum queue ({}): what it confirms is lost "
                     "with its node",
                     text),
         "delete it, and declare it with the argument x-queue-type: quorum"});
    return;
  }
  findings.push_back(
      {Severity::kNote, FindingId("queue_kind_unknown"), subject,
       fmt::format("it exists; whether it has a quorum, the server does not "
                   "tell this user over AMQP ({})",
                   text),
       "rabbitmqctl list_queues name type durable"});
}

}  // namespace

Findings FindingsOf(const TopologyAnswers& answers,
                    const RabbitmqOptions& options,
                    const RabbitmqLogin& login) {
  Findings findings;
  if (answers.exchange) {
    AddExchange(*answers.exchange, options, login, findings);
  }
  for (const auto& [name, answer] : answers.queues) {
    AddQueue(name, answer, options, login, findings);
  }
  for (const auto& [name, answer] : answers.kinds) {
    AddKind(name, answer, findings);
  }
  const bool has_exchange = !options.exchange.empty();
  findings.push_back(
      {Severity::kNote, FindingId("bindings_unknown"),
       has_exchange ? fmt::format("exchange {}", options.exchange)
                    : std::string("the default exchange"),
       has_exchange
           ? "AMQP does not tell which queues are bound to it, of which type "
             "they are, or whether a queue was deleted and made again. An "
             "event for no queue comes back (on_error: unroutable)"
           : "AMQP does not tell which queues there are, or whether one was "
             "deleted and made again. An event for no queue comes back "
             "(on_error: unroutable)",
       has_exchange
           ? fmt::format("rabbitmqctl -p '{}' list_bindings; rabbitmqctl -p "
                         "'{}' list_queues name type durable policy",
                         login.vhost, login.vhost)
           : fmt::format("rabbitmqctl -p '{}' list_queues name type durable "
                         "policy",
                         login.vhost)});
  return findings;
}

}  // namespace walpost::rabbitmq
