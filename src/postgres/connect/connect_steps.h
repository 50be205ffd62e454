// The steps by which libpq connects, each on a thread of its own: they read the
// files that a conninfo names (service, certificate, key) and look up the names
// of a service, and may block for as long as a disk or a name server does.
//
//   auto conninfo = co_await ReadConninfo(executor, text, deadline);
//   if (!conninfo.ok()) co_return conninfo.status();
//   ConnectParameters parameters;
//   parameters.Add("dbname", *conninfo);
//   auto connection = co_await BeginConnecting(executor, parameters, deadline);
//   if (!connection.ok()) co_return connection.status();
//   auto next = co_await ContinueConnecting(executor, *connection, deadline);
#pragma once

#include <libpq-fe.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "base/time.h"
#include "postgres/connect/connect_attempts.h"

namespace walpost {

// Shared with the thread that is in libpq with it; the last one closes it.
using SharedConnection = std::shared_ptr<PGconn>;

// Keywords and values for PQconnectStartParams; later ones override earlier
// ones.
class ConnectParameters {
 public:
  void Add(std::string_view keyword, std::string_view value) {
    parameters_.emplace_back(keyword, value);
  }
  SharedConnection Begin() const;
  // The values that libpq makes of these parameters, of a service and of the
  // environment, without connecting. A conninfo that does not parse has no
  // keywords here, and is reported by BeginConnecting.
  ConnectPlaces Places() const;

 private:
  std::vector<std::pair<std::string, std::string>> parameters_;
};

// The conninfo with its references. Errors are those of ReloadableText::Read.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadConninfo(
    boost::asio::any_io_executor executor, ReloadableText conninfo,
    MonotonicTime deadline);

// ConnectParameters::Places. kUnavailable: libpq is blocked at `deadline`.
boost::asio::awaitable<absl::StatusOr<ConnectPlaces>> FindPlaces(
    boost::asio::any_io_executor executor, ConnectParameters parameters,
    MonotonicTime deadline);

// PQconnectStartParams; nullptr: out of memory. kUnavailable: libpq is blocked
// at `deadline`.
boost::asio::awaitable<absl::StatusOr<SharedConnection>> BeginConnecting(
    boost::asio::any_io_executor executor, ConnectParameters parameters,
    MonotonicTime deadline);

// PQconnectPoll. After kUnavailable the connection must not be used any more: a
// thread is still in libpq with it.
boost::asio::awaitable<absl::StatusOr<PostgresPollingStatusType>>
ContinueConnecting(boost::asio::any_io_executor executor,
                   SharedConnection connection, MonotonicTime deadline);

}  // namespace walpost
