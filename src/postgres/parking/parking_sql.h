// The SQL of parked events (sql/parked.sql).
//
// Events are ordered by `place`: those of an earlier cluster (pg_upgrade) come
// first, then those of this one by position. "Waits": dead, waiting or retry.
//
// A row with a topic waits for it; the others wait for their key. Neither may
// go before an earlier row of its key of the other sort. Dead letters never
// wait, and nothing waits for them.
//
// An event is the row with its position in this numbering, or a row of another
// numbering, of the same transaction, with its digest.
//
// Pure: the texts are tested without a server.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/lsn.h"
#include "outbox/position.h"
#include "parking/ordering_key.h"
#include "parking/parked_event.h"
#include "parking/parked_row.h"

namespace walpost {

struct ParkingNames {
  std::string table;  // schema.table
  std::string slot;
  std::string system_identifier;
  uint64_t numbering = 0;  // of positions (outbox/numbering.h)
  // The database may not be able to store other characters in a text.
  bool ascii_only = false;
};

class ParkingSql {
 public:
  enum class Settled { kLeftOut, kIncluded };
  using QuoteLiteral = std::function<std::string(std::string_view)>;

  ParkingSql(ParkingNames names, QuoteLiteral quote)
      : names_(std::move(names)), quote_(std::move(quote)) {}

  // sql/parked.sql for this table: all of it, and its command on one line.
  static std::string Script(std::string_view table);
  static std::string Create(std::string_view table);
  // For an operator: also lets `user` read and write it.
  static std::string Grant(std::string_view table, std::string_view user);

  // See ParkingTableFacts: oid (NULL: there is no such table), kind, whether it
  // survives a crash, rights that are missing, whether rows are hidden, whether
  // it has all columns, whether the role may change it, and whether it may
  // create it.
  std::string Describe() const;
  // The oid of the table that has the name now; NULL: none.
  std::string Oid() const;
  // True if this session may write the slot's parked events from now on: until
  // it ends, no other one may.
  std::string TryLock() const;
  // Ends the session that may write. Returns one row if there is such a
  // session; false: it could not be ended.
  std::string EndHolder() const;

  // True if events wait, or dead letters are to be sent, or a stream from this
  // LSN on may show events that are on record here.
  std::string IsInUse(Lsn from) const;
  // Number, event and payload of rows of earlier releases, without a digest,
  // that a stream from this LSN on may show. The payload is left out for events
  // with an id.
  std::string ReadWithoutDigest(Lsn from, size_t limit) const;
  std::string SetDigests(
      std::span<const std::pair<ParkedNumber, std::string>> digests) const;
  // Type and key of each lane in which events wait for their key, and of the
  // first one: cluster, numbering, position, digest, and event if it is in a
  // transaction that the stream shows again.
  std::string LoadLanes(Lsn from) const;
  // The same for topics that events wait for, in the place of type and key:
  // topic, and position and numbering of the last one.
  std::string LoadTopics(Lsn from) const;
  // Position, state, numbering, digest and number of settled events and of dead
  // letters, from this LSN on.
  std::string LoadSettled(Lsn from, size_t limit) const;

  // True if a stream from this LSN on may show events that wait here under
  // another numbering.
  std::string HasOtherNumbering(Lsn from) const;
  // Gives these events, as far as they are here under another numbering, their
  // positions in this one.
  std::string Renumber(std::span<const ParkedEvent* const> events) const;
  // Keeps rows that are there. The payloads, in this order, are its parameters,
  // as bytea: they may be large.
  std::string Insert(std::span<const ParkedEvent* const> events) const;
  // Position, digest, number and tableoid of the rows from the first to the
  // last event.
  std::string ReadBack(std::span<const ParkedEvent* const> events) const;

  // One text that changes with every decision about a dead event, and with
  // every event that dies.
  std::string ReadDead() const;
  // Type, key, number of events that wait, number of dead ones and age in
  // seconds, of each lane in which events wait for their key.
  std::string ReadLanes() const;
  // Topic, number of events that wait for it, of those that may go before all
  // others of their key, bytes, and age in seconds.
  std::string ReadTopics(LaneScope scope, bool has_earlier_cluster) const;
  // Number, cluster, position, event and payload of the oldest events that may
  // be sent: none behind a dead one.
  struct Sendable {
    LaneScope scope = LaneScope::kKey;
    Position through;                  // none after it
    std::string topic;                 // those that wait for it; empty: others
    bool has_earlier_cluster = false;  // some are of an earlier cluster
    bool has_others = true;            // rows of the other sort may wait
    size_t max_events = 0;
    size_t max_bytes = 0;
  };
  std::string ReadSendable(const Sendable& wanted) const;

  // Notes that these events are being sent. Returns the events that may still
  // be sent, because an operator may have discarded one meanwhile, and whether
  // they can be deleted afterwards.
  std::string NoteSending(std::span<const ParkedNumber> rows) const;
  // Marks these events as being in Kafka.
  std::string Release(std::span<const ParkedNumber> rows) const;
  // Marks this event as not deliverable again: it waits for its key.
  std::string Fail(ParkedNumber row, std::string_view error_class,
                   std::string_view reason) const;

  // ---- Dead letters (parking_sql_letters.cc).

  // Number, cluster, position, event, payload and class of the oldest dead
  // letters that are to be sent.
  std::string ReadRetries(size_t max_events, size_t max_bytes) const;
  // Marks these dead letters as being in Kafka.
  std::string SettleRetries(std::span<const ParkedNumber> rows) const;
  // Marks this dead letter as not deliverable again.
  std::string FailRetry(ParkedNumber row, std::string_view error_class,
                        std::string_view reason) const;
  // As List, and Decide with the states of dead letters.
  std::string ListLetters(Settled settled) const;
  std::string DecideLetters(std::span<const ParkedNumber> rows,
                            ParkedState state, std::string_view by,
                            std::string_view why) const;

  // ---- For `walpost parked`.

  // The columns of ParkedEntry, of events that wait, or of all; the oldest
  // first.
  std::string List(Settled settled) const;
  std::string Payload(ParkedNumber row) const;
  std::string States(std::span<const ParkedNumber> rows) const;
  // Decides about dead events: `state` is retry or discarded. Returns the
  // numbers of those that were still dead.
  std::string Decide(std::span<const ParkedNumber> rows, ParkedState state,
                     std::string_view by, std::string_view why) const;

 private:
  std::string Table() const;
  std::string OfSlot() const;
  std::string OfSystem() const;
  std::string Place(bool has_earlier_cluster) const;
  std::string PlaceAndNumber() const;
  std::string FirstOf(std::string_view row, Lsn from) const;
  std::string At(std::span<const ParkedNumber> rows) const;
  std::string Reason(std::string_view text) const;
  std::string LockKey() const;
  std::string Row(const ParkedEvent& event, size_t parameter) const;
  std::string ListWhere(std::string_view condition) const;
  std::string DecideAbout(std::string_view from,
                          std::span<const ParkedNumber> rows, ParkedState state,
                          std::string_view by, std::string_view why) const;

  ParkingNames names_;
  QuoteLiteral quote_;
};

}  // namespace walpost
