// CredentialWatch: whether other credentials are there than those that a client
// of librdkafka was made with.
//
// A client reads its passwords, certificates and keys once. When the brokers
// reject them, and the files have changed since, a new client is needed.
//
// Made just before its client, and owned by who owns that. Reads small files.
#pragma once

#include <librdkafka/rdkafka.h>

#include <optional>

#include "kafka/producer_options.h"

namespace walpost {

class CredentialWatch {
 public:
  explicit CredentialWatch(ProducerOptions options);

  // An error event of the client.
  void OnError(rd_kafka_resp_err_t code);

  // Whether a client that was made now would get others. false while one of
  // them cannot be read.
  bool have_changed() const;
  // ... and those of this client have been rejected.
  bool are_stale() const { return were_rejected_ && have_changed(); }

 private:
  // Of the values of all properties, and of the files that they name.
  std::optional<size_t> Hash() const;

  ProducerOptions options_;
  std::optional<size_t> used_;
  bool were_rejected_ = false;
};

}  // namespace walpost
