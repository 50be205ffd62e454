// TemporaryStream: the events from now on, through a temporary slot of its own,
// for verbs that look on. The slot ends with the connection.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "config/config.h"
#include "delivery/event_consumer.h"
#include "outbox/route.h"
#include "postgres/stream/replication_reader.h"
#include "session/wal_stream.h"

namespace walpost {

class TemporaryStream final : private EventConsumer {
 public:
  // Gets each event, and why it could not be mapped.
  using Take =
      std::function<void(const Event& event, const absl::Status& mapped)>;

  // `name` is that of the verb: its session is walpost:NAME, its slot
  // walpost_NAME_PID. `config` outlives this object. Without `may_take` it
  // takes events all the time.
  TemporaryStream(boost::asio::any_io_executor executor, const Config& config,
                  std::span<const Route> routes, const std::string& name,
                  Take take, std::function<bool()> may_take = nullptr);

  // Makes the slot. kFailedPrecondition: there is no publication, and it is not
  // to be made (postgres.create).
  boost::asio::awaitable<absl::Status> Start();
  // Reads until Stop, an error, or the end that StopAtNow has found.
  boost::asio::awaitable<absl::Status> Run() { return reader_.Run(); }
  // Also from within `take`.
  void Stop() { stream_.Abandon(); }
  // Stops when all that has been committed until now is taken.
  boost::asio::awaitable<absl::Status> StopAtNow();
  // The LSN up to which everything was taken.
  Lsn taken() const { return taken_; }

 private:
  boost::asio::awaitable<absl::Status> RequirePublication(
      Connection& connection);

  // EventConsumer.
  bool CanTake() const override {
    return !stream_.is_abandoned() && (!may_take_ || may_take_());
  }
  Offer OnEvent(const Event& event, const absl::Status& mapped) override {
    take_(event, mapped);
    return Offer::kAccepted;
  }
  void OnTransactionEnd(Lsn end_lsn) override {
    taken_ = std::max(taken_, end_lsn);
    if (end_ && taken_ >= *end_) Stop();
  }
  void OnKeepalive(Lsn wal_end) override { OnTransactionEnd(wal_end); }
  Lsn confirmable() const override { return taken_; }
  bool IsDrained() const override { return true; }
  absl::Status Health() const override { return absl::OkStatus(); }

  boost::asio::any_io_executor executor_;
  const Config& config_;
  std::string application_name_;
  std::string slot_;
  Take take_;
  std::function<bool()> may_take_;
  WalStream stream_;
  ReplicationReader reader_;
  Lsn taken_;
  std::optional<Lsn> end_;
};

}  // namespace walpost
