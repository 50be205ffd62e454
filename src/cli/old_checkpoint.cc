#include "cli/old_checkpoint.h"

#include "app/checkpoint_keeper.h"
#include "checkpoint/checkpoint_candidates.h"
#include "fmt/format.h"
#include "kafka/checkpoint_topic.h"
#include "postgres/quote.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

std::string HowToRemove(const Checkpoint& checkpoint, const Config& config) {
  const CheckpointOptions& options = config.checkpoint;
  switch (options.store) {
    case CheckpointOptions::Store::kNone:
      break;
    case CheckpointOptions::Store::kFile:
      return fmt::format("rm {}", options.path);
    case CheckpointOptions::Store::kKafka:
      return RemoveCheckpointCommand(
          config.kafka.brokers, options.topic,
          CheckpointKey(config.postgres.slot, checkpoint.system_identifier));
    case CheckpointOptions::Store::kPostgres:
      return fmt::format("DELETE FROM {} WHERE slot = '{}'",
                         QuoteQualifiedName(options.table),
                         config.postgres.slot);
  }
  return "";
}

}  // namespace

asio::awaitable<std::optional<Finding>> FindOldCheckpoint(
    asio::any_io_executor executor, const Config& config) {
  const absl::StatusOr<std::optional<Checkpoint>> loaded =
      co_await LoadCheckpoint(executor, config);
  if (loaded.ok() && !*loaded) co_return std::nullopt;
  Finding finding;
  finding.severity = Severity::kWarning;
  finding.subject = fmt::format("checkpoint of slot {}", config.postgres.slot);
  if (!loaded.ok()) {
    finding.text = fmt::format("cannot be looked for: {}",
                               std::string(loaded.status().message()));
    finding.remedy =
        "if the store has one, remove it before walpost run: it is of the slot "
        "before";
    co_return finding;
  }
  finding.text =
      fmt::format("is at {}, of the slot before: walpost run stops at it",
                  (*loaded)->confirmed.ToString());
  finding.remedy = fmt::format(
      "stop walpost, then {}; not if this is a clone, and the original "
      "goes on with it: then give the clone a slot name of its own",
      HowToRemove(**loaded, config));
  co_return finding;
}

}  // namespace walpost
