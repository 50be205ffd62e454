#include "kafka/checks/transactions_check.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "fmt/format.h"
#include "kafka/checks/transactions_probe.h"

namespace walpost {
namespace {

using Probe = ProbedId::Probe;

constexpr char kMaxTimeout[] = "transaction.max.timeout.ms";
constexpr char kReplicas[] = "transaction.state.log.replication.factor";
constexpr char kMinIsr[] = "transaction.state.log.min.isr";

// The values of all brokers.
std::vector<int64_t> Values(const TransactionFacts& facts, const char* name) {
  std::vector<int64_t> values;
  for (const auto& settings : facts.settings) {
    const auto found = settings.find(name);
    if (found == settings.end()) continue;
    values.push_back(std::strtoll(found->second.c_str(), nullptr, 10));
  }
  return values;
}

// 0: not known.
int64_t Largest(const TransactionFacts& facts, const char* name) {
  const std::vector<int64_t> values = Values(facts, name);
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

class TransactionsCheck {
 public:
  TransactionsCheck(const TransactionFacts& facts, const KafkaUser& user)
      : facts_(facts), user_(user) {}

  Findings Run() {
    CheckTimeout();
    const bool can_begin = CheckLog();
    CheckIds(can_begin);
    return std::move(findings_);
  }

 private:
  void Add(Severity severity, FindingId id, std::string subject,
           std::string text, std::string remedy = "") {
    findings_.push_back({severity, std::move(id), std::move(subject),
                         std::move(text), std::move(remedy)});
  }

  void CheckTimeout() {
    const std::vector<int64_t> values = Values(facts_, kMaxTimeout);
    if (values.empty()) return;
    const int64_t limit = *std::min_element(values.begin(), values.end());
    const int64_t wanted = facts_.timeout.count();
    const std::string text = fmt::format(
        "is {} ms at the brokers, and delivery.transaction_timeout is {} ms",
        limit, wanted);
    if (wanted <= limit)
      return Add(Severity::kOk, FindingId("transaction_timeout_ok"),
                 kMaxTimeout, text);
    Add(Severity::kError, FindingId("transaction_timeout_too_long"),
        kMaxTimeout, text + ": run cannot begin",
        fmt::format("set delivery.transaction_timeout: {}ms, or {}={} in "
                    "server.properties of every broker, and restart them",
                    limit, kMaxTimeout, wanted));
  }

  // False: there is no log of transactions, and there will not be one.
  bool CheckLog() {
    const int64_t wanted = facts_.log_replicas > 0 ? facts_.log_replicas
                                                   : Largest(facts_, kReplicas);
    if (wanted == 0) return true;
    const auto up = static_cast<int64_t>(facts_.brokers);
    const bool exists =
        facts_.log_replicas > 0 || facts_.relay.probe == Probe::kAllowed;
    if (!exists && wanted > up) {
      Add(Severity::kError, FindingId("transaction_log_not_creatable"),
          kReplicas,
          fmt::format("is {}, and {} broker(s) are up: the brokers cannot "
                      "create the log of transactions, and run waits",
                      wanted, up),
          fmt::format("start {} more broker(s), or set {}={} and {}={} in "
                      "server.properties of every broker, and restart them",
                      wanted - up, kReplicas, up, kMinIsr,
                      std::max<int64_t>(up - 1, 1)));
      return false;
    }
    return CheckInSync(wanted, up);
  }

  // Kafka asks for no more replicas in sync than there are.
  bool CheckInSync(int64_t replicas, int64_t up) {
    const int64_t min_isr = std::min(Largest(facts_, kMinIsr), replicas);
    if (min_isr > up) {
      Add(Severity::kError, FindingId("transaction_log_not_in_sync"), kMinIsr,
          fmt::format("is {}, and {} broker(s) are up: no transaction can be "
                      "committed",
                      min_isr, up),
          fmt::format("start {} more broker(s)", min_isr - up));
    } else if (replicas > 1 && min_isr == replicas) {
      Add(Severity::kWarning,
          FindingId("transaction_log_without_spare_replica"), kMinIsr,
          fmt::format("is {}, and the log of transactions has {} replicas: no "
                      "transaction is committed while one broker is down",
                      min_isr, replicas),
          fmt::format("kafka-configs.sh --bootstrap-server {} --alter "
                      "--entity-type topics --entity-name __transaction_state "
                      "--add-config min.insync.replicas={}",
                      user_.brokers, replicas - 1));
    } else if (replicas == 1) {
      Add(Severity::kNote, FindingId("transaction_log_single_replica"),
          kReplicas,
          "is 1: no transaction is committed while that broker is down");
    } else {
      Add(Severity::kOk, FindingId("transaction_log_ok"), kReplicas,
          fmt::format("is {}, and {} broker(s) are up", replicas, up));
    }
    return true;
  }

  void CheckIds(bool can_begin) {
    if (facts_.relay.probe == Probe::kNotMade) return NoteUntested();
    CheckId(facts_.relay, can_begin, "");
    for (const ProbedId& sender : facts_.senders) {
      CheckId(sender, can_begin,
              ", and events of parking.table could not be sent");
    }
  }

  void CheckId(const ProbedId& probed, bool can_begin,
               std::string_view consequence) {
    const std::string subject = fmt::format("transactional id {}", probed.id);
    switch (probed.probe) {
      case Probe::kAllowed:
        return Add(Severity::kOk, FindingId("transactional_id_ok"), subject,
                   "may be written");
      case Probe::kForbidden:
        return Add(Severity::kError, FindingId("transactional_id_forbidden"),
                   subject,
                   fmt::format("may not be written: the rights WRITE and "
                               "DESCRIBE are missing{}",
                               consequence),
                   Grant());
      case Probe::kNoAnswer:
        if (!can_begin) return;  // that is the cause
        return Add(Severity::kError,
                   FindingId("transaction_coordinator_unavailable"), subject,
                   fmt::format("no coordinator of transactions answers: {}",
                               probed.text),
                   fmt::format("see the log of the brokers, and "
                               "kafka-topics.sh --bootstrap-server {} "
                               "--describe --topic __transaction_state",
                               user_.brokers));
      case Probe::kFailed:
        return Add(Severity::kError, FindingId("transactional_id_failed"),
                   subject, probed.text);
      case Probe::kNotMade:
        return;  // an earlier one had no answer, or there are too many
    }
  }

  void NoteUntested() {
    const std::string& id = facts_.relay.id;
    const std::string subject =
        fmt::format("transactional id {}",
                    id.empty() ? "walpost-<system identifier>-<slot>" : id);
    if (id.empty()) {
      return Add(Severity::kNote, FindingId("transactional_id_unknown"),
                 subject,
                 "the rights WRITE and DESCRIBE on it are not tested, because "
                 "Postgres did not give its system identifier");
    }
    std::string text = fmt::format(
        "the rights WRITE and DESCRIBE on it{} are not tested",
        facts_.senders.empty() ? "" : ", and on ids that begin with it,");
    text += facts_.are_settings_known()
                ? fmt::format(
                      ": with the {} of these brokers a test would stop "
                      "the walpost that runs",
                      kMaxTimeout)
                : fmt::format(
                      ", nor are {}, {} and {}: that needs the right "
                      "DESCRIBE_CONFIGS on the cluster",
                      kMaxTimeout, kReplicas, kMinIsr);
    Add(Severity::kNote,
        FindingId(facts_.are_settings_known() ? "transactional_id_not_tested"
                                              : "transaction_settings_hidden"),
        subject, std::move(text), Grant());
  }

  // For all ids: that of the stream is a prefix of the others.
  std::string Grant() const {
    return fmt::format(
        "{} --operation Write --operation Describe --transactional-id '{}'{}",
        GrantTo(user_), facts_.relay.id,
        facts_.senders.empty() ? "" : " --resource-pattern-type prefixed");
  }

  const TransactionFacts& facts_;
  const KafkaUser& user_;
  Findings findings_;
};

}  // namespace

bool TransactionFacts::are_settings_known() const {
  return brokers > 0 && Values(*this, kMaxTimeout).size() == brokers;
}

bool TransactionFacts::can_probe() const {
  if (relay.id.empty() || !are_settings_known()) return false;
  return Largest(*this, kMaxTimeout) < kProbedTimeout.count();
}

Findings CheckTransactions(const TransactionFacts& facts,
                           const KafkaUser& user) {
  return TransactionsCheck(facts, user).Run();
}

}  // namespace walpost
