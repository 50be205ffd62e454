#include "postgres/stream/wal_source.h"

#include "checkpoint/coverage.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;

WalStream::Options LiveStreamOptions(const WalSourceOptions& options) {
  WalStream::Options stream;
  stream.slot = options.slot;
  stream.publication = options.publication;
  stream.application_name = InstanceName::OfThisProcess(options.slot).text();
  stream.remedy =
      "Make the publication, and let walpost recover -c FILE --all publish "
      "them";
  stream.status_interval = options.status_interval;
  stream.latency_target = options.latency_target;
  stream.wal_sender_timeout = options.wal_sender_timeout;
  stream.slot_is_shared = true;
  stream.stops_at_new_tables = true;
  return stream;
}

WalSource::WalSource(asio::any_io_executor executor, WalSourceOptions options,
                     OutboxOptions outbox, const std::vector<Route>& routes,
                     ContinuityState& continuity, WalStream& stream)
    : executor_(executor),
      options_(std::move(options)),
      outbox_(std::move(outbox)),
      name_(InstanceName::OfThisProcess(options_.slot)),
      continuity_(continuity),
      setup_(options_, outbox_, name_, routes, continuity),
      reader_(executor, stream) {}

asio::awaitable<absl::Status> WalSource::Open() {
  ConnectionOptions options;
  options.server = options_.server;
  options.application_name = name_.text();
  options.replication = true;
  options.settings.push_back(fmt::format("wal_sender_timeout={}",
                                         options_.wal_sender_timeout.count()));
  is_opening_ = true;
  absl::StatusOr<std::unique_ptr<Connection>> connection =
      co_await Connection::Connect(executor_, options);
  absl::Status status = connection.status();
  if (status.ok()) status = co_await setup_.Run(**connection);
  is_opening_ = false;
  if (!status.ok()) co_return status;
  WalStream::Start start;
  start.slot = setup_.slot_position();
  start.table_oids = TableOids(Coverage::Parse(continuity_.coverage()));
  start.former_names = continuity_.former_names();
  start.base_types = setup_.base_types();
  reader_.Begin(*std::move(connection), std::move(start));
  co_return absl::OkStatus();
}

}  // namespace walpost
