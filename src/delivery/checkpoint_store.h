// CheckpointStore: where a checkpoint survives us.
//
//   file      one file                       app/checkpoint_file.h
//   kafka     a compacted topic              kafka/checkpoint_topic.h
//   postgres  a row in the source database   postgres/checkpoint_table.h
//
// Asynchronous: the callbacks come later, on the loop's thread, or from within
// the call. One call at a time. A store is destroyed only when nothing is
// under way or its owner no longer minds a callback that never comes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "delivery/checkpoint.h"
#include "delivery/source_identity.h"

namespace walpost {

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // Whether slots of one name, of several systems, may be in it: then tell it
  // before Load whose checkpoint is meant.
  virtual bool is_shared_by_systems() const { return false; }
  virtual void SetSource(SourceIdentity /*identity*/) {}

  // The newest checkpoint of our slot; nullopt when none was ever saved.
  //
  // kUnavailable: try again. kDataLoss: it is there and cannot be read: torn,
  // corrupted, of an unknown version. kFailedPrecondition: the place cannot
  // hold one (no right, no folder, a topic that is not compacted). The message
  // names the place and the remedy.
  using Loaded = std::function<void(absl::StatusOr<std::optional<Checkpoint>>)>;
  virtual void Load(Loaded done) = 0;

  // Makes it durable, in place of the one before. kAborted: another instance
  // has written a later one; ours was not written. Other errors as above.
  using Saved = std::function<void(absl::Status)>;
  virtual void Save(const Checkpoint& checkpoint, Saved done) = 0;

  // The same for a slot that an operator had made anew: it counts even where
  // what is there went further, on a server that was restored since. (A store
  // that is restored with its server has nothing of the kind.)
  virtual void Replace(const Checkpoint& checkpoint, Saved done) {
    Save(checkpoint, std::move(done));
  }

  // Whether what another instance wrote may lie over ours though it is older,
  // so that ours is to be saved again now and then.
  virtual bool needs_repeating() const { return false; }

  // For people: "file /var/lib/walpost/checkpoint".
  virtual std::string Name() const = 0;
};

}  // namespace walpost
