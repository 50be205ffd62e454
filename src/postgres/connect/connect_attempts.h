// ConnectAttempts: decides which address of a server is tried next, and for how
// long, and composes the error if all fail.
//
// libpq moves on to the next address behind an error. Its time limit for one
// address holds only in the blocking call, so the others are ours:
//
//   host=a,b target_session_attrs=read-write     a accepts TCP and is silent
//   → a for 5 s → b
//
// Each address has a limit of its own: connect_timeout, or 5 s. If the caller
// has one for all of them, an address has at most its share of what is left.
//
//   ConnectAttempts attempts(addresses, places, limit_of_the_caller);
//   while (auto attempt = attempts.Next(now)) {
//     // ... connect to attempt->address until attempt->deadline
//     if (!attempts.GoesOnAfter(status)) break;
//   }
//   return attempts.failure();
//
// Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"

namespace walpost {

// Empty values are left to libpq.
struct ServerAddress {
  std::string host;  // name, address, or folder of a socket
  std::string hostaddr;
  std::string port;

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

// Addresses that have been silent lately. They are tried last, so that later
// connections of this process do not wait for them.
class SilentAddresses {
 public:
  static constexpr std::chrono::seconds kRemembered{60};

  void OnSilence(const ServerAddress& address, MonotonicTime now);
  void OnAnswer(const ServerAddress& address);
  std::vector<ServerAddress> Order(std::vector<ServerAddress> addresses,
                                   MonotonicTime now) const;

 private:
  bool IsSilent(const ServerAddress& address, MonotonicTime now) const;

  std::vector<std::pair<ServerAddress, MonotonicTime>> silent_;
};

inline constexpr std::chrono::seconds kDefaultConnectLimit{5};

// The values that libpq would use: keywords of the conninfo, of its service and
// of the environment.
struct ConnectPlaces {
  std::vector<ServerAddress> hosts;
  std::string target_session_attrs;
  std::chrono::milliseconds limit = kDefaultConnectLimit;  // per address
  bool in_random_order = false;
};

// Lists whose lengths differ are one place with empty values: libpq reports
// them. An empty host in a list is `socket_folder`. A connect_timeout that is
// not positive has no effect: nothing waits without a limit.
ConnectPlaces ReadPlaces(const std::map<std::string, std::string>& keywords,
                         const std::string& socket_folder);

class ConnectAttempts {
 public:
  struct Attempt {
    ServerAddress address;
    std::string target_session_attrs;  // empty: those of the conninfo
    std::chrono::milliseconds limit;
    MonotonicTime deadline;
  };

  // `by`: limit for all addresses together.
  ConnectAttempts(std::vector<ServerAddress> addresses,
                  const ConnectPlaces& places, std::optional<MonotonicTime> by);

  // nullopt: each address has been tried.
  std::optional<Attempt> Next(MonotonicTime now);

  // The attempt has failed. Returns false if another address would not help,
  // because the server has rejected the login. A server that starts or shuts
  // down is passed over, as in libpq.
  bool GoesOnAfter(const absl::Status& status);
  // The attempt has had no answer by its deadline: the address is not tried
  // again.
  void OnSilence(const absl::Status& status);

  bool has_next() const { return next_ < order_.size(); }
  // All failures in one; its SQLSTATE is the last one of a server.
  absl::Status failure() const;

 private:
  struct Planned {
    ServerAddress address;
    std::string target_session_attrs;
  };
  void Note(const absl::Status& status);

  std::vector<Planned> order_;
  size_t next_ = 0;
  std::chrono::milliseconds limit_;
  std::optional<MonotonicTime> by_;
  std::vector<std::string> texts_;
  absl::Status last_;
  std::string sqlstate_;
};

}  // namespace walpost
