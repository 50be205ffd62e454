// Checks whether the brokers allow the transactions of delivery.guarantee:
// exactly_once, for `walpost check`. Pure: cluster_check.h asks the brokers.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/kafka_user.h"

namespace walpost {

// A transactional id, and the answer to the request for a producer with it
// (transactions_probe.h).
struct ProbedId {
  enum class Probe {
    kNotMade,
    kAllowed,
    kForbidden,
    kNoAnswer,
    kFailed,
  };

  std::string id;
  Probe probe = Probe::kNotMade;
  std::string text = {};  // with kNoAnswer and kFailed
};

struct TransactionFacts {
  // The id of the stream. Empty: not known, because Postgres, which has the
  // system identifier, does not answer.
  ProbedId relay;
  // The ids of stored events (delivery/transactional_id.h), if the
  // configuration stores any.
  std::vector<ProbedId> senders;
  std::chrono::milliseconds timeout{0};  // delivery.transaction_timeout

  size_t brokers = 0;  // that are up
  // As each of them describes its settings; one without an entry: hidden.
  std::vector<std::map<std::string, std::string>> settings;
  // Replicas of __transaction_state. 0: it does not exist, or is hidden.
  int log_replicas = 0;

  bool are_settings_known() const;
  // A probe would fence nobody: every broker rejects its timeout.
  bool can_probe() const;
};

Findings CheckTransactions(const TransactionFacts& facts,
                           const KafkaUser& user);

}  // namespace walpost
