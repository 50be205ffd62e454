// ShutdownMonitor: notices that the server is shutting down.
//
// A fast shutdown terminates ordinary sessions at once, then waits, without
// limit, for every walsender to be confirmed to the end; a slow stream would
// delay it. So an ordinary session beside the stream shows the state of the
// server: if it is terminated and another one is not possible, stop streaming.
//
// Owned by the streaming object; outlives its coroutine. The relay's
// MonitorSession does the same, among other things.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "postgres/connect/connection.h"

namespace walpost {

class ShutdownMonitor {
 public:
  ShutdownMonitor(boost::asio::any_io_executor executor, ServerOptions server,
                  std::string application_name);

  // Returns why the server is not available any more; kOk after Stop.
  boost::asio::awaitable<absl::Status> Run();
  void Stop();

 private:
  boost::asio::awaitable<absl::Status> Connect();

  boost::asio::any_io_executor executor_;
  ConnectionOptions options_;
  std::unique_ptr<Connection> connection_;
  bool stopped_ = false;
};

}  // namespace walpost
