// WalSource: follows the WAL through a logical slot.
//
//   Open    connects, checks (SourceSetup), starts START_REPLICATION
//   Stream  drives the WalStream until it ends
//
// Two coroutines, called by the owner one after the other: Open, then Stream
// until it returns; then Open again. Everything else may be called at any time
// from the same thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/continuity_state.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/instance_name.h"
#include "postgres/connect/source_options.h"
#include "postgres/stream/replication_reader.h"
#include "postgres/stream/source_setup.h"
#include "session/wal_stream.h"

namespace walpost {

// The options of the stream that follows the live slot.
WalStream::Options LiveStreamOptions(const WalSourceOptions& options);

class WalSource {
 public:
  // References outlive this object. The options were checked: non-empty names,
  // valid topic templates.
  WalSource(boost::asio::any_io_executor executor, WalSourceOptions options,
            OutboxOptions outbox, const std::vector<Route>& routes,
            ContinuityState& continuity, WalStream& stream);

  // See SourceSetup.
  void SetKafkaCluster(std::string cluster) {
    setup_.SetKafkaCluster(std::move(cluster));
  }

  // New tables whose rows an initial snapshot has published.
  void SetPublishedTables(std::vector<std::string> tables) {
    setup_.new_tables().SetPublished(std::move(tables));
  }

  // Connects and starts replication at the slot's position.
  //
  // kUnavailable: try again later. kFailedPrecondition, kInvalidArgument: it
  // cannot work as configured; the message names the object and the remedy.
  // kAborted: the server was promoted with our slot, or an operator has
  // resolved a gap: everything in flight or known is void
  // (WalProgress::StartOver), then Open again.
  boost::asio::awaitable<absl::Status> Open();

  // Streams, then closes the connection; see ReplicationReader.
  boost::asio::awaitable<absl::Status> Stream() { return reader_.Run(); }

  // Gives up the stream that Open began.
  void Close() { reader_.Close(); }

  // See ReplicationReader.
  void OnProgress() { reader_.OnProgress(); }

  // Findings of the last Open; see PublicationMonitor.
  const Findings& findings() const { return setup_.findings(); }

  // See SourceSetup.
  const std::vector<EventDecision>& decisions() const {
    return setup_.decisions();
  }

  const std::optional<PauseRecord>& pause() const { return setup_.pause(); }
  // See SourceSetup.
  bool has_new_tables() const { return setup_.has_new_tables(); }
  const BaseTypes& base_types() const { return setup_.base_types(); }

  bool is_open() const { return reader_.is_open(); }
  // True if Open waits for the server.
  bool is_opening() const { return is_opening_; }
  int server_version() const { return setup_.server_version(); }
  const SlotHolder& slot_holder() const { return setup_.holder(); }

 private:
  boost::asio::any_io_executor executor_;
  WalSourceOptions options_;
  OutboxOptions outbox_;
  InstanceName name_;
  ContinuityState& continuity_;
  SourceSetup setup_;
  ReplicationReader reader_;
  bool is_opening_ = false;
};

}  // namespace walpost
