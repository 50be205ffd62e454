#include "rabbitmq/rabbitmq_check.h"

#include <boost/asio/io_context.hpp>
#include <memory>
#include <set>
#include <utility>

#include "base/finding_id.h"
#include "base/kafka_cluster.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "rabbitmq/address_list.h"
#include "rabbitmq/connection.h"
#include "rabbitmq/name_template.h"
#include "rabbitmq/rabbitmq_sinks.h"
#include "rabbitmq/setup_calls.h"
#include "rabbitmq/topology_findings.h"

namespace walpost {
namespace rabbitmq {
namespace {

class Check {
 public:
  Check(const RabbitmqOptions& options, std::chrono::milliseconds timeout)
      : options_(options), timeout_(timeout) {}

  absl::StatusOr<SinkFindings> Run(const std::vector<RabbitmqTopic>& topics) {
    WALPOST_ASSIGN_OR_RETURN(
        addresses_,
        ParseRabbitmqAddresses(options_.nodes, options_.tls.enabled));
    WALPOST_ASSIGN_OR_RETURN(login_.user, options_.user.Read());
    WALPOST_ASSIGN_OR_RETURN(password_, options_.password.Read());
    if (options_.password.empty()) password_ = login_.user;  // as the sink
    login_.vhost = options_.vhost;
    TopologyAnswers answers;
    SinkFindings result;
    WALPOST_ASSIGN_OR_RETURN(const bool is_asked, Ask(topics, answers, result));
    if (!is_asked) return result;
    result.answers = true;
    for (Finding& finding : FindingsOf(answers, options_, login_)) {
      result.findings.push_back(std::move(finding));
    }
    if (!options_.tls.enabled && !IsLocal()) {
      result.findings.push_back(
          {Severity::kWarning, FindingId("rabbitmq_without_tls"),
           "rabbitmq.tls", "the password and the events are sent as they are",
           "set rabbitmq.tls.enabled: true"});
    }
    return result;
  }

 private:
  bool IsLocal() const {
    for (const ServerPlace& address : addresses_) {
      const bool is_local = address.host == "localhost" ||
                            address.host == "::1" ||
                            address.host.starts_with("127.");
      if (!is_local) return false;
    }
    return true;
  }

  // The queues that the configuration names.
  std::set<std::string> NamedQueues(
      const std::vector<RabbitmqTopic>& topics) const {
    std::set<std::string> queues;
    if (!options_.create.queue.empty()) {
      queues.insert(options_.create.queue);
    }
    const absl::StatusOr<NameTemplate> key =
        NameTemplate::Parse(options_.routing_key);
    if (!options_.exchange.empty() || !key.ok()) return queues;
    if (key->is_fixed()) queues.insert(key->text());
    if (key->text() != "{topic}") return queues;
    for (const RabbitmqTopic& topic : topics) {
      if (topic.is_whole) queues.insert(topic.prefix);
    }
    return queues;
  }

  // False: no server answers, which is a finding.
  absl::StatusOr<bool> Ask(const std::vector<RabbitmqTopic>& topics,
                           TopologyAnswers& answers, SinkFindings& result) {
    std::vector<AmqpCall> calls;
    WALPOST_ASSIGN_OR_RETURN(const NameTemplate exchange,
                             NameTemplate::Parse(options_.exchange));
    const bool has_exchange = exchange.is_fixed() && !options_.exchange.empty();
    if (has_exchange) {
      WALPOST_ASSIGN_OR_RETURN(AmqpCall find, FindExchange(options_.exchange));
      calls.push_back(std::move(find));
    }
    const std::set<std::string> queues = NamedQueues(topics);
    for (const std::string& queue : queues) {
      WALPOST_ASSIGN_OR_RETURN(AmqpCall find, FindQueue(queue));
      calls.push_back(std::move(find));
    }
    std::vector<AmqpAnswer> found;
    if (!Call(std::move(calls), found, &result)) return false;
    size_t at = 0;
    if (has_exchange) answers.exchange = found[at++];
    calls.clear();
    std::vector<std::string> existing;
    for (const std::string& queue : queues) {
      const AmqpAnswer& answer = found[at++];
      answers.queues[queue] = answer;
      if (answer.error) continue;
      // A declaration changes nothing about a queue that exists.
      WALPOST_ASSIGN_OR_RETURN(AmqpCall declare, DeclareQuorumQueue(queue));
      calls.push_back(std::move(declare));
      existing.push_back(queue);
    }
    if (existing.empty()) return true;
    found.clear();
    if (!Call(std::move(calls), found, nullptr)) return true;
    for (size_t i = 0; i < existing.size(); ++i) {
      answers.kinds[existing[i]] = found[i];
    }
    return true;
  }

  // Makes the calls, each of which may fail, on the first server that lets it.
  // False: none does; adds why to `result`, if given.
  bool Call(std::vector<AmqpCall> calls, std::vector<AmqpAnswer>& answers,
            SinkFindings* result) {
    for (AmqpCall& call : calls) call.may_fail = true;
    for (const ServerPlace& address : addresses_) {
      boost::asio::io_context io(1);
      absl::Status failure = absl::OkStatus();
      bool is_ready = false;
      Connection::Handlers handlers;
      handlers.on_ready = [&] {
        is_ready = true;
        io.stop();
      };
      handlers.on_frame = [](const AmqpFrame&) { return absl::OkStatus(); };
      handlers.on_turn = [] {};
      handlers.on_failed = [&](const absl::Status& error) {
        failure = error;
        io.stop();
      };
      const auto connection = Connection::Open(
          io.get_executor(), OptionsFor(address, calls), handlers);
      io.run_for(timeout_ + std::chrono::seconds(1));
      const Handshake& handshake = connection->handshake();
      if (is_ready) answers = handshake.answers();
      if (result != nullptr) {
        Note(address, handshake, failure, is_ready, *result);
      }
      // The loop has to let its coroutines end.
      connection->Abort();
      io.restart();
      io.run_for(std::chrono::milliseconds(100));
      if (is_ready) return true;
    }
    return false;
  }

  Connection::Options OptionsFor(const ServerPlace& address,
                                 const std::vector<AmqpCall>& calls) const {
    Connection::Options options;
    options.address = address;
    options.tls = options_.tls;
    options.connect_timeout = timeout_;
    options.heartbeat = options_.heartbeat;
    options.handshake.login = login_;
    options.handshake.password = password_;
    options.handshake.is_external = login_.user.empty();
    options.handshake.connection_name = options_.connection_name + "-check";
    options.handshake.calls = calls;
    return options;
  }

  void Note(const ServerPlace& address, const Handshake& handshake,
            const absl::Status& failure, bool is_ready, SinkFindings& result) {
    const std::string subject = fmt::format("node {}", address.ToString());
    if (is_ready) {
      const ServerFacts& facts = handshake.facts();
      result.cluster_id = ClusterIdOf(facts);
      // Those before it did not answer, which run gets over.
      for (Finding& finding : result.findings) {
        finding.severity = Severity::kWarning;
      }
      result.findings.push_back({Severity::kOk, FindingId("rabbitmq_ok"),
                                 subject,
                                 fmt::format("RabbitMQ {}, cluster {}",
                                             facts.version, facts.cluster_name),
                                 ""});
      if (result.cluster_id == kUnnamedRabbitmq) {
        result.findings.push_back(
            {Severity::kNote, FindingId("cluster_name_not_set"), subject,
             "each node tells its own name, so that walpost would not notice "
             "another cluster",
             "rabbitmqctl set_cluster_name NAME, without an @. If walpost has "
             "published here before, it takes the named cluster for another "
             "one: then stop walpost, run walpost recover -c FILE --accept, "
             "and start it"});
      }
      return;
    }
    const auto& closed = handshake.closed();
    const bool is_of_login = closed && RejectsLogin(*closed);
    const std::string remedy =
        closed ? RemedyOf(*closed, login_) : RemedyOfSilence(failure);
    const std::string text =
        closed ? fmt::format("{} {}", closed->code, closed->text)
               : std::string(failure.message());
    result.findings.push_back(
        {Severity::kError,
         FindingId(is_of_login ? kFindingCredentialsRejected
                   : closed    ? "rabbitmq_refuses"
                               : "rabbitmq_unavailable"),
         subject, text, remedy});
  }

  static std::string RemedyOfSilence(const absl::Status& failure) {
    return absl::IsDataLoss(failure)
               ? "set rabbitmq.tls.enabled: true if it is a TLS port, or "
                 "correct the port in rabbitmq.nodes"
               : "start the node, or correct rabbitmq.nodes";
  }

  const RabbitmqOptions& options_;
  std::chrono::milliseconds timeout_;
  std::vector<ServerPlace> addresses_;
  RabbitmqLogin login_;
  std::string password_;
};

}  // namespace
}  // namespace rabbitmq

absl::StatusOr<SinkFindings> CheckRabbitmq(
    const RabbitmqOptions& options, const std::vector<RabbitmqTopic>& topics,
    std::chrono::milliseconds timeout) {
  WALPOST_RETURN_IF_ERROR(CheckRabbitmqOptions(options));
  return rabbitmq::Check(options, timeout).Run(topics);
}

}  // namespace walpost
