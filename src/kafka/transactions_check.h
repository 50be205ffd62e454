// Whether the brokers allow the transactions of delivery.guarantee:
// exactly_once: for `walpost check`. Pure: cluster_check.h asks the brokers.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "kafka/topics_check.h"

namespace walpost {

struct TransactionFacts {
  // transactional.id of `run`. Empty: not known, because Postgres, which has
  // the system identifier, does not answer.
  std::string id;
  std::chrono::milliseconds timeout{0};  // delivery.transaction_timeout

  size_t brokers = 0;  // that are up
  // As each of them describes its settings; one without an entry: hidden.
  std::vector<std::map<std::string, std::string>> settings;
  // Replicas of __transaction_state. 0: it does not exist, or is hidden.
  int log_replicas = 0;

  // Answer to the request for a producer with that id (transactions_probe.h).
  enum class Probe {
    kNotMade,
    kAllowed,
    kForbidden,
    kNoAnswer,
    kFailed,
  };
  Probe probe = Probe::kNotMade;
  std::string probe_text;  // with kNoAnswer and kFailed

  bool are_settings_known() const;
  // A probe would fence nobody: every broker rejects its timeout.
  bool can_probe() const;
};

Findings CheckTransactions(const TransactionFacts& facts,
                           const KafkaUser& user);

}  // namespace walpost
