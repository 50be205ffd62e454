// WalSource: follows the WAL through a logical slot, into the pipeline.
//
//   Open    connects, checks, starts START_REPLICATION
//   Stream  frames -> messages -> events -> Pipeline, and back: feedback
//
// Two coroutines, called by the owner one after the other: Open, then Stream
// until it returns; then Open again. Everything else may be called at any time
// from the same thread.
//
// Per turn it takes a limited number of frames, then lets the loop do its other
// work. If the pipeline does not take an event, the event is kept, nothing
// further is read, and feedback continues.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "checkpoint/checkpoint_writer.h"
#include "delivery/pipeline.h"
#include "outbox/options.h"
#include "outbox/transaction_assembler.h"
#include "postgres/connection.h"
#include "postgres/feedback_schedule.h"
#include "postgres/instance_name.h"
#include "postgres/read_pacer.h"
#include "postgres/replication_stream.h"
#include "postgres/source_options.h"
#include "postgres/source_setup.h"
#include "postgres/standby_hold.h"
#include "postgres/suspension_watch.h"

namespace walpost {

class WalSource {
 public:
  // `pipeline` and `checkpoints` outlive this object. The options were checked:
  // non-empty names, valid topic templates.
  WalSource(boost::asio::any_io_executor executor, WalSourceOptions options,
            OutboxOptions outbox, Pipeline& pipeline,
            const CheckpointWriter& checkpoints);

  // Checkpoint in the store, before each Open.
  void SetCheckpoint(std::optional<Checkpoint> checkpoint) {
    setup_.SetCheckpoint(std::move(checkpoint));
  }

  // See SourceSetup.
  void SetKafkaCluster(std::string cluster) {
    setup_.SetKafkaCluster(std::move(cluster));
  }
  void Latch(const Gap& gap) { setup_.Latch(gap); }

  // Connects and starts replication at the slot's position.
  //
  // kUnavailable: try again later. kFailedPrecondition, kInvalidArgument: it
  // cannot work as configured; the message names the object and the remedy.
  // kAborted: the server was promoted with our slot, or an operator has
  // resolved a gap: everything in flight or known is void
  // (Pipeline::StartOver), then Open again.
  boost::asio::awaitable<absl::Status> Open();

  // Streams, then closes the connection. Stops if the connection is lost, the
  // stream is damaged (kDataLoss), its WAL is not the known one
  // (kFailedPrecondition, Pipeline::divergence), or a drain is finished (kOk).
  // kAborted: this process was suspended for so long that the server may have
  // given the slot to another instance; nothing was produced since, and queued
  // records must be given up (Pipeline::Rewind).
  boost::asio::awaitable<absl::Status> Stream();

  // Stops reading. When everything handed to the pipeline is acknowledged, or
  // at `deadline`, confirms and ends the stream in order.
  void Drain(MonotonicTime deadline);

  // Stops the stream at once, without feedback: the pipeline must start over.
  void Abandon();

  // The pipeline has made progress: there may be room, or a new LSN.
  void OnProgress();

  // True if Open has found that all earlier LSNs are void; true only once.
  bool TakeStartOver();

  // Findings of the last Open; see PublicationWatch.
  const std::vector<Finding>& findings() const { return setup_.findings(); }

  bool is_open() const { return stream_ != nullptr; }
  // Facts about the server, since the first Open.
  const SourceMemory& memory() const { return setup_.memory(); }
  int server_version() const { return setup_.server_version(); }
  // The newest WAL position that the server has reported.
  Lsn server_wal_end() const { return server_wal_end_; }
  const SlotHolder& slot_holder() const { return setup_.holder(); }
  // True if Open waits for the server.
  bool is_opening() const { return is_opening_; }
  const StandbyHold& standby_hold() const { return standby_hold_; }
  // How long the server has not answered a request.
  std::chrono::milliseconds silence() const;
  // Sum over all connections.
  TransactionAssembler::Skipped skipped() const;

 private:
  // Condition to wait for after a turn.
  enum class Next { kMore, kPause, kReadable, kRoom, kEnd };

  void BeginStream();
  absl::StatusOr<Next> TakeFrames();
  absl::Status HandleWarnings();
  absl::Status HandleWarning(const Connection::Warning& warning);
  absl::Status HandleFrame();
  absl::Status HandleMessage(const pgoutput::XLogData& data);
  void Deliver();
  absl::Status SendFeedback(MonotonicTime now);
  absl::Status CheckNotSuspended();
  absl::Status CheckNotSilent();
  Lsn Confirmable() const;
  bool IsDrained() const;
  bool DrainIsOver(MonotonicTime now) const;
  boost::asio::awaitable<void> WaitFor(Next next);
  boost::asio::awaitable<absl::Status> FinishInOrder();
  void Close();

  boost::asio::any_io_executor executor_;
  WalSourceOptions options_;
  OutboxOptions outbox_;
  InstanceName name_;
  Pipeline& pipeline_;
  const CheckpointWriter& checkpoints_;

  SourceSetup setup_;
  // From earlier connections.
  TransactionAssembler::Skipped skipped_before_;
  TransactionAssembler::MappedFields mapped_fields_;

  // For the current connection.
  Lsn server_wal_end_;
  StandbyHold standby_hold_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<ReplicationStream> stream_;
  bool is_opening_ = false;
  std::optional<TransactionAssembler> assembler_;
  FeedbackSchedule feedback_;
  SuspensionWatch suspension_watch_;
  std::chrono::milliseconds silence_limit_;
  ReadPacer pacer_;
  Step step_;
  bool step_is_held_ = false;  // the pipeline has not taken step_ yet
  ReadPacer::Taken since_receive_;
  std::chrono::microseconds pause_{};
  size_t frames_received_ = 0;
  MonotonicTime last_received_at_{};

  bool waiting_for_room_ = false;
  MonotonicTime waiting_until_{};
  std::optional<MonotonicTime> drain_deadline_;
  bool abandoned_ = false;
};

}  // namespace walpost
