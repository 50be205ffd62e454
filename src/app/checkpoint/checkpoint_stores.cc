#include "app/checkpoint/checkpoint_stores.h"

#include <string>
#include <utility>

#include "app/checkpoint/checkpoint_file.h"
#include "app/checkpoint/threaded_checkpoint_store.h"
#include "kafka/checkpoint/checkpoint_topic.h"
#include "kafka/checkpoint/transactional_checkpoint.h"
#include "postgres/checkpoint/checkpoint_table.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::unique_ptr<CheckpointStore> MakeTopicStore(
    asio::any_io_executor executor, const Config& config,
    CheckpointStore::Access access) {
  const std::string& topic = config.checkpoint.topic;
  const std::string& slot = config.postgres.slot;
  auto store = std::make_unique<CheckpointTopic>(executor, config.kafka, topic,
                                                 slot, access);
  if (!config.transactions.is_on) return store;
  return std::make_unique<TransactionalCheckpoint>(std::move(store), topic,
                                                   slot);
}

}  // namespace

std::unique_ptr<CheckpointStore> MakeCheckpointStore(
    asio::any_io_executor executor, const Config& config,
    CheckpointStore::Access access) {
  const CheckpointOptions& options = config.checkpoint;
  switch (options.store) {
    case CheckpointOptions::Store::kNone:
      return nullptr;
    case CheckpointOptions::Store::kFile:
      return std::make_unique<ThreadedCheckpointStore>(
          executor, std::make_shared<CheckpointFile>(options.path));
    case CheckpointOptions::Store::kKafka:
      return MakeTopicStore(executor, config, access);
    case CheckpointOptions::Store::kPostgres:
      return std::make_unique<CheckpointTable>(executor, config.postgres.server,
                                               config.postgres.slot,
                                               options.table);
  }
  return nullptr;
}

}  // namespace walpost
