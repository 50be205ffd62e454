// Reads the records about the events of a slot: decisions in the comment of its
// publication, parked events and dead letters in parking.table, and dead
// letters in Kafka.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "config/config.h"
#include "outbox/events_on_record.h"
#include "postgres/parking/parked_list.h"

namespace walpost {

struct OnRecordQuery {
  std::string verb;  // for the name of the session
  // The server whose WAL is read; empty: only tables are.
  std::string system_identifier;
  ParkedList::IfUnknown if_unknown = ParkedList::IfUnknown::kRefuse;
  bool asks_kafka = true;  // for its dead letters
};

// kFailedPrecondition: a table had another name, and the configuration does not
// say so (RequireFormerNames). Other errors are those of ParkedList, of
// ReadDecisions and of TopicReader (kUnavailable: no broker answers).
// `failed_at_kafka`, unless nullptr, is set with an error of Kafka. Both
// outlive the coroutine, as `config` does.
//
// If dead_letter.topic does not tell which topics have dead letters, those in
// Kafka are not among them; the log says so.
boost::asio::awaitable<absl::StatusOr<EventsOnRecord>> ReadEventsOnRecord(
    boost::asio::any_io_executor executor, const Config& config,
    OnRecordQuery query, bool* failed_at_kafka = nullptr);

}  // namespace walpost
