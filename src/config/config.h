// Config: all settings of walpost, module by module.
//
// The file's keys, their units, defaults and meanings are documented in
// docs/configuration.md; loader.h reads them into this struct.
#pragma once

#include <chrono>

#include "admin/http_options.h"
#include "checkpoint/checkpoint_options.h"
#include "delivery/acknowledgement_window.h"
#include "delivery/error_actions.h"
#include "delivery/sink_kind.h"
#include "delivery/transaction_options.h"
#include "kafka/client/producer_options.h"
#include "log/log_options.h"
#include "nats/options.h"
#include "outbox/options.h"
#include "parking/parking_options.h"
#include "polling/polling_options.h"
#include "postgres/connect/source_options.h"
#include "rabbitmq/options.h"
#include "redis/options.h"
#include "retention/retention_options.h"

namespace walpost {

// Source of events.
enum class Source { kWal, kPolling };

struct Config {
  Source source = Source::kWal;
  WalSourceOptions postgres;
  PollingOptions polling;  // if this is the source
  OutboxOptions outbox;
  SinkKind sink = SinkKind::kKafka;
  // Only the options of the sink count.
  ProducerOptions kafka;
  NatsOptions nats;
  RabbitmqOptions rabbitmq;
  RedisOptions redis;
  AcknowledgementWindow::Options window;
  TransactionOptions transactions;
  ErrorActions on_error;
  ParkingOptions parking;
  CheckpointOptions checkpoint;
  RetentionOptions retention;
  HttpOptions http;
  // From SIGTERM to the exit of the process, acknowledged or not.
  std::chrono::milliseconds shutdown_timeout{10'000};
  LogOptions log;

  // True if dead letters are stored in parking.table.
  bool keeps_letters() const {
    return outbox.dead_letter.store == DeadLetterOptions::Store::kPostgres;
  }
  // True if dead letters go to Kafka.
  bool sends_letters() const {
    return on_error.Uses(ErrorAction::kDeadLetter) && !keeps_letters();
  }
  // True if parking.table is used.
  bool parks() const {
    return on_error.Uses(ErrorAction::kPark) || parking.isolates() ||
           keeps_letters();
  }
};

}  // namespace walpost
