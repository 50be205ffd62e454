// ParkingTable: the parked events of a slot, in a table of the source database
// (sql/parked.sql).
//
//   Open ──▶ Load ──▶ Insert, Read, Release, Fail, ... ──▶ Close
//
// It also has dead letters, if they are not for Kafka.
//
// Whoever has the slot opens it. From then on no other instance can write, not
// even one that was suspended in the middle of it: a lock of the session
// decides, and Open ends the session that has it.
//
// A call at a time. After an error the session is over: Close, then Open.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "parking/parking_lot.h"
#include "postgres/connection.h"
#include "postgres/parking_sql.h"
#include "postgres/server_options.h"

namespace walpost {

// An event that may be sent.
struct ParkedRow {
  ParkedPlace place;
  DeadLetter content;
};

// A lane in which events wait.
struct ParkedLane {
  OwnValue aggregate_type;
  std::string key;
  uint64_t events = 0;
  uint64_t dead = 0;
  std::chrono::seconds age{0};  // since its oldest event was parked
};

// A topic that events wait for.
struct IsolatedTopic {
  std::string name;
  uint64_t events = 0;
  uint64_t free = 0;  // that wait for nothing else
  uint64_t bytes = 0;
  std::chrono::seconds age{0};  // since its oldest event was parked
};

class ParkingTable {
 public:
  ParkingTable(boost::asio::any_io_executor executor, ServerOptions server,
               std::string slot, std::string table);

  // True if there is a table, and it has what a stream from this LSN on must
  // know, or what is to be sent. Errors as those of Open.
  boost::asio::awaitable<absl::StatusOr<bool>> IsInUse(
      std::string system_identifier, Lsn from);

  // Connects, makes the table if it is missing, and takes over from any other
  // session.
  //
  // kFailedPrecondition: a right is missing; says what to run. kUnavailable:
  // try again.
  enum class Letters { kForKafka, kKept };
  boost::asio::awaitable<absl::Status> Open(std::string system_identifier,
                                            Letters letters);
  void Close() { connection_.reset(); }
  bool is_open() const { return connection_ != nullptr; }
  // As of the last Open.
  const std::string& system_identifier() const {
    return names_.system_identifier;
  }
  // Ends the current call, with an error.
  void Interrupt();

  // `from`: the stream shows no events of earlier commits.
  boost::asio::awaitable<absl::StatusOr<ParkedSoFar>> Load(Lsn from);
  // Durable as with synchronous_commit = on. The events outlive the call.
  boost::asio::awaitable<absl::Status> Insert(
      std::vector<const ParkedEvent*> events);

  // See ParkingSql::ReadDead. Costs little, however many events wait.
  boost::asio::awaitable<absl::StatusOr<std::string>> ReadDead();
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedLane>>> ReadLanes();
  // To be read after ReadLanes: a key that is released in between shows here.
  boost::asio::awaitable<absl::StatusOr<std::vector<IsolatedTopic>>> ReadTopics(
      LaneScope scope);
  // `wanted.has_earlier_cluster` is known since Load.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>> ReadSendable(
      ParkingSql::Sendable wanted);
  boost::asio::awaitable<absl::Status> Release(std::vector<ParkedPlace> places);
  boost::asio::awaitable<absl::Status> Fail(ParkedPlace place,
                                            std::string error_class,
                                            std::string reason);

  // See ParkingSql::ReadRetries, SettleRetries and FailRetry.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>> ReadRetries(
      size_t max_events, size_t max_bytes);
  boost::asio::awaitable<absl::Status> SettleRetries(
      std::vector<ParkedPlace> places);
  boost::asio::awaitable<absl::Status> FailRetry(ParkedPlace place,
                                                 std::string error_class,
                                                 std::string reason);

 private:
  boost::asio::awaitable<absl::Status> Connect(std::string system_identifier);
  boost::asio::awaitable<absl::StatusOr<bool>> Exists();
  boost::asio::awaitable<absl::Status> Make(Letters letters);
  boost::asio::awaitable<absl::Status> Lock();
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Execute(std::string sql);
  boost::asio::awaitable<absl::Status> Run(std::string sql);
  absl::Status Explain(const absl::Status& error) const;
  ParkingSql Sql();

  boost::asio::any_io_executor executor_;
  ConnectionOptions options_;
  ParkingNames names_;
  bool was_there_ = false;  // since this process has looked
  bool has_earlier_cluster_ = false;
  std::unique_ptr<Connection> connection_;
};

}  // namespace walpost
