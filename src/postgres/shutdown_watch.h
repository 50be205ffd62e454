// ShutdownWatch: notices that the server is shutting down.
//
// A fast shutdown ends ordinary sessions at once, then waits for every
// walsender until it is confirmed to the end, without limit; a stream that
// takes its time would hold it up. So an ordinary session beside the stream
// stands for the server: when it ends and another one cannot be had, leave.
//
// Owned by who streams, and outlives its coroutine. The relay's SideSession
// does the same, among other things.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "postgres/connection.h"

namespace walpost {

class ShutdownWatch {
 public:
  ShutdownWatch(boost::asio::any_io_executor executor, ServerOptions server,
                std::string application_name);

  // Returns why the server cannot be had any more; kOk after Stop.
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
