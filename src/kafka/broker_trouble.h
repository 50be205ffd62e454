// BrokerTrouble: why the brokers cannot be reached.
//
// A request that is not answered ends with "Broker transport failure", whatever
// the cause: a password, a certificate, a name that does not resolve. What
// librdkafka knew of it came earlier, as an event of the client.
//
// The class is pure.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

namespace walpost {

class BrokerTrouble {
 public:
  // An error event (rd_kafka_event_error, rd_kafka_event_error_string). True
  // when it says something new, and is worth a line in the log.
  bool Note(rd_kafka_resp_err_t code, std::string_view text);
  // A line of the client's log (rd_kafka_event_log); likewise. Connections that
  // are refused or broken are told there alone.
  bool NoteLog(std::string_view facility, std::string_view line);
  // A broker answers.
  void Clear() { *this = BrokerTrouble(); }

  // The cause, and the settings to look at; empty: nothing is known. An event
  // that names a cause counts more than later ones of a connection that broke.
  const std::string& text() const { return text_; }
  // The two parts of it; each may be empty.
  const std::string& cause() const { return cause_; }
  std::string_view remedy() const { return remedy_; }

 private:
  std::string text_;  // of both
  std::string cause_;
  std::string_view remedy_;  // a literal
};

// Takes the events that wait in the main queue of a client that nobody serves.
void NoteEvents(rd_kafka_t* client, BrokerTrouble& trouble);

// Why a request of such a client failed: what its events say, else `error`.
std::string WhyUnreached(rd_kafka_t* client, rd_kafka_resp_err_t error);

}  // namespace walpost
