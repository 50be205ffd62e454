#include "app/stored/batch_committer.h"

#include <string>
#include <utility>

namespace walpost {

namespace asio = boost::asio;

LedgerCommitter::LedgerCommitter(asio::any_io_executor executor,
                                 RecordReader reader, TopicRecord place)
    : record_(std::move(executor), std::move(reader), std::move(place)) {}

asio::awaitable<absl::Status> LedgerCommitter::Open(DeliveryRun& run,
                                                    StoredBatch& batch) {
  const absl::StatusOr<std::string> text = co_await record_.Open(run);
  if (!text.ok()) co_return text.status();
  const absl::Status loaded = batch.LoadLedger(*text);
  if (loaded.ok()) co_return loaded;
  co_return record_.Unreadable(std::string(loaded.message()));
}

asio::awaitable<absl::Status> LedgerCommitter::Commit(
    DeliveryRun& run, const StoredBatch& batch) {
  std::string ledger = batch.ledger();
  co_return co_await record_.Commit(run, std::move(ledger));
}

}  // namespace walpost
