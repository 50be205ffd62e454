// ParkingTable: the parked events of a slot, in a table of the source database
// (sql/parked.sql).
//
//   Open ──▶ Load ──▶ Insert, Read, Release, Fail, ... ──▶ Close
//
// It also has the dead letters of dead_letter.store: postgres.
//
// Single writer. The slot's owner takes a session-level advisory lock in Open,
// terminating the session that holds it, so a previous owner that was suspended
// cannot write afterwards.
//
// A call at a time. After an error the session is over: Close, then Open.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "parking/parked_keys.h"
#include "parking/parking_table_facts.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/parking/parked_rows.h"
#include "postgres/parking/parking_sql.h"

namespace walpost {

class ParkingTable {
 public:
  // `numbering`: of the configuration (outbox/numbering.h).
  ParkingTable(boost::asio::any_io_executor executor,
               const WalSourceOptions& postgres, std::string table,
               uint64_t numbering);

  struct Target {
    std::string system_identifier;
    ParkedTable on_record;   // of the birth record
    bool is_wanted = false;  // the configuration needs the table
    Lsn from;                // the stream shows no events of earlier commits
  };
  // Connects, makes the table if it is missing, takes over from any other
  // session, and puts on record that the slot uses the table. Returns false,
  // and closes it, if the table is not wanted and has nothing that the stream
  // must know or send.
  //
  // kFailedPrecondition: a right is missing, or the table that the slot has
  // used (parking/parking_table_facts.h). kUnavailable: try again.
  boost::asio::awaitable<absl::StatusOr<bool>> Open(Target target);
  void Close() { connection_.reset(); }
  bool is_open() const { return connection_ != nullptr; }
  // System identifier of the server, as of the last Open.
  const std::string& system_identifier() const {
    return names_.system_identifier;
  }
  // Ends the current call, with an error.
  void Interrupt();
  // From now on a statement may wait without limit, for a lock or for a
  // standby. The caller reports wait().
  void WaitAsLongAsItTakes();
  // The statement that runs; nullopt: none.
  struct Wait {
    int pid = 0;  // of the session
    MonotonicTime since;
  };
  std::optional<Wait> wait() const;

  // `from`: as in Open.
  boost::asio::awaitable<absl::StatusOr<ParkedSoFar>> Load(Lsn from);
  // Durable as with synchronous_commit = on. The events outlive the call.
  // kFailedPrecondition: the table has another event in the place of one
  // (AnotherEventIsParked), or has not kept all of them.
  boost::asio::awaitable<absl::Status> Insert(
      std::vector<const ParkedEvent*> events);

  // See ParkingSql::ReadDead. Costs little, however many events wait.
  boost::asio::awaitable<absl::StatusOr<std::string>> ReadDead();
  // kFailedPrecondition, with its reason code: the table that was opened does
  // not have the name any more.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedLane>>> ReadLanes();
  // To be read after ReadLanes: a key that is released in between shows here.
  boost::asio::awaitable<absl::StatusOr<std::vector<IsolatedTopic>>> ReadTopics(
      LaneScope scope);
  // Rows for the caller to send. They are first noted as being sent, so that a
  // row that cannot be marked afterwards is not sent.
  // `wanted.has_earlier_cluster` is known since Load.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>> ReadSendable(
      ParkingSql::Sendable wanted);
  // Marks these rows as being in Kafka. Rows that cannot be marked now are
  // marked by the next Open, and are not sent again by this process.
  boost::asio::awaitable<absl::Status> Release(std::vector<ParkedNumber> rows);
  boost::asio::awaitable<absl::Status> Fail(ParkedNumber row,
                                            std::string error_class,
                                            std::string reason);

  // The same for dead letters that are retried.
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>> ReadRetries(
      size_t max_events, size_t max_bytes);
  boost::asio::awaitable<absl::Status> SettleRetries(
      std::vector<ParkedNumber> rows);
  boost::asio::awaitable<absl::Status> FailRetry(ParkedNumber row,
                                                 std::string error_class,
                                                 std::string reason);

 private:
  boost::asio::awaitable<absl::Status> Connect(std::string system_identifier);
  boost::asio::awaitable<absl::StatusOr<bool>> OpenSession(Target target);
  boost::asio::awaitable<absl::Status> Make(bool exists);
  boost::asio::awaitable<absl::Status> Lock();
  boost::asio::awaitable<absl::Status> PutOnRecord(
      const ParkingTableFacts& facts);
  boost::asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>> ReadToSend(
      std::string sql, bool has_class);
  boost::asio::awaitable<absl::Status> NoteSending(
      std::vector<ParkedRow>& rows);
  boost::asio::awaitable<absl::Status> MarkSent();
  boost::asio::awaitable<absl::Status> CheckIdentity();
  absl::Status IsAnotherTable() const;
  boost::asio::awaitable<absl::Status> AddDigests(Lsn from);
  boost::asio::awaitable<absl::Status> CheckStored(
      const std::vector<const ParkedEvent*>& events);
  boost::asio::awaitable<absl::StatusOr<QueryRows>> Execute(std::string sql);
  boost::asio::awaitable<absl::StatusOr<QueryRows>> ExecuteBinary(
      std::string sql, std::vector<std::optional<std::string_view>> parameters);
  boost::asio::awaitable<absl::Status> Run(std::string sql);
  absl::Status Explain(const absl::Status& error) const;
  ParkingSql Sql();

  boost::asio::any_io_executor executor_;
  ConnectionOptions options_;
  ParkingNames names_;
  std::string publication_;
  uint32_t oid_ = 0;  // of the table that was opened
  // In Kafka, and not marked yet.
  std::vector<ParkedNumber> released_;
  std::vector<ParkedNumber> retried_;
  bool has_earlier_cluster_ = false;
  bool has_other_numbering_ = false;  // what the stream may show again
  std::unique_ptr<Connection> connection_;
  std::optional<MonotonicTime> busy_since_;
};

}  // namespace walpost
