// The SQL of parked events (sql/parked.sql).
//
// Events are ordered by `place`: those of an earlier cluster (pg_upgrade) come
// first, then those of this one by position. "Waits": dead, waiting or retry.
//
// A row with a topic waits for it; the others wait for their key. Neither may
// go before an earlier row of its key of the other sort. Dead letters never
// wait, and nothing waits for them.
//
// Pure: the texts are tested without a server.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/lsn.h"
#include "outbox/position.h"
#include "parking/lane.h"
#include "parking/parked_event.h"

namespace walpost {

struct ParkingNames {
  std::string table;  // schema.table
  std::string slot;
  std::string system_identifier;
  // The database may not be able to store other characters in a text.
  bool ascii_only = false;
};

// Where a row is: its primary key, without the slot.
struct ParkedPlace {
  std::string system_identifier;
  std::string position;  // SortableText

  friend bool operator==(const ParkedPlace&, const ParkedPlace&) = default;
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

  // True if there is such a table.
  std::string Exists() const;
  // True if this session may write the slot's parked events from now on: until
  // it ends, no other one may.
  std::string TryLock() const;
  // Ends the session that may. One row if there is one; false: it could not.
  std::string EndHolder() const;

  // True if the table has the columns of dead letters.
  std::string HasLetterColumns() const;

  // True if events wait, or dead letters are to be sent, or a stream from this
  // LSN on may show the events of dead letters.
  std::string IsInUse(Lsn from) const;
  // Type, key and first place of each lane in which events wait for their key.
  std::string LoadLanes() const;
  // Topic and first place of those that events wait for.
  std::string LoadTopics() const;
  // Position and state of settled events and of dead letters, from this LSN on.
  std::string LoadSettled(Lsn from, size_t limit) const;

  // Keeps rows that are there. The payloads, in this order, are its parameters,
  // as bytea: they may be large.
  std::string Insert(std::span<const ParkedEvent* const> events) const;

  // One text that changes with every decision about a dead event, and with
  // every event that dies.
  std::string ReadDead() const;
  // Type, key, number of events that wait, number of dead ones and age in
  // seconds, of each lane in which events wait for their key.
  std::string ReadLanes() const;
  // Topic, number of events that wait for it, of those that may go before all
  // others of their key, bytes, and age in seconds.
  std::string ReadTopics(LaneScope scope, bool has_earlier_cluster) const;
  // System identifier, position, event and payload of the oldest events that
  // may be sent: none behind a dead one.
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

  // These events are in Kafka.
  std::string Release(std::span<const ParkedPlace> places) const;
  // This event cannot be delivered, again: it waits for its key.
  std::string Fail(const ParkedPlace& place, std::string_view error_class,
                   std::string_view reason) const;

  // ---- Dead letters (parking_sql_letters.cc).

  // System identifier, position, event, payload and class of the oldest dead
  // letters that are to be sent.
  std::string ReadRetries(size_t max_events, size_t max_bytes) const;
  // These are in Kafka.
  std::string SettleRetries(std::span<const ParkedPlace> places) const;
  // This one cannot be delivered, again.
  std::string FailRetry(const ParkedPlace& place, std::string_view error_class,
                        std::string_view reason) const;
  // As List, and Decide with the states of dead letters.
  std::string ListLetters(Settled settled) const;
  std::string DecideLetters(std::span<const ParkedPlace> places,
                            ParkedState state, std::string_view by,
                            std::string_view why) const;

  // ---- For `walpost parked`.

  // The columns of ParkedEntry, of events that wait, or of all; the oldest
  // first.
  std::string List(Settled settled) const;
  std::string Payload(const ParkedPlace& place) const;
  std::string States(std::span<const ParkedPlace> places) const;
  // Decides about dead events: `state` is retry or discarded. Returns the
  // places of those that were still dead.
  std::string Decide(std::span<const ParkedPlace> places, ParkedState state,
                     std::string_view by, std::string_view why) const;

 private:
  std::string Table() const;
  std::string OfSlot() const;
  std::string Place(bool has_earlier_cluster) const;
  std::string At(std::span<const ParkedPlace> places) const;
  std::string Reason(std::string_view text) const;
  std::string LockKey() const;
  std::string Row(const ParkedEvent& event, size_t parameter,
                  bool has_letters) const;
  std::string ListWhere(std::string_view condition) const;
  std::string DecideAbout(std::string_view from,
                          std::span<const ParkedPlace> places,
                          ParkedState state, std::string_view by,
                          std::string_view why) const;

  ParkingNames names_;
  QuoteLiteral quote_;
};

}  // namespace walpost
