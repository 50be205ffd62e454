// CredentialReloader: detects that the credentials have changed since a client
// of librdkafka was created.
//
// A client reads its passwords, certificates and keys once. If the brokers
// reject them and the files have changed since, a new client is needed.
//
// Created just before its client, with the same owner. Reads small files.
#pragma once

#include <librdkafka/rdkafka.h>

#include <optional>

#include "kafka/client/producer_options.h"

namespace walpost {

class CredentialReloader {
 public:
  explicit CredentialReloader(ProducerOptions options);

  // Notes an error event of the client.
  void OnError(rd_kafka_resp_err_t code);

  // True if a client created now would get different credentials; false while
  // one of them cannot be read.
  bool have_changed() const;
  // True if they have changed, and the brokers have rejected those of this
  // client.
  bool are_stale() const { return were_rejected_ && have_changed(); }

 private:
  // Hash of all properties' values, and of the files that they name.
  std::optional<size_t> Hash() const;

  ProducerOptions options_;
  std::optional<size_t> used_;
  bool were_rejected_ = false;
};

}  // namespace walpost
