// ConnectionDiagnosis: finds out why the brokers are unreachable.
//
// A request without an answer fails with "Broker transport failure", whatever
// the cause: a password, a certificate, a name that does not resolve.
// librdkafka reports the cause earlier, as an event of the client.
//
// A client comes to the brokers by kafka.brokers, and then goes to the
// addresses that they say they have (advertised.listeners). If one of these
// cannot be reached, the diagnosis names it, until that broker is up.
//
// The class is pure.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

// "broker 1 says that its address is HOST:PORT, which cannot be reached from
// here: REASON".
std::string DescribeUnreachable(int32_t node, std::string_view address,
                                std::string_view reason);
inline constexpr std::string_view kCorrectAdvertised =
    "correct advertised.listeners of that broker, start it, or make the "
    "address reachable from here";

// The text up to where librdkafka quotes sasl.oauthbearer.config, which may
// have secrets.
std::string_view WithoutTokenConfig(std::string_view text);

class ConnectionDiagnosis {
 public:
  // `brokers`: kafka.brokers; empty: every address is taken for one of them.
  explicit ConnectionDiagnosis(std::string brokers = "")
      : brokers_(std::move(brokers)) {}

  static constexpr std::string_view kUsualAdvice =
      "correct kafka.brokers, or start the brokers there";

  // Notes an error event (rd_kafka_event_error, rd_kafka_event_error_string).
  // True if it says something new that should be logged.
  bool Note(rd_kafka_resp_err_t code, std::string_view text);
  // Notes a line of the client's log (rd_kafka_event_log); same result. Refused
  // or broken connections are reported only there.
  bool NoteLog(std::string_view facility, std::string_view line);
  // A broker answers. `nodes`: those that are up, as far as they have told who
  // they are. Once up, a broker is never taken for one with a wrong address.
  void OnUp(const std::vector<int32_t>& nodes);
  // Why the broker cannot be reached at the address that it gave; empty: not
  // known.
  std::string WhyUnreachable(int32_t node) const;
  // DescribeUnreachable of one of these brokers; empty: there is none.
  std::string_view unreachable() const;

  // The cause, and the settings to check; empty: not known. An event that names
  // a cause takes precedence over later ones of a broken connection.
  const std::string& text() const;
  // The same with the usual advice, if there is no better one.
  std::string advice() const;
  // The cause and the remedy; each may be empty.
  const std::string& cause() const { return cause_; }
  std::string_view remedy() const { return remedy_; }
  // True if the cause is a password, a token or a certificate.
  bool is_of_credentials() const { return is_of_credentials_; }

 private:
  bool NoteAdvertised(int32_t node, std::string_view address,
                      std::string_view reason);

  // The address that a broker gives.
  struct Unreachable {
    std::string reason;
    std::string what;  // DescribeUnreachable
    std::string text;  // the same, with its remedy
  };

  std::string brokers_;
  std::map<int32_t, Unreachable> unreachable_;  // by node
  std::set<int32_t> reached_;                   // nodes
  std::string text_;                            // of both
  std::string cause_;
  std::string_view remedy_;  // a literal
  bool is_of_credentials_ = false;
};

// Takes the queued events of a client whose main queue nobody serves.
void NoteEvents(rd_kafka_t* client, ConnectionDiagnosis& trouble);

// Why a request of such a client failed: its events, else `error`.
std::string WhyUnreached(rd_kafka_t* client, rd_kafka_resp_err_t error);

}  // namespace walpost
