#include "postgres/connect/connect_steps.h"

#include <functional>
#include <map>

#include "base/status_macros.h"
#include "loop/blocking_call.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// The result of `step`, which runs on a thread.
template <typename T>
asio::awaitable<absl::StatusOr<T>> OnThread(asio::any_io_executor executor,
                                            std::function<T()> step,
                                            MonotonicTime deadline) {
  auto call = BlockingCall<T>::Start(executor, std::move(step));
  if (!call.ok()) {
    const std::string text(call.status().message());
    co_return absl::UnavailableError("connecting to Postgres: " + text);
  }
  std::optional<T> result = co_await (*call)->Wait(deadline);
  if (!result) {
    co_return absl::UnavailableError(
        "connecting to Postgres: a file that postgres.conninfo names (service, "
        "certificate, key), or a name server, does not answer");
  }
  co_return *std::move(result);
}

}  // namespace

ConnectPlaces ConnectParameters::Places() const {
  // libpq fills in everything, rejects this value, and so does not connect.
  // With a password it reads no password file, and warns of none.
  ConnectParameters expanded = *this;
  expanded.Add("channel_binding", "none");
  expanded.Add("password", "none");
  const SharedConnection connection = expanded.Begin();
  std::map<std::string, std::string> keywords;
  PQconninfoOption* options = PQconninfo(connection.get());
  for (const auto* o = options; o != nullptr && o->keyword != nullptr; ++o) {
    if (o->val != nullptr) keywords.emplace(o->keyword, o->val);
  }
  PQconninfoFree(options);
  ConnectParameters sockets;
  sockets.Add("host", ",");  // PQhost says what an empty host stands for
  sockets.Add("channel_binding", "none");
  const SharedConnection local = sockets.Begin();
  const char* folder = PQhost(local.get());
  return ReadPlaces(keywords, folder == nullptr ? "" : folder);
}

SharedConnection ConnectParameters::Begin() const {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : parameters_) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return {PQconnectStartParams(keywords.data(), values.data(), 1), PQfinish};
}

asio::awaitable<absl::StatusOr<std::string>> ReadConninfo(
    asio::any_io_executor executor, ReloadableText conninfo,
    MonotonicTime deadline) {
  if (!conninfo.has_references()) co_return conninfo.Read();
  std::function<absl::StatusOr<std::string>()> step =
      [conninfo = std::move(conninfo)] { return conninfo.Read(); };
  WALPOST_CO_ASSIGN_OR_RETURN(
      absl::StatusOr<std::string> read,
      co_await OnThread(executor, std::move(step), deadline));
  co_return std::move(read);
}

asio::awaitable<absl::StatusOr<ConnectPlaces>> FindPlaces(
    asio::any_io_executor executor, ConnectParameters parameters,
    MonotonicTime deadline) {
  std::function<ConnectPlaces()> step = [parameters = std::move(parameters)] {
    return parameters.Places();
  };
  co_return co_await OnThread(executor, std::move(step), deadline);
}

asio::awaitable<absl::StatusOr<SharedConnection>> BeginConnecting(
    asio::any_io_executor executor, ConnectParameters parameters,
    MonotonicTime deadline) {
  std::function<SharedConnection()> step =
      [parameters = std::move(parameters)] { return parameters.Begin(); };
  co_return co_await OnThread(executor, std::move(step), deadline);
}

asio::awaitable<absl::StatusOr<PostgresPollingStatusType>> ContinueConnecting(
    asio::any_io_executor executor, SharedConnection connection,
    MonotonicTime deadline) {
  std::function<PostgresPollingStatusType()> step =
      [connection = std::move(connection)] {
        return PQconnectPoll(connection.get());
      };
  co_return co_await OnThread(executor, std::move(step), deadline);
}

}  // namespace walpost
