// EventConsumer: takes the events of a source, and tells the source when to go
// on and which LSN may be confirmed.
//
//   source ── OnEvent, OnTransactionEnd, OnKeepalive, OnPassedOver ─▶ consumer
//   source ◀───────── CanTake, confirmable, IsDrained, Health ─────────
//   consumer
//
// The contract: events in the order of their positions, then OnTransactionEnd
// with the LSN before which everything has been handed in. If an event is not
// taken, the source keeps it, stops reading, and offers it again once CanTake()
// is true. Nothing is called from within another call.
#pragma once

#include "absl/status/status.h"
#include "base/lsn.h"
#include "base/time.h"
#include "outbox/event.h"
#include "outbox/other_relation.h"

namespace walpost {

class EventConsumer {
 public:
  enum class Offer {
    kAccepted,      // sent or skipped; the next event may come
    kBackpressure,  // keep it, and offer it again when CanTake()
  };

  virtual ~EventConsumer() = default;

  // True if the next event may be taken.
  virtual bool CanTake() const = 0;
  // `mapped`: not ok if the event could not be mapped; then it has only a
  // position, and perhaps an id.
  virtual Offer OnEvent(const Event& event, const absl::Status& mapped) = 0;
  virtual void OnTransactionEnd(Lsn end_lsn) = 0;
  // An LSN before which the source has nothing more to hand in. Called only
  // outside a transaction, in stream order.
  virtual void OnKeepalive(Lsn wal_end) = 0;

  // A row of a table that is not in outbox.tables was passed over. Returns true
  // if the consumer has noted the table, so that later rows of it need not be
  // reported.
  virtual bool OnPassedOver(const OtherRelation& /*relation*/) { return true; }

  // LSN that may be confirmed to the source; 0/0: none.
  virtual Lsn confirmable() const = 0;
  // True if every event that was handed in is done, and may be confirmed.
  virtual bool IsDrained() const = 0;
  // Not ok: the source must stop the stream with this error.
  virtual absl::Status Health() const = 0;
  // When to offer a held event again if nothing is reported meanwhile.
  virtual MonotonicTime retry_at() const { return MonotonicTime::max(); }
};

}  // namespace walpost
