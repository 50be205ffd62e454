#include "postgres/connect/shutdown_monitor.h"

#include <utility>

#include "base/status_macros.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// A terminated session makes its socket readable; this is for networks that
// drop the packet.
constexpr std::chrono::seconds kLookInterval{2};
constexpr std::chrono::seconds kLookLimit{10};

}  // namespace

ShutdownMonitor::ShutdownMonitor(asio::any_io_executor executor,
                                 ServerOptions server,
                                 std::string application_name)
    : executor_(executor) {
  options_.server = std::move(server);
  options_.application_name = std::move(application_name);
}

asio::awaitable<absl::Status> ShutdownMonitor::Run() {
  const std::string question = "SELECT 1";
  absl::Status status = co_await Connect();
  while (status.ok() && !stopped_) {
    const MonotonicTime until = Clock::now() + kLookInterval;
    co_await connection_->waiter().Wait(SocketWaiter::Interest::kRead, until);
    if (stopped_) break;
    connection_->set_deadline(Clock::now() + kLookLimit);
    absl::StatusOr<QueryRows> rows = co_await connection_->Execute(question);
    // Possibly only this session was terminated.
    if (!rows.ok()) status = co_await Connect();
  }
  co_return status;
}

asio::awaitable<absl::Status> ShutdownMonitor::Connect() {
  connection_.reset();
  WALPOST_CO_ASSIGN_OR_RETURN(
      connection_, co_await Connection::Connect(executor_, options_));
  co_return absl::OkStatus();
}

void ShutdownMonitor::Stop() {
  stopped_ = true;
  if (connection_ != nullptr) connection_->waiter().Wake();
}

}  // namespace walpost
