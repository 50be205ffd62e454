#include "app/backfill/read_events_on_record.h"

#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/stored/dead_letter_topic_reader.h"
#include "base/status_macros.h"
#include "base/time.h"
#include "checkpoint/coverage.h"
#include "checkpoint/event_decision.h"
#include "checkpoint/former_names.h"
#include "dead_letters/dead_letter_index.h"
#include "log/log.h"
#include "loop/blocking_call.h"
#include "outbox/position.h"
#include "parking/parked_codec.h"
#include "postgres/catalog/coverage_query.h"
#include "postgres/slot/birth_record.h"
#include "postgres/slot/decision_record.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

using Index = absl::StatusOr<DeadLetterIndex>;

std::vector<std::string> SourcesOf(const OutboxOptions& outbox) {
  std::vector<std::string> sources;
  for (const TableOptions& table : outbox.tables) {
    sources.push_back(table.recorded_name());
  }
  sources.push_back(outbox.messages.prefix);
  return sources;
}

// LSNs of another server are others.
Lsn CommitOn(const OnRecordQuery& query, const std::string& system_identifier,
             Lsn commit) {
  return query.system_identifier == system_identifier ? commit : Lsn();
}

absl::Status AddParked(const OnRecordQuery& query,
                       const std::vector<ParkedEntry>& parked,
                       EventsOnRecord& events) {
  for (const ParkedEntry& entry : parked) {
    const std::optional<Disposition> fate = DispositionOf(entry.state);
    if (!fate) continue;
    WALPOST_ASSIGN_OR_RETURN(const Position position,
                             ParseSortableText(entry.position));
    // An earlier release has written the row, which has an id then.
    const std::string digest =
        entry.digest.empty() ? DigestOf(entry.content) : entry.digest;
    events.Add({*fate, digest,
                CommitOn(query, entry.system_identifier, position.commit_lsn)});
  }
  return absl::OkStatus();
}

void AddLetters(const DeadLetterIndex& index, EventsOnRecord& events) {
  for (const DeadLetterIndex::Entry& entry : index.entries()) {
    using Action = DeadLetterResolution::Action;
    if (entry.decision && entry.decision->action == Action::kRetried) continue;
    const DeadLetter& letter = entry.letter;
    Lsn commit;
    if (const auto at = ParsePositionText(letter.position); at.ok()) {
      commit = at->position.commit_lsn;
    }
    EventsOnRecord::Content content{
        letter.aggregate_id, letter.payload_bytes.value_or(entry.payload_size),
        entry.payload};
    events.Add(
        {entry.decision ? Disposition::kDiscarded : Disposition::kDeadLetter,
         entry.digest, commit, std::move(content)});
  }
}

// What is on record is found by the names that the tables had.
asio::awaitable<absl::Status> RequireNamesOfRecord(Connection& connection,
                                                   const Config& config,
                                                   const BirthRecord* record) {
  if (record == nullptr) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(
      const Coverage now,
      co_await ReadCoverage(connection, config.postgres.publication,
                            config.outbox.tables));
  co_return RequireFormerNames(
      config.outbox.tables,
      FormerNames(Coverage::Parse(record->coverage), now));
}

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ReadParked(
    Connection& connection, const Config& config,
    ParkedList::IfUnknown if_unknown) {
  constexpr auto kAll = ParkingSql::Settled::kIncluded;
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkedList list,
      co_await ParkedList::Open(connection, config.postgres,
                                config.parking.table, if_unknown));
  WALPOST_CO_ASSIGN_OR_RETURN(std::vector<ParkedEntry> parked,
                              co_await list.Read(kAll));
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<ParkedEntry> letters,
                              co_await list.ReadLetters(kAll));
  parked.insert(parked.end(), letters.begin(), letters.end());
  co_return parked;
}

// On a thread: it has a copy of the configuration, since it may outlive ours.
asio::awaitable<Index> ReadLetterTopics(asio::any_io_executor executor,
                                        const Config& config,
                                        std::vector<std::string> formerly) {
  std::function<Index()> read = [config, formerly]() -> Index {
    const auto no_progress = [](std::string_view, uint64_t, uint64_t) {};
    return DeadLetterTopicReader(config, {}, no_progress, formerly).ReadIndex();
  };
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::unique_ptr<BlockingCall<Index>> call,
      BlockingCall<Index>::Start(executor, std::move(read)));
  std::optional<Index> index = co_await call->Wait(MonotonicTime::max());
  co_return *std::move(index);
}

}  // namespace

asio::awaitable<absl::StatusOr<EventsOnRecord>> ReadEventsOnRecord(
    asio::any_io_executor executor, const Config& config, OnRecordQuery query,
    bool* failed_at_kafka) {
  EventsOnRecord events(SourcesOf(config.outbox));
  const ConnectionOptions session =
      ParkedList::Session(config.postgres, query.verb);
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, session));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(*connection, config.postgres.publication,
                               config.postgres.slot));
  const BirthRecord* record = birth ? &*birth : nullptr;
  WALPOST_CO_RETURN_IF_ERROR(
      co_await RequireNamesOfRecord(*connection, config, record));
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<EventDecision> decisions,
      co_await ReadDecisions(*connection, config.postgres.publication,
                             config.postgres.slot));
  AddSkips(decisions, query.system_identifier, events);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const std::vector<ParkedEntry> parked,
      co_await ReadParked(*connection, config, query.if_unknown));
  WALPOST_CO_RETURN_IF_ERROR(AddParked(query, parked, events));
  if (!query.asks_kafka) co_return events;
  std::vector<std::string> formerly;
  if (birth) formerly = birth->letter_topics;
  const bool has_sent_letters = config.sends_letters() || !formerly.empty();
  // The others are not read back.
  if (config.sink != SinkKind::kKafka) {
    if (has_sent_letters) {
      LogWarn("dead letters in {} are not read: their events may be sent again",
              WordsOf(config.sink).name);
    }
    co_return events;
  }
  const Index index =
      co_await ReadLetterTopics(executor, config, std::move(formerly));
  if (index.ok()) {
    AddLetters(*index, events);
  } else if (absl::IsPermissionDenied(index.status()) && !has_sent_letters) {
    // A user who may not even see the topic has no dead letter there.
    LogDebug("{}", std::string(index.status().message()));
  } else if (absl::IsInvalidArgument(index.status())) {
    LogWarn("{}; events that have a dead letter may get another",
            std::string(index.status().message()));
  } else {
    if (failed_at_kafka != nullptr) *failed_at_kafka = true;
    co_return index.status();
  }
  co_return events;
}

}  // namespace walpost
