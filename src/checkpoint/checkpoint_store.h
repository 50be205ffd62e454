// CheckpointStore: keeps a checkpoint beyond the life of the process.
//
//   file      one file            app/checkpoint/checkpoint_file.h
//   kafka     a compacted topic   kafka/checkpoint/checkpoint_topic.h
//   postgres  a row in the source database
//                                 postgres/checkpoint/checkpoint_table.h
//
// CheckpointOptions::kStores has their names; MakeCheckpointStore makes them
// (app/checkpoint/checkpoint_stores.h).
//
// Asynchronous: the callbacks come later on the loop's thread, or from within
// the call. One call at a time. A store is destroyed only when no call is
// pending or its owner does not need the callback any more.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/source_identity.h"

namespace walpost {

class Sink;

class CheckpointStore {
 public:
  // With kRead nothing is created, and the right to read is enough: for verbs
  // that only read.
  enum class Access { kRead, kReadAndWrite };

  virtual ~CheckpointStore() = default;

  // True if it may hold slots of one name, of several systems. Then call
  // SetSource before Load.
  virtual bool is_shared_by_systems() const { return false; }
  virtual void SetSource(SourceIdentity /*identity*/) {}

  // Loads the newest checkpoint of our slot; nullopt: none was ever saved.
  //
  // kUnavailable: try again. kDataLoss: the checkpoint cannot be read: torn,
  // corrupted, of an unknown version. kFailedPrecondition: the place cannot
  // hold one (missing right, no folder, a topic that is not compacted). The
  // message names the place and the remedy.
  using Loaded = std::function<void(absl::StatusOr<std::optional<Checkpoint>>)>;
  virtual void Load(Loaded done) = 0;
  // The same beside the process that may have locked the place.
  virtual void LoadUnlocked(Loaded done) { Load(std::move(done)); }

  // The sink of the stream that begins, for a store that writes into its
  // transactions. nullptr: there is no stream.
  virtual void SetSink(Sink* /*sink*/) {}

  // True if Save may be called now. Otherwise call it after the sink has
  // reported.
  virtual bool is_ready() const { return true; }
  // Makes it durable, in place of the earlier one. kAborted: another instance
  // has written a later one; ours was not written. Other errors as above.
  using Saved = std::function<void(absl::Status)>;
  virtual void Save(const Checkpoint& checkpoint, Saved done) = 0;

  // The same for a slot that an operator had created again: it replaces even a
  // checkpoint that went further, on a server that was restored since. (A store
  // that is restored with its server has no such checkpoint.)
  virtual void Replace(const Checkpoint& checkpoint, Saved done) {
    Save(checkpoint, std::move(done));
  }

  // Releases the place, so that a verb may use it. The next call takes it
  // again. Requires that no call is pending.
  virtual void Release() {}

  // True if an older checkpoint of another instance may hide ours, so that ours
  // must be saved again now and then.
  virtual bool needs_repeating() const { return false; }

  // For people: "file /var/lib/walpost/checkpoint".
  virtual std::string Name() const = 0;
  // A command or SQL that removes `checkpoint`, for people.
  virtual std::string HowToRemove(const Checkpoint& /*checkpoint*/) const {
    return "";
  }
};

}  // namespace walpost
