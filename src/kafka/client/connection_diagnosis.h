// ConnectionDiagnosis: why the brokers are unreachable.
//
// A request without an answer fails with "Broker transport failure", whatever
// the cause: a password, a certificate, a name that does not resolve.
// librdkafka reports the cause earlier, as an event of the client.
//
// The class is pure.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

namespace walpost {

class ConnectionDiagnosis {
 public:
  static constexpr std::string_view kUsualAdvice =
      "correct kafka.brokers, or start the brokers there";

  // Notes an error event (rd_kafka_event_error, rd_kafka_event_error_string).
  // True if it says something new that should be logged.
  bool Note(rd_kafka_resp_err_t code, std::string_view text);
  // Notes a line of the client's log (rd_kafka_event_log); same result. Refused
  // or broken connections are reported only there.
  bool NoteLog(std::string_view facility, std::string_view line);
  // A broker answers.
  void Clear() { *this = ConnectionDiagnosis(); }

  // The cause, and the settings to check; empty: not known. An event that names
  // a cause takes precedence over later ones of a broken connection.
  const std::string& text() const { return text_; }
  // The same with the usual advice, if there is no better one.
  std::string advice() const;
  // Its two parts; each may be empty.
  const std::string& cause() const { return cause_; }
  std::string_view remedy() const { return remedy_; }

 private:
  std::string text_;  // of both
  std::string cause_;
  std::string_view remedy_;  // a literal
};

// Takes the queued events of a client whose main queue nobody serves.
void NoteEvents(rd_kafka_t* client, ConnectionDiagnosis& trouble);

// Why a request of such a client failed: its events, else `error`.
std::string WhyUnreached(rd_kafka_t* client, rd_kafka_resp_err_t error);

}  // namespace walpost
