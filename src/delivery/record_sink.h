// Sink: takes records, reports acknowledgements, and says how it is doing.
// Kafka is behind this port; what uses it does not name the client library.
//
// The contract:
//
//  - Produce returning OK means *accepted*, not durable. For every accepted
//    record exactly one of RecordReports' functions is called later, never from
//    within Produce, on the same thread, in any order.
//  - Records of one partition reach the brokers in the order of Produce, or not
//    at all: if one cannot be written, none behind it is (gapless).
//  - After a sink has failed for good, it reports what it can and accepts
//    nothing more. Its owner closes it and starts a new one.
//  - After Close every accepted record has had its report, and nothing is sent
//    any more, so that another sink may begin. Destroying a sink without Close
//    gives no reports, and records on their way may still arrive.
//
// The Sender and the PollingSender only produce: they see a RecordSink.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/named_counts.h"
#include "outbox/record.h"

namespace walpost {

class RecordSink {
 public:
  virtual ~RecordSink() = default;

  // Copies the parts of `record` that it needs before it returns.
  //
  // kResourceExhausted: full; offer the record again after the next report, or
  // OnCapacity.
  // kUnavailable: not now (an unknown topic); offer it again later.
  // kDeadlineExceeded: the servers of its topic do not answer; likewise, and no
  // record is the cause.
  // kInvalidArgument: this record can never be delivered as it is.
  // kAborted: the sink has failed; a new one may deliver the record.
  // kFailedPrecondition: an operator must act (authorization).
  virtual absl::Status Produce(const Record& record, Sequence sequence) = 0;

  // State of the sink after the brokers have rejected a record.
  enum class AfterRejection {
    kFails,        // records behind it cannot follow: replace the sink
    kGoesOn,       // so that it can be withdrawn, if it was alone
    kGoesOnAlone,  // likewise, and it is for records that go alone only
  };
  virtual AfterRejection after_rejection() const {
    return AfterRejection::kFails;
  }
  // Partitions of the topics that records have gone to, as of a second ago.
  virtual size_t partitions() const { return 0; }

  // Call after a record was rejected, when no other record is in flight or in
  // the open transaction. The sink gives up its transaction, if it has one, and
  // begins another; until then Produce returns kResourceExhausted. Requires a
  // sink that goes on.
  virtual void Withdraw() {}
};

class RecordReports {
 public:
  virtual ~RecordReports() = default;

  // Durable at the brokers, as acks=all means it.
  virtual void OnAcknowledged(Sequence sequence, WallTime now) = 0;

  // The record was not written, or that is not known. The codes are those of
  // Produce. From a sink that goes on (RecordSink::AfterRejection), for a
  // record that was alone: kResourceExhausted, not written, offer it again.
  virtual void OnNotDelivered(Sequence sequence, const absl::Status& error) = 0;

  // A record that the sink did not take (kResourceExhausted) may be offered
  // again.
  virtual void OnCapacity() {}

  // The sink failed as a whole: it must be replaced.
  virtual void OnSinkFailed(const absl::Status& error) = 0;
};

// Implemented by the owner of a producer: receives each new sink, and that
// sink's delivery reports.
class SinkListener : public RecordReports {
 public:
  // nullptr: there is none. Valid until the next call; reports may follow it.
  virtual void SetSink(RecordSink* sink) = 0;
};

struct SinkHealth {
  // Brokers with an open connection, as of the last seconds.
  size_t brokers_up = 0;
  // Time of the last answer of a broker; for an idle sink, too.
  MonotonicTime heard_at{};
  // Why no broker is reachable, and what to check; or empty.
  std::string trouble;
  // True if the cause of `trouble` is a password, a token or a certificate.
  bool rejects_credentials = false;
  // A topic unknown to the brokers that records wait for; or empty.
  std::string missing_topic;
  // Why the brokers would not create it, in their words; or empty.
  std::string topic_refusal = {};
  // The id of the cluster (kUnnamedCluster); empty: no broker has answered yet.
  std::string cluster_id;
  // True while the sink does not know yet whether the cluster and the topics
  // are the expected ones.
  bool is_comparing = false;
  // Topics that records have gone to since the sink began, and how many may be.
  size_t topics = 0;
  size_t max_topics = 0;
  // Acknowledged records that consumers of committed records do not get, and
  // since when at the latest: "topic orders, partition 0, from offset 17".
  // Empty: none, or not known.
  std::string hidden_records = {};
  std::optional<MonotonicTime> hidden_since = {};
};

struct SinkCapabilities {
  // A larger record, with its key and headers, is rejected (kInvalidArgument).
  size_t max_record_bytes = 0;
};

// The transactions of a sink: records become visible together, or not at all,
// to consumers that read committed records only.
//
//   TakeOver ──▶ (Produce ...) ──▶ Commit ──▶ (Produce ...) ──▶ Commit ...
//
// Before TakeOver, and while a Commit is on its way, Produce returns
// kResourceExhausted. After an error the sink has failed: it is closed, which
// gives up the records since the last Commit.
class SinkTransactions {
 public:
  // Gets the error, or ok. Called once, at the latest during Sink::Close.
  using Done = std::function<void(absl::Status)>;

  virtual ~SinkTransactions() = default;

  // Fences every earlier sink with the same transactional id, and waits until
  // its last transaction has ended, and no other is open where the checkpoint
  // stands. Once per sink.
  //
  // kUnavailable: no answer within `limit`, or a transaction stays open there.
  // kFailedPrecondition: an operator must act (a right, a limit of the
  // brokers). kAborted: fenced.
  virtual void TakeOver(std::chrono::milliseconds limit, Done done) = 0;

  // Commits what was produced since the last one. Requires that all of it was
  // acknowledged. kAborted: fenced, or the transaction was aborted. Others: the
  // outcome is not known.
  virtual void Commit(Done done) = 0;

  // Ends the pending call soon (kUnavailable), because nobody waits for it any
  // more. The owner then closes the sink.
  virtual void Interrupt() = 0;

  // True if records may be produced and committed.
  virtual bool is_open() const = 0;
};

class Sink : public RecordSink {
 public:
  // Waits for the records in flight until `deadline`, then gives up the rest,
  // which is reported. `closed` is called after the last report, never from
  // within Close. The sink must live until then.
  virtual void Close(MonotonicTime deadline, std::function<void()> closed) = 0;

  virtual SinkHealth Health() = 0;
  // Acknowledged records by topic, in the order in which the topics came up. A
  // later sink may begin again from 0.
  virtual NamedCounts AcknowledgedByTopic() const { return {}; }
  virtual SinkCapabilities capabilities() const = 0;
  // nullptr: the sink has no transactions. Valid as long as the sink.
  virtual SinkTransactions* transactions() { return nullptr; }

  // Cluster that records may go to; empty: any. Produce returns
  // kResourceExhausted until it is known, and kUnavailable if it is another.
  virtual void ExpectCluster(std::string cluster) = 0;
  // Holds records to the topics known from earlier until these are known to be
  // the same.
  virtual void ExpectTopics() = 0;

  // True if a sink created now would have other credentials: the owner then
  // replaces this one.
  virtual bool credentials_have_changed() const = 0;
};

struct SinkOptions {
  // Appended to the configured client id.
  std::string client_id_suffix;
  // How long a topic that the brokers do not know may still appear, before its
  // records are rejected; nullopt: the sink's default. The user's own setting
  // goes before it.
  std::optional<std::chrono::milliseconds> topic_patience;
  // If not empty, the sink has transactions, with this id.
  std::string transactional_id = {};
  // The owner sends one record at a time, so that the sink need not fail when
  // one is rejected. The sink need not keep records behind a rejected one from
  // being written.
  bool one_at_a_time = false;
};

// Creates a sink; does not wait for a broker. `reports` outlives the sink.
// `on_drained` is called after each portion of reports.
//
// kInvalidArgument, kFailedPrecondition: the configuration of the sink is wrong
// (names the key). kUnavailable: a value of it cannot be read now.
using SinkFactory = std::function<absl::StatusOr<std::unique_ptr<Sink>>(
    const SinkOptions& options, RecordReports& reports,
    std::function<void()> on_drained)>;

}  // namespace walpost
