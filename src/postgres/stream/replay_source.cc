#include "postgres/stream/replay_source.h"

#include <unistd.h>

#include <utility>

#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

// Interval for sending our position and asking for the server's.
constexpr std::chrono::milliseconds kAskInterval{500};

WalStream::Options ReplayStreamOptions(const WalSourceOptions& options,
                                       const std::string& copy) {
  WalStream::Options stream;
  stream.slot = copy;
  stream.publication = options.publication;
  stream.application_name = ReplaySource::kApplicationName;
  stream.remedy =
      "Publish them from the table with walpost replay -c FILE --from-table";
  stream.wal_sender_timeout = options.wal_sender_timeout;
  stream.ask_interval = kAskInterval;
  return stream;
}

}  // namespace

ReplaySource::ReplaySource(asio::any_io_executor executor,
                           const WalSourceOptions& options,
                           const OutboxOptions& outbox,
                           std::vector<std::vector<std::string>> references,
                           EventConsumer& consumer, int number)
    : executor_(executor),
      options_(options),
      outbox_(outbox),
      copy_(fmt::format("walpost_replay_{}_{}", getpid(), number)),
      stream_(ReplayStreamOptions(options_, copy_), outbox,
              std::move(references), consumer),
      reader_(executor, stream_) {}

// The end of the session drops the copy, too.
asio::awaitable<absl::Status> ReplaySource::Stream() {
  connection_.reset();
  if (range_.is_empty() || is_stopped_) co_return absl::OkStatus();
  co_return co_await reader_.Run();
}

void ReplaySource::Stop() {
  is_stopped_ = true;
  stream_.Abandon();
  OnProgress();
}

}  // namespace walpost
