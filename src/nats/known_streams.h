// KnownStreams: the streams with acknowledged events, across several sinks and,
// through the checkpoint, several processes.
//
// A stream that is deleted and created again has another time of creation, and
// does not contain the earlier acknowledged events (P9). Nor does one that was
// restored from a backup: it ends before a sequence that it has acknowledged.
// The second is known only within one process.
//
// Owned by whoever replaces the sinks; outlives them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace walpost {

class KnownStreams {
 public:
  // Maximum number of streams that are kept: a checkpoint stays small.
  static constexpr size_t kMax = 64;
  // How long a stream may end early: a new leader reads its log first.
  static constexpr std::chrono::seconds kMaxBehind{10};

  // Replaces them by those of a checkpoint, in the format of text(). Skips
  // parts that do not parse. An empty text changes nothing: the checkpoint may
  // have been written before the streams were noted.
  void Reset(std::string_view text);
  // "ORDERS=2026-11-28T20:15:31.337Z,...": name and creation, by name.
  const std::string& text() const { return text_; }

  std::vector<std::string> names() const;
  bool Knows(std::string_view name) const { return streams_.contains(name); }

  // The stream was created then. False: a known one was created at another
  // time, and has been replaced.
  bool Observe(std::string_view name, std::string_view created);
  // A stream of that name holds messages from before `created`, and all
  // acknowledged ones by their number: a known one is the same, with another
  // date. Without an acknowledgement that this process has seen, that is not
  // known.
  void Redate(std::string_view name, std::string_view created);
  // It ended at `last` when `acknowledged` was acknowledged already.
  void ObserveEnd(std::string_view name, uint64_t last, uint64_t acknowledged,
                  MonotonicTime now);
  // It stored a record at this sequence that was sent when `acknowledged` was
  // acknowledged already.
  void ObserveStored(std::string_view name, uint64_t sequence,
                     uint64_t acknowledged);
  // A known stream does not exist, and another has its subjects.
  void ObserveMissing(std::string_view name, std::string_view other);

  void OnAcknowledged(std::string_view name, std::string_view created,
                      uint64_t sequence);
  // The greatest acknowledged sequence; 0: none.
  uint64_t AcknowledgedUpTo(std::string_view name) const;

  // The first replacement that was found, with the remedy; or empty.
  const std::string& replaced() const { return replaced_; }

  // Takes over what `other` knows besides.
  void Add(const KnownStreams& other);
  // Later acknowledgements belong to other streams.
  void Forget();

 private:
  struct Known {
    std::string created;
    uint64_t acknowledged_up_to = 0;
    std::optional<MonotonicTime> behind_since = {};
  };

  void Spell();
  void NoteReplaced(std::string text);

  std::map<std::string, Known, std::less<>> streams_;
  std::string text_;
  std::string replaced_;
};

}  // namespace walpost
