#include "app/stored/transactional_release.h"

#include <stop_token>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kafka/client/transactional_id.h"

namespace walpost {

namespace {

std::string EntryOf(const ParkedRow& row) {
  return ReleaseLedger::EntryOf(fmt::format("{}", row.number), row.content);
}

// The entry of releases before 0.3.
std::string OldEntryOf(const ParkedRow& row) {
  return ReleaseLedger::EntryOf(row.system_identifier + "/" + row.position,
                                row.content);
}

}  // namespace

TransactionalRelease::TransactionalRelease(
    Options options, std::unique_ptr<RecordBuilder> builder)
    : options_(std::move(options)),
      builder_(std::move(builder)),
      event_(options_.outbox, builder_->routes()) {}

std::string TransactionalRelease::TransactionalId() const {
  return SenderTransactionalId(
      RelayTransactionalId(options_.system_identifier, options_.slot),
      options_.sender);
}

// No slot has such a name.
TopicRecord TransactionalRelease::LedgerRecord() const {
  return {options_.topic, fmt::format("{}:{}", options_.sender, options_.slot),
          options_.system_identifier};
}

bool TransactionalRelease::is_open() const {
  return writer_ != nullptr && !writer_->is_spent();
}

absl::Status TransactionalRelease::Open() {
  writer_.reset();
  WALPOST_ASSIGN_OR_RETURN(
      std::unique_ptr<TransactionalWriter> writer,
      TransactionalWriter::Open(options_.kafka, TransactionalId()));
  if (!options_.own_topic.empty()) {
    writer->WatchOffsets(options_.own_topic, offsets_);
  }
  WALPOST_RETURN_IF_ERROR(ReadLedger());
  writer_ = std::move(writer);
  return absl::OkStatus();
}

absl::Status TransactionalRelease::ReadLedger() {
  const TopicRecord record = LedgerRecord();
  WALPOST_ASSIGN_OR_RETURN(
      const std::string text,
      ReadTopicRecord(options_.kafka, record, std::stop_token()));
  const absl::Status loaded = inherited_.Load(text);
  ledger_ = inherited_;
  if (loaded.ok()) return loaded;
  return absl::FailedPreconditionError(
      fmt::format("checkpoint topic {}, record {}: {}", options_.topic,
                  record.key(), std::string(loaded.message())));
}

TransactionalRelease::Result TransactionalRelease::Send(
    const std::vector<ParkedRow>& rows, bool topics_fail,
    const PartitionOffsets& known) {
  offsets_.Add(known);
  Result result = SendRest(rows, topics_fail);
  result.offsets = offsets_;
  return result;
}

TransactionalRelease::Result TransactionalRelease::SendRest(
    const std::vector<ParkedRow>& rows, bool topics_fail) {
  Result result;
  if (!is_open()) {
    result.trouble = Open();
    result.must_read_again = result.trouble.ok();
    return result;
  }
  std::vector<std::string> entries;
  for (const ParkedRow& row : rows) {
    const std::string old_entry = OldEntryOf(row);
    entries.push_back(ledger_.Has(old_entry) ? old_entry : EntryOf(row));
  }
  while (result.sent < rows.size() && ledger_.Has(entries[result.sent])) {
    ++result.sent;
  }
  absl::Status built;
  size_t end = result.sent;
  while (end < rows.size() && (built = Build(rows[end]).status()).ok()) ++end;
  const auto is_of_row = [&](const absl::Status& status) {
    return absl::IsInvalidArgument(status) ||
           (topics_fail && !absl::IsResourceExhausted(status));
  };
  if (end > result.sent) {
    bool is_ended = true;
    std::string topic;
    const absl::Status status =
        Commit(std::span(rows).subspan(result.sent, end - result.sent),
               std::span(entries).subspan(result.sent), is_ended, topic);
    if (!status.ok()) {
      const bool is_fault = is_ended && is_of_row(status);
      const bool is_of_topic = is_fault && !absl::IsInvalidArgument(status) &&
                               topic != options_.topic;
      const bool waits_for_topic = is_ended && topics_fail &&
                                   absl::IsResourceExhausted(status) &&
                                   topic != options_.topic;
      if (is_of_topic || waits_for_topic) {
        result.topic_at_fault = std::move(topic);
      }
      const bool is_known = rows.size() == result.sent + 1 || is_of_topic;
      result.one_is_at_fault = is_fault && !is_known;
      (is_fault && is_known ? result.failed : result.trouble) = status;
      return result;
    }
    result.sent = end;
  }
  if (!built.ok()) (is_of_row(built) ? result.failed : result.trouble) = built;
  return result;
}

// `is_ended`: after an error the brokers answer, and nothing was committed.
// `failed_topic`: what the error is about; empty: not known.
absl::Status TransactionalRelease::Commit(std::span<const ParkedRow> rows,
                                          std::span<const std::string> entries,
                                          bool& is_ended,
                                          std::string& failed_topic) {
  // The rows of the last transaction are marked by now.
  ReleaseLedger next = inherited_;
  absl::Status status = writer_->BeginAsOpened();
  for (size_t i = 0; i < rows.size() && status.ok(); ++i) {
    next.Add(entries[i]);
    if (!ledger_.Has(entries[i])) status = WriteEvent(rows[i]);
  }
  if (status.ok()) status = WriteLedger(next);
  if (status.ok()) status = writer_->Commit();
  if (status.ok()) {
    ledger_ = std::move(next);
    return status;
  }
  failed_topic = writer_->failed_topic();
  is_ended = !absl::IsAborted(status) && writer_->Abort().ok();
  // Whoever opens it again learns from the ledger what was committed.
  if (!is_ended) writer_.reset();
  return status;
}

absl::Status TransactionalRelease::WriteEvent(const ParkedRow& row) {
  WALPOST_ASSIGN_OR_RETURN(const Record record, Build(row));
  return writer_->Write(record, std::nullopt);
}

absl::Status TransactionalRelease::WriteLedger(const ReleaseLedger& ledger) {
  const std::string key = LedgerRecord().key();
  const std::string text = ledger.Encode();
  Record record;
  record.topic = options_.topic;
  record.key = key;
  record.value = text;
  record.timestamp = WallNow();
  return writer_->Write(record, std::nullopt);
}

// Valid until the next one.
absl::StatusOr<Record> TransactionalRelease::Build(const ParkedRow& row) {
  WALPOST_ASSIGN_OR_RETURN(const Event event, event_.Of(row.content));
  return builder_->Build(event, /*timeline=*/0);
}

}  // namespace walpost
